//! One service, asked again and again over one connection.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::timeout;

use crate::error::AskError;
use crate::link::{Link, Trouble};
use crate::sums::Sums;
use crate::{Question, Statistic, Statistics};

/// An answer is waited for this long, connecting included.
pub const WAIT: Duration = Duration::from_secs(1);

/// Asks one service. A connection that failed, or whose answer did not come in time, is given up, and the next question
/// makes another.
#[derive(Debug)]
pub struct Asker {
    question: Question,
    values: Vec<Statistic>,
    at: SocketAddr,
    link: Option<Link>,
}

impl Asker {
    /// For a service that is asked at `at`. Nothing is connected yet.
    #[must_use]
    pub fn new(statistics: &Statistics, at: SocketAddr) -> Self {
        Asker { question: statistics.ask.clone(), values: statistics.values.clone(), at, link: None }
    }

    /// The values now, one place for each statistic; `None` for one that the service does not tell.
    ///
    /// # Errors
    /// When there is no answer within [`WAIT`], or none of use.
    pub async fn ask(&mut self) -> Result<Vec<Option<f64>>, AskError> {
        let at = self.at;
        let answered = timeout(WAIT, self.ask_patiently()).await;
        let failed = match answered {
            Ok(Ok(values)) => return Ok(values),
            Ok(Err(Trouble::Io(source))) => AskError::Connection { at, source },
            Ok(Err(Trouble::Refused(said))) => AskError::Refused { at, said },
            Ok(Err(Trouble::Unreadable(what))) => AskError::Unreadable { at, what },
            Err(_) => AskError::Late { at },
        };
        self.link = None;
        Err(failed)
    }

    async fn ask_patiently(&mut self) -> Result<Vec<Option<f64>>, Trouble> {
        let kept = self.link.take().filter(Link::is_open);
        let mut link = match kept {
            Some(link) => link,
            None => Link::open(&self.question, self.at).await?,
        };
        let mut sums = Sums::new(&self.values);
        link.ask(&self.question, &mut sums).await?;
        // Only a connection whose answer was read to its end is asked again.
        self.link = Some(link);
        Ok(sums.finish())
    }
}

//! Repeated questions to one service over one connection.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::timeout;

use crate::error::AskError;
use crate::link::{Link, LinkError};
use crate::sums::Sums;
use crate::{Question, Statistic, Statistics};

/// Longest wait for an answer, including the connection.
pub const WAIT: Duration = Duration::from_secs(1);

/// Asks one service. A connection that failed, or whose answer was late, is closed, and the next question
/// opens another.
#[derive(Debug)]
pub struct StatisticsClient {
    question: Question,
    values: Vec<Statistic>,
    at: SocketAddr,
    link: Option<Link>,
}

impl StatisticsClient {
    /// Makes an asker for a service at `at`, without a connection.
    #[must_use]
    pub fn new(statistics: &Statistics, at: SocketAddr) -> Self {
        StatisticsClient {
            question: statistics.ask.clone(),
            values: statistics.values.clone(),
            at,
            link: None,
        }
    }

    /// Asks for the current values, one per statistic; `None` for a statistic that the service does not
    /// report.
    ///
    /// # Errors
    /// If there is no usable answer within [`WAIT`].
    pub async fn ask(&mut self) -> Result<Vec<Option<f64>>, AskError> {
        let at = self.at;
        let answered = timeout(WAIT, self.ask_patiently()).await;
        let failed = match answered {
            Ok(Ok(values)) => return Ok(values),
            Ok(Err(LinkError::Io(source))) => AskError::Connection { at, source },
            Ok(Err(LinkError::Refused(said))) => AskError::Refused { at, said },
            Ok(Err(LinkError::Unreadable(what))) => AskError::Unreadable { at, what },
            Err(_) => AskError::Late { at },
        };
        self.link = None;
        Err(failed)
    }

    async fn ask_patiently(&mut self) -> Result<Vec<Option<f64>>, LinkError> {
        let kept = self.link.take().filter(Link::is_open);
        let mut link = match kept {
            Some(link) => link,
            None => Link::open(&self.question, self.at).await?,
        };
        let mut sums = Sums::new(&self.values);
        link.ask(&self.question, &mut sums).await?;
        // A connection is reused only if its answer was read to the end.
        self.link = Some(link);
        Ok(sums.finish())
    }
}

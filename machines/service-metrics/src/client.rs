//! Repeated questions to one service over one connection.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::error::AskError;
use crate::link::{Link, LinkError};
use crate::sums::Sums;
use crate::{Question, Sampled, Statistic, Statistics};

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
        let asked = async {
            let mut link = self.link().await?;
            let mut sums = Sums::new(&self.values);
            link.ask(&self.question, &mut sums).await?;
            // A connection is reused only if its answer was read to the end.
            self.link = Some(link);
            Ok(sums.finish())
        };
        let answered = timeout(WAIT, asked).await;
        self.answer(answered)
    }

    /// Asks for the states at this instant, with the number in each.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub async fn states(&mut self, sampled: &Sampled) -> Result<Vec<(String, f64)>, AskError> {
        let asked = async {
            let mut link = self.link().await?;
            let rows = link.rows(&sampled.rows).await?;
            self.link = Some(link);
            Ok(rows)
        };
        let answered = timeout(WAIT, asked).await;
        self.answer(answered)
    }

    /// Takes the open connection, or opens one.
    async fn link(&mut self) -> Result<Link, LinkError> {
        match self.link.take().filter(Link::is_open) {
            Some(link) => Ok(link),
            None => Link::open(&self.question, self.at).await,
        }
    }

    fn answer<T>(&self, answered: Result<Result<T, LinkError>, Elapsed>) -> Result<T, AskError> {
        let at = self.at;
        match answered {
            Ok(Ok(values)) => Ok(values),
            Ok(Err(LinkError::Io(source))) => Err(AskError::Connection { at, source }),
            Ok(Err(LinkError::Refused(said))) => Err(AskError::Refused { at, said }),
            Ok(Err(LinkError::Unreadable(what))) => Err(AskError::Unreadable { at, what }),
            Err(_) => Err(AskError::Late { at }),
        }
    }
}

//! Errors of questions to services.

use std::io;

use crate::WAIT;

/// A question without a usable answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The connection could not be opened, or broke.
    #[error("ask {at} for its statistics")]
    Connection {
        /// Address of the service.
        at: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// No complete answer arrived in time.
    #[error("no statistics from {at} within {} s", WAIT.as_secs_f64())]
    Late {
        /// Address of the service.
        at: String,
    },
    /// The service refused to answer.
    #[error("{at} refused to tell its statistics: {said}")]
    Refused {
        /// Address of the service.
        at: String,
        /// Its message.
        said: String,
    },
    /// The answer has the wrong form.
    #[error("statistics of {at} are not readable: {what}")]
    Unreadable {
        /// Address of the service.
        at: String,
        /// Defect of the answer.
        what: String,
    },
}

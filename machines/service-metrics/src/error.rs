//! Why a service did not say anything of use.

use std::io;
use std::net::SocketAddr;

use crate::WAIT;

/// A question without a usable answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It could not be connected to, or the connection broke.
    #[error("ask {at} for its statistics")]
    Connection {
        /// Where.
        at: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No whole answer came in time.
    #[error("no statistics from {at} within {} s", WAIT.as_secs_f64())]
    Late {
        /// Where.
        at: SocketAddr,
    },
    /// It answered that it will not say.
    #[error("{at} refused to tell its statistics: {said}")]
    Refused {
        /// Where.
        at: SocketAddr,
        /// What it said.
        said: String,
    },
    /// The answer is not of the form it should have.
    #[error("statistics of {at} are not readable: {what}")]
    Unreadable {
        /// Where.
        at: SocketAddr,
        /// What is wrong.
        what: String,
    },
}

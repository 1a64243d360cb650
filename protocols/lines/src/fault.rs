//! Failures of calls.

use std::error::Error;
use std::io;

use barograph_model::Outcome;

/// Failure of a call. `F` is a breach of the protocol. The connection remains usable after [`Fault::Refused`].
#[derive(Debug, thiserror::Error)]
pub enum Fault<F: Error + 'static> {
    /// The connection could not be made.
    #[error(transparent)]
    Connect(#[from] barograph_net::Fault),
    /// The server lacks an ability that the address requires.
    #[error("the server offers no {0}")]
    Lacks(&'static str),
    /// The server refused the call, in these words.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// The server ended the session, in these words.
    #[error("the server ended the session: {0}")]
    Ended(String),
    /// The connection broke, or the server closed it without a message.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// The answer breaks the protocol.
    #[error("the answer breaks the protocol: {0}")]
    Flawed(F),
    /// The server greets as those of another protocol do, in these words.
    #[error("the server speaks {spoken} and not {wanted}: `{said}`")]
    Foreign {
        /// The protocol of the client.
        wanted: &'static str,
        /// The protocol of the server.
        spoken: &'static str,
        /// The beginning of its first line.
        said: String,
    },
    /// An earlier call was abandoned or failed, and its answer may still come.
    #[error("the connection is amid the answer to an abandoned call")]
    Unusable,
    /// An argument cannot be sent; nothing was sent.
    #[error("an argument has a line break or a zero byte")]
    Argument,
}

impl<F: Error + 'static> Fault<F> {
    /// The outcome of an operation with this fault.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::Connect(why) => why.outcome(),
            Fault::Lacks(_) | Fault::Refused(_) => Outcome::Refused,
            Fault::Ended(_) | Fault::Broken(_) | Fault::Unusable => Outcome::Broken,
            Fault::Flawed(_) | Fault::Foreign { .. } => Outcome::WrongAnswer,
            Fault::Argument => Outcome::DriverFault,
        }
    }

    /// Whether the server may have done the call although it failed.
    #[must_use]
    pub fn is_in_doubt(&self) -> bool {
        matches!(self, Fault::Ended(_) | Fault::Broken(_) | Fault::Flawed(_))
    }
}

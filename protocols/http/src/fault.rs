//! Faults: reasons for a missing answer, in words that a user can act on.

use std::io;

use barograph_model::Outcome;
use barograph_net::{Peer, SetupError};

use crate::flaw::Flaw;

/// Reason for a missing or invalid answer.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The connection could not be made.
    #[error(transparent)]
    Connect(#[from] barograph_net::Fault),
    /// The proxy refused a tunnel to the target.
    #[error("the proxy {} (status {status})", if *status == 407 { "asks for a user and a password" } else { "opens no tunnel" })]
    Proxy {
        /// The status of its answer.
        status: u16,
    },
    /// The peer changed from one protocol to another.
    #[error("{to} agreed on another protocol than on the connection before")]
    Changed {
        /// The target.
        to: Peer,
    },
    /// The connection broke, or the peer closed it in the middle of an answer.
    #[error("connection broke")]
    Broken(#[source] io::Error),
    /// The answer breaks a rule of HTTP/1.1, or a limit of this client.
    #[error("answer is not HTTP: {0}")]
    Flawed(Flaw),
    /// The peer breaks the rules of HTTP/2 or of WebSockets.
    #[error("the target breaks the rules of {protocol}: {why}")]
    Frames {
        /// HTTP/2 or WebSocket.
        protocol: &'static str,
        /// The rule, in the words of the protocol's library.
        why: String,
    },
    /// The answer to the handshake of a WebSocket lacks a header.
    #[error("the answer to the WebSocket handshake has no `{missing}`")]
    Handshake {
        /// The header with the value that it should have.
        missing: &'static str,
    },
    /// The body is larger than `Options::body_limit`.
    #[error("answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// HTTP/2: the peer reset the stream of this request.
    #[error("the target reset the stream: {reason}")]
    Reset {
        /// The protocol's word for it.
        reason: &'static str,
    },
    /// HTTP/2: the peer ended the connection with this request on it.
    #[error("the target ended the connection: {reason}")]
    GoneAway {
        /// The protocol's word for it.
        reason: &'static str,
    },
    /// Another answer than the requested event stream or WebSocket.
    #[error("asked for a stream and was answered with status {0}")]
    Status(u16),
    /// An answer other than the requested events.
    #[error("asked for text/event-stream and got `{kind}`")]
    NoEvents {
        /// Its content type.
        kind: String,
    },
    /// The request is invalid.
    #[error("the request cannot be sent: {why}")]
    Request {
        /// The reason.
        why: String,
    },
}

impl Fault {
    /// The outcome of an operation with this fault.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::Connect(why) => why.outcome(),
            Fault::Changed { .. } | Fault::Broken(_) | Fault::Reset { .. } | Fault::GoneAway { .. } => {
                Outcome::Broken
            }
            Fault::Flawed(_)
            | Fault::Frames { .. }
            | Fault::Handshake { .. }
            | Fault::TooLarge { .. }
            | Fault::NoEvents { .. }
            | Fault::Request { .. } => Outcome::WrongAnswer,
            Fault::Status(_) | Fault::Proxy { .. } => Outcome::Refused,
        }
    }

    pub(crate) fn request(why: impl Into<String>) -> Self {
        Fault::Request { why: why.into() }
    }
}

/// Reason why a target cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The address is malformed.
    #[error("`{url}` is not an address: {why}")]
    Url {
        /// The address.
        url: String,
        /// The fault and the expected form.
        why: String,
    },
    /// The target cannot be reached through a proxy with these options.
    #[error("send HTTP/2 in the clear through a proxy: ask for an address with https, or for HTTP/1.1")]
    Proxy,
    /// Connections to it cannot be set up.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_broke_is_told_from_an_answer_that_does_not_count() {
        let to = Peer::Tcp(([127, 0, 0, 1], 80).into());
        let refused = barograph_net::Fault::Connect { to, why: io::ErrorKind::ConnectionRefused.into() };
        for (fault, outcome) in [
            (Fault::from(refused), Outcome::Broken),
            (Fault::Broken(io::ErrorKind::ConnectionReset.into()), Outcome::Broken),
            (Fault::Reset { reason: "CANCEL" }, Outcome::Broken),
            (Fault::Flawed(Flaw::Version), Outcome::WrongAnswer),
            (Fault::TooLarge { limit: 1 }, Outcome::WrongAnswer),
            (Fault::request("it has no end"), Outcome::WrongAnswer),
            (Fault::Status(404), Outcome::Refused),
            (Fault::Proxy { status: 407 }, Outcome::Refused),
        ] {
            assert_eq!(fault.outcome(), outcome, "{fault}");
        }
    }
}

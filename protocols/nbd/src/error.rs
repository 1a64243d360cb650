//! Errors: of addresses, and of servers.

use barograph_model::Outcome;

/// An address that is not one of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another scheme.
    #[error("an export is written nbd://HOST[:PORT][/NAME] or nbd+unix:///[NAME]?socket=/PATH")]
    Form,
    /// An invalid port.
    #[error("the port is no number from 1 to 65535")]
    Port,
    /// A socket without a path from the root.
    #[error("the path of a socket begins with /")]
    Socket,
    /// A name that no server can have.
    #[error("the name of an export has at most 4096 bytes of UTF-8")]
    Name,
}

/// Fault of a server, or of the way to it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NbdError {
    /// There is no connection.
    #[error("{why}")]
    Connect {
        /// Outcome of operations that need it.
        outcome: Outcome,
        /// The cause.
        why: String,
    },
    /// The server does not answer in time.
    #[error("the server does not answer within {seconds} s")]
    Silent {
        /// The limit.
        seconds: u64,
    },
    /// The connection has broken.
    #[error("the connection broke: {0}")]
    Io(String),
    /// The server has closed the connection.
    #[error("the server closed the connection {0}")]
    Closed(&'static str),
    /// The greeting is of another protocol.
    #[error("the greeting is not one of NBD")]
    NotNbd,
    /// The greeting is of the handshake before the newstyle one.
    #[error("the server knows the oldstyle handshake only")]
    OldStyle,
    /// The server does not answer unknown options.
    #[error("the server does not know the fixed newstyle handshake")]
    NotFixed,
    /// A reply to an option does not begin as one.
    #[error("a reply of the handshake does not begin with its magic number")]
    NoReply,
    /// A reply to an option that was not sent.
    #[error("the handshake has a reply to option {0}, which was not sent")]
    OtherOption(u32),
    /// A reply to an option is too long.
    #[error("a reply of the handshake has {0} bytes")]
    TooLong(u32),
    /// Replies to an option have no end.
    #[error("the handshake has more than {0} replies")]
    TooMany(u32),
    /// The server agreed, and did not describe the export.
    #[error("the server agreed without the size of the export")]
    NoSize,
    /// The server refused the export.
    #[error("the server refused the export: {0}")]
    Refused(&'static str),
    /// A reply does not begin as one.
    #[error("a reply does not begin with its magic number")]
    WrongMagic,
    /// A reply of a kind that was not agreed on.
    #[error("a structured reply, which was not agreed on")]
    Structured,
    /// A reply that belongs to no request.
    #[error("a reply to no request")]
    NoRequest,
    /// The server ended a request with an error.
    #[error("the server ended the request with {0}")]
    Command(String),
}

impl NbdError {
    /// Outcome of operations that end with this fault.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self {
            NbdError::Connect { outcome, .. } => *outcome,
            NbdError::Silent { .. } => Outcome::TimedOut,
            NbdError::Io(_) | NbdError::Closed(_) => Outcome::Broken,
            NbdError::Refused(_) | NbdError::Command(_) => Outcome::Refused,
            NbdError::NotNbd
            | NbdError::OldStyle
            | NbdError::NotFixed
            | NbdError::NoReply
            | NbdError::OtherOption(_)
            | NbdError::TooLong(_)
            | NbdError::TooMany(_)
            | NbdError::NoSize
            | NbdError::WrongMagic
            | NbdError::Structured
            | NbdError::NoRequest => Outcome::WrongAnswer,
        }
    }
}

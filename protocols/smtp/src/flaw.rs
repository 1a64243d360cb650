//! Breaches of the protocol.

/// A breach of the protocol in an answer, or an exceeded limit of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A line longer than [RFC 5321](https://www.rfc-editor.org/rfc/rfc5321) allows several times over.
    #[error("a line of a reply exceeds 4096 bytes")]
    LongLine,
    /// More lines than any server has extensions.
    #[error("a reply has more than 128 lines")]
    ManyLines,
    /// A line without a code from 200 to 599.
    #[error("a line of a reply has no code")]
    Code,
    /// Another code on a further line.
    #[error("the lines of a reply have the codes {first} and {other}")]
    Codes {
        /// The code of the first line.
        first: u16,
        /// The code of a further line.
        other: u16,
    },
    /// A line that ends with a bare line feed, or has one inside.
    #[error("a line of a reply does not end with a carriage return and a line feed")]
    BareLineFeed,
    /// A reply with a code that does not answer the command.
    #[error("the reply {code} answers {command}")]
    Order {
        /// The code.
        code: u16,
        /// The command.
        command: &'static str,
    },
    /// A reply before the next command, which answers nothing.
    #[error("a reply answers no command")]
    Surplus,
    /// Bytes in the clear between the grant of TLS and its handshake.
    #[error("bytes arrived in the clear after TLS was granted")]
    Unprotected,
}

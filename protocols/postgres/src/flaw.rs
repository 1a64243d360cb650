//! The rule of the protocol that a message of the server breaks.

use crate::backend::MOST_BYTES;

/// The rule of the protocol that a message of the server breaks, or the limit of this client that it exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A type that answers nothing this client sends.
    #[error("the byte {0:#04x} is no type of an answer")]
    Type(u8),
    /// A length outside of the limits.
    #[error("a message `{tag}` has the length {length}; 4 to {MOST_BYTES} are allowed")]
    Length {
        /// Type of the message.
        tag: char,
        /// The length that it names, in bytes.
        length: i32,
    },
    /// Fields beyond the end of the message.
    #[error("a message `{0}` ends before its last field")]
    Cut(char),
    /// Bytes after the last field.
    #[error("a message `{0}` has bytes after its last field")]
    Excess(char),
    /// A text that is not UTF-8.
    #[error("a text in a message `{0}` is not UTF-8")]
    Text(char),
    /// A length below zero that is not the one of null.
    #[error("a message `{0}` has a value with a length below -1")]
    Negative(char),
    /// A code that the protocol does not have.
    #[error("a message `{tag}` has the unknown code {code}")]
    Code {
        /// Type of the message.
        tag: char,
        /// The code.
        code: i32,
    },
    /// A row with another number of columns than its description.
    #[error("a row has {got} columns, and its description {described}")]
    Columns {
        /// Columns of the description.
        described: usize,
        /// Columns of the row.
        got: usize,
    },
    /// A message out of order.
    #[error("a message `{tag}` comes in answer to {to}")]
    Order {
        /// Type of the message.
        tag: char,
        /// What the client has sent.
        to: &'static str,
    },
    /// The answer to the request for TLS.
    #[error("the request for TLS is answered with the byte {0:#04x}; `S` and `N` are allowed")]
    TlsAnswer(u8),
    /// Bytes in the clear between the grant of TLS and its handshake: their sender is not known.
    #[error("bytes come in the clear after the request for TLS was granted")]
    Unprotected,
}

//! Breaches of the protocol.

/// A breach of the protocol in an answer, or an exceeded limit of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A line longer than the result of any search.
    #[error("a line exceeds 1 MiB")]
    LongLine,
    /// A line that ends with a bare line feed.
    #[error("a line does not end with a carriage return and a line feed")]
    BareLineFeed,
    /// A literal whose length cannot be read, or exceeds 64 MiB.
    #[error("a literal has no valid length")]
    Literal,
    /// An unknown beginning of a response.
    #[error("a response begins neither with a tag nor with * or +")]
    Begin,
    /// The tag of no command that waits.
    #[error("a response has the tag of no command")]
    Tag,
    /// A tagged response that is not OK, NO or BAD.
    #[error("a tagged response has an unknown status")]
    Status,
    /// A missing, invalid or too large number.
    #[error("a number cannot be read")]
    Number,
    /// A quoted string without its end.
    #[error("a quoted string has no end")]
    Quote,
    /// A list without its end.
    #[error("a list has no end")]
    List,
    /// Lists nested deeper than 16.
    #[error("lists are nested deeper than 16")]
    Nesting,
    /// A missing or invalid value.
    #[error("a value cannot be read")]
    Value,
    /// Bytes after the end of a response.
    #[error("a response has bytes after its end")]
    Excess,
    /// A request to continue that answers nothing.
    #[error("the server asks for a continuation of nothing")]
    Continuation,
    /// A sequence number of no message.
    #[error("the message {0} is not in the mailbox")]
    Sequence(u32),
    /// A number of messages that falls without an expunge.
    #[error("the mailbox has {now} messages after {before} without an expunge")]
    Shrunk {
        /// The number before.
        before: u32,
        /// The reported number.
        now: u32,
    },
    /// A change of UIDVALIDITY in an open mailbox.
    #[error("UIDVALIDITY changes in an open mailbox")]
    Validity,
    /// Bytes in the clear between the grant of TLS and its handshake.
    #[error("bytes arrived in the clear after TLS was granted")]
    Unprotected,
}

//! Violations of HTTP by an answer, in words for the owner of the target.

/// A rule of HTTP violated by an answer, or a limit of this client exceeded by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first line is of another protocol.
    #[error("it does not begin with `HTTP/1.0` or `HTTP/1.1`")]
    Version,
    /// The first line has no status.
    #[error("its first line has no status from 100 to 999 after one space")]
    Status,
    /// A malformed header name.
    #[error(
        "the name of a header is empty, has a space or a character that names may not have, or no colon follows it"
    )]
    Name,
    /// A malformed header value.
    #[error("the value of a header has a control character")]
    Value,
    /// A wrong end of line.
    #[error("a line of its head does not end with CR LF")]
    LineEnd,
    /// A head with too many bytes.
    #[error("its head, or its trailers, have more than {} KiB", crate::head::MAX_HEAD / 1024)]
    LongHead,
    /// A head with too many headers.
    #[error("its head has more than {} headers", crate::head::MAX_HEADERS)]
    ManyHeaders,
    /// A malformed length.
    #[error("its Content-Length is not a whole number")]
    Length,
    /// Two different lengths.
    #[error("it has two Content-Length headers that differ")]
    Lengths,
    /// A length and chunks: two readers would find two different ends.
    #[error("it has both Content-Length and Transfer-Encoding")]
    TwoFramings,
    /// A coding other than chunks.
    #[error("its Transfer-Encoding is not the single word `chunked`")]
    Coding,
    /// A protocol that was not requested.
    #[error("it switches to another protocol (status 101), which was not asked for")]
    Switch,
    /// Too many interim answers.
    #[error("more than {} interim answers (status 1xx) come before it", crate::reader::MAX_INTERIM)]
    Interim,
    /// A malformed line before a chunk.
    #[error(
        "a chunk does not begin with its size in hexadecimal digits, on a line of at most {} bytes",
        crate::chunks::MAX_LINE
    )]
    ChunkSize,
    /// A malformed end of a chunk.
    #[error("a chunk is longer than its size says")]
    ChunkEnd,
    /// Malformed or too many lines after the last chunk.
    #[error("the lines after its last chunk are not at most {} trailers", crate::chunks::MAX_TRAILERS)]
    Trailers,
    /// A body, or an event, above the limit of this client.
    #[error("it is larger than the limit")]
    TooLarge,
}

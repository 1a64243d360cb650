//! Rules of the protocol that a message of the server breaks.

use crate::packet::MOST_BYTES;

/// The rule of the protocol that a message of the server breaks, or the limit of this client that it exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// A message without bytes.
    #[error("a message is empty")]
    Empty,
    /// A message above the limit.
    #[error("a message has {0} bytes at least; {MOST_BYTES} are allowed")]
    Length(usize),
    /// A packet out of sequence.
    #[error("a packet has the number {got}; {expected} is the next one")]
    Number {
        /// Number of the next packet.
        expected: u8,
        /// Number of the packet that came.
        got: u8,
    },
    /// Fields beyond the end of the message.
    #[error("{0} ends before its last field")]
    Cut(&'static str),
    /// A number or a length without a value: its first byte stands for null or for an error.
    #[error("{0} has a null in place of a number")]
    Null(&'static str),
    /// Bytes after the last field.
    #[error("{0} has bytes after its last field")]
    Excess(&'static str),
    /// A text that is not UTF-8.
    #[error("a text in {0} is not UTF-8")]
    Text(&'static str),
    /// A message out of order.
    #[error("a message that begins with {first:#04x} comes in answer to {to}")]
    Order {
        /// First byte of the message.
        first: u8,
        /// What the client has sent.
        to: &'static str,
    },
    /// A handshake of another version.
    #[error("the server speaks version {0} of the protocol; 10 is spoken here")]
    Version(u8),
    /// Capabilities that every server since MySQL 5.5 has are missing.
    #[error("the server lacks the capabilities {0:#x}")]
    Capabilities(u32),
    /// Bytes in the clear between the request for TLS and its handshake: their sender is not known.
    #[error("bytes come in the clear after the request for TLS")]
    Unprotected,
}

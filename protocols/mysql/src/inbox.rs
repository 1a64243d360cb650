//! Bytes that have come on a connection, and the messages in them.

use std::io;
use std::ops::Range;
use std::task::{Context, Poll};

use barograph_net::Stream;

use crate::flaw::Flaw;
use crate::packet::{FULL, Frame, HEAD, frame, join};

/// Room for a read, at least and at most: the length of a message is not believed in advance.
const READ_STEP: usize = 8 * 1024;
const READ_MOST: usize = 256 * 1024;

/// A buffer that grew beyond this is given back.
const KEPT: usize = 1024 * 1024;

/// Bytes that have come. Those before `at` were read.
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    at: usize,
    /// Bytes of the message at `at`, as far as is known.
    needed: usize,
    /// Number of the next packet.
    pub(crate) number: u8,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Inbox { bytes: Vec::with_capacity(READ_STEP), at: 0, needed: 0, number: 0 }
    }

    /// Place of the next message, at least one byte; `None` where it is not whole. The place holds until the next read.
    pub(crate) fn message(&mut self) -> Result<Option<Range<usize>>, Flaw> {
        match frame(&self.bytes[self.at..], self.number)? {
            Frame::Whole { length, next } => {
                let begin = self.at + HEAD;
                self.at += length;
                self.number = next;
                let payload = &mut self.bytes[begin..self.at];
                let length = if payload.len() < FULL { payload.len() } else { join(payload) };
                if length == 0 { Err(Flaw::Empty) } else { Ok(Some(begin..begin + length)) }
            }
            Frame::Part { needed } => {
                self.needed = needed;
                Ok(None)
            }
        }
    }

    /// The bytes at a place.
    pub(crate) fn bytes(&self, place: &Range<usize>) -> &[u8] {
        &self.bytes[place.clone()]
    }

    /// Whether nothing is left to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Reads what is there; 0 when the server has closed.
    pub(crate) fn poll_read(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let missing = self.needed.saturating_sub(self.bytes.len() - self.at);
        let room = missing.clamp(READ_STEP / 4, READ_MOST);
        if self.is_empty() {
            self.bytes.clear();
            self.at = 0;
        } else if self.bytes.capacity() - self.bytes.len() < room {
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.reserve(room);
        stream.poll_read_into(cx, &mut self.bytes)
    }

    /// Gives a large buffer back after its last message.
    pub(crate) fn settle(&mut self) {
        if self.is_empty() && self.bytes.capacity() > KEPT {
            *self = Inbox::new();
        }
    }
}

#[cfg(test)]
impl Inbox {
    /// Takes bytes as a read does.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }
}

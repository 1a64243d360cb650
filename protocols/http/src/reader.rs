//! Reading of one answer from a growing buffer, from pieces of any size.

use std::ops::Range;

use crate::chunks::Chunks;
use crate::flaw::Flaw;
use crate::head::{self, Framing, Head};

/// Interim answers (100 Continue, 103 Early Hints) before the real one.
pub(crate) const MAX_INTERIM: u8 = 16;

/// Least room for the next read, in bytes.
pub(crate) const READ_STEP: usize = 8 * 1024;
/// Greatest room for the next read, in bytes: a length announced by the peer is not trusted in advance.
const READ_MOST: usize = 256 * 1024;

/// Bytes kept of a body that is only counted: enough for people to see what a failed request was answered.
pub(crate) const COUNTED_KEPT: usize = 16 * 1024;

/// Position of a whole answer in the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswerLayout {
    pub(crate) status: u16,
    pub(crate) head: usize,
    pub(crate) body: Range<usize>,
    /// Bytes of the body, including those that were not kept.
    pub(crate) body_length: usize,
    pub(crate) trailers: Range<usize>,
    /// Bytes of it on the wire, without interim answers.
    pub(crate) wire: usize,
    /// Whether the connection may carry another request.
    pub(crate) keep: bool,
}

/// Reads one answer.
pub(crate) struct Reader {
    body_limit: usize,
    /// Whether the answer has no body regardless of its head: it is one to HEAD.
    bodiless: bool,
    /// Whether a switch to another protocol was requested.
    switching: bool,
    /// Most bytes of the body to keep.
    kept: usize,
    dropped: Dropped,
    interim: u8,
    state: State,
}

/// Bytes that were removed from the buffer.
#[derive(Clone, Copy, Default)]
struct Dropped {
    body: usize,
    /// With the framing of chunks.
    wire: usize,
}

enum State {
    Head,
    Body(Head),
    Chunks(Head, Chunks),
}

impl Reader {
    pub(crate) fn new(body_limit: usize, bodiless: bool) -> Self {
        Reader {
            body_limit,
            bodiless,
            switching: false,
            kept: usize::MAX,
            dropped: Dropped::default(),
            interim: 0,
            state: State::Head,
        }
    }

    /// Keeps no more than the first `kept` bytes of the body, and counts the others.
    pub(crate) fn keeping(self, kept: usize) -> Self {
        Reader { kept, ..self }
    }

    /// Accepts a switch to another protocol as the answer.
    pub(crate) fn switching(self) -> Self {
        Reader { switching: true, ..self }
    }

    /// Parses the available bytes; `None` if more are needed. `closed` marks the end of input.
    pub(crate) fn look(&mut self, buffer: &mut Vec<u8>, closed: bool) -> Result<Option<AnswerLayout>, Flaw> {
        if matches!(self.state, State::Head) {
            let Some(head) = self.head(buffer)? else { return Ok(None) };
            self.state = match head.framing {
                Framing::Chunked => State::Chunks(head, Chunks::new(head.length)),
                _ => State::Body(head),
            };
        }
        match &mut self.state {
            State::Head => Ok(None),
            State::Body(head) => {
                let there = buffer.len() + self.dropped.wire;
                let end = match head.framing {
                    Framing::Length(n) => Some(head.length + n),
                    _ if there - head.length > self.body_limit => return Err(Flaw::TooLarge),
                    _ => closed.then_some(there),
                };
                if let Some(end) = end.filter(|end| *end <= there) {
                    let length = end - head.length;
                    let whole = whole(*head, there, 0..0, end);
                    let body = head.length..head.length + length.min(self.kept);
                    return Ok(Some(AnswerLayout { body, body_length: length, ..whole }));
                }
                let excess = buffer.len().saturating_sub(head.length.saturating_add(self.kept));
                buffer.truncate(buffer.len() - excess);
                self.dropped.wire += excess;
                Ok(None)
            }
            State::Chunks(head, chunks) => {
                let limit = self.body_limit.saturating_add(head.length) - self.dropped.body;
                if chunks.decode(buffer, limit)? {
                    let there = buffer.len() + self.dropped.wire;
                    let whole = whole(*head, there, chunks.trailers(), chunks.raw + self.dropped.wire);
                    let length = chunks.body - head.length + self.dropped.body;
                    let body = head.length..head.length + length.min(self.kept);
                    return Ok(Some(AnswerLayout { body, body_length: length, ..whole }));
                }
                let end = head.length.saturating_add(self.kept);
                if chunks.body > end {
                    self.dropped.body += chunks.body - end;
                    self.dropped.wire += chunks.raw - end;
                    buffer.drain(end..chunks.raw);
                    chunks.restart_at(end);
                }
                Ok(None)
            }
        }
    }

    /// The head of the final answer, with interim ones removed.
    pub(crate) fn head(&mut self, buffer: &mut Vec<u8>) -> Result<Option<Head>, Flaw> {
        loop {
            let Some(head) = head::read(buffer)? else { return Ok(None) };
            if head.status < 200 && !(self.switching && head.status == 101) {
                if head.status == 101 {
                    return Err(Flaw::Switch);
                }
                if self.interim == MAX_INTERIM {
                    return Err(Flaw::Interim);
                }
                self.interim += 1;
                buffer.drain(..head.length);
                continue;
            }
            let framing = if self.bodiless { Framing::Length(0) } else { head.framing };
            if matches!(framing, Framing::Length(n) if n > self.body_limit) {
                return Err(Flaw::TooLarge);
            }
            return Ok(Some(Head { framing, ..head }));
        }
    }

    /// Room for the next read.
    pub(crate) fn room(&self, have: usize) -> usize {
        let have = have + self.dropped.wire;
        match self.state {
            State::Body(Head { framing: Framing::Length(n), length, .. }) => {
                (length + n).saturating_sub(have).clamp(1, READ_MOST)
            }
            // A long head is parsed again from its start with each piece.
            _ => have.clamp(READ_STEP, READ_MOST),
        }
    }
}

/// An answer without its body that ends at `wire`. Bytes after that belong to no request: the next answer on
/// this connection would be misread.
fn whole(head: Head, there: usize, trailers: Range<usize>, wire: usize) -> AnswerLayout {
    let clean = there == wire;
    AnswerLayout {
        status: head.status,
        head: head.length,
        body: head.length..head.length,
        body_length: 0,
        trailers,
        wire,
        keep: head.keeps() && clean,
    }
}

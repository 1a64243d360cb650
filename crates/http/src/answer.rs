//! An answer: status and body, in a buffer that is used again when the answer is dropped.

use std::ops::Range;
use std::rc::Rc;

use crate::buffers::Buffers;

/// A whole answer.
pub struct Answer {
    /// The status code.
    pub status: u16,
    body: Range<usize>,
    buffer: Vec<u8>,
    home: Rc<Buffers>,
}

impl Answer {
    pub(crate) fn new(status: u16, body: Range<usize>, buffer: Vec<u8>, home: Rc<Buffers>) -> Self {
        Answer { status, body, buffer, home }
    }

    /// An answer made by hand, for a target simulated in the same process.
    #[must_use]
    pub fn made(status: u16, body: Vec<u8>) -> Self {
        Answer { status, body: 0..body.len(), buffer: body, home: Rc::new(Buffers::new(0)) }
    }

    /// The body's bytes.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.buffer[self.body.clone()]
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.buffer));
    }
}

//! Reusable byte buffers of one worker.

use std::cell::RefCell;

/// Most buffers kept; others are freed.
const KEPT: usize = 64;

/// Largest capacity of a kept buffer, in bytes; a full-size picture exceeds it.
const KEPT_CAPACITY: usize = 64 * 1024;

/// Byte buffers of one worker.
pub struct Buffers {
    kept: RefCell<Vec<Vec<u8>>>,
    first_capacity: usize,
}

impl Buffers {
    /// Creates buffers with an initial capacity of `first_capacity` bytes.
    #[must_use]
    pub fn new(first_capacity: usize) -> Self {
        Buffers { kept: RefCell::default(), first_capacity }
    }

    /// An empty buffer.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        self.kept.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(self.first_capacity))
    }

    /// Keeps a buffer for the next use, unless there are enough or it is too large.
    pub fn give_back(&self, mut buffer: Vec<u8>) {
        let mut kept = self.kept.borrow_mut();
        if kept.len() < KEPT && (1..=KEPT_CAPACITY).contains(&buffer.capacity()) {
            buffer.clear();
            kept.push(buffer);
        }
    }
}

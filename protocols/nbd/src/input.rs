//! Bytes that have come and are not yet taken.

/// Received bytes.
#[derive(Debug, Default)]
pub(crate) struct Input {
    /// Bytes that are taken, and those after them.
    bytes: Vec<u8>,
    taken: usize,
}

/// Room for the next read.
const ROOM: usize = 64 * 1024;

impl Input {
    /// Where the next read goes: behind what is not yet taken.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.reserve(ROOM - self.bytes.len().min(ROOM / 2));
        &mut self.bytes
    }

    /// Bytes that are not yet taken.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    /// Takes bytes.
    pub(crate) fn take(&mut self, count: usize) {
        self.taken += count;
    }

    /// The next bytes; `None`, and nothing taken, until all are there.
    pub(crate) fn next<const N: usize>(&mut self) -> Option<[u8; N]> {
        let found = *self.rest().first_chunk()?;
        self.take(N);
        Some(found)
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.taken = 0;
    }
}

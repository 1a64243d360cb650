//! The seam between users and what takes their operations: a ring of the kernel, or a connection.

use std::io;
use std::task::Context;

use barograph_ring::{Completion, Ring};

/// Operations that are queued, submitted together and completed in any order. Each has a buffer of its own, whose index
/// names it.
pub(crate) trait Queue: 'static {
    /// Whether an operation uses this buffer.
    fn is_in_flight(&self, buffer: usize) -> bool;

    /// A buffer without an operation.
    fn buffer(&self, index: usize) -> &[u8];

    /// A buffer without an operation, to write to.
    fn buffer_mut(&mut self, index: usize) -> &mut [u8];

    /// Queues a read of `length` bytes.
    fn read(&mut self, buffer: usize, offset: u64, length: usize);

    /// Queues a write of `length` bytes.
    fn write(&mut self, buffer: usize, offset: u64, length: usize);

    /// Queues a wait until what was written is on the disk.
    fn sync(&mut self, buffer: usize);

    /// Whether a call of [`Queue::enter`] is due. Wakes the task at the next completion.
    fn poll_work(&mut self, cx: &mut Context<'_>) -> bool;

    /// Most operations that a call of [`Queue::enter`] submits.
    fn together(&self) -> usize;

    /// Submits what is queued, and takes completions.
    ///
    /// # Errors
    /// If the queue has ended for good.
    fn enter(&mut self) -> io::Result<()>;

    /// The next completion.
    fn completed(&mut self) -> Option<Completion>;

    /// Operations that need another call of [`Queue::enter`].
    fn queued(&self) -> usize;
}

impl Queue for Ring {
    fn is_in_flight(&self, buffer: usize) -> bool {
        self.is_in_flight(buffer)
    }

    fn buffer(&self, index: usize) -> &[u8] {
        self.buffer(index)
    }

    fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        self.buffer_mut(index)
    }

    fn read(&mut self, buffer: usize, offset: u64, length: usize) {
        self.read(buffer, offset, length);
    }

    fn write(&mut self, buffer: usize, offset: u64, length: usize) {
        self.write(buffer, offset, length);
    }

    fn sync(&mut self, buffer: usize) {
        self.sync(buffer);
    }

    fn poll_work(&mut self, cx: &mut Context<'_>) -> bool {
        // Every completion from here on wakes the task.
        let _ = self.poll_event(cx);
        self.has_work()
    }

    fn together(&self) -> usize {
        self.together()
    }

    fn enter(&mut self) -> io::Result<()> {
        self.enter()
    }

    fn completed(&mut self) -> Option<Completion> {
        self.completed()
    }

    fn queued(&self) -> usize {
        self.queued()
    }
}

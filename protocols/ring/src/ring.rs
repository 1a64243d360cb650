//! The ring: operations on one file, queued, submitted in one call, completed in any order.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::rc::Rc;
use std::task::{Context, Poll};

use barograph_reactor::{Descriptor, WaitGuard};
use io_uring::opcode;
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, FsyncFlags};
use rustix::event::EventfdFlags;

use crate::kernel::{Kernel, TOGETHER};
use crate::{Buffers, RingError};

/// Index of the file among those that are registered.
const FILE: Fixed = Fixed(0);

/// A ring with a file and buffers. The index of a buffer names the operation that uses it: one at a time.
pub struct Ring {
    // Dropped first: the thread then sleeps here no more, and the kernel begins no operation.
    reports: Reports,
    kernel: Rc<Kernel>,
    buffers: Buffers,
    _file: OwnedFd,
    /// Whether the buffer at an index has an operation.
    in_flight: Vec<bool>,
}

/// How a thread learns of completions.
enum Reports {
    /// Its event loop sleeps in the call of this ring.
    Sleeper { _guard: WaitGuard },
    /// The loop sleeps in another ring, and the kernel reports completions to a descriptor.
    Descriptor(Descriptor),
    /// There is no event loop.
    None,
}

/// The end of an operation.
#[derive(Debug)]
pub struct Completion {
    /// Index of its buffer.
    pub buffer: usize,
    /// Bytes that were read or written.
    pub result: io::Result<usize>,
}

impl Ring {
    /// A ring of this thread, which runs a reactor.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn new(file: OwnedFd, buffers: Buffers) -> Result<Self, RingError> {
        let mut ring = Self::registered(file, buffers)?;
        ring.reports = match WaitGuard::new(&ring.kernel) {
            Some(guard) => Reports::Sleeper { _guard: guard },
            None => Reports::Descriptor(events_of(&ring.kernel).map_err(|why| RingError::SetUp { why })?),
        };
        Ok(ring)
    }

    /// Makes a sleep in this ring last until this many operations have completed, or all that are in flight, and calls submit
    /// as many.
    pub fn set_batch(&mut self, operations: u32) {
        self.kernel.batch.set(operations);
        self.kernel.together.set(operations.max(TOGETHER));
    }

    /// Most operations that a call submits.
    #[must_use]
    pub fn together(&self) -> usize {
        self.kernel.together.get() as usize
    }

    /// Whether the kernel makes such a ring and takes the file and the buffers.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn is_possible(file: OwnedFd, buffers: Buffers) -> Result<(), RingError> {
        Self::registered(file, buffers).map(|_| ())
    }

    #[expect(unsafe_code, reason = "registering buffers promises that they stay mapped")]
    fn registered(file: OwnedFd, buffers: Buffers) -> Result<Self, RingError> {
        let kernel = Kernel::set_up(buffers.count()).map_err(|why| RingError::SetUp { why })?;
        let ring = kernel.ring.borrow();
        let submitter = ring.submitter();
        // SAFETY: the buffers are mapped until the ring is dropped, which is before them.
        unsafe { submitter.register_buffers(&buffers.vectors()) }
            .map_err(|why| RingError::RegisterBuffers { bytes: buffers.count() * buffers.bytes(), why })?;
        submitter
            .register_files(&[file.as_fd().as_raw_fd()])
            .map_err(|why| RingError::RegisterFile { why })?;
        drop(ring);
        let (kernel, in_flight) = (Rc::new(kernel), vec![false; buffers.count()]);
        Ok(Ring { reports: Reports::None, kernel, buffers, _file: file, in_flight })
    }

    /// Whether an operation uses this buffer.
    #[must_use]
    pub fn is_in_flight(&self, buffer: usize) -> bool {
        self.in_flight[buffer]
    }

    /// A buffer without an operation.
    ///
    /// # Panics
    /// When an operation uses it.
    #[must_use]
    pub fn buffer(&self, index: usize) -> &[u8] {
        self.assert_free(index);
        self.buffers.get(index)
    }

    /// A buffer without an operation, to write to.
    ///
    /// # Panics
    /// When an operation uses it.
    #[must_use]
    pub fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        self.assert_free(index);
        self.buffers.get_mut(index)
    }

    /// Queues a read of `length` bytes at an offset of the file.
    ///
    /// # Panics
    /// When an operation uses the buffer, or it is smaller.
    pub fn read(&mut self, buffer: usize, offset: u64, length: usize) {
        let (begin, length) = self.part(buffer, length);
        self.queue(buffer, opcode::ReadFixed::new(FILE, begin, length, buffer as u16).offset(offset).build());
    }

    /// Queues a write of the first `length` bytes of the buffer to an offset of the file.
    ///
    /// # Panics
    /// When an operation uses the buffer, or it is smaller.
    pub fn write(&mut self, buffer: usize, offset: u64, length: usize) {
        let (begin, length) = self.part(buffer, length);
        self.queue(
            buffer,
            opcode::WriteFixed::new(FILE, begin, length, buffer as u16).offset(offset).build(),
        );
    }

    /// Queues a wait until all writes that have completed are on the disk (fdatasync).
    ///
    /// # Panics
    /// When an operation uses the buffer.
    pub fn sync(&mut self, buffer: usize) {
        self.queue(buffer, opcode::Fsync::new(FILE).flags(FsyncFlags::DATASYNC).build());
    }

    /// Number of operations that wait to be submitted.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.kernel.queued()
    }

    /// Ready when something may have completed; otherwise it wakes the task then.
    pub fn poll_event(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.reports {
            Reports::Sleeper { .. } => self.kernel.poll_ended(cx),
            Reports::Descriptor(events) => events.poll_event(cx),
            Reports::None => Poll::Pending,
        }
    }

    /// Whether a call of [`Self::enter`] has something to do.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.kernel.has_work()
    }

    /// Submits what is queued, up to [`Self::together`], and takes what has completed, in one call. What the kernel has no room
    /// for stays queued.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn enter(&mut self) -> io::Result<()> {
        self.kernel.enter(0)
    }

    /// Takes the next operation that has ended.
    pub fn completed(&mut self) -> Option<Completion> {
        let (buffer, result) = self.kernel.completed()?;
        let buffer = buffer as usize;
        self.in_flight[buffer] = false;
        let result = match result {
            bytes @ 0.. => Ok(bytes as usize),
            errno => Err(io::Error::from_raw_os_error(-errno)),
        };
        Some(Completion { buffer, result })
    }

    fn assert_free(&self, buffer: usize) {
        assert!(!self.in_flight[buffer], "buffer {buffer} has an operation in flight");
    }

    /// Begin and length of a part of a buffer.
    fn part(&self, buffer: usize, length: usize) -> (*mut u8, u32) {
        assert!(length <= self.buffers.bytes(), "{length} of {} bytes", self.buffers.bytes());
        let length = u32::try_from(length).expect("operations are far below 4 GiB");
        (self.buffers.begin_of(buffer), length)
    }

    #[expect(unsafe_code, reason = "an entry promises that its memory stays valid until it has completed")]
    fn queue(&mut self, buffer: usize, entry: Entry) {
        self.assert_free(buffer);
        // SAFETY: memory of the entry, where it has any, lies within a registered buffer (`part`). No slice of that buffer
        // exists, since slices borrow `self`, and none is made until the operation has completed (`assert_free`). A ring
        // that is dropped before leaves the kernel its own hold on the pages (`Buffers::drop`).
        unsafe { self.kernel.queue(&entry.user_data(buffer as u64)) };
        self.in_flight[buffer] = true;
    }
}

/// A descriptor of the event loop that reports completions of a ring.
fn events_of(kernel: &Kernel) -> io::Result<Descriptor> {
    let events = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    kernel.ring.borrow().submitter().register_eventfd(events.as_raw_fd())?;
    Descriptor::new(events)
}

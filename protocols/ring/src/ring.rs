//! The ring: operations on one file, queued, submitted in one call, completed in any order.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::task::{Context, Poll};

use barograph_reactor::Descriptor;
use io_uring::squeue::Entry;
use io_uring::types::{Fixed, FsyncFlags};
use io_uring::{IoUring, opcode};
use rustix::event::EventfdFlags;
use rustix::io::Errno;

use crate::{Buffers, RingError};

/// Index of the file among those that are registered.
const FILE: Fixed = Fixed(0);

/// `IORING_ENTER_GETEVENTS`: the call takes completions, too.
const TAKE_COMPLETIONS: u32 = 1;

/// A ring with a file and buffers. The index of a buffer names the operation that uses it: one at a time.
pub struct Ring {
    // Dropped first: the kernel then begins no operation any more.
    ring: IoUring,
    buffers: Buffers,
    _file: OwnedFd,
    /// Whether the buffer at an index has an operation.
    in_flight: Vec<bool>,
    /// Operations that the kernel does not have yet.
    queued: u32,
    /// Told by the kernel when something has completed; `None` without an event loop.
    events: Option<Descriptor>,
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
        let failed = |why| RingError::SetUp { why };
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let events = rustix::event::eventfd(0, flags).map_err(|why| failed(why.into()))?;
        ring.ring.submitter().register_eventfd(events.as_raw_fd()).map_err(failed)?;
        ring.events = Some(Descriptor::new(events).map_err(failed)?);
        Ok(ring)
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
        let ring = set_up(buffers.count()).map_err(|why| RingError::SetUp { why })?;
        let submitter = ring.submitter();
        // SAFETY: the buffers are mapped until the ring is dropped, which is before them.
        unsafe { submitter.register_buffers(&buffers.vectors()) }
            .map_err(|why| RingError::RegisterBuffers { bytes: buffers.count() * buffers.bytes(), why })?;
        submitter
            .register_files(&[file.as_fd().as_raw_fd()])
            .map_err(|why| RingError::RegisterFile { why })?;
        let in_flight = vec![false; buffers.count()];
        Ok(Ring { ring, buffers, _file: file, in_flight, queued: 0, events: None })
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
        self.queued as usize
    }

    /// Ready once for each report of the kernel that something may have completed; otherwise it wakes the task then.
    pub fn poll_event(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.events {
            Some(events) => events.poll_event(cx),
            None => Poll::Pending,
        }
    }

    /// Whether a call of [`Self::enter`] has something to do.
    #[must_use]
    pub fn has_work(&mut self) -> bool {
        self.queued > 0 || self.ring.submission().taskrun()
    }

    /// Submits what is queued, and takes what has completed, in one call. What the kernel has no room for stays queued.
    ///
    /// # Errors
    /// What the kernel says.
    #[expect(unsafe_code, reason = "the call of the kernel")]
    pub fn enter(&mut self) -> io::Result<()> {
        // SAFETY: without an argument (`None`) the call reads the ring only, whose entries `queue` has checked.
        let entered =
            unsafe { self.ring.submitter().enter::<libc::sigset_t>(self.queued, 0, TAKE_COMPLETIONS, None) };
        match entered {
            Ok(submitted) => self.queued -= (submitted as u32).min(self.queued),
            Err(why) => match Errno::from_io_error(&why) {
                Some(Errno::INTR | Errno::AGAIN | Errno::BUSY) => {}
                _ => return Err(why),
            },
        }
        Ok(())
    }

    /// Takes the next operation that has ended.
    pub fn completed(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let buffer = entry.user_data() as usize;
        self.in_flight[buffer] = false;
        let result = match entry.result() {
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
        let entry = entry.user_data(buffer as u64);
        // SAFETY: memory of the entry, where it has any, lies within a registered buffer (`part`). No slice of that buffer
        // exists, since slices borrow `self`, and none is made until the operation has completed (`assert_free`). A ring
        // that is dropped before leaves the kernel its own hold on the pages (`Buffers::drop`).
        let pushed = unsafe { self.ring.submission().push(&entry) };
        pushed.expect("a ring has an entry for each buffer, and a buffer has one operation");
        self.in_flight[buffer] = true;
        self.queued += 1;
    }
}

/// A ring for this number of operations at once.
fn set_up(operations: usize) -> io::Result<IoUring> {
    let entries = u32::try_from(operations).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut builder = IoUring::builder();
    builder.setup_submit_all().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    match builder.build(entries) {
        // Before Linux 6.1. Completions then come without being asked for.
        Err(why) if Errno::from_io_error(&why) == Some(Errno::INVAL) => IoUring::builder().build(entries),
        built => built,
    }
}

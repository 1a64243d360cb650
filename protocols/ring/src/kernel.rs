//! The kernel's end of a ring: the call that submits and completes, in which the thread also sleeps.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::task::{Context, Poll, Waker};

use barograph_reactor::{OtherWait, Sleep};
use io_uring::squeue::Entry;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use rustix::io::Errno;

/// `IORING_ENTER_GETEVENTS`: the call takes completions, too.
const TAKE_COMPLETIONS: u32 = 1;

/// Operations of a call without a batch. The kernel tells the disk of all operations of a call at once: with more of them the
/// disk stands idle meanwhile, with fewer each costs more processor time.
pub(crate) const TOGETHER: u32 = 3;

/// Id of the poll of the event loop's descriptors, which is not the index of a buffer.
const LOOP: u64 = u64::MAX;

/// Id and result of an entry.
pub(crate) type EntryResult = (u64, i32);

/// A ring with its completions that were not taken.
pub(crate) struct Kernel {
    pub(crate) ring: RefCell<IoUring>,
    ended: RefCell<VecDeque<EntryResult>>,
    /// Operations that were queued and have not ended.
    open: Cell<u32>,
    /// Completions for which a sleep waits, if as many operations are open.
    pub(crate) batch: Cell<u32>,
    /// Most entries of a call.
    pub(crate) together: Cell<u32>,
    /// The task that takes them.
    waker: RefCell<Option<Waker>>,
    /// Whether the ring polls the descriptors of the event loop.
    is_polling_loop: Cell<bool>,
    /// Whether that poll has ended since the last wait.
    loop_has_events: Cell<bool>,
}

impl Kernel {
    /// A ring for this number of operations at once.
    pub(crate) fn set_up(operations: usize) -> io::Result<Self> {
        // One more for the poll of the event loop.
        let entries = operations.checked_add(1).and_then(|entries| u32::try_from(entries).ok());
        let entries = entries.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut builder = IoUring::builder();
        builder.setup_submit_all().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
        let built = match builder.build(entries) {
            // Before Linux 6.1. Completions then come without being asked for.
            Err(why) if Errno::from_io_error(&why) == Some(Errno::INVAL) => IoUring::builder().build(entries),
            built => built,
        };
        Ok(Kernel {
            ring: RefCell::new(built?),
            ended: RefCell::new(VecDeque::with_capacity(operations)),
            open: Cell::new(0),
            batch: Cell::new(1),
            together: Cell::new(TOGETHER),
            waker: RefCell::default(),
            is_polling_loop: Cell::new(false),
            loop_has_events: Cell::new(false),
        })
    }

    /// Adds an operation to those that the next call submits.
    ///
    /// # Safety
    /// That of [`Kernel::push`].
    #[expect(unsafe_code, reason = "an entry is a promise to the kernel")]
    pub(crate) unsafe fn queue(&self, entry: &Entry) {
        self.open.set(self.open.get() + 1);
        // SAFETY: the caller's.
        unsafe { self.push(entry) };
    }

    /// Adds an entry to those that the next call submits.
    ///
    /// # Safety
    /// What the entry points to stays valid until it has completed.
    #[expect(unsafe_code, reason = "an entry is a promise to the kernel")]
    unsafe fn push(&self, entry: &Entry) {
        // SAFETY: the caller's.
        let pushed = unsafe { self.ring.borrow_mut().submission().push(entry) };
        pushed.expect("a ring has an entry for each buffer and the loop, and each has one operation");
    }

    /// Number of entries that the kernel does not have yet.
    pub(crate) fn queued(&self) -> usize {
        self.ring.borrow_mut().submission().len()
    }

    /// Whether a call would submit something, or bring completions while there are none.
    pub(crate) fn has_work(&self) -> bool {
        let mut ring = self.ring.borrow_mut();
        let submission = ring.submission();
        !submission.is_empty() || (self.ended.borrow().is_empty() && submission.taskrun())
    }

    /// Submits what is queued, as far as a call goes, and takes completions, in one call that waits for `least` of them.
    #[expect(unsafe_code, reason = "the call of the kernel")]
    pub(crate) fn enter(&self, least: u32) -> io::Result<()> {
        let mut ring = self.ring.borrow_mut();
        let queued = (ring.submission().len() as u32).min(self.together.get());
        // SAFETY: without an argument (`None`) the call reads the ring only, whose entries were checked as they were pushed.
        let entered =
            unsafe { ring.submitter().enter::<libc::sigset_t>(queued, least, TAKE_COMPLETIONS, None) };
        self.take(&mut ring);
        match entered.map_err(|why| (Errno::from_io_error(&why), why)) {
            Ok(_) | Err((Some(Errno::INTR | Errno::AGAIN | Errno::BUSY), _)) => Ok(()),
            Err((_, why)) => Err(why),
        }
    }

    /// The next completion.
    pub(crate) fn completed(&self) -> Option<EntryResult> {
        if self.ended.borrow().is_empty() {
            self.take(&mut self.ring.borrow_mut());
        }
        self.ended.borrow_mut().pop_front()
    }

    /// Ready while there are completions; otherwise wakes the task when the thread has slept in this ring.
    pub(crate) fn poll_ended(&self, cx: &Context<'_>) -> Poll<()> {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        if self.ended.borrow().is_empty() { Poll::Pending } else { Poll::Ready(()) }
    }

    fn take(&self, ring: &mut IoUring) {
        let mut ended = self.ended.borrow_mut();
        for entry in ring.completion() {
            if entry.user_data() == LOOP {
                self.is_polling_loop.set(false);
                self.loop_has_events.set(true);
            } else {
                ended.push_back((entry.user_data(), entry.result()));
                self.open.set(self.open.get() - 1);
            }
        }
    }
}

impl OtherWait for Kernel {
    #[expect(unsafe_code, reason = "a poll is an entry")]
    fn wait(&self, descriptors: BorrowedFd<'_>, sleep: Sleep) -> io::Result<bool> {
        let before = self.ended.borrow().len();
        if sleep == Sleep::No {
            if self.has_work() {
                self.enter(0)?;
            }
        } else if !self.loop_has_events.get() {
            if !self.is_polling_loop.replace(true) {
                let poll = opcode::PollAdd::new(Fd(descriptors.as_raw_fd()), libc::POLLIN as u32);
                // SAFETY: it points to no memory.
                unsafe { self.push(&poll.build().user_data(LOOP)) };
            }
            self.enter(self.batch.get().min(self.open.get()).max(1))?;
        }
        if self.ended.borrow().len() > before
            && let Some(waker) = self.waker.borrow().as_ref()
        {
            waker.wake_by_ref();
        }
        Ok(self.loop_has_events.take())
    }
}

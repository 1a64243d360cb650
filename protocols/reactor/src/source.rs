//! Readiness of all sockets of a thread.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, Waker};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use slab::Slab;

/// Events taken from the kernel in one call.
const EVENTS: usize = 512;

/// A direction of data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// One socket's readiness. Edge-triggered: the kernel announces a change once, and this remembers it until a
/// call finds nothing more to do.
#[derive(Default)]
struct Source {
    generation: u32,
    readable: bool,
    writable: bool,
    /// Whether the peer has closed, or the connection broke: reads never have to wait again.
    ended: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// Id of a source for the lifetime of its socket.
#[derive(Clone, Copy)]
pub(crate) struct Token(u32);

/// Whether the thread may sleep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sleep {
    /// It looks for events only.
    No,
    /// It sleeps until there is an event.
    UntilSomethingHappens,
}

/// Id of the timer among the sources.
const TIMER: u64 = u64::MAX;

pub(crate) struct Sources {
    epoll: OwnedFd,
    /// Armed once per wanted instant. A timeout of the wait itself would be armed and cancelled around every
    /// answer, which in a virtual machine costs a fifth of a request (docs/decisions/0004).
    timer: OwnedFd,
    armed_for: Cell<Option<u64>>,
    all: RefCell<Slab<Source>>,
    events: RefCell<Vec<Event>>,
    generation: Cell<u32>,
}

impl Sources {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // Edge-triggered, it announces each expiry without ever being read.
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Sources {
            epoll,
            timer,
            armed_for: Cell::new(None),
            all: RefCell::default(),
            events: RefCell::new(Vec::with_capacity(EVENTS)),
            generation: Cell::new(0),
        })
    }

    /// Starts watching a socket. It may be used at once: a call with nothing to do reports that.
    pub(crate) fn watch(&self, fd: impl AsFd) -> io::Result<Token> {
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        let index = {
            let source = Source { generation, ..Source::default() };
            self.all.borrow_mut().insert(source) as u32
        };
        let data = EventData::new_u64(u64::from(generation) << 32 | u64::from(index));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match epoll::add(&self.epoll, fd, data, flags) {
            Ok(()) => Ok(Token(index)),
            Err(why) => {
                self.all.borrow_mut().remove(index as usize);
                Err(why.into())
            }
        }
    }

    /// Forgets a socket; the kernel does so when it is closed.
    pub(crate) fn forget(&self, token: Token) {
        self.all.borrow_mut().remove(token.0 as usize);
    }

    fn with<T>(&self, token: Token, f: impl FnOnce(&mut Source) -> T) -> T {
        f(&mut self.all.borrow_mut()[token.0 as usize])
    }

    pub(crate) fn is_ready(&self, token: Token, way: Direction) -> bool {
        self.with(token, |s| match way {
            Direction::In => s.readable || s.ended,
            Direction::Out => s.writable,
        })
    }

    /// Records that a call found nothing more to do: wait for the kernel's next event.
    pub(crate) fn exhausted(&self, token: Token, way: Direction) {
        self.with(token, |s| match way {
            Direction::In => s.readable = false,
            Direction::Out => s.writable = false,
        });
    }

    /// Whether the peer has closed, or the connection broken, according to the kernel's events so far.
    pub(crate) fn has_ended(&self, token: Token) -> bool {
        self.with(token, |s| s.ended)
    }

    /// Ready when a call may find something to do; otherwise wakes the task then.
    pub(crate) fn poll_ready(&self, token: Token, way: Direction, cx: &Context<'_>) -> Poll<()> {
        if self.is_ready(token, way) {
            return Poll::Ready(());
        }
        self.with(token, |s| {
            let waker = if way == Direction::In { &mut s.reader } else { &mut s.writer };
            if !waker.as_ref().is_some_and(|w| w.will_wake(cx.waker())) {
                *waker = Some(cx.waker().clone());
            }
        });
        Poll::Pending
    }

    /// Limits the next sleep to `due`. An earlier instant set before may end it too.
    pub(crate) fn wake_at(&self, due: u64, now: impl FnOnce() -> u64) -> io::Result<()> {
        if self.armed_for.get().is_some_and(|armed| armed <= due) {
            return Ok(());
        }
        self.armed_for.set(Some(due));
        // At least one nanosecond: zero would disarm the timer.
        let span = due.saturating_sub(now()).max(1);
        let it_value =
            Timespec { tv_sec: (span / 1_000_000_000) as i64, tv_nsec: (span % 1_000_000_000) as _ };
        let spec = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }

    /// A descriptor that can be read while there are events.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Polls the kernel's events and wakes the tasks concerned; returns the number of events.
    pub(crate) fn wait(&self, sleep: Sleep) -> io::Result<usize> {
        let mut events = self.events.borrow_mut();
        events.clear();
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let at_most = (sleep == Sleep::No).then_some(&at_once);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), at_most) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
        let mut all = self.all.borrow_mut();
        for event in events.iter() {
            let (data, flags) = (event.data.u64(), event.flags);
            if data == TIMER {
                self.armed_for.set(None);
                continue;
            }
            let source = all.get_mut((data & u64::from(u32::MAX)) as usize);
            if let Some(source) = source.filter(|s| u64::from(s.generation) == data >> 32) {
                happened(source, flags);
            }
        }
        Ok(events.len())
    }
}

fn happened(source: &mut Source, flags: EventFlags) {
    let broken = flags.intersects(EventFlags::HUP | EventFlags::ERR);
    // A peer that has only closed its own direction may still be written to, when there is room.
    let ended = broken || flags.contains(EventFlags::RDHUP);
    source.ended |= ended;
    if ended || flags.contains(EventFlags::IN) {
        source.readable = true;
        if let Some(waker) = &source.reader {
            waker.wake_by_ref();
        }
    }
    if broken || flags.contains(EventFlags::OUT) {
        source.writable = true;
        // Writers rarely wait for room, and not again soon.
        if let Some(waker) = source.writer.take() {
            waker.wake();
        }
    }
}

//! The loop of the timed server: one thread over readiness, with a nanosecond timer.
//!
//! A runtime's timers round to a millisecond, which would be many percent of the delays that tests compare
//! with.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use slab::Slab;

use super::Timing;
use super::link::{Link, RequestTraits};
use super::log::{AnswerTimes, Log};

/// Number of the listener among the sources of events.
const LISTENER: u64 = u64::MAX;
/// Number of the request to stop among the sources of events.
const STOP: u64 = u64::MAX - 1;

/// Most events taken at once: few enough that an answer due meanwhile is late by microseconds only.
const BATCH: usize = 64;

/// Most connections accepted at once, for the same reason.
const ACCEPTS: usize = 32;

/// Time before an answer is due from which on the thread polls the clock instead of sleeping: about the
/// duration of a wake-up on a virtual machine. It costs a core up to this span per answer, acceptable for a
/// test target.
const AWAKE: Duration = Duration::from_micros(60);

/// An answer due at a time, since the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DueAnswer {
    at: Duration,
    n: u64,
    arrived: Duration,
    slot: usize,
}

pub(super) struct Loop {
    pub(super) listener: TcpListener,
    /// Readable when the server is to stop.
    pub(super) stop: OwnedFd,
    pub(super) timing: Timing,
    pub(super) origin: Instant,
    pub(super) log: Arc<Log>,
}

/// A loop with its connections.
struct LoopState {
    setup: Loop,
    epoll: OwnedFd,
    links: Slab<Link>,
    due: BinaryHeap<Reverse<DueAnswer>>,
    head: Vec<u8>,
    whole: Vec<u8>,
}

impl Loop {
    /// Serves until it is stopped.
    pub(super) fn run(self) -> io::Result<()> {
        // Otherwise the kernel delays wake-ups by up to 50 microseconds.
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &self.listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &self.stop, EventData::new_u64(STOP), EventFlags::IN)?;
        let body = &self.timing.body;
        let head = format!("HTTP/1.1 200 Known\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        let whole = [&head[..], body].concat();
        LoopState { setup: self, epoll, links: Slab::new(), due: BinaryHeap::new(), head, whole }.run()
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }
}

impl LoopState {
    fn run(&mut self) -> io::Result<()> {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; BATCH];
        loop {
            self.answer_due()?;
            let wait = self.due.peek().map(|Reverse(due)| due.at.saturating_sub(self.setup.now() + AWAKE));
            let wait = wait.map(timespec);
            let count = match epoll::wait(&self.epoll, &mut events, wait.as_ref()) {
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            // Requests readable now have arrived by now, even if their turn comes later.
            let arrived = self.setup.now();
            for event in &events[..count] {
                match event.data.u64() {
                    STOP => return Ok(()),
                    LISTENER => self.accept()?,
                    slot => self.turn(slot as usize, event.flags, arrived)?,
                }
            }
        }
    }

    fn accept(&mut self) -> io::Result<()> {
        for _ in 0..ACCEPTS {
            let stream = match self.setup.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // The client disconnected before it was accepted.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(error) => return Err(error),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let entry = self.links.vacant_entry();
            epoll::add(&self.epoll, &stream, EventData::new_u64(entry.key() as u64), EventFlags::IN)?;
            entry.insert(Link::new(stream));
            self.setup.log.connections.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Handles a connection with input, room to write, or an end.
    fn turn(&mut self, slot: usize, flags: EventFlags, arrived: Duration) -> io::Result<()> {
        // An earlier event of this batch may have ended it.
        let Some(link) = self.links.get_mut(slot) else { return Ok(()) };
        if flags.contains(EventFlags::OUT) {
            match link.flush() {
                Ok(true) if !link.closing => self.interest(slot, EventFlags::IN)?,
                Ok(false) => return Ok(()),
                Ok(true) | Err(_) => {
                    self.links.remove(slot);
                    return Ok(());
                }
            }
        }
        let Some(link) = self.links.get_mut(slot) else { return Ok(()) };
        if link.read().is_err() {
            self.links.remove(slot);
            return Ok(());
        }
        self.take_request(slot, arrived);
        Ok(())
    }

    /// Takes the next request of a connection, if it is complete, and records its due time.
    fn take_request(&mut self, slot: usize, arrived: Duration) {
        let Some(link) = self.links.get_mut(slot) else { return };
        match link.next() {
            Ok(Some(asked)) => {
                let n = self.setup.log.arrived.fetch_add(1, Ordering::SeqCst);
                link.waiting = Some((n, asked));
                let at = self.setup.timing.due(n, arrived);
                self.due.push(Reverse(DueAnswer { at, n, arrived, slot }));
            }
            Ok(None) => {}
            Err(_) => {
                self.links.remove(slot);
            }
        }
    }

    fn answer_due(&mut self) -> io::Result<()> {
        // The clock is read before each, so that a long burst is timed truly.
        while let Some(due) = self.due.peek().map(|Reverse(due)| *due) {
            if due.at > self.setup.now() {
                break;
            }
            self.due.pop();
            self.answer(due)?;
        }
        Ok(())
    }

    fn answer(&mut self, due: DueAnswer) -> io::Result<()> {
        // The client may have gone and its slot been reused.
        let Some(link) = self.links.get_mut(due.slot) else { return Ok(()) };
        let Some((_, asked)) = link.waiting.take_if(|(n, _)| *n == due.n) else { return Ok(()) };
        let RequestTraits { without_body, then_close } = asked;
        link.closing = then_close;
        let mut list = self.setup.log.list();
        let sent = link.answer(if without_body { &self.head } else { &self.whole });
        let given = AnswerTimes { n: due.n, arrived: due.arrived, due: due.at, sent: self.setup.now() };
        if sent.is_ok() {
            list.add(given);
        }
        drop(list);
        match sent {
            Ok(taken) => {
                if !taken {
                    return self.interest(due.slot, EventFlags::OUT);
                }
                if then_close {
                    self.links.remove(due.slot);
                } else {
                    self.take_request(due.slot, given.sent);
                }
            }
            Err(_) => {
                self.links.remove(due.slot);
            }
        }
        Ok(())
    }

    fn interest(&self, slot: usize, flags: EventFlags) -> io::Result<()> {
        epoll::modify(&self.epoll, &self.links[slot].stream, EventData::new_u64(slot as u64), flags)?;
        Ok(())
    }
}

fn timespec(wait: Duration) -> Timespec {
    Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() }
}

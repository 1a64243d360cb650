//! One connection of the driver: how far its messages are sent and received, and its close.

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use barograph_reactor::Socket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{RecvFlags, Shutdown, recv, shutdown, sockopt};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::worker::Worker;
use crate::ledger::Close;
use crate::patience::Patience;
use crate::pattern::Pattern;
use crate::wire::GREETING;

/// Longest wait for the next bytes of a stream that was told to end.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Longest wait for the end of such a stream. Through tiny buffers the message under way may take minutes.
const LONGEST_DRAIN: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Most bytes of such a stream: more than the buffers of both ends hold.
const MOST_DRAINED: u64 = 1 << 30;

/// Reason why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// The target closed it.
    Closed,
    /// The target reset it.
    Reset,
    /// The target's host takes no datagrams at the port.
    Refused,
    /// The system reported another error.
    Other,
    /// Other bytes arrived than were sent.
    Wrong,
    /// Bytes arrived that no request asked for.
    Unasked,
}

/// An open connection.
pub(super) struct Connection {
    socket: Socket,
    worker: Rc<Worker>,
    /// Bytes of the greeting that were sent.
    greeted: usize,
    /// Bytes of messages that were sent.
    sent: u64,
    /// Place in the stream at which the message in progress ends.
    sent_to: u64,
    /// Bytes that were received.
    received: u64,
    /// Place at which the expected message ends.
    received_to: u64,
    /// That of a stream of the target.
    patience: Option<Patience>,
    close: Option<Close>,
}

impl Connection {
    pub(super) fn new(socket: Socket, worker: &Rc<Worker>) -> Self {
        let (greeted, sent, sent_to, received, received_to) = (0, 0, 0, 0, 0);
        let settings = &worker.load.settings;
        // A sender on this thread is not to wait while the receiver looks.
        let patience = (settings.pattern == Pattern::From).then(|| Patience::new(settings.receive_buffer));
        let worker = Rc::clone(worker);
        worker.open.set(worker.open.get() + 1);
        Connection { socket, worker, greeted, sent, sent_to, received, received_to, patience, close: None }
    }

    /// Begins a message of this many bytes.
    pub(super) fn send(&mut self, bytes: u32) {
        self.sent_to += u64::from(bytes);
    }

    /// Expects a message of this many bytes.
    pub(super) fn expect(&mut self, bytes: u32) {
        self.received_to += u64::from(bytes);
    }

    /// Whether the greeting is sent.
    pub(super) fn is_greeted(&self) -> bool {
        self.greeted == GREETING
    }

    /// Sends what can be sent; ready when the message is sent.
    pub(super) fn poll_send(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        let load = &self.worker.load;
        while self.greeted < GREETING || self.sent < self.sent_to {
            let left = (self.sent_to - self.sent) as usize;
            let bytes = match self.greeted {
                GREETING if load.settings.verifies => load.content.at(self.sent, left),
                GREETING => load.content.at(0, left),
                greeted => load.first(greeted, left),
            };
            match self.socket.try_write(bytes) {
                Ok(written) => {
                    if self.greeted == 0 && written > 0 {
                        load.ledger.open();
                    }
                    let is_full = written < bytes.len();
                    let of_greeting = written.min(GREETING - self.greeted);
                    self.greeted += of_greeting;
                    self.sent += (written - of_greeting) as u64;
                    if is_full && self.socket.poll_writable(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if self.socket.poll_writable(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(why) => return Poll::Ready(Err(Break::of(&why))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Receives what is there; ready when the expected message has come.
    pub(super) fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<Result<(), Break>> {
        let settings = &self.worker.load.settings;
        let mut buffer = self.worker.buffer.borrow_mut();
        while self.received < self.received_to {
            // Others of the thread are not to wait while one looks.
            let patience = self.patience.as_mut().filter(|_| self.worker.open.get() == 1);
            match read((&self.socket, patience), settings.discards, &mut buffer) {
                Ok(0) => return Poll::Ready(Err(Break::Closed)),
                Ok(bytes) => {
                    let content = &self.worker.load.content;
                    if settings.verifies && !content.is_right(self.received, &buffer[..bytes]) {
                        return Poll::Ready(Err(Break::Wrong));
                    }
                    self.received += bytes as u64;
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    if self.socket.poll_readable(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
                Err(why) => return Poll::Ready(Err(Break::of(&why))),
            }
        }
        let is_more = self.received > self.received_to && !settings.pattern.is_stream();
        Poll::Ready(if is_more { Err(Break::Unasked) } else { Ok(()) })
    }

    /// Ends the connection by a reset, which the target counts as broken.
    pub(super) fn break_off(mut self, why: Option<Break>) {
        self.close = Some(if why == Some(Break::Wrong) { Close::Wrong } else { Close::Broken });
    }

    /// Ends a connection in order: everything sent on it counts at both ends. A stream of the target is received up to
    /// its end.
    fn close_in_order(&mut self) -> Close {
        let is_answered = self.sent == self.sent_to && self.received >= self.received_to;
        let is_quiet = if self.worker.load.settings.pattern.target_streams() {
            !self.worker.has_given_up.get() && shutdown(&self.socket, Shutdown::Write).is_ok() && self.drain()
        } else {
            // A message to the target may end anywhere, a request may not.
            is_answered || self.worker.load.settings.pattern.is_stream()
        };
        if is_quiet { Close::InOrder { sent: self.sent, received: self.received } } else { Close::Broken }
    }

    /// Receives up to the end of the stream; false if the end does not come. The load is over, so it may block.
    fn drain(&mut self) -> bool {
        let Ok(timer) = timer(LONGEST_DRAIN) else { return false };
        let limit = self.received.saturating_add(MOST_DRAINED);
        let mut buffer = self.worker.buffer.borrow_mut();
        while self.received < limit {
            match retry_on_intr(|| recv(&self.socket, &mut buffer[..], RecvFlags::empty())) {
                Ok((_, 0)) => return true,
                Ok((_, bytes)) => self.received += bytes as u64,
                Err(Errno::AGAIN) => {
                    let mut both =
                        [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&timer, PollFlags::IN)];
                    let is_silent = !matches!(retry_on_intr(|| poll(&mut both, Some(&PATIENCE))), Ok(1..));
                    if is_silent || !both[1].revents().is_empty() {
                        break;
                    }
                }
                Err(_) => return false,
            }
        }
        self.worker.has_given_up.set(true);
        false
    }
}

/// A descriptor that is readable after this time.
fn timer(after: Timespec) -> rustix::io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: after };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(timer)
}

/// Reads or discards what is there, and looks for more with patience if there is nothing.
fn read(
    (socket, patience): (&Socket, Option<&mut Patience>),
    discards: bool,
    room: &mut [u8],
) -> io::Result<usize> {
    let read = if discards { socket.try_discard(room) } else { socket.try_read_slice(room) };
    let Some(patience) = patience else { return read };
    match read {
        Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
            // Past the loop, which knows of no event yet. That of bytes found here comes later and finds nothing.
            let flags = if discards { RecvFlags::TRUNC } else { RecvFlags::empty() };
            let look = || retry_on_intr(|| recv(socket, &mut *room, flags)).map(|(_, bytes)| bytes);
            Ok(patience.look(socket, look)?)
        }
        read => read,
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.worker.open.set(self.worker.open.get() - 1);
        if self.greeted == 0 {
            return;
        }
        let close = match self.close {
            Some(close) => close,
            None => self.close_in_order(),
        };
        if !matches!(close, Close::InOrder { .. }) {
            let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
        }
        self.worker.load.ledger.close(close);
    }
}

impl Break {
    pub(super) fn of(why: &io::Error) -> Self {
        match why.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Break::Reset,
            io::ErrorKind::ConnectionRefused => Break::Refused,
            _ => Break::Other,
        }
    }

    /// In words.
    pub(super) fn words(self) -> &'static str {
        match self {
            Break::Closed => "the target closed the connection",
            Break::Reset => "the target reset the connection",
            Break::Refused => "the target takes no datagrams",
            Break::Other => "the connection broke",
            Break::Wrong => "bytes that were not sent",
            Break::Unasked => "more bytes than the answer has",
        }
    }
}

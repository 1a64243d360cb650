//! One connection, and the commands on their way over it.
//!
//! Several users may share a line: each has one command in flight, and together they are the window of a pipeline. A task
//! of the line writes what they submitted and reads the replies, which come in the order of the commands. When replies have
//! come it lets the users of all of them go on before it writes again, so that their next commands leave in one piece.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use barograph_model::Outcome;
use barograph_net::Stream;
use barograph_resp::{Read, Reply, reply};
use tokio::io::AsyncWrite;

use crate::judge::{End, Sent};
use crate::worker::Worker;

/// Room for the first read of a reply.
const READ_ROOM: usize = 16 * 1024;

/// Reads in a row before other tasks go on.
const READS_IN_A_ROW: usize = 8;

/// Commands that may wait for their replies beside those of the window: their users gave up.
const MOST_ABANDONED: usize = 64;

/// The end of a line that its users gave up.
const CLOSED: End = End::failed(Outcome::Broken, "the connection was given up");

/// Where the end of a user's command is left.
#[derive(Default)]
pub(crate) struct Seat {
    /// Which of its commands is in flight. A reply to an earlier one finds another number.
    number: Cell<u64>,
    end: RefCell<Option<End>>,
    waker: RefCell<Option<Waker>>,
    /// The command in flight, or the last one.
    pub(crate) sent: RefCell<Sent>,
}

impl Seat {
    fn finish(&self, number: u64, end: End) {
        if self.number.get() == number {
            *self.end.borrow_mut() = Some(end);
            if let Some(waker) = &*self.waker.borrow() {
                waker.wake_by_ref();
            }
        }
    }

    fn poll_end(&self, cx: &Context<'_>) -> Poll<End> {
        if let Some(end) = self.end.borrow_mut().take() {
            return Poll::Ready(end);
        }
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// A command whose reply has not come.
struct Pending {
    seat: Rc<Seat>,
    number: u64,
}

/// A connection that is made, open or ended.
pub(crate) struct Line {
    inner: RefCell<Inner>,
    pump: RefCell<Option<Waker>>,
    ended: Cell<bool>,
    /// Commands in flight at most, one for each user.
    window: usize,
}

#[derive(Default)]
struct Inner {
    /// Nothing until the connection is made.
    stream: Option<Stream>,
    out: Vec<u8>,
    /// Bytes of `out` that were written.
    written: usize,
    /// The beginning of a reply.
    rest: Vec<u8>,
    pending: VecDeque<Pending>,
    /// Replies to the greeting that have not come.
    greeting: usize,
}

impl Line {
    /// A line for `window` users to store `store`; its task runs on the worker's loop.
    pub(crate) fn open(worker: &Rc<Worker>, store: usize, number: u32) -> Rc<Line> {
        let window = worker.program.window();
        let inner = RefCell::default();
        let line = Rc::new(Line { inner, pump: RefCell::default(), ended: Cell::new(false), window });
        let (worker, of_task) = (Rc::clone(worker), Rc::clone(&line));
        barograph_reactor::spawn(async move {
            let end = of_task.run(&worker, store, number).await;
            of_task.give_up(&end);
        });
        line
    }

    /// Whether commands can be submitted.
    pub(crate) fn is_usable(&self) -> bool {
        !self.ended.get()
    }

    /// Ends the line.
    pub(crate) fn close(&self) {
        self.ended.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(pump) = &*self.pump.borrow() {
            pump.wake_by_ref();
        }
    }

    /// Submits the command that `write` appends, and waits for its end. Dropped before, its reply is read and forgotten.
    pub(crate) async fn command(&self, seat: &Rc<Seat>, write: impl FnOnce(&mut Vec<u8>)) -> End {
        let number = seat.number.get() + 1;
        seat.number.set(number);
        *seat.end.borrow_mut() = None;
        if !self.submit(Pending { seat: Rc::clone(seat), number }, write) {
            return End::failed(Outcome::Broken, "more replies are missing than the connection may wait for");
        }
        let abandon = Abandon { line: self, seat };
        let end = poll_fn(|cx| seat.poll_end(cx)).await;
        std::mem::forget(abandon);
        end
    }

    fn submit(&self, pending: Pending, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut inner = self.inner.borrow_mut();
        if inner.pending.len() >= self.window + MOST_ABANDONED {
            drop(inner);
            self.close();
            return false;
        }
        let was_empty = inner.out.is_empty();
        write(&mut inner.out);
        inner.pending.push_back(pending);
        if self.window == 1 && was_empty && inner.greeting == 0 && inner.write_now() {
            return true;
        }
        drop(inner);
        if was_empty {
            self.wake();
        }
        true
    }

    async fn run(&self, worker: &Worker, store: usize, number: u32) -> End {
        let mut connecting = pin!(worker.connect(store, number));
        let connected = poll_fn(|cx| {
            self.remember(cx);
            if self.ended.get() { Poll::Ready(None) } else { connecting.as_mut().poll(cx).map(Some) }
        });
        let stream = match connected.await {
            Some(Ok(stream)) => stream,
            Some(Err(fault)) => {
                let seen = barograph_model::words::in_one_line(&fault).into_bytes();
                return End { seen, ..End::failed(fault.outcome(), "the connection could not be made") };
            }
            None => return CLOSED,
        };
        {
            let inner = &mut *self.inner.borrow_mut();
            let mut greeting = Vec::new();
            inner.greeting = worker.program.greet(&mut greeting);
            greeting.append(&mut inner.out);
            inner.out = greeting;
            inner.stream = Some(stream);
        }
        poll_fn(|cx| self.poll(cx, worker)).await
    }

    /// Writes and reads until the line ends.
    fn poll(&self, cx: &mut Context<'_>, worker: &Worker) -> Poll<End> {
        if self.ended.get() {
            return Poll::Ready(CLOSED);
        }
        self.remember(cx);
        let inner = &mut *self.inner.borrow_mut();
        if let Poll::Ready(Err(why)) = inner.poll_write(cx) {
            return Poll::Ready(End::failed(Outcome::Broken, words(&why)));
        }
        let mut answered = false;
        for _ in 0..READS_IN_A_ROW {
            match inner.poll_read(cx, worker) {
                Poll::Pending if answered => break,
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => answered = true,
                Poll::Ready(Err(end)) => return Poll::Ready(end),
            }
        }
        // After the users of what has come.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn remember(&self, cx: &Context<'_>) {
        let mut pump = self.pump.borrow_mut();
        if !pump.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *pump = Some(cx.waker().clone());
        }
    }

    /// Ends every command in flight.
    fn give_up(&self, end: &End) {
        self.ended.set(true);
        let mut inner = self.inner.borrow_mut();
        inner.stream = None;
        for Pending { seat, number } in std::mem::take(&mut inner.pending) {
            seat.finish(number, end.clone());
        }
    }
}

/// Forgets the command of a user that is dropped while it waits.
struct Abandon<'l> {
    line: &'l Line,
    seat: &'l Rc<Seat>,
}

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.seat.number.set(self.seat.number.get() + 1);
        // A connection that was not made in this time is tried again.
        let is_made = self.line.inner.try_borrow().map_or(true, |inner| inner.stream.is_some());
        if !is_made {
            self.line.close();
        }
    }
}

impl Inner {
    /// Writes at once what a single user submitted; false when something is left.
    fn write_now(&mut self) -> bool {
        matches!(self.poll_write(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        let Some(stream) = &mut self.stream else { return Poll::Pending };
        while self.written < self.out.len() {
            match ready!(Pin::new(&mut *stream).poll_write(cx, &self.out[self.written..])) {
                Ok(0) => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                Ok(n) => self.written += n,
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
        self.out.clear();
        self.written = 0;
        Pin::new(stream).poll_flush(cx)
    }

    /// Reads once; ready when replies may have come.
    fn poll_read(&mut self, cx: &mut Context<'_>, worker: &Worker) -> Poll<Result<(), End>> {
        let Some(stream) = &mut self.stream else { return Poll::Pending };
        let mut buffer = match self.rest.is_empty() {
            true => worker.take_buffer(),
            false => std::mem::take(&mut self.rest),
        };
        if buffer.capacity() - buffer.len() < READ_ROOM / 4 {
            buffer.reserve(READ_ROOM.max(buffer.len()));
        }
        let read = stream.poll_read_into(cx, &mut buffer);
        let end = match read {
            Poll::Pending => None,
            Poll::Ready(Ok(0)) => Some(Err(End::failed(Outcome::Broken, "the store closed the connection"))),
            Poll::Ready(Ok(_)) => Some(self.answer(&mut buffer, worker)),
            Poll::Ready(Err(why)) => Some(Err(End::failed(Outcome::Broken, words(&why)))),
        };
        if buffer.is_empty() {
            worker.give_back(buffer);
        } else {
            self.rest = buffer;
        }
        end.map_or(Poll::Pending, Poll::Ready)
    }

    /// Gives every whole reply to its user; what is left begins the next.
    fn answer(&mut self, buffer: &mut Vec<u8>, worker: &Worker) -> Result<(), End> {
        let mut at = 0;
        while at < buffer.len() {
            match reply(&buffer[at..]) {
                Ok(Read::Whole { reply, length }) => {
                    at += length;
                    self.one(&reply, worker)?;
                }
                Ok(Read::Part { needed }) => {
                    buffer.drain(..at);
                    buffer.reserve(needed.saturating_sub(buffer.len()).min(READ_ROOM * 16));
                    return Ok(());
                }
                Err(_) => return Err(End::failed(Outcome::WrongAnswer, "bytes that are no reply of RESP")),
            }
        }
        buffer.clear();
        Ok(())
    }

    fn one(&mut self, reply: &Reply<'_>, worker: &Worker) -> Result<(), End> {
        if matches!(reply, Reply::Push(_)) {
            return Ok(());
        }
        if self.greeting > 0 {
            self.greeting -= 1;
            return match reply {
                Reply::Error(text) => {
                    let why = "the store refused the login, the database or RESP3";
                    Err(End { seen: text.to_vec(), ..End::failed(Outcome::Refused, why) })
                }
                _ => Ok(()),
            };
        }
        let Some(Pending { seat, number }) = self.pending.pop_front() else {
            return Err(End::failed(Outcome::WrongAnswer, "a reply to no command"));
        };
        if seat.number.get() == number {
            let end = worker.judge().end(&seat.sent.borrow(), reply);
            seat.finish(number, end);
        }
        Ok(())
    }
}

fn words(why: &std::io::Error) -> &'static str {
    match why.kind() {
        std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe => {
            "the store reset the connection"
        }
        _ => "the connection broke",
    }
}

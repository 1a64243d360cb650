//! One connection, with its commands in flight, whose replies come in order.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use barograph_model::Outcome;
use barograph_net::{Fault, Stream};
use barograph_resp::{ReadResult, Reply, reply};

use crate::judge::Failed;
use crate::worker::Worker;

/// Buffer for the first read of a reply.
const READ_ROOM: usize = 16 * 1024;

/// Most abandoned commands that wait for their replies beside those of the window.
const MOST_ABANDONED: usize = 64;

/// The end of the commands on a connection that was not made in time.
const GIVEN_UP: Failed = Failed::new(Outcome::Broken, "the connection was given up");

/// A command without its reply.
#[derive(Clone, Copy)]
pub(crate) struct PendingCommand {
    /// The index of its user.
    pub(crate) place: u32,
    /// The number of the user's command.
    pub(crate) number: u32,
}

/// A connection to a store. It is made with the first command, and again with the first one after its end.
pub(crate) struct StoreConnection {
    store: usize,
    number: u32,
    state: State,
    /// Commands to write. Without memory when all are written, since buffers of the worker stay in its cache.
    out: Vec<u8>,
    /// Bytes of `out` that were written.
    written: usize,
    /// The beginning of a reply.
    rest: Vec<u8>,
    pending: VecDeque<PendingCommand>,
    /// Most commands without their replies.
    most_pending: usize,
    /// Missing replies to the greeting.
    greeting: usize,
}

enum State {
    Closed,
    Connecting(Pin<Box<dyn Future<Output = Result<Stream, Fault>>>>),
    Open(Stream),
    /// The end of all commands in flight.
    Broken(Failed),
}

impl StoreConnection {
    /// A connection to store `store`, the `number`th of the worker, for `window` commands in flight.
    pub(crate) fn new(store: usize, number: u32, window: usize) -> Self {
        StoreConnection {
            store,
            number,
            state: State::Closed,
            out: Vec::new(),
            written: 0,
            rest: Vec::new(),
            pending: VecDeque::with_capacity(window),
            most_pending: window + MOST_ABANDONED,
            greeting: 0,
        }
    }

    /// Queues the command appended by `write`, which is sent in the next [`StoreConnection::poll`].
    #[inline]
    pub(crate) fn submit(
        &mut self,
        worker: &Rc<Worker>,
        pending: PendingCommand,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.out.capacity() == 0 {
            self.out = worker.take_buffer();
        }
        if matches!(self.state, State::Closed) {
            self.connect(worker);
        }
        self.pending.push_back(pending);
        if self.pending.len() > self.most_pending {
            let why = "more replies are missing than the connection may wait for";
            self.state = State::Broken(Failed::new(Outcome::Broken, why));
        }
        write(&mut self.out);
    }

    #[cold]
    fn connect(&mut self, worker: &Rc<Worker>) {
        let (its_worker, store, number) = (Rc::clone(worker), self.store, self.number);
        let connecting = async move { its_worker.connect(store, number).await };
        self.state = State::Connecting(Box::pin(connecting));
        self.greeting = worker.program.greet(&mut self.out);
    }

    /// Records that a user abandoned a command. A connection that was not made in this time is tried again.
    pub(crate) fn abandon(&mut self) {
        if matches!(self.state, State::Connecting(_)) {
            self.state = State::Broken(GIVEN_UP);
        }
    }

    /// Sends queued commands and reads until a command has ended or no bytes are available. `end` is called
    /// for every ended command, with its reply or its failure; it returns whether the user still waited for
    /// it.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        mut end: impl FnMut(PendingCommand, Result<&Reply<'_>, &Failed>) -> bool,
    ) {
        let Err(broken) = self.go_on(cx, worker, &mut end) else { return };
        self.state = State::Closed;
        self.out.clear();
        self.written = 0;
        self.rest.clear();
        self.greeting = 0;
        for pending in self.pending.drain(..) {
            end(pending, Err(&broken));
        }
    }

    fn go_on(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        end: &mut impl FnMut(PendingCommand, Result<&Reply<'_>, &Failed>) -> bool,
    ) -> Result<(), Failed> {
        if let State::Connecting(connecting) = &mut self.state {
            match connecting.as_mut().poll(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(stream)) => self.state = State::Open(stream),
                Poll::Ready(Err(fault)) => {
                    let seen = barograph_model::words::in_one_line(&fault).into_bytes();
                    let failed = Failed::new(fault.outcome(), "the connection could not be made");
                    return Err(Failed { seen, ..failed });
                }
            }
        }
        match &self.state {
            State::Closed | State::Connecting(_) => return Ok(()),
            State::Broken(why) => return Err(why.clone()),
            State::Open(_) => {}
        }
        if let Poll::Ready(Err(why)) = self.poll_write(cx, worker) {
            return Err(Failed::new(Outcome::Broken, words(&why)));
        }
        while let Poll::Ready(ended) = self.poll_read(cx, worker, end)? {
            if ended {
                break;
            }
        }
        Ok(())
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, worker: &Worker) -> Poll<std::io::Result<()>> {
        let State::Open(stream) = &mut self.state else { return Poll::Pending };
        if self.out.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut left = &self.out[self.written..];
        let sent = stream.poll_write_all(cx, &mut left);
        self.written = self.out.len() - left.len();
        ready!(sent)?;
        self.out.clear();
        self.written = 0;
        worker.give_back(std::mem::take(&mut self.out));
        Poll::Ready(Ok(()))
    }

    /// Reads once; ready with whether an awaited command has ended.
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        worker: &Worker,
        end: &mut impl FnMut(PendingCommand, Result<&Reply<'_>, &Failed>) -> bool,
    ) -> Result<Poll<bool>, Failed> {
        let State::Open(stream) = &mut self.state else { return Ok(Poll::Pending) };
        if stream.poll_readable(cx).is_pending() {
            return Ok(Poll::Pending);
        }
        let mut buffer = match self.rest.is_empty() {
            true => worker.take_buffer(),
            false => std::mem::take(&mut self.rest),
        };
        if buffer.capacity() - buffer.len() < READ_ROOM / 4 {
            buffer.reserve(READ_ROOM.max(buffer.len()));
        }
        let read = match stream.poll_read_into(cx, &mut buffer) {
            Poll::Pending => Ok(Poll::Pending),
            Poll::Ready(Ok(0)) => Err(Failed::new(Outcome::Broken, "the store closed the connection")),
            Poll::Ready(Ok(_)) => self.answer(&mut buffer, end).map(Poll::Ready),
            Poll::Ready(Err(why)) => Err(Failed::new(Outcome::Broken, words(&why))),
        };
        if buffer.is_empty() {
            worker.give_back(buffer);
        } else {
            self.rest = buffer;
        }
        read
    }

    /// Takes every whole reply out of the buffer; the rest begins the next. Returns whether one of them was
    /// awaited.
    fn answer(
        &mut self,
        buffer: &mut Vec<u8>,
        end: &mut impl FnMut(PendingCommand, Result<&Reply<'_>, &Failed>) -> bool,
    ) -> Result<bool, Failed> {
        let (mut at, mut ended) = (0, false);
        while at < buffer.len() {
            match reply(&buffer[at..]) {
                Ok(ReadResult::Whole { reply, length }) => {
                    at += length;
                    ended |= self.one(&reply, end)?;
                }
                Ok(ReadResult::Part { needed }) => {
                    buffer.drain(..at);
                    buffer.reserve(needed.saturating_sub(buffer.len()).min(READ_ROOM * 16));
                    return Ok(ended);
                }
                Err(_) => return Err(Failed::new(Outcome::WrongAnswer, "bytes that are no reply of RESP")),
            }
        }
        buffer.clear();
        Ok(ended)
    }

    #[inline]
    fn one(
        &mut self,
        reply: &Reply<'_>,
        end: &mut impl FnMut(PendingCommand, Result<&Reply<'_>, &Failed>) -> bool,
    ) -> Result<bool, Failed> {
        if matches!(reply, Reply::Push(_)) {
            return Ok(false);
        }
        if self.greeting > 0 {
            self.greeting -= 1;
            return match reply {
                Reply::Error(text) => {
                    let why = "the store refused the login, the database or RESP3";
                    Err(Failed { outcome: Outcome::Refused, why, seen: text.to_vec() })
                }
                _ => Ok(false),
            };
        }
        let Some(pending) = self.pending.pop_front() else {
            return Err(Failed::new(Outcome::WrongAnswer, "a reply to no command"));
        };
        Ok(end(pending, Ok(reply)))
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

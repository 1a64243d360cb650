//! A connection with operations in flight.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use barograph_net::{Dialer, Fault, Stream};

use crate::NbdError;
use crate::handshake::Handshake;
use crate::input::Input;
use crate::wire::{Command, Reply, Request, error_name};

/// One connection to an export. The index of a buffer names the operation that uses it: one at a time.
pub struct Client {
    dialer: Rc<Dialer>,
    /// Number of the connection among those of the dialer.
    number: u32,
    export: String,
    state: State,
    /// All buffers, one after the other.
    buffers: Vec<u8>,
    buffer_bytes: usize,
    operations: Vec<Option<Operation>>,
    /// Operations that have begun; a part of their cookies.
    begun: u32,
    /// Bytes of the handshake to be sent.
    greeting: Outgoing,
    /// Requests to be sent.
    requests: Outgoing,
    input: Input,
    /// The read whose data come now, and its bytes so far.
    receiving: Option<(usize, usize)>,
    done: VecDeque<Completed>,
    /// Whether an operation was queued since the last call of [`Client::send`].
    has_queued: bool,
    waker: Waker,
}

enum State {
    Closed,
    Connecting(Pin<Box<dyn Future<Output = Result<Stream, Fault>>>>),
    /// The handshake until it has ended.
    Open(Stream, Option<Handshake>),
}

#[derive(Clone, Copy)]
struct Operation {
    command: Command,
    cookie: u64,
    length: usize,
}

/// The end of an operation.
#[derive(Debug)]
pub struct Completed {
    /// Index of its buffer.
    pub buffer: usize,
    /// Bytes that were read or written.
    pub result: Result<usize, NbdError>,
}

/// Most bytes that are kept after they were written. A connection that is always behind would keep all others.
const MOST_WRITTEN: usize = 1 << 20;

/// Bytes on their way.
#[derive(Default)]
struct Outgoing {
    bytes: Vec<u8>,
    written: usize,
}

impl Outgoing {
    fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }

    /// Writes as much as the connection takes; whether all is written.
    fn write(&mut self, stream: &mut Stream, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut left = &self.bytes[self.written..];
        let before = left.len();
        let written = stream.poll_write_all(cx, &mut left);
        self.written += before - left.len();
        if self.written > MOST_WRITTEN {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        match written {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(())) => {
                self.clear();
                Ok(true)
            }
            Poll::Ready(Err(why)) => Err(why),
        }
    }
}

impl Client {
    /// A client of this thread, which runs a reactor, with `buffers` buffers. It connects with its first operation.
    #[must_use]
    pub fn new(dialer: &Rc<Dialer>, number: u32, export: &str, (buffers, bytes): (usize, usize)) -> Self {
        Client {
            dialer: Rc::clone(dialer),
            number,
            export: export.to_owned(),
            state: State::Closed,
            buffers: vec![0; buffers * bytes],
            buffer_bytes: bytes,
            operations: vec![None; buffers],
            begun: 0,
            greeting: Outgoing::default(),
            requests: Outgoing::default(),
            input: Input::default(),
            receiving: None,
            done: VecDeque::with_capacity(buffers),
            has_queued: false,
            waker: Waker::noop().clone(),
        }
    }

    /// Whether an operation uses this buffer.
    #[must_use]
    pub fn is_in_flight(&self, buffer: usize) -> bool {
        self.operations[buffer].is_some()
    }

    /// A buffer.
    #[must_use]
    pub fn buffer(&self, index: usize) -> &[u8] {
        &self.buffers[index * self.buffer_bytes..][..self.buffer_bytes]
    }

    /// A buffer, to write to.
    #[must_use]
    pub fn buffer_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.buffers[index * self.buffer_bytes..][..self.buffer_bytes]
    }

    /// Queues a read of `length` bytes.
    pub fn read(&mut self, buffer: usize, offset: u64, length: usize) {
        self.queue(buffer, Command::Read, (offset, length));
    }

    /// Queues a write of `length` bytes.
    pub fn write(&mut self, buffer: usize, offset: u64, length: usize) {
        self.queue(buffer, Command::Write, (offset, length));
        let data = &self.buffers[buffer * self.buffer_bytes..][..length];
        self.requests.bytes.extend_from_slice(data);
    }

    /// Queues a wait until all that was written is on the disk.
    pub fn flush(&mut self, buffer: usize) {
        self.queue(buffer, Command::Flush, (0, 0));
    }

    fn queue(&mut self, buffer: usize, command: Command, (offset, length): (u64, usize)) {
        if matches!(self.state, State::Closed) {
            let (dialer, number) = (Rc::clone(&self.dialer), self.number);
            self.state = State::Connecting(Box::pin(async move { dialer.connect(number).await }));
        }
        self.begun = self.begun.wrapping_add(1);
        // A late reply to an earlier operation has another cookie.
        let cookie = u64::from(self.begun) << 32 | buffer as u64;
        let request = Request { command, cookie, offset, length: length as u32 };
        request.write(&mut self.requests.bytes);
        self.operations[buffer] = Some(Operation { command, cookie, length });
        self.has_queued = true;
    }

    /// Connects and receives. Returns whether [`Client::send`] is due; wakes the task when more can be done.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        self.waker.clone_from(cx.waker());
        if let Err(why) = self.receive(cx) {
            self.fail(&why);
        }
        let is_open = matches!(self.state, State::Open(..));
        let has_bytes = !self.greeting.bytes.is_empty() || !self.requests.bytes.is_empty();
        self.has_queued || (is_open && has_bytes)
    }

    /// Sends what is queued, as far as the connection takes it.
    pub fn send(&mut self) {
        self.has_queued = false;
        let waker = self.waker.clone();
        if let Err(why) = self.write_all(&mut Context::from_waker(&waker)) {
            self.fail(&NbdError::Io(why.to_string()));
        }
    }

    /// The next operation that has ended.
    pub fn completed(&mut self) -> Option<Completed> {
        self.done.pop_front()
    }

    fn write_all(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let State::Open(stream, handshake) = &mut self.state else { return Ok(()) };
        if self.greeting.write(stream, cx)? && handshake.is_none() {
            self.requests.write(stream, cx)?;
        }
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Result<(), NbdError> {
        loop {
            match &mut self.state {
                State::Closed => return Ok(()),
                State::Connecting(connecting) => match connecting.as_mut().poll(cx) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(stream)) => {
                        self.state = State::Open(stream, Some(Handshake::new(&self.export)));
                    }
                    Poll::Ready(Err(fault)) => return Err(NbdError::from(&fault)),
                },
                State::Open(stream, handshake) => match stream.poll_read_into(cx, self.input.room()) {
                    Poll::Pending => return Ok(()),
                    Poll::Ready(Ok(0)) => {
                        let is_open = handshake.is_none();
                        let when = if is_open { "with requests in flight" } else { "amid the handshake" };
                        return Err(NbdError::Closed(when));
                    }
                    Poll::Ready(Ok(_)) => self.take()?,
                    Poll::Ready(Err(why)) => return Err(NbdError::Io(why.to_string())),
                },
            }
        }
    }

    /// Takes what has come.
    fn take(&mut self) -> Result<(), NbdError> {
        if let State::Open(_, handshake) = &mut self.state
            && let Some(going) = handshake
        {
            if going.take(&mut self.input, &mut self.greeting.bytes)?.is_none() {
                return Ok(());
            }
            *handshake = None;
        }
        loop {
            if let Some((buffer, have)) = self.receiving {
                let Some(Operation { length, .. }) = self.operations[buffer] else {
                    return Err(NbdError::NoRequest);
                };
                let rest = self.input.rest();
                let more = rest.len().min(length - have);
                let at = buffer * self.buffer_bytes + have;
                self.buffers[at..at + more].copy_from_slice(&rest[..more]);
                self.input.take(more);
                if have + more < length {
                    self.receiving = Some((buffer, have + more));
                    return Ok(());
                }
                self.receiving = None;
                self.end(buffer, Ok(length));
            }
            let Some(reply) = Reply::take(&mut self.input)? else { return Ok(()) };
            self.reply(reply)?;
        }
    }

    fn reply(&mut self, Reply { error, cookie }: Reply) -> Result<(), NbdError> {
        let buffer = (cookie & u64::from(u32::MAX)) as usize;
        let operation = self.operations.get(buffer).copied().flatten();
        let operation =
            operation.filter(|operation| operation.cookie == cookie).ok_or(NbdError::NoRequest)?;
        match (error, operation.command) {
            (0, Command::Read) => self.receiving = Some((buffer, 0)),
            (0, _) => self.end(buffer, Ok(operation.length)),
            (error, _) => self.end(buffer, Err(NbdError::Command(error_name(error)))),
        }
        Ok(())
    }

    fn end(&mut self, buffer: usize, result: Result<usize, NbdError>) {
        self.operations[buffer] = None;
        self.done.push_back(Completed { buffer, result });
    }

    /// Closes the connection, and ends all operations.
    fn fail(&mut self, why: &NbdError) {
        self.state = State::Closed;
        self.greeting.clear();
        self.requests.clear();
        self.input.clear();
        self.receiving = None;
        for buffer in 0..self.operations.len() {
            if self.operations[buffer].is_some() {
                self.end(buffer, Err(why.clone()));
            }
        }
    }
}

//! A connection: what was sent, what has come, and whether a call may begin.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll};

use barograph_net::Stream;

use crate::backend::{self, CancelKey, Message, Transaction};
use crate::column::Column;
use crate::diagnostic::Diagnostic;
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::inbox::Inbox;
use crate::replies::Step;
use crate::row::CellRange;
use crate::statement::Description;

/// Notices kept; older ones go.
const NOTICES: usize = 16;

/// Settings of the server that are kept by name; it reports about fifteen.
const SETTINGS: usize = 64;

/// Room for what is sent, kept between calls.
const KEPT: usize = 1024 * 1024;

/// A message that has come: its type and its place.
pub(crate) type BufferedMessage = (u8, Range<usize>);

/// A session of a server.
///
/// A call borrows it until the last message of the answer was read. A call that is given up before, or that fails by
/// anything but an error of the server, leaves the connection unusable: all later calls end with [`Fault::Unusable`],
/// and what is left to do is to drop it.
pub struct Connection {
    stream: Stream,
    pub(crate) inbox: Inbox,
    /// Bytes to send, of which `written` were.
    pub(crate) out: Vec<u8>,
    written: usize,
    sending: bool,
    /// Why sending failed. What came before is read first: the reason may be in it.
    write_error: Option<io::Error>,
    /// An answer is under way, or never came to its end.
    busy: bool,
    transaction: Transaction,
    pub(crate) statements: Vec<Description>,
    /// Statements that were prepared, those that failed included.
    pub(crate) names: u32,
    /// Of the batch that is written or answered.
    pub(crate) steps: Vec<Step>,
    /// Columns of the row that was read last.
    pub(crate) cells: Vec<CellRange>,
    /// Columns of the simple query that is answered.
    pub(crate) columns: Vec<Column>,
    notices: VecDeque<Diagnostic>,
    settings: Vec<(Box<str>, Box<str>)>,
    pub(crate) key: Option<CancelKey>,
}

impl Connection {
    /// A connection on which nothing was said yet.
    pub(crate) fn new(stream: Stream) -> Self {
        Connection {
            stream,
            inbox: Inbox::new(),
            out: Vec::new(),
            written: 0,
            sending: false,
            write_error: None,
            busy: false,
            transaction: Transaction::Idle,
            statements: Vec::new(),
            names: 0,
            steps: Vec::new(),
            cells: Vec::new(),
            columns: Vec::new(),
            notices: VecDeque::new(),
            settings: Vec::new(),
            key: None,
        }
    }

    /// Whether a call may begin: the last one came to its end, and the server has neither closed nor said anything since.
    #[must_use]
    pub fn is_usable(&mut self) -> bool {
        !self.busy && self.inbox.is_empty() && self.stream.is_quiet()
    }

    /// Whether a transaction is open, as of the last answer.
    #[must_use]
    pub fn transaction(&self) -> Transaction {
        self.transaction
    }

    /// A setting that the server reports, such as `server_version`.
    #[must_use]
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// Takes the notices of the server, oldest first; at most 16 are kept.
    pub fn notices(&mut self) -> impl Iterator<Item = Diagnostic> {
        self.notices.drain(..)
    }

    /// Names this connection in [`crate::Client::cancel`]; `None` where the server gave no key.
    #[must_use]
    pub fn cancel_key(&self) -> Option<CancelKey> {
        self.key
    }

    /// Forgets what was written for a call that has not begun.
    pub(crate) fn clear(&mut self) {
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
        }
        self.out.clear();
        self.steps.clear();
        self.written = 0;
    }

    /// Whether a call with what is in `out` has begun.
    pub(crate) fn is_begun(&self) -> bool {
        self.busy || self.written > 0
    }

    /// Begins a call with what is in `out`.
    pub(crate) fn begin(&mut self) -> Result<(), Fault> {
        if self.busy {
            return Err(Fault::Unusable);
        }
        self.busy = true;
        // What is there already answers nothing, and must not be taken for the answer.
        while let Some(arrival) = self.inbox.message()? {
            if !self.is_aside(&arrival)? {
                return Err(order(&arrival, "nothing"));
            }
        }
        self.send();
        Ok(())
    }

    /// Sends what is in `out`, beside the next read.
    pub(crate) fn send(&mut self) {
        self.written = 0;
        self.sending = true;
    }

    /// The answer has come to its end.
    pub(crate) fn end(&mut self, transaction: Transaction) {
        self.transaction = transaction;
        // An answer to what was not sent is none.
        self.busy = self.sending;
        self.inbox.settle();
    }

    /// The next message that belongs to the answer.
    pub(crate) async fn message(&mut self) -> Result<BufferedMessage, Fault> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    /// The message at a place.
    pub(crate) fn read(&self, (tag, place): &BufferedMessage) -> Result<Message<'_>, Fault> {
        Ok(backend::read(*tag, backend::body(self.inbox.bytes(place)))?)
    }

    /// Sends what is left and reads until a message of the answer is whole.
    pub(crate) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<BufferedMessage, Fault>> {
        loop {
            match self.inbox.message() {
                Err(flaw) => return Poll::Ready(Err(flaw.into())),
                Ok(Some(arrival)) => match self.is_aside(&arrival) {
                    Ok(true) => continue,
                    Ok(false) => return Poll::Ready(Ok(arrival)),
                    Err(fault) => return Poll::Ready(Err(fault)),
                },
                Ok(None) => {}
            }
            // A large batch is sent while its answers are read: a server that waits to be read would not read on.
            let _ = self.poll_send(cx);
            match self.inbox.poll_read(&mut self.stream, cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(n)) if n > 0 => {}
                Poll::Ready(end) => {
                    let end = end.err().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into());
                    return Poll::Ready(Err(Fault::Broken(self.write_error.take().unwrap_or(end))));
                }
            }
        }
    }

    /// Sends what is left. Ready when nothing is, or when it cannot be sent: the read that follows tells why.
    pub(crate) fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.sending {
            let mut left = &self.out[self.written..];
            let sent = self.stream.poll_write_all(cx, &mut left);
            self.written = self.out.len() - left.len();
            match sent {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(end) => self.write_error = end.err(),
            }
            self.sending = false;
        }
        Poll::Ready(())
    }

    /// Whether sending has failed.
    pub(crate) fn is_cut(&self) -> bool {
        self.write_error.is_some()
    }

    /// Keeps a message that answers no call; true where it was one.
    fn is_aside(&mut self, arrival: &BufferedMessage) -> Result<bool, Fault> {
        match arrival.0 {
            b'N' | b'A' | b'v' | b'S' | b'E' => {}
            _ => return Ok(false),
        }
        match self.read(arrival)? {
            Message::Ignored => {}
            Message::Notice(body) => {
                let notice = Diagnostic::read(b'N', body)?;
                if self.notices.len() == NOTICES {
                    self.notices.pop_front();
                }
                self.notices.push_back(notice);
            }
            Message::Setting { name, value } => {
                let (name, value) = (Box::from(name), Box::from(value));
                self.keep(name, value);
            }
            Message::Error(body) => {
                let said = Diagnostic::read(b'E', body)?;
                return if said.is_fatal() { Err(Fault::Ended(said)) } else { Ok(false) };
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn keep(&mut self, name: Box<str>, value: Box<str>) {
        let known = self.settings.iter_mut().find(|(known, _)| *known == name);
        if let Some((_, known)) = known {
            *known = value;
        } else if self.settings.len() < SETTINGS {
            self.settings.push((name, value));
        }
    }
}

/// A message that has no place in the answer to what was sent.
pub(crate) fn order(arrival: &BufferedMessage, to: &'static str) -> Fault {
    Fault::Flawed(Flaw::Order { tag: char::from(arrival.0), to })
}

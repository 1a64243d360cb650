//! A connection: bytes to send, bytes that have come, and whether a call may begin.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::task::{Context, Poll};

use barograph_net::{Dialer, Stream, TlsConfig};

use crate::answer::{self, PreparedStatement, Status};
use crate::diagnostic::Diagnostic;
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::inbox::Inbox;
use crate::packet::{self, ERROR};
use crate::row::Cell;
use crate::sql_type::SqlType;

/// Room for bytes to send, kept between calls.
const KEPT: usize = 1024 * 1024;

/// Command code.
const RESET: u8 = 0x1f;

/// Names a session at its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(pub(crate) u32);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A session of a server.
///
/// A call borrows it until the last message of the answer was read. A call that is given up before, or that fails by
/// anything but an error of the server, leaves the connection unusable: all later calls end with [`Fault::Unusable`].
pub struct Connection {
    stream: Stream,
    pub(crate) inbox: Inbox,
    /// Bytes to send. `written` of them were sent.
    pub(crate) out: Vec<u8>,
    written: usize,
    sending: bool,
    /// Why sending failed. Bytes that came before are read first: the reason may be in them.
    write_error: Option<io::Error>,
    /// An answer is under way, or never came to its end.
    pub(crate) busy: bool,
    pub(crate) status: Status,
    pub(crate) statements: Vec<PreparedStatement>,
    /// Types of the columns of the statement that is answered.
    pub(crate) kinds: Vec<SqlType>,
    /// Columns of the row that was read last.
    pub(crate) cells: Vec<Cell>,
    pub(crate) id: SessionId,
    pub(crate) version: Box<str>,
}

impl Connection {
    /// A connection on which the server speaks first.
    pub(crate) fn new(stream: Stream) -> Self {
        Connection {
            stream,
            inbox: Inbox::new(),
            out: Vec::new(),
            written: 0,
            sending: false,
            write_error: None,
            busy: true,
            status: Status::default(),
            statements: Vec::new(),
            kinds: Vec::new(),
            cells: Vec::new(),
            id: SessionId(0),
            version: Box::default(),
        }
    }

    /// Begins TLS after the server was asked for it.
    pub(crate) async fn secure(
        mut self,
        dialer: &Dialer,
        number: u32,
        tls: &TlsConfig,
    ) -> Result<Self, Fault> {
        poll_fn(|cx| self.poll_send(cx)).await;
        if let Some(why) = self.write_error {
            return Err(Fault::Broken(why));
        }
        if !self.inbox.is_empty() {
            return Err(Flaw::Unprotected.into());
        }
        let stream = dialer.secure(self.stream, number, tls).await?;
        Ok(Connection { stream, ..self })
    }

    /// Whether it goes through TLS.
    pub(crate) fn is_secured(&self) -> bool {
        self.stream.peer_certificate().is_some()
    }

    /// Whether a call may begin: the last one came to its end, and the server has neither closed nor said anything since.
    #[must_use]
    pub fn is_usable(&mut self) -> bool {
        !self.busy && self.inbox.is_empty() && self.stream.is_quiet()
    }

    /// Whether a transaction is open, as of the last answer that was no error: errors come without a status.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.status.in_transaction()
    }

    /// Version of the server, such as `10.11.19-MariaDB` or `8.4.3`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Names this session in [`crate::Client::cancel`].
    #[must_use]
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Makes the session as it was after the login: the server rolls back, and forgets variables, temporary tables and
    /// prepared statements.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn reset(&mut self) -> Result<(), Fault> {
        self.call(RESET, &[])?;
        let place = self.message().await?;
        let body = self.inbox.bytes(&place);
        if body[0] != answer::OK {
            return Err(order(body, "a reset"));
        }
        self.status = answer::ok(body)?.1;
        self.statements.clear();
        self.end();
        Ok(())
    }

    /// Begins a call: `out` is empty after it.
    pub(crate) fn begin(&mut self) -> Result<(), Fault> {
        if self.busy {
            return Err(Fault::Unusable);
        }
        self.busy = true;
        // Bytes that are there already answer nothing, and must not be taken for the answer.
        self.inbox.number = 0;
        if let Some(place) = self.inbox.message()? {
            let body = self.inbox.bytes(&place);
            return Err(match body[0] {
                ERROR => Fault::Ended(Diagnostic::read(body)?),
                _ => order(body, "nothing"),
            });
        }
        if self.out.capacity() > KEPT {
            self.out = Vec::new();
        }
        self.out.clear();
        Ok(())
    }

    /// Begins a call with a command and its argument.
    pub(crate) fn call(&mut self, command: u8, argument: &[u8]) -> Result<(), Fault> {
        self.begin()?;
        self.put(|out| {
            out.push(command);
            out.extend_from_slice(argument);
        });
        self.send();
        Ok(())
    }

    /// Appends the next message to `out`.
    pub(crate) fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.inbox.number = packet::message(&mut self.out, self.inbox.number, write);
    }

    /// Sends what is in `out`, beside the next read.
    pub(crate) fn send(&mut self) {
        self.written = 0;
        self.sending = true;
    }

    /// Sends a message in answer to one of the server.
    pub(crate) fn answer(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.out.clear();
        self.put(write);
        self.send();
    }

    /// The answer has come to its end.
    pub(crate) fn end(&mut self) {
        // An answer to a call that was not sent is none.
        self.busy = self.sending;
        self.inbox.settle();
    }

    /// The next message, which is no error: an error ends the answer.
    pub(crate) async fn message(&mut self) -> Result<Range<usize>, Fault> {
        poll_fn(|cx| self.poll_message(cx)).await
    }

    /// Sends what is left and reads until a message is whole.
    pub(crate) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Range<usize>, Fault>> {
        loop {
            match self.inbox.message() {
                Err(flaw) => return Poll::Ready(Err(flaw.into())),
                Ok(Some(place)) if self.inbox.bytes(&place)[0] == ERROR => {
                    return Poll::Ready(Err(self.error(&place)));
                }
                Ok(Some(place)) => return Poll::Ready(Ok(place)),
                Ok(None) => {}
            }
            // A long message is sent while answers are read: a server that waits to be read would not read on.
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

    /// An error of the server: the end of the answer, or of the session.
    fn error(&mut self, place: &Range<usize>) -> Fault {
        match Diagnostic::read(self.inbox.bytes(place)) {
            Err(flaw) => flaw.into(),
            Ok(said) if said.is_fatal() => Fault::Ended(said),
            Ok(said) => {
                self.end();
                Fault::Server(said)
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
}

/// A message that has no place in the answer to a call.
pub(crate) fn order(body: &[u8], to: &'static str) -> Fault {
    Fault::Flawed(Flaw::Order { first: body[0], to })
}

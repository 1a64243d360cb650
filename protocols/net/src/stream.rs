//! A connection's bytes, in the clear or through TLS, counted.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use barograph_model::Nanos;
use barograph_reactor::Socket;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::fault::TlsFault;
use crate::tls::TlsConfig;

/// Counters of a worker's connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections opened, in the clear and through TLS.
    pub opened: u64,
    /// Connections closed.
    pub closed: u64,
    /// Completed TLS handshakes.
    pub handshakes: u64,
    /// Time that making connections took, added up; nothing without a watch.
    pub connecting: Nanos,
    /// Time that TLS handshakes with a good end took, added up; nothing without a watch.
    pub securing: Nanos,
    /// Bytes received, those of TLS itself left out.
    pub bytes_in: u64,
    /// Bytes sent, without those of TLS itself.
    pub bytes_out: u64,
}

/// The shared cell of the counters.
#[derive(Default)]
pub(crate) struct Tally(Cell<Counters>);

impl Tally {
    pub(crate) fn now(&self) -> Counters {
        self.0.get()
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.0.get();
        change(&mut counters);
        self.0.set(counters);
    }
}

/// A connection.
pub struct Stream {
    io: Io,
    open: OpenCount,
}

/// The two kinds, distinguished by a branch, so that the plain one costs nothing more.
enum Io {
    Plain(Socket),
    Tls(Box<TlsStream<Socket>>),
}

/// Counts a connection when it is opened and when it is closed.
struct OpenCount(Rc<Tally>);

impl OpenCount {
    fn new(tally: &Rc<Tally>) -> Self {
        tally.count(|c| c.opened += 1);
        OpenCount(Rc::clone(tally))
    }

    fn count(&self, change: impl FnOnce(&mut Counters)) {
        self.0.count(change);
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.count(|c| c.closed += 1);
    }
}

impl Stream {
    /// A connection in the clear.
    pub(crate) fn new(socket: Socket, tally: &Rc<Tally>) -> Self {
        Stream { io: Io::Plain(socket), open: OpenCount::new(tally) }
    }

    /// Begins TLS on a connection in the clear.
    pub(crate) async fn secure(self, tls: &TlsConfig) -> Result<Self, TlsFault> {
        let Stream { io, open } = self;
        let Io::Plain(socket) = io else { return Ok(Stream { io, open }) };
        // Boxed: a handshake is rare, and would make every waiting operation larger.
        let session = Box::pin(tls.handshake(socket)).await?;
        open.count(|c| c.handshakes += 1);
        Ok(Stream { io: Io::Tls(Box::new(session)), open })
    }

    /// The protocol negotiated in the TLS handshake, by its name in ALPN.
    #[must_use]
    pub fn alpn(&self) -> Option<&[u8]> {
        match &self.io {
            Io::Plain(_) => None,
            Io::Tls(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }

    /// The certificate of the peer as DER; `None` in the clear.
    #[must_use]
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        match &self.io {
            Io::Plain(_) => None,
            Io::Tls(stream) => stream.get_ref().1.peer_certificates()?.first().map(AsRef::as_ref),
        }
    }

    /// Whether there was no input since the last answer: neither the connection's end, nor bytes that would
    /// be taken for the next answer. In the clear this seldom costs a system call.
    pub fn is_quiet(&mut self) -> bool {
        match &mut self.io {
            Io::Plain(socket) => socket.is_quiet(),
            // Tickets may have come, which are not bytes of the protocol: only reading shows.
            Io::Tls(stream) => {
                let (mut one, mut cx) = ([0], Context::from_waker(Waker::noop()));
                Pin::new(stream).poll_read(&mut cx, &mut ReadBuf::new(&mut one)).is_pending()
            }
        }
    }

    /// Ready when a read may find something; otherwise wakes the task then. Through TLS only reading shows,
    /// so it is always ready.
    pub fn poll_readable(&self, cx: &Context<'_>) -> Poll<()> {
        match &self.io {
            Io::Plain(socket) => socket.poll_readable(cx),
            Io::Tls(_) => Poll::Ready(()),
        }
    }

    /// Reads into the spare capacity of `buffer`, like [`Self::read_into`].
    ///
    /// # Errors
    /// The reason why the connection broke.
    pub fn poll_read_into(&mut self, cx: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let read = match &mut self.io {
            Io::Plain(socket) => loop {
                match socket.try_read(buffer) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready!(socket.poll_readable(cx)),
                    other => break other,
                }
            },
            Io::Tls(stream) => match ready!(pin!(stream.read_buf(buffer)).poll(cx)) {
                // A peer that ends without TLS's closing alert; the protocol judges the bytes so far.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        };
        if let Ok(n) = read {
            self.open.count(|c| c.bytes_in += n as u64);
        }
        Poll::Ready(read)
    }

    /// Reads into the spare capacity of `buffer`; 0 when the peer has closed.
    ///
    /// # Errors
    /// The reason why the connection broke.
    pub async fn read_into(&mut self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        poll_fn(|cx| self.poll_read_into(cx, buffer)).await
    }

    fn poll_write_some(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = match &mut self.io {
            Io::Plain(socket) => loop {
                match socket.try_write(bytes) {
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready!(socket.poll_writable(cx)),
                    other => break other,
                }
            },
            Io::Tls(stream) => ready!(Pin::new(stream).poll_write(cx, bytes)),
        };
        if let Ok(n) = written {
            self.open.count(|c| c.bytes_out += n as u64);
        }
        Poll::Ready(written)
    }

    /// Sends all bytes.
    ///
    /// # Errors
    /// The reason why the connection broke.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        poll_fn(|cx| self.poll_write_all(cx, &mut left)).await
    }

    /// Sends as many bytes as fit, and keeps the rest in `left`. Ready when all are sent.
    ///
    /// # Errors
    /// The reason why the connection broke.
    pub fn poll_write_all(&mut self, cx: &mut Context<'_>, left: &mut &[u8]) -> Poll<io::Result<()>> {
        while !left.is_empty() {
            match ready!(self.poll_write_some(cx, left)) {
                Ok(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Ok(n) => *left = &left[n..],
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
        Pin::new(self).poll_flush(cx)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = room.filled().len();
        let read = match &mut self.io {
            Io::Plain(socket) => Pin::new(socket).poll_read(cx, room),
            Io::Tls(stream) => Pin::new(stream).poll_read(cx, room),
        };
        let more = room.filled().len() - before;
        self.open.count(|c| c.bytes_in += more as u64);
        read
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_some(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(_) => Poll::Ready(Ok(())),
            Io::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Io::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

//! The keep-alive connections of one user, and one exchange over them.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;

use crate::Answer;
use crate::buffers::Buffers;
use crate::parse::{self, End, Framing, Garbage, Head};

/// First size of a buffer for answers: most fit.
const ANSWER_CAPACITY: usize = 8 * 1024;

/// First size of a buffer for requests. It is held while the answer is awaited, by thousands of long polls at once.
const REQUEST_CAPACITY: usize = 256;

/// Room made for the next read, at least and at most: what a peer announces is not believed in advance.
const READ_STEP: usize = 8 * 1024;
const READ_MOST: usize = 256 * 1024;

/// Users that share one source address on the loopback network. An address has 28,000 ports, and a closed connection
/// keeps its port for a minute: at a new connection every 5 s that is 12 ports a user and four open ones.
const USERS_PER_SOURCE: u32 = 200;

/// Source addresses used at the most, 127.0.1.1 and on.
const SOURCES: u32 = 250;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The connection could not be made.
    #[error("connect to {to}")]
    Connect {
        /// The target.
        to: SocketAddr,
        /// What the system said.
        #[source]
        why: io::Error,
    },
    /// The connection broke, or the peer closed it in the middle of an answer.
    #[error("connection broke")]
    Broken(#[source] io::Error),
    /// What came is not an HTTP/1.1 answer.
    #[error("answer is not HTTP/1.1")]
    Garbage,
}

impl From<Garbage> for Fault {
    fn from(_: Garbage) -> Self {
        Fault::Garbage
    }
}

/// A request's verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Delete => "DELETE",
        }
    }
}

/// One request. The path is rendered straight into the outgoing bytes.
pub struct Request<'a> {
    /// The verb.
    pub method: Method,
    /// Path and query.
    pub path: fmt::Arguments<'a>,
    /// A header of the application's own, name and value.
    pub header: Option<(&'a str, &'a str)>,
    /// A JSON body.
    pub json: Option<&'a [u8]>,
}

/// What all users of a worker share: the target's address and buffers.
pub struct Client {
    to: SocketAddr,
    host: String,
    requests: Buffers,
    answers: Rc<Buffers>,
}

impl Client {
    /// A client of the target at `to`.
    #[must_use]
    pub fn new(to: SocketAddr) -> Rc<Self> {
        Rc::new(Client {
            to,
            host: to.to_string(),
            requests: Buffers::new(REQUEST_CAPACITY),
            answers: Rc::new(Buffers::new(ANSWER_CAPACITY)),
        })
    }

    fn render(&self, request: &Request<'_>) -> Vec<u8> {
        let mut bytes = self.requests.take();
        let name = request.method.name();
        let done = (|| {
            write!(bytes, "{name} {} HTTP/1.1\r\nhost: {}\r\n", request.path, self.host)?;
            if let Some((key, value)) = request.header {
                write!(bytes, "{key}: {value}\r\n")?;
            }
            match request.json {
                Some(json) => {
                    write!(
                        bytes,
                        "content-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        json.len()
                    )?;
                    bytes.write_all(json)
                }
                None => bytes.write_all(b"\r\n"),
            }
        })();
        done.expect("writing to memory cannot fail");
        bytes
    }
}

/// The connections of one user: at most so many at once, kept alive between requests.
pub struct Connections {
    client: Rc<Client>,
    source: Option<IpAddr>,
    permits: Semaphore,
    idle: RefCell<Vec<TcpStream>>,
}

impl Connections {
    /// No connection is made yet. `user` spreads users over source addresses when the target is on the loopback
    /// network, where one address has ports for 28,000 connections only.
    #[must_use]
    pub fn new(client: &Rc<Client>, user: u32, most: usize) -> Self {
        let source = client.to.ip().is_loopback().then(|| source_of(user)).filter(|_| client.to.is_ipv4());
        Connections {
            client: Rc::clone(client),
            source,
            permits: Semaphore::new(most),
            idle: RefCell::default(),
        }
    }

    /// Sends a request and waits for the whole answer. Dropped before its end, it closes its connection.
    pub fn send<'s>(
        &'s self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Answer, Fault>> + use<'s> {
        let bytes = self.client.render(request);
        let again = request.method == Method::Get;
        async move {
            let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
            let kept = self.quiet_one();
            let answer = match kept {
                Some(stream) => match exchange(&self.client, stream, &bytes).await {
                    Err(Unanswered { before_first_byte: true, .. }) if again => self.fresh(&bytes).await,
                    end => self.keep(end),
                },
                None => self.fresh(&bytes).await,
            };
            self.client.requests.give_back(bytes);
            answer
        }
    }

    /// A kept connection on which nothing has come since its last answer: neither its end nor bytes that the next
    /// answer would be mistaken for.
    fn quiet_one(&self) -> Option<TcpStream> {
        let mut probe = [0u8; 1];
        loop {
            let stream = self.idle.borrow_mut().pop()?;
            if matches!(stream.try_read(&mut probe), Err(e) if e.kind() == io::ErrorKind::WouldBlock) {
                return Some(stream);
            }
        }
    }

    /// Closes the connections that are not in use.
    pub fn close_idle(&self) {
        self.idle.borrow_mut().clear();
    }

    async fn fresh(&self, bytes: &[u8]) -> Result<Answer, Fault> {
        let stream = connect(self.client.to, self.source).await?;
        let end = exchange(&self.client, stream, bytes).await;
        self.keep(end)
    }

    fn keep(&self, end: Result<(Answer, Option<TcpStream>), Unanswered>) -> Result<Answer, Fault> {
        let (answer, stream) = end.map_err(|u| u.fault)?;
        self.idle.borrow_mut().extend(stream);
        Ok(answer)
    }
}

fn source_of(user: u32) -> IpAddr {
    let n = user / USERS_PER_SOURCE % SOURCES;
    IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + n as u8))
}

async fn connect(to: SocketAddr, source: Option<IpAddr>) -> Result<TcpStream, Fault> {
    let made = async {
        let socket = if to.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        if let Some(source) = source {
            socket.bind(SocketAddr::new(source, 0))?;
        }
        socket.set_nodelay(true)?;
        socket.connect(to).await
    };
    made.await.map_err(|why| Fault::Connect { to, why })
}

/// An exchange that ended without an answer.
struct Unanswered {
    fault: Fault,
    before_first_byte: bool,
}

async fn exchange(
    client: &Client,
    stream: TcpStream,
    request: &[u8],
) -> Result<(Answer, Option<TcpStream>), Unanswered> {
    let early = |why| Unanswered { fault: Fault::Broken(why), before_first_byte: true };
    write_all(&stream, request).await.map_err(early)?;
    let mut buffer = first_bytes(client, &stream).await.map_err(early)?;
    match read_answer(&stream, &mut buffer).await {
        Ok((head, end)) => {
            let answer = Answer::new(head.status, head.length..end, buffer, Rc::clone(&client.answers));
            Ok((answer, head.keep.then_some(stream)))
        }
        Err(fault) => {
            client.answers.give_back(buffer);
            Err(Unanswered { fault, before_first_byte: false })
        }
    }
}

/// Waits for the first bytes of an answer. No buffer is held while nothing is there: thousands of long polls wait here,
/// and the runtime's word that a socket is readable may be left over from the answer before.
async fn first_bytes(client: &Client, stream: &TcpStream) -> io::Result<Vec<u8>> {
    loop {
        stream.readable().await?;
        let mut buffer = client.answers.take();
        buffer.reserve(READ_STEP);
        let end = match stream.try_read_buf(&mut buffer) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(buffer),
            Err(e) => Err(e),
        };
        client.answers.give_back(buffer);
        match end {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            other => return other,
        }
    }
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.try_write(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Reads on until the answer is whole; says where its body ends.
async fn read_answer(stream: &TcpStream, buffer: &mut Vec<u8>) -> Result<(Head, usize), Fault> {
    let mut known: Option<Head> = None;
    let mut closed = false;
    loop {
        if known.is_none() {
            known = parse::head(buffer)?;
        }
        // An interim answer (100 Continue) is followed by the real one.
        while let Some(head) = known.filter(|h| h.status < 200) {
            buffer.drain(..head.length);
            known = parse::head(buffer)?;
        }
        if let Some(head) = known {
            let whole = |at: usize| End { body: at, wire: at };
            let end = match head.framing {
                Framing::Length(n) => Some(whole(head.length + n)).filter(|end| buffer.len() >= end.wire),
                Framing::Chunked => parse::unchunk(buffer, head.length)?,
                Framing::UntilClose => closed.then(|| whole(buffer.len())),
            };
            if let Some(end) = end {
                // Bytes nobody asked for after the answer: whatever comes next on this connection would be misread.
                let clean = buffer.len() == end.wire;
                return Ok((Head { keep: head.keep && clean, ..head }, end.body));
            }
        }
        if closed {
            return Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into()));
        }
        closed = read_some(stream, buffer, known).await.map_err(Fault::Broken)?;
    }
}

/// Reads what is there; true when the peer has closed.
async fn read_some(stream: &TcpStream, buffer: &mut Vec<u8>, known: Option<Head>) -> io::Result<bool> {
    let missing = match known {
        Some(Head { framing: Framing::Length(n), length, .. }) => (length + n).saturating_sub(buffer.len()),
        _ => READ_STEP,
    };
    buffer.reserve(missing.clamp(1, READ_MOST));
    loop {
        match stream.try_read_buf(buffer) {
            Ok(n) => return Ok(n == 0),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => stream.readable().await?,
            Err(e) => return Err(e),
        }
    }
}

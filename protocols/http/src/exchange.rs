//! One request and its answer over HTTP/1.1.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use barograph_net::{Buffers, Stream};

use crate::answer::Answer;
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::head::Head;
use crate::reader::{AnswerLayout, COUNTED_KEPT, READ_STEP, Reader};
use crate::request::RequestTraits;

/// Inputs of an exchange beside its connection and its request.
pub(crate) struct ReceiveContext<'c> {
    pub(crate) buffers: &'c Rc<Buffers>,
    pub(crate) body_limit: usize,
    pub(crate) asked: RequestTraits,
}

/// An exchange that ended without an answer.
pub(crate) struct ExchangeFailure {
    pub(crate) fault: Fault,
    /// Whether the connection was lost before the first byte: a kept one may have been closed long ago.
    pub(crate) before_first_byte: bool,
}

pub(crate) fn fault_of(flaw: Flaw, body_limit: usize) -> Fault {
    match flaw {
        Flaw::TooLarge => Fault::TooLarge { limit: body_limit },
        flaw => Fault::Flawed(flaw),
    }
}

/// A request being sent. Its answer is read meanwhile: a target may answer before it has read the request, or
/// without reading the rest.
struct Upload<'r> {
    left: &'r [u8],
    over: bool,
    /// Error that stopped the sending.
    failed: Option<io::Error>,
}

impl<'r> Upload<'r> {
    fn new(request: &'r [u8]) -> Self {
        Upload { left: request, over: false, failed: None }
    }

    /// Sends as many bytes as fit.
    fn go_on(&mut self, cx: &mut Context<'_>, stream: &mut Stream) {
        if !self.over
            && let Poll::Ready(end) = stream.poll_write_all(cx, &mut self.left)
        {
            self.over = true;
            self.failed = end.err();
        }
    }

    /// Whether all of it was sent.
    fn is_whole(&self) -> bool {
        self.over && self.failed.is_none()
    }

    /// Reads more of the answer; true at its end. After a failure to send, a reset counts as the end.
    async fn read(&mut self, stream: &mut Stream, buffer: &mut Vec<u8>) -> Result<bool, Fault> {
        let read = poll_fn(|cx| {
            self.go_on(cx, stream);
            stream.poll_read_into(cx, buffer)
        });
        match read.await {
            Ok(n) => Ok(n == 0),
            Err(_) if self.failed.is_some() => Ok(true),
            Err(why) => Err(Fault::Broken(why)),
        }
    }

    /// The fault of a connection that ended before the answer did.
    fn cut(&mut self) -> Fault {
        Fault::Broken(self.failed.take().unwrap_or_else(|| io::ErrorKind::UnexpectedEof.into()))
    }
}

/// Sends the request and waits for the whole answer. Returns also whether the connection may be kept.
pub(crate) async fn exchange(
    stream: &mut Stream,
    request: &[u8],
    with: &ReceiveContext<'_>,
) -> Result<(Answer, bool), ExchangeFailure> {
    let mut upload = Upload::new(request);
    let first = poll_fn(|cx| {
        upload.go_on(cx, stream);
        poll_first(cx, stream, with.buffers)
    });
    let mut buffer = match first.await {
        Ok(buffer) => buffer,
        Err(why) => {
            let why = upload.failed.unwrap_or(why);
            return Err(ExchangeFailure { fault: Fault::Broken(why), before_first_byte: true });
        }
    };
    match rest(stream, &mut upload, &mut buffer, with).await {
        Ok(whole) => {
            let keep = whole.keep && upload.is_whole();
            Ok((Answer::new(&whole, buffer, with.buffers), keep))
        }
        Err(fault) => {
            with.buffers.give_back(buffer);
            Err(ExchangeFailure { fault, before_first_byte: false })
        }
    }
}

/// Sends the request of a stream and waits for the head of its answer. Bytes after it stay in `buffer`.
pub(crate) async fn begin(
    stream: &mut Stream,
    request: &[u8],
    (reader, buffer): (&mut Reader, &mut Vec<u8>),
    body_limit: usize,
) -> Result<Head, Fault> {
    let mut upload = Upload::new(request);
    loop {
        if let Some(head) = reader.head(buffer).map_err(|flaw| fault_of(flaw, body_limit))? {
            // The stream begins, and the target still waits for the rest of the request.
            if head.status < 300 && !upload.over {
                stream.write_all(upload.left).await.map_err(Fault::Broken)?;
            }
            return Ok(head);
        }
        buffer.reserve(reader.room(buffer.len()));
        if upload.read(stream, buffer).await? {
            return Err(upload.cut());
        }
    }
}

/// Waits for the first bytes of an answer. No buffer is held while there are none: thousands of long polls
/// wait here.
fn poll_first(cx: &mut Context<'_>, stream: &mut Stream, buffers: &Buffers) -> Poll<io::Result<Vec<u8>>> {
    ready!(stream.poll_readable(cx));
    let mut buffer = buffers.take();
    buffer.reserve(READ_STEP);
    let end = match stream.poll_read_into(cx, &mut buffer) {
        Poll::Ready(Ok(0)) => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        Poll::Ready(Ok(_)) => return Poll::Ready(Ok(buffer)),
        Poll::Ready(Err(why)) => Poll::Ready(Err(why)),
        Poll::Pending => Poll::Pending,
    };
    buffers.give_back(buffer);
    end
}

/// Reads the rest of the answer.
async fn rest(
    stream: &mut Stream,
    upload: &mut Upload<'_>,
    buffer: &mut Vec<u8>,
    with: &ReceiveContext<'_>,
) -> Result<AnswerLayout, Fault> {
    let kept = if with.asked.counts_body { COUNTED_KEPT } else { usize::MAX };
    let mut reader = Reader::new(with.body_limit, with.asked.bodiless).keeping(kept);
    let mut closed = false;
    loop {
        match reader.look(buffer, closed) {
            Ok(Some(whole)) => return Ok(whole),
            Ok(None) if closed => return Err(upload.cut()),
            Ok(None) => {}
            Err(flaw) => return Err(fault_of(flaw, with.body_limit)),
        }
        buffer.reserve(reader.room(buffer.len()));
        closed = upload.read(stream, buffer).await?;
    }
}

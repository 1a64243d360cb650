//! One request and its answer over HTTP/1.1.

use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use barograph_net::{Buffers, Stream};

use crate::answer::Answer;
use crate::fault::Fault;
use crate::head::Flaw;
use crate::reader::{READ_STEP, Reader, Whole};
use crate::request::Asked;

/// What an exchange needs beside its connection and its request.
pub(crate) struct Receiving<'c> {
    pub(crate) buffers: &'c Rc<Buffers>,
    pub(crate) body_limit: usize,
    pub(crate) asked: Asked,
}

/// An exchange that ended without an answer.
pub(crate) struct Unanswered {
    pub(crate) fault: Fault,
    /// The connection was lost before anything came: a kept one may have been closed long ago.
    pub(crate) before_first_byte: bool,
}

pub(crate) fn fault_of(flaw: Flaw, body_limit: usize) -> Fault {
    match flaw {
        Flaw::Garbage => Fault::Garbage,
        Flaw::TooLarge => Fault::TooLarge { limit: body_limit },
    }
}

/// Sends the request and waits for the whole answer. Says whether the connection may be kept.
pub(crate) async fn exchange(
    stream: &mut Stream,
    request: &[u8],
    with: &Receiving<'_>,
) -> Result<(Answer, bool), Unanswered> {
    let early = |why| Unanswered { fault: Fault::Broken(why), before_first_byte: true };
    stream.write_all(request).await.map_err(early)?;
    let mut buffer = poll_fn(|cx| poll_first(cx, stream, with.buffers)).await.map_err(early)?;
    match rest(stream, &mut buffer, with).await {
        Ok(whole) => {
            let keep = whole.keep;
            Ok((Answer::new(&whole, buffer, with.buffers), keep))
        }
        Err(fault) => {
            with.buffers.give_back(buffer);
            Err(Unanswered { fault, before_first_byte: false })
        }
    }
}

/// Waits for the first bytes of an answer. No buffer is held while nothing is there: thousands of long polls wait here.
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

/// Reads on until the answer is whole.
async fn rest(stream: &mut Stream, buffer: &mut Vec<u8>, with: &Receiving<'_>) -> Result<Whole, Fault> {
    let mut reader = Reader::new(with.body_limit, with.asked.bodiless);
    let mut closed = false;
    loop {
        match reader.look(buffer, closed) {
            Ok(Some(whole)) => return Ok(whole),
            Ok(None) if closed => return Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(None) => {}
            Err(flaw) => return Err(fault_of(flaw, with.body_limit)),
        }
        buffer.reserve(reader.room(buffer.len()));
        closed = stream.read_into(buffer).await.map_err(Fault::Broken)? == 0;
    }
}

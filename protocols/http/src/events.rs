//! A stream of Server-Sent Events over a connection of its own.

use std::future::{Future, poll_fn};
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use barograph_net::{Buffers, Stream};
use h2::RecvStream;

use crate::answer::Answer;
use crate::carriers::Carrier;
use crate::chunks::Chunks;
use crate::connect::HttpVersion;
use crate::connections::Connections;
use crate::draft::Draft;
use crate::exchange::{begin, fault_of};
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::head::{Framing, Head};
use crate::reader::{AnswerLayout, READ_STEP, Reader};
use crate::request::{RenderedRequest, Request};
use crate::sse::{Event, Events};
use crate::translate;

/// Events of one answer, in order of arrival. Dropping it closes its connection. While waiting it holds no
/// receive buffer, so that tens of thousands of followers can wait at once.
pub struct EventStream {
    head: Answer,
    source: Source,
    /// Bytes of the body so far, of which the first `used` are read.
    there: Vec<u8>,
    used: usize,
    events: Events,
    limit: usize,
    buffers: Rc<Buffers>,
}

/// Source of the body's bytes.
enum Source {
    Http1 { stream: Stream, raw: Vec<u8>, framing: RemainingBody },
    Http2 { data: RecvStream, _carrier: Carrier },
}

/// Rest of a body over HTTP/1.1.
enum RemainingBody {
    Bytes(usize),
    Chunks(Chunks),
    UntilClose,
}

impl Connections {
    /// Requests a stream of events. It has a connection of its own, not counted by the policy, since it stays
    /// open while requests go and come.
    pub fn events<'s>(
        &'s self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<EventStream, Fault>> + use<'s> {
        self.events_draft(Draft::filled(&self.client.blank, request))
    }

    /// Like [`Self::events`], for a draft.
    pub fn events_draft(&self, draft: Draft) -> impl Future<Output = Result<EventStream, Fault>> + use<'_> {
        let rendered = draft.finish();
        async move { Box::pin(self.open_events(&rendered?)).await }
    }

    async fn open_events(&self, request: &RenderedRequest) -> Result<EventStream, Fault> {
        let limit = self.client.target().options().body_limit;
        let (stream, speaks) = self.client.connect(self.number()).await?;
        let (head, source) = match speaks {
            HttpVersion::Http1 => self.open_http1(stream, request).await?,
            HttpVersion::Http2 => self.open_http2(stream, request).await?,
        };
        if head.status != 200 {
            return Err(Fault::Status(head.status));
        }
        let kind = head.header("content-type").unwrap_or_default();
        let plain = kind.split(|b| *b == b';').next().unwrap_or_default().trim_ascii();
        if !plain.eq_ignore_ascii_case(b"text/event-stream") {
            return Err(Fault::NoEvents { kind: kind.escape_ascii().to_string() });
        }
        let (events, buffers) = (Events::new(limit), Rc::clone(&self.client.answers));
        Ok(EventStream { head, source, there: Vec::new(), used: 0, events, limit, buffers })
    }

    async fn open_http1(
        &self,
        mut stream: Stream,
        request: &RenderedRequest,
    ) -> Result<(Answer, Source), Fault> {
        let limit = self.client.target().options().body_limit;
        let mut buffer = self.client.answers.take();
        let mut reader = Reader::new(limit, request.asked.bodiless);
        let head = begin(&mut stream, request.as_ref(), (&mut reader, &mut buffer), limit).await?;
        let Head { status, length, framing, .. } = head;
        // A buffer for a whole answer is too large to hold its head as long as the stream lives.
        let head = buffer[..length].to_vec();
        buffer.drain(..length);
        let raw = buffer;
        let whole = AnswerLayout {
            status,
            head: length,
            body: length..length,
            body_length: 0,
            trailers: 0..0,
            wire: length,
            keep: false,
        };
        let framing = match framing {
            Framing::Length(n) => RemainingBody::Bytes(n),
            Framing::Chunked => RemainingBody::Chunks(Chunks::new(0)),
            Framing::UntilClose => RemainingBody::UntilClose,
        };
        let answer = Answer::new(&whole, head, &self.client.answers);
        Ok((answer, Source::Http1 { stream, raw, framing }))
    }

    async fn open_http2(&self, stream: Stream, request: &RenderedRequest) -> Result<(Answer, Source), Fault> {
        let scheme = if self.client.target().is_tls() { "https" } else { "http" };
        let (request, body) = translate::request(request.as_ref(), scheme)?;
        let carrier = Carrier::begin(stream).await?;
        let (head, data) = carrier.open(request, body).await.map_err(|lost| lost.fault)?;
        let (buffer, status) = translate::head(&head, self.client.answers.take());
        let end = buffer.len();
        let whole = AnswerLayout {
            status,
            head: end,
            body: end..end,
            body_length: 0,
            trailers: 0..0,
            wire: end,
            keep: false,
        };
        Ok((Answer::new(&whole, buffer, &self.client.answers), Source::Http2 { data, _carrier: carrier }))
    }
}

impl EventStream {
    /// Status and fields of the answer; its body is empty.
    #[must_use]
    pub fn head(&self) -> &Answer {
        &self.head
    }

    /// Waits for the next event; `None` when the peer has ended the stream. Cancel-safe: nothing is lost if
    /// it is dropped early.
    ///
    /// # Errors
    /// If the connection breaks, or the bytes are not a stream of events within the limit.
    pub async fn next(&mut self) -> Result<Option<Event<'_>>, Fault> {
        loop {
            let (n, whole) =
                self.events.take(&self.there[self.used..]).map_err(|flaw| fault_of(flaw, self.limit))?;
            self.used += n;
            if whole {
                break;
            }
            self.there.clear();
            self.used = 0;
            self.buffers.give_back(std::mem::take(&mut self.there));
            if !self.source.more(&mut self.there, self.limit, &self.buffers).await? {
                return Ok(None);
            }
        }
        Ok(Some(self.events.event()))
    }
}

impl Source {
    /// Waits for bytes of the body and appends them; false when it is over.
    async fn more(&mut self, there: &mut Vec<u8>, limit: usize, buffers: &Buffers) -> Result<bool, Fault> {
        let (stream, raw, framing) = match self {
            Source::Http2 { data, .. } => {
                let Some(piece) = data.data().await else { return Ok(false) };
                let piece = piece.map_err(translate::fault_of)?;
                *there = buffers.take();
                there.extend_from_slice(&piece);
                data.flow_control().release_capacity(piece.len()).map_err(translate::fault_of)?;
                return Ok(true);
            }
            Source::Http1 { stream, raw, framing } => (stream, raw, framing),
        };
        loop {
            if there.capacity() == 0 && !raw.is_empty() {
                *there = buffers.take();
            }
            let over = framing.decode(raw, there).map_err(|flaw| fault_of(flaw, limit))?;
            if over || !there.is_empty() {
                return Ok(!there.is_empty());
            }
            if poll_fn(|cx| poll_more(cx, stream, raw, buffers)).await.map_err(Fault::Broken)? == 0 {
                return match framing {
                    RemainingBody::UntilClose => Ok(false),
                    _ => Err(Fault::Broken(io::ErrorKind::UnexpectedEof.into())),
                };
            }
        }
    }
}

/// Reads more of the body. While no bytes are available, `raw` has no room of its own.
fn poll_more(
    cx: &mut Context<'_>,
    stream: &mut Stream,
    raw: &mut Vec<u8>,
    buffers: &Buffers,
) -> Poll<io::Result<usize>> {
    if raw.is_empty() {
        buffers.give_back(std::mem::take(raw));
        ready!(stream.poll_readable(cx));
        *raw = buffers.take();
    }
    raw.reserve(READ_STEP);
    let read = stream.poll_read_into(cx, raw);
    if read.is_pending() && raw.is_empty() {
        buffers.give_back(std::mem::take(raw));
    }
    read
}

impl RemainingBody {
    /// Moves decoded bytes from `raw` to `there`; true when nothing can follow.
    fn decode(&mut self, raw: &mut Vec<u8>, there: &mut Vec<u8>) -> Result<bool, Flaw> {
        match self {
            RemainingBody::UntilClose => {
                there.append(raw);
                Ok(false)
            }
            RemainingBody::Bytes(left) => {
                let n = raw.len().min(*left);
                there.extend(raw.drain(..n));
                *left -= n;
                Ok(*left == 0)
            }
            RemainingBody::Chunks(chunks) => {
                let over = chunks.decode(raw, usize::MAX)?;
                there.extend_from_slice(&raw[..chunks.body]);
                raw.drain(..chunks.raw);
                chunks.restart();
                Ok(over)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, Method, Options, Target};
    use barograph_testkit::{ListenOptions, Site, SiteProtocols};

    fn room(stream: &EventStream) -> usize {
        let Source::Http1 { raw, .. } = &stream.source else { return usize::MAX };
        stream.there.capacity() + raw.capacity()
    }

    #[test]
    fn a_stream_that_waits_holds_no_buffer() {
        let site = Site::start(ListenOptions::v4(), SiteProtocols::Http1).unwrap();
        let work = async {
            let target = Target::parse(&site.url("/"), &Options::default()).unwrap();
            let connections = Client::new(&target.resolve().unwrap()).user(0);
            let path = format_args!("/feed");
            let request = Request { method: Method::GET, path, headers: &[], body: None };
            let mut stream = connections.events(&request).await.unwrap();
            for text in ["one", "two"] {
                assert!(futures::poll!(std::pin::pin!(stream.next())).is_pending());
                assert_eq!(room(&stream), 0);
                site.publish(text);
                assert_eq!(stream.next().await.unwrap().unwrap().data, text);
            }
        };
        barograph_reactor::block_on(work).unwrap();
    }
}

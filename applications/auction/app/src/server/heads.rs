//! Time limit of request heads.
//!
//! hyper has one timer for a head and for a connection that rests between two requests, and proxies keep
//! resting connections for minutes. So hyper's timer is that of rest, and the stream below hyper times heads:
//! it sees bytes that arrive while no request is being answered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::Service;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Time limit of a head from its first byte to its last. It fits into a few packets; HAProxy allows one and a
/// half times as much.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(20);

/// No byte of the next head has arrived.
const RESTING: u8 = 0;
/// A part of the head has arrived.
const COMING: u8 = 1;
/// A request is being answered; input belongs to its body.
const ANSWERING: u8 = 2;

/// State of a connection.
#[derive(Clone, Default)]
pub(super) struct Stage(Arc<AtomicU8>);

impl Stage {
    fn is(&self, stage: u8) -> bool {
        self.0.load(Ordering::Relaxed) == stage
    }

    fn set(&self, stage: u8) {
        self.0.store(stage, Ordering::Relaxed);
    }
}

/// The stream of a connection.
pub(super) struct TimeoutStream<S> {
    stream: S,
    stage: Stage,
    /// Deadline of the present head; made only when the head does not arrive in one piece, which is rare.
    late: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(stream: S, stage: Stage) -> Self {
        TimeoutStream { stream, stage, late: None }
    }

    fn came(&mut self) {
        if self.stage.is(RESTING) {
            self.stage.set(COMING);
            self.late = None;
        }
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.stage.is(COMING) {
            return Poll::Pending;
        }
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(HEAD_TIME)));
        ready!(late.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.came();
        }
        if read.is_pending() { self.wait(context) } else { read }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A service that marks the time in which a request is answered.
pub(super) struct StageService<S> {
    service: S,
    stage: Stage,
}

impl<S> StageService<S> {
    pub(super) fn new(service: S, stage: Stage) -> Self {
        StageService { service, stage }
    }
}

impl<S> Service<Request<Incoming>> for StageService<S>
where
    S: Service<Request<Incoming>, Response = Response<Body>>,
    S::Future: Unpin,
{
    type Response = Response<Answer>;
    type Error = S::Error;
    type Future = StageFuture<S::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        self.stage.set(ANSWERING);
        StageFuture { inner: self.service.call(request), stage: self.stage.clone() }
    }
}

/// A request being answered.
pub(super) struct StageFuture<F> {
    inner: F,
    stage: Stage,
}

impl<F, E> Future for StageFuture<F>
where
    F: Future<Output = Result<Response<Body>, E>> + Unpin,
{
    type Output = Result<Response<Answer>, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = ready!(Pin::new(&mut self.inner).poll(context));
        let stage = self.stage.clone();
        Poll::Ready(answer.map(|response| response.map(|body| Answer { body, stage })))
    }
}

/// The body of an answer. Its drop ends the answer, complete or not.
pub(super) struct Answer {
    body: Body,
    stage: Stage,
}

impl hyper::body::Body for Answer {
    type Data = <Body as hyper::body::Body>::Data;
    type Error = <Body as hyper::body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        hyper::body::Body::size_hint(&self.body)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.stage.set(RESTING);
    }
}

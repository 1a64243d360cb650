//! The open Server-Sent Events and WebSockets of one user, which stay open between operations.
//!
//! One activity may wait for input while another sends: a waiting one holds the stream only while it polls,
//! and a sending one takes it out and puts it back.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use barograph_http::{EventStream, Fault, Message, WebSocket};
use barograph_scenario::StreamId;

/// The streams of one user, by `StreamId`.
pub(crate) struct Streams(RefCell<Box<[StreamSlot]>>);

/// The slot of one stream.
#[derive(Default)]
pub(crate) struct StreamSlot {
    flow: Flow,
    /// Rises whenever a stream is opened or closed here: a wait on an earlier one ends.
    number: u32,
    /// The waiting activity.
    waits: Option<Waker>,
    is_waited_for: bool,
}

/// Contents of a slot.
#[derive(Default)]
pub(crate) enum Flow {
    #[default]
    Closed,
    Events(Box<EventStream>),
    Socket(Box<WebSocket>),
    /// Taken out for sending.
    Out,
}

/// End of a wait on a stream.
pub(crate) enum WaitResult {
    /// A message.
    Message(Vec<u8>),
    /// The target ended the stream, with this reason.
    Over(String),
    Broken(Fault),
    /// The user closed it meanwhile.
    Closed,
}

impl Streams {
    pub(crate) fn new(count: usize) -> Self {
        Streams(RefCell::new(std::iter::repeat_with(StreamSlot::default).take(count).collect()))
    }

    /// Closes all of them.
    pub(crate) fn close_all(&self) {
        self.0.borrow_mut().iter_mut().for_each(|line| line.put(Flow::Closed));
    }

    /// Puts a stream into its slot; an existing one is closed.
    pub(crate) fn put(&self, id: StreamId, flow: Flow) {
        self.line(id, |line| line.put(flow));
    }

    fn line<T>(&self, id: StreamId, look: impl FnOnce(&mut StreamSlot) -> T) -> T {
        look(&mut self.0.borrow_mut()[usize::from(id.0)])
    }

    /// Takes a stream out for sending. It is closed if it is not put back.
    pub(crate) fn take_out(&self, id: StreamId) -> Option<SocketLease<'_>> {
        self.line(id, |line| match std::mem::replace(&mut line.flow, Flow::Out) {
            Flow::Socket(socket) => {
                Some(SocketLease { streams: self, id, number: line.number, socket: Some(socket) })
            }
            other => {
                line.flow = other;
                None
            }
        })
    }

    /// Waits for the next input of a stream; `None` if it is not open, or another activity waits on it
    /// already.
    pub(crate) async fn next(&self, id: StreamId, name: Option<&str>) -> Option<WaitResult> {
        let number = self.line(id, |line| {
            let free = !line.is_waited_for && !matches!(line.flow, Flow::Closed);
            line.is_waited_for |= free;
            free.then_some(line.number)
        })?;
        let _waiting = WaitGuard { streams: self, id };
        Some(poll_fn(|cx| self.line(id, |line| line.poll(cx, number, name))).await)
    }
}

impl StreamSlot {
    fn put(&mut self, flow: Flow) {
        self.flow = flow;
        self.number = self.number.wrapping_add(1);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waits.take() {
            waker.wake();
        }
    }

    /// Polls for input. A cancelled wait loses nothing: partial input stays with the stream.
    fn poll(&mut self, cx: &mut Context<'_>, number: u32, name: Option<&str>) -> Poll<WaitResult> {
        if self.number != number {
            return Poll::Ready(WaitResult::Closed);
        }
        let came = match &mut self.flow {
            Flow::Closed => Poll::Ready(WaitResult::Closed),
            Flow::Events(stream) => poll_event(stream, cx, name),
            Flow::Socket(socket) => poll_message(socket, cx),
            Flow::Out => Poll::Pending,
        };
        match &came {
            Poll::Pending => self.waits = Some(cx.waker().clone()),
            Poll::Ready(WaitResult::Over(_) | WaitResult::Broken(_)) => self.put(Flow::Closed),
            Poll::Ready(_) => {}
        }
        came
    }
}

fn poll_event(stream: &mut EventStream, cx: &mut Context<'_>, wanted: Option<&str>) -> Poll<WaitResult> {
    loop {
        let Poll::Ready(next) = pin!(stream.next()).poll(cx) else { return Poll::Pending };
        match next {
            Ok(Some(event)) if wanted.is_some_and(|name| name != event.name) => {}
            Ok(Some(event)) => return Poll::Ready(WaitResult::Message(event.data.as_bytes().to_vec())),
            Ok(None) => return Poll::Ready(WaitResult::Over("ended".to_owned())),
            Err(fault) => return Poll::Ready(WaitResult::Broken(fault)),
        }
    }
}

fn poll_message(socket: &mut WebSocket, cx: &mut Context<'_>) -> Poll<WaitResult> {
    pin!(socket.receive()).poll(cx).map(|next| match next {
        Ok(Message::Text(text)) => WaitResult::Message(text.into()),
        Ok(Message::Binary(bytes)) => WaitResult::Message(bytes),
        Ok(Message::Closed { code: Some(code), .. }) => WaitResult::Over(format!("closed with code {code}")),
        Ok(Message::Closed { code: None, .. }) => WaitResult::Over("closed".to_owned()),
        Err(fault) => WaitResult::Broken(fault),
    })
}

/// A wait on a stream, until dropped.
struct WaitGuard<'s> {
    streams: &'s Streams,
    id: StreamId,
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        self.streams.line(self.id, |line| {
            line.is_waited_for = false;
            line.waits = None;
        });
    }
}

/// A WebSocket taken out for sending.
pub(crate) struct SocketLease<'s> {
    streams: &'s Streams,
    id: StreamId,
    number: u32,
    socket: Option<Box<WebSocket>>,
}

impl SocketLease<'_> {
    pub(crate) fn socket(&mut self) -> &mut WebSocket {
        self.socket.as_mut().expect("it is given up only at the end")
    }

    pub(crate) fn put_back(mut self) {
        let socket = self.socket.take().map_or(Flow::Closed, Flow::Socket);
        self.streams.line(self.id, |line| {
            if line.number == self.number {
                line.flow = socket;
                line.wake();
            }
        });
    }
}

impl Drop for SocketLease<'_> {
    /// Cancelled in the middle of a message, the stream is unusable.
    fn drop(&mut self) {
        if self.socket.is_some() {
            self.streams.line(self.id, |line| {
                if line.number == self.number {
                    line.put(Flow::Closed);
                }
            });
        }
    }
}

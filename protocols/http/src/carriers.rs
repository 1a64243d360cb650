//! HTTP/2 connections: which are open, and how many requests each carries.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use barograph_net::Stream;
use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use tokio::sync::Notify;

use crate::fault::Fault;
use crate::head::MAX_HEAD;
use crate::translate::{self, Lost};

/// What a peer may send ahead, on one stream and on all of a connection, in bytes. Enough for 10 Gbit/s at 1 ms.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// The HTTP/2 connections of a lane.
#[derive(Clone)]
pub(crate) struct Carriers(Rc<Inner>);

struct Inner {
    most: u32,
    streams: u32,
    live: RefCell<Vec<Carrier>>,
    opening: Cell<u32>,
    changed: Notify,
}

/// A connection.
#[derive(Clone)]
pub(crate) struct Carrier {
    send: SendRequest<Bytes>,
    state: Rc<State>,
}

#[derive(Default)]
struct State {
    going: Cell<u32>,
    used: Cell<bool>,
    over: Cell<bool>,
}

/// A place among the requests of a connection.
pub(crate) struct Seat {
    pub(crate) carrier: Carrier,
    home: Carriers,
    /// Nobody has used its connection before.
    pub(crate) fresh: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let going = &self.carrier.state.going;
        going.set(going.get() - 1);
        self.home.0.changed.notify_waiters();
    }
}

/// The right to make a connection.
pub(crate) struct Opening<'c>(&'c Inner);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.opening.set(self.0.opening.get() - 1);
        self.0.changed.notify_waiters();
    }
}

impl Carriers {
    pub(crate) fn new(most: u32, streams: u32) -> Self {
        Carriers(Rc::new(Inner {
            most,
            streams,
            live: RefCell::default(),
            opening: Cell::new(0),
            changed: Notify::new(),
        }))
    }

    /// Takes over a connection that turned out to speak HTTP/2, if there is room for it.
    pub(crate) async fn adopt(&self, stream: Stream) -> Result<(), Fault> {
        let Some(_opening) = self.may_open() else { return Ok(()) };
        self.add(&Carrier::begin(stream).await?);
        Ok(())
    }

    /// Gives one away, for a request that has its connection to itself.
    pub(crate) fn give(&self) -> Option<Carrier> {
        self.0.live.borrow_mut().pop()
    }

    pub(crate) fn add(&self, carrier: &Carrier) {
        self.0.live.borrow_mut().push(carrier.clone());
    }

    /// Waits until a place is free, or the opening of a connection has ended in one way or the other.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(crate) fn close_idle(&self) {
        self.0.live.borrow_mut().retain(|c| c.state.going.get() > 0);
    }

    pub(crate) fn may_open(&self) -> Option<Opening<'_>> {
        let inner = &*self.0;
        let open = inner.live.borrow().len() as u32 + inner.opening.get();
        (open < inner.most).then(|| {
            inner.opening.set(inner.opening.get() + 1);
            Opening(inner)
        })
    }

    /// Is one being opened that may have room for everybody who waits?
    pub(crate) fn is_opening(&self) -> bool {
        self.0.opening.get() > 0
    }

    /// A place on the connection with the fewest requests; none when all are full, or while `all` must be open first
    /// and are not.
    pub(crate) fn seat(&self, all: bool) -> Option<Seat> {
        let mut live = self.0.live.borrow_mut();
        live.retain(|c| !c.state.over.get());
        if all && (live.len() as u32) < self.0.most {
            return None;
        }
        let least = live.iter().min_by_key(|c| c.state.going.get())?;
        (least.state.going.get() < self.0.streams).then(|| self.sit(least))
    }

    pub(crate) fn sit(&self, carrier: &Carrier) -> Seat {
        let state = &carrier.state;
        state.going.set(state.going.get() + 1);
        let fresh = !state.used.replace(true);
        Seat { carrier: carrier.clone(), home: self.clone(), fresh }
    }
}

impl Carrier {
    /// Begins HTTP/2 on a connection. Its frames are moved by a task of their own until nobody uses it any more.
    pub(crate) async fn begin(stream: Stream) -> Result<Carrier, Fault> {
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // More wait for the settings of the peer, which may allow few and refuse the rest.
            .initial_max_send_streams(1)
            .max_header_list_size(MAX_HEAD as u32);
        let (send, connection) = builder.handshake(stream).await.map_err(translate::fault_of)?;
        let state = Rc::new(State::default());
        let ended = Rc::clone(&state);
        barograph_reactor::spawn(async move {
            // Why it ended, each of its requests is told.
            let _ = connection.await;
            ended.over.set(true);
        });
        Ok(Carrier { send, state })
    }

    /// No new requests on this one.
    pub(crate) fn retire(&self) {
        self.state.over.set(true);
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn open(
        &self,
        request: http::Request<()>,
        body: Option<Bytes>,
    ) -> Result<(http::response::Parts, RecvStream), Lost> {
        let mut send = self.send.clone().ready().await.map_err(Lost::unsent)?;
        let (head, mut upload) = send.send_request(request, body.is_none()).map_err(Lost::unsent)?;
        if let Some(body) = body {
            upload.send_data(body, true).map_err(Lost::unseen)?;
        }
        Ok(head.await.map_err(Lost::unseen)?.into_parts())
    }
}

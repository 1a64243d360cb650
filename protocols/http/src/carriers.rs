//! HTTP/2 connections: the open ones, and the number of requests on each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use barograph_net::Stream;
use bytes::Bytes;
use h2::RecvStream;
use h2::client::SendRequest;
use tokio::sync::Notify;

use crate::fault::Fault;
use crate::head::MAX_HEAD;
use crate::translate::{self, LostRequest};

/// Flow-control window of a stream, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;
/// Flow-control window of a connection, in bytes. Enough for 10 Gbit/s at 1 ms.
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;

/// The HTTP/2 connections of a lane.
#[derive(Clone)]
pub(crate) struct Carriers(Rc<CarrierPool>);

struct CarrierPool {
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
pub(crate) struct StreamPermit {
    pub(crate) carrier: Carrier,
    home: Carriers,
    /// Whether the connection has not been used before.
    pub(crate) fresh: bool,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let going = &self.carrier.state.going;
        going.set(going.get() - 1);
        self.home.0.changed.notify_waiters();
    }
}

/// Permit to open a connection.
pub(crate) struct OpeningPermit<'c>(&'c CarrierPool);

impl Drop for OpeningPermit<'_> {
    fn drop(&mut self) {
        self.0.opening.set(self.0.opening.get() - 1);
        self.0.changed.notify_waiters();
    }
}

impl Carriers {
    pub(crate) fn new(most: u32, streams: u32) -> Self {
        Carriers(Rc::new(CarrierPool {
            most,
            streams,
            live: RefCell::default(),
            opening: Cell::new(0),
            changed: Notify::new(),
        }))
    }

    /// Takes over a connection that speaks HTTP/2, if there is room for it.
    pub(crate) async fn adopt(&self, stream: Stream) -> Result<(), Fault> {
        let Some(_opening) = self.may_open() else { return Ok(()) };
        self.add(&Carrier::begin(stream).await?);
        Ok(())
    }

    /// Hands a connection over to a request that has it alone.
    pub(crate) fn give(&self) -> Option<Carrier> {
        self.0.live.borrow_mut().pop()
    }

    pub(crate) fn add(&self, carrier: &Carrier) {
        self.0.live.borrow_mut().push(carrier.clone());
    }

    /// Waits until a place is free, or until the opening of a connection has ended, with success or not.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(crate) fn close_idle(&self) {
        self.0.live.borrow_mut().retain(|c| c.state.going.get() > 0);
    }

    pub(crate) fn may_open(&self) -> Option<OpeningPermit<'_>> {
        let inner = &*self.0;
        let open = inner.live.borrow().len() as u32 + inner.opening.get();
        (open < inner.most).then(|| {
            inner.opening.set(inner.opening.get() + 1);
            OpeningPermit(inner)
        })
    }

    /// Whether a connection is being opened that may have room for all waiting requests.
    pub(crate) fn is_opening(&self) -> bool {
        self.0.opening.get() > 0
    }

    /// A place on the connection with the fewest requests; `None` if all are full, or while `all` connections
    /// must be open first and are not.
    pub(crate) fn seat(&self, all: bool) -> Option<StreamPermit> {
        let mut live = self.0.live.borrow_mut();
        live.retain(|c| !c.state.over.get());
        if all && (live.len() as u32) < self.0.most {
            return None;
        }
        let least = live.iter().min_by_key(|c| c.state.going.get())?;
        (least.state.going.get() < self.0.streams).then(|| self.sit(least))
    }

    pub(crate) fn sit(&self, carrier: &Carrier) -> StreamPermit {
        let state = &carrier.state;
        state.going.set(state.going.get() + 1);
        let fresh = !state.used.replace(true);
        StreamPermit { carrier: carrier.clone(), home: self.clone(), fresh }
    }
}

impl Carrier {
    /// Begins HTTP/2 on a connection. A task of its own moves the frames until the last user is gone.
    pub(crate) async fn begin(stream: Stream) -> Result<Carrier, Fault> {
        let mut builder = h2::client::Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            // More requests wait for the settings of the peer, which may allow few and refuse the rest.
            .initial_max_send_streams(1)
            .max_header_list_size(MAX_HEAD as u32);
        let (send, connection) = builder.handshake(stream).await.map_err(translate::fault_of)?;
        let state = Rc::new(State::default());
        let ended = Rc::clone(&state);
        barograph_reactor::spawn(async move {
            // Each of its requests receives the reason for its end.
            let _ = connection.await;
            ended.over.set(true);
        });
        Ok(Carrier { send, state })
    }

    /// Bars new requests from this connection.
    pub(crate) fn retire(&self) {
        self.state.over.set(true);
    }

    /// Sends a request and waits for the head of its answer.
    pub(crate) async fn open(
        &self,
        request: http::Request<()>,
        body: Option<Bytes>,
    ) -> Result<(http::response::Parts, RecvStream), LostRequest> {
        let mut send = self.send.clone().ready().await.map_err(LostRequest::unsent)?;
        let (head, mut upload) = send.send_request(request, body.is_none()).map_err(LostRequest::unsent)?;
        if let Some(body) = body {
            upload.send_data(body, true).map_err(LostRequest::unseen)?;
        }
        Ok(head.await.map_err(LostRequest::unseen)?.into_parts())
    }
}

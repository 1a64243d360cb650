//! A node's handle of a bus behind a broker. The task in `session` runs the link.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::bounds::OPEN_LIMIT;
use crate::codec::{Broker, Link, LinkError, Parcel};
use crate::delays::Delays;
use crate::session::Session;
use crate::{BoxFuture, Bus, BusConnection, Counts, MAX_BODY_BYTES, Recipient, SendError, Settings, name};

/// State shared by handle and task.
#[derive(Debug, Default)]
pub(crate) struct LinkState {
    pub(crate) up: AtomicBool,
    pub(crate) sent: AtomicU64,
    pub(crate) heard: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) reconnects: AtomicU64,
}

/// The handle.
struct Remote {
    outbox: mpsc::Sender<Parcel>,
    /// Set to true to close the bus. The task also ends when this is dropped.
    closing: watch::Sender<bool>,
    shared: Arc<LinkState>,
    description: String,
}

/// Opens one link, within the time limit.
pub(crate) async fn open<B: Broker>(broker: &B) -> Result<Link<B::Encoder, B::Decoder>, LinkError> {
    let late = LinkError::Silent { seconds: OPEN_LIMIT.as_secs() };
    timeout(OPEN_LIMIT, broker.open()).await.unwrap_or(Err(late))
}

/// Opens the first link and starts the task that runs it.
pub(crate) async fn connect<B: Broker>(broker: B, settings: &Settings) -> Result<BusConnection, LinkError> {
    let link = open(&broker).await?;
    let (outbox, queue) = mpsc::channel(settings.outbox.max(1));
    let (heard, receiver) = mpsc::channel(settings.inbox.max(1));
    let (closing, closed) = watch::channel(false);
    let shared = Arc::new(LinkState { up: AtomicBool::new(true), ..LinkState::default() });
    let description = link.description.clone();
    let session = Session {
        broker,
        queue,
        heard,
        closing: closed,
        shared: Arc::clone(&shared),
        batch: Vec::new(),
        delays: Delays::default(),
    };
    tokio::spawn(session.run(link));
    Ok((Arc::new(Remote { outbox, closing, shared, description }), receiver))
}

impl Bus for Remote {
    fn send(&self, to: Recipient<'_>, body: Bytes) -> Result<(), SendError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(SendError::TooLong { bytes: body.len() });
        }
        if let Recipient::Node(node) = to {
            name::check(node)?;
        }
        if !self.is_connected() {
            return Err(SendError::Down);
        }
        match self.outbox.try_send(Parcel::new(to, body)) {
            Ok(()) => {
                self.shared.sent.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Err(mpsc::error::TrySendError::Full(_)) => Err(SendError::Full),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(SendError::Down),
        }
    }

    fn is_connected(&self) -> bool {
        self.shared.up.load(Ordering::Acquire)
    }

    fn describe(&self) -> String {
        self.description.clone()
    }

    fn counts(&self) -> Counts {
        Counts {
            sent: self.shared.sent.load(Ordering::Relaxed),
            heard: self.shared.heard.load(Ordering::Relaxed),
            dropped: self.shared.dropped.load(Ordering::Relaxed),
            reconnects: self.shared.reconnects.load(Ordering::Relaxed),
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.shared.up.store(false, Ordering::Release);
        self.closing.send_replace(true);
        // The task holds the other end until it is done, within its own limits.
        Box::pin(self.outbox.closed())
    }
}

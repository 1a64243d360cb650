//! The bus inside one process: messages go straight into the receivers' queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::mpsc::{self, Permit};

use crate::{
    BoxFuture, Bus, BusConnection, BusEvent, Counts, DeliveryRoute, MAX_BODY_BYTES, NodeName, Recipient,
    SendError, Settings, name,
};

/// A hub for the nodes of one process. Clones are the same hub.
///
/// A message reaches all its receivers or none: if one of them does not keep up the sender gets
/// [`SendError::Full`], also for the others, since nothing is dropped here.
#[derive(Clone, Default)]
pub struct Hub(Arc<Mutex<Vec<HubMember>>>);

/// The hub's entry for a node. Only the hub holds the sender of the queue, so that the queue ends when the
/// node leaves.
struct HubMember {
    namespace: Arc<str>,
    node: Box<str>,
    heard: mpsc::Sender<BusEvent>,
    /// Number of received messages; also identifies the member.
    count: Arc<AtomicU64>,
}

impl Hub {
    /// A hub without nodes.
    pub fn new() -> Hub {
        Hub::default()
    }

    pub(crate) fn join(&self, place: NodeName<'_>, settings: &Settings) -> BusConnection {
        let (heard, receiver) = mpsc::channel(settings.inbox.max(1));
        let sent = heard.try_send(BusEvent::Connected);
        debug_assert!(sent.is_ok(), "the queue is new and holds one at least");
        let (namespace, count) = (Arc::<str>::from(place.namespace), Arc::new(AtomicU64::new(0)));
        self.0.lock().push(HubMember {
            namespace: Arc::clone(&namespace),
            node: place.node.into(),
            heard,
            count: Arc::clone(&count),
        });
        (Arc::new(HubConnection { hub: self.clone(), namespace, count, sent: AtomicU64::new(0) }), receiver)
    }
}

/// A node's place at the hub.
struct HubConnection {
    hub: Hub,
    namespace: Arc<str>,
    count: Arc<AtomicU64>,
    sent: AtomicU64,
}

impl HubConnection {
    fn leave(&self) {
        self.hub.0.lock().retain(|member| !Arc::ptr_eq(&member.count, &self.count));
    }

    /// Whether the node has not left, and its receiver exists.
    fn sits_at(&self, members: &[HubMember]) -> bool {
        members.iter().any(|member| Arc::ptr_eq(&member.count, &self.count) && !member.heard.is_closed())
    }
}

impl Bus for HubConnection {
    fn send(&self, to: Recipient<'_>, body: Bytes) -> Result<(), SendError> {
        if body.len() > MAX_BODY_BYTES {
            return Err(SendError::TooLong { bytes: body.len() });
        }
        let (node, through) = match to {
            Recipient::All => (None, DeliveryRoute::All),
            Recipient::Node(node) => (Some(node), DeliveryRoute::Inbox),
        };
        node.map_or(Ok(()), name::check)?;
        // Held while the queues are filled, so that all receivers get the same order.
        let members = self.hub.0.lock();
        if !self.sits_at(&members) {
            return Err(SendError::Down);
        }
        let mut places: Vec<(&HubMember, Permit<'_, BusEvent>)> = Vec::with_capacity(members.len());
        for member in members.iter() {
            if member.namespace != self.namespace || node.is_some_and(|node| node != &*member.node) {
                continue;
            }
            match member.heard.try_reserve() {
                Ok(place) => places.push((member, place)),
                Err(mpsc::error::TrySendError::Full(())) => return Err(SendError::Full),
                // Its receiver is gone; it leaves when its handle goes.
                Err(mpsc::error::TrySendError::Closed(())) => {}
            }
        }
        for (member, place) in places {
            member.count.fetch_add(1, Ordering::Relaxed);
            place.send(BusEvent::Message(crate::Delivery { through, body: body.clone() }));
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn is_connected(&self) -> bool {
        self.sits_at(&self.hub.0.lock())
    }

    fn describe(&self) -> String {
        "in-process, messages in memory".to_owned()
    }

    fn counts(&self) -> Counts {
        Counts {
            sent: self.sent.load(Ordering::Relaxed),
            heard: self.count.load(Ordering::Relaxed),
            dropped: 0,
            reconnects: 0,
        }
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        // Sent messages are in the receivers' queues already.
        self.leave();
        Box::pin(std::future::ready(()))
    }
}

impl Drop for HubConnection {
    fn drop(&mut self) {
        self.leave();
    }
}

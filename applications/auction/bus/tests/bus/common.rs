//! Nodes on each kind of bus, and waiting with a deadline.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use barograph_auction_bus::{
    Bus, BusEvent, BusUrl, ConnectError, DeliveryRoute, LinkError, NodeName, Recipient, SendError, Settings,
    connect,
};
use barograph_test_services::{self as services, Service};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Longer than any step takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// The kinds of bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BusKind {
    InProcess,
    Rabbit,
    Nats,
    /// Two servers that do not know each other.
    NatsTwice,
}

/// A node's end of the bus.
pub(crate) struct Node {
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) heard: mpsc::Receiver<BusEvent>,
}

/// An event of a node, without the words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Message((DeliveryRoute, Bytes)),
    Connected,
    Lost,
}

impl BusKind {
    /// Connected nodes; `None` if the service is missing, which was reported.
    pub(crate) async fn nodes(self, namespace: &str, names: &[&str]) -> Option<Vec<Node>> {
        self.nodes_with(namespace, names, &Settings::default()).await
    }

    pub(crate) async fn nodes_with(
        self,
        namespace: &str,
        names: &[&str],
        settings: &Settings,
    ) -> Option<Vec<Node>> {
        // Kept by each test: the namespaces of tests that share a server differ.
        static NATS: OnceLock<Option<Service>> = OnceLock::new();
        static SECOND: OnceLock<Option<Service>> = OnceLock::new();
        static RABBIT: OnceLock<Option<Service>> = OnceLock::new();
        static HUB: OnceLock<BusUrl> = OnceLock::new();
        let url: BusUrl = match self {
            BusKind::InProcess => HUB.get_or_init(|| "in-process".parse().expect("a kind of bus")).clone(),
            BusKind::Rabbit => {
                let start = || RABBIT.get_or_init(|| services::or_skip(services::rabbitmq()));
                let started = tokio::task::block_in_place(start);
                started.as_ref()?.url().parse().expect("an address")
            }
            BusKind::Nats => started(&NATS)?.parse().expect("an address"),
            BusKind::NatsTwice => {
                format!("{} {}", started(&NATS)?, started(&SECOND)?).parse().expect("two addresses")
            }
        };
        let mut nodes = Vec::new();
        for name in names {
            nodes.push(Node::connect(&url, NodeName { namespace, node: name }, settings).await);
        }
        Some(nodes)
    }
}

/// URL of a NATS server, which is started if it is not yet.
fn started(server: &'static OnceLock<Option<Service>>) -> Option<&'static str> {
    let start = || server.get_or_init(|| services::or_skip(services::nats()));
    Some(tokio::task::block_in_place(start).as_ref()?.url())
}

impl Node {
    pub(crate) async fn connect(url: &BusUrl, place: NodeName<'_>, settings: &Settings) -> Node {
        let connected = async {
            loop {
                match connect(url, place, settings).await {
                    // One attempt has some seconds, which may be too short for a broker on a busy machine.
                    Err(ConnectError::Link { source: LinkError::Silent { .. }, .. }) => {}
                    other => return other.expect("a bus"),
                }
            }
        };
        let (bus, heard) = in_time(connected).await;
        let mut node = Node { bus, heard };
        assert_eq!(node.next().await, EventKind::Connected);
        node
    }

    pub(crate) async fn next(&mut self) -> EventKind {
        match in_time(self.heard.recv()).await.expect("the bus is open") {
            BusEvent::Message(delivery) => EventKind::Message((delivery.through, delivery.body)),
            BusEvent::Connected => EventKind::Connected,
            BusEvent::Lost { .. } => EventKind::Lost,
        }
    }

    /// The next event, which must be a message.
    pub(crate) async fn message(&mut self) -> (DeliveryRoute, Bytes) {
        match self.next().await {
            EventKind::Message(message) => message,
            other => panic!("a message was expected, not {other:?}"),
        }
    }

    pub(crate) async fn send(&self, to: Recipient<'_>, words: &str) {
        send(&*self.bus, to, &text(words)).await;
    }
}

/// Sends as soon as there is room.
pub(crate) async fn send(bus: &dyn Bus, to: Recipient<'_>, body: &Bytes) {
    let sent = async {
        loop {
            match bus.send(to, body.clone()) {
                Ok(()) => return,
                Err(SendError::Full) => tokio::task::yield_now().await,
                Err(other) => panic!("failed to send: {other}"),
            }
        }
    };
    in_time(sent).await;
}

/// Fails after the deadline.
pub(crate) async fn in_time<T>(what: impl Future<Output = T>) -> T {
    timeout(DEADLINE, what).await.expect("it takes too long")
}

/// Waits for a condition.
pub(crate) async fn until(mut is: impl FnMut() -> bool) {
    let waited = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(waited).await;
}

pub(crate) fn text(words: &str) -> Bytes {
    Bytes::copy_from_slice(words.as_bytes())
}

/// A body that is a number.
pub(crate) fn body(number: u64) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

pub(crate) fn number(body: &Bytes) -> u64 {
    u64::from_be_bytes(body[..].try_into().expect("eight bytes"))
}

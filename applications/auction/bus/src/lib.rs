//! The message bus between nodes of the auction application: in-process, or RabbitMQ or NATS with one or
//! several servers.
//!
//! A node sends messages to all nodes or to one, and receives its own in one bounded queue. The bus is
//! independent of auctions: a message is bytes. It is not a store: messages are transient, and RabbitMQ and
//! NATS forget them when they die. An application therefore announces its states again after every
//! [`BusEvent::Connected`].
//!
//! Common guarantees:
//!
//! - Messages of one sender reach one receiver in order, whether they went to all or to its inbox.
//! - Nothing waits in memory without a bound. [`Bus::send`] returns [`SendError::Full`] or
//!   [`SendError::Down`] and never waits; nothing is queued while the link is down.
//! - Reading stops for a receiver that does not keep up. In one process its senders get `Full`. RabbitMQ
//!   keeps [`Settings::broker_queue`] messages for it and then drops the oldest without notice. NATS drops
//!   the link of such a receiver, which then gets [`BusEvent::Lost`] and [`BusEvent::Connected`].
//! - A lost link is retried at once, then after waits of half a second to a second, and after 30 s of waiting
//!   at most every 10 s.
//!
//! With several servers a node listens to all of them and sends through one; another one takes over when the
//! link to it is lost. The servers need not know each other. The node gets [`BusEvent::Lost`], and
//! [`BusEvent::Connected`] while another server is there.
//!
//! A link to a broker is one TCP connection without TLS. Waiting messages are written together, so that many
//! small ones cost few system calls. RabbitMQ that is short of memory stops reading the link, including its
//! acknowledgements: senders get `Full` and receivers get nothing until it recovers.
//!
//! Measured with `cargo xtask bench bus` (in profile dev, 200 bytes, one sender and one receiver with a link each,
//! sender, broker and receiver on the same two cores of an AMD EPYC with other work beside them, 5 s each), from
//! `send` to the receiver:
//!
//! | bus | 1,000/s: p50, p99 | 20,000/s: p50, p99 | maximum |
//! |---|---|---|---|
//! | in one process | 5 us, 45 us | 7 us, 47 us | 1,900,000/s |
//! | NATS 2.9.10 | 28 us, 130 us | 42 us, 274 us | 530,000/s |
//! | RabbitMQ 3.10.8 | 155 us, 1.6 ms | 481 us, 4.1 ms | 37,000/s |
//!
//! At 20,000/s twenty are sent together each millisecond. At the maximum, queues are full, and a
//! message through RabbitMQ then takes a second.

mod amqp;
mod bounds;
mod codec;
mod delays;
mod hub;
mod name;
mod nats;
mod reading;
mod remote;
mod session;
mod several;
mod url;
mod writing;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

pub use bounds::{MAX_BODY_BYTES, MAX_NAME_BYTES, Settings};
pub use codec::LinkError;
pub use hub::Hub;
pub use name::InvalidName;
pub use url::{BadUrl, BusUrl};

/// Destination of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipient<'a> {
    /// Every node of the namespace, including the sender.
    All,
    /// The inbox of the node with this name. Two nodes with one name both receive it; without one it is lost.
    Node(&'a str),
}

/// Route of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryRoute {
    /// Sent to every node.
    All,
    /// Sent to this node's inbox.
    Inbox,
}

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Its route.
    pub through: DeliveryRoute,
    /// The sender's bytes.
    pub body: Bytes,
}

/// An event for the receiver of a node, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusEvent {
    /// A message.
    Message(Delivery),
    /// The link is up, for the first time or again. Earlier messages may be lost.
    Connected,
    /// The link is down; connecting is being retried.
    Lost {
        /// The reason, for people.
        why: String,
    },
}

/// Reason why a message was refused. Nothing of it was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too many messages wait: for the network or, in one process, for a node that does not keep up.
    #[error("failed to queue the message: too many are waiting")]
    Full,
    /// There is no link, or the bus is closed.
    #[error("failed to queue the message: the link is down")]
    Down,
    /// The name of the receiver is invalid.
    #[error("failed to address the message")]
    Name(#[from] InvalidName),
    /// The message is too long.
    #[error("failed to queue a message of {bytes} bytes: at most {MAX_BODY_BYTES} are taken")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// Counts since the bus was connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages accepted by [`Bus::send`].
    pub sent: u64,
    /// Messages put into the receiver's queue.
    pub heard: u64,
    /// Messages accepted and then lost with the link, before this side could write all of them. Losses of a
    /// broker are not counted: brokers do not report them.
    pub dropped: u64,
    /// Number of reconnections.
    pub reconnects: u64,
}

/// A result that comes later.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One node's end of the bus. Dropping the last handle, or the receiver, closes it like [`Bus::close`].
pub trait Bus: Send + Sync + 'static {
    /// Queues a message without waiting for the network.
    ///
    /// # Errors
    /// If the message was refused, see [`SendError`].
    fn send(&self, to: Recipient<'_>, body: Bytes) -> Result<(), SendError>;

    /// Whether the link is up, or one of several. It may be lost a moment later.
    fn is_connected(&self) -> bool;

    /// The kind of bus, the server and its version, and the safety of messages, for the record of a run.
    fn describe(&self) -> String;

    /// Returns the counts so far.
    fn counts(&self) -> Counts;

    /// Sends the queued messages, then closes; takes at most some seconds. The receiver's queue ends
    /// afterwards.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Identity of a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeName<'a> {
    /// The namespace, which separates deployments on one broker.
    pub namespace: &'a str,
    /// The node's name in its namespace.
    pub node: &'a str,
}

/// Failure of the first connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// An invalid name.
    #[error("failed to name the node")]
    Name(#[from] InvalidName),
    /// The link could not be opened.
    #[error("failed to connect to {url}")]
    Link {
        /// The address, without the password.
        url: String,
        /// The cause.
        source: LinkError,
    },
}

/// A node's end of the bus, and its events. The first event is [`BusEvent::Connected`].
pub type BusConnection = (Arc<dyn Bus>, mpsc::Receiver<BusEvent>);

/// Connects a node to the bus. Must be called on a tokio runtime, which then also runs the link.
///
/// # Errors
/// If a name is invalid, or the first attempt failed. Later losses are repaired and reported as events.
pub async fn connect(
    url: &BusUrl,
    place: NodeName<'_>,
    settings: &Settings,
) -> Result<BusConnection, ConnectError> {
    name::check(place.namespace)?;
    name::check(place.node)?;
    let opened = match &url.0 {
        url::UrlKind::InProcess(hub) => return Ok(hub.join(place, settings)),
        url::UrlKind::Several(urls) => return several::join(urls, place, settings).await,
        url::UrlKind::Amqp(server) => {
            remote::connect(amqp::Rabbit::new(server, place, settings), settings).await
        }
        url::UrlKind::Nats(server) => remote::connect(nats::Nats::new(server, place), settings).await,
    };
    opened.map_err(|source| ConnectError::Link { url: url.to_string(), source })
}

//! The message bus between nodes of the auction application: in-process, RabbitMQ, NATS.
//!
//! A node hands messages to all nodes or to one, and hears what reaches it in one bounded queue. The bus knows
//! nothing of auctions: a message is bytes. It is not a store: messages are transient, and RabbitMQ and NATS forget
//! them when they die. An application therefore announces its states again after every [`Heard::Connected`].
//!
//! What holds for all three:
//!
//! - Messages of one sender reach one receiver in order, whether they went to all or to its inbox.
//! - Nothing waits in memory without a bound. [`Bus::send`] answers [`SendError::Full`] or [`SendError::Down`] and
//!   never waits; nothing is queued while the link is down.
//! - A receiver that does not keep up is not read for. In one process its senders get `Full`. RabbitMQ keeps
//!   [`Settings::broker_queue`] messages for it and then drops the oldest, which nobody is told. NATS drops the link
//!   of such a receiver, which then hears [`Heard::Lost`] and [`Heard::Connected`].
//! - A lost link is tried again at once, then after waits of half a second to a second, and after 30 s of waiting
//!   at most every 10 s.
//!
//! A link to a broker is one TCP connection without TLS. Messages that are waiting are written together, so many
//! small ones cost few calls to the system. RabbitMQ that is short of memory stops reading the link, and then its
//! acknowledgements too: senders get `Full` and receivers hear nothing until it recovers.
//!
//! Measured with `cargo xtask bench bus` (in profile dev, 200 bytes, one sender and one receiver with a link each,
//! sender, broker and receiver on the same two cores of an AMD EPYC with other work beside them, 5 s each), from
//! `send` to the receiver's hands:
//!
//! | bus | 1,000/s: p50, p99 | 20,000/s: p50, p99 | as many as pass |
//! |---|---|---|---|
//! | in one process | 5 us, 45 us | 7 us, 47 us | 1,900,000/s |
//! | NATS 2.9.10 | 28 us, 130 us | 42 us, 274 us | 530,000/s |
//! | RabbitMQ 3.10.8 | 155 us, 1.6 ms | 481 us, 4.1 ms | 37,000/s |
//!
//! At 20,000/s twenty are sent together each millisecond. When as many are sent as pass, queues are full, and a
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
mod url;
mod writing;

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

pub use bounds::{MAX_BODY_BYTES, MAX_NAME_BYTES, Settings};
pub use codec::LinkError;
pub use hub::Hub;
pub use name::NotAName;
pub use url::{BadUrl, BusUrl};

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To<'a> {
    /// Every node of the namespace, the sender too.
    All,
    /// The inbox of the node with this name. Two nodes with one name both hear it; with none it is lost.
    Node(&'a str),
}

/// On which way a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// It was for every node.
    All,
    /// It was for this node's inbox.
    Inbox,
}

/// A message that reached this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The way it came.
    pub through: Through,
    /// What was handed over by the sender.
    pub body: Bytes,
}

/// What the receiver of a node gets, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A message.
    Message(Delivery),
    /// The link stands, for the first time or again. Whatever was sent before may be lost.
    Connected,
    /// The link is down; it is being tried again.
    Lost {
        /// What ended it, for people.
        why: String,
    },
}

/// Why a message was not taken. It is the caller's again, and nothing of it was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too much waits already: for the network or, in one process, for a node that does not keep up.
    #[error("failed to queue the message: too many are waiting")]
    Full,
    /// There is no link, or the bus is closed.
    #[error("failed to queue the message: the link is down")]
    Down,
    /// The receiver's name could not be a node's.
    #[error("failed to address the message")]
    Name(#[from] NotAName),
    /// Longer than a message may be.
    #[error("failed to queue a message of {bytes} bytes: at most {MAX_BODY_BYTES} are taken")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

/// What happened since the bus was connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages taken by [`Bus::send`].
    pub sent: u64,
    /// Messages put into the receiver's queue.
    pub heard: u64,
    /// Messages taken and then lost with the link, before this side could write all of them. What a broker lost is
    /// not among them: nobody says.
    pub dropped: u64,
    /// How often the link was made again.
    pub reconnects: u64,
}

/// A result that comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One node's end of the bus. Dropping the last handle, or the receiver, closes it as [`Bus::close`] does.
pub trait Bus: Send + Sync + 'static {
    /// Hands a message over without waiting for the network.
    ///
    /// # Errors
    /// The message was not taken, see [`SendError`].
    fn send(&self, to: To<'_>, body: Bytes) -> Result<(), SendError>;

    /// Does the link stand? It may be lost a moment later.
    fn is_connected(&self) -> bool;

    /// The kind of bus, the server and its version, and how safe messages are, for the record of a run.
    fn describe(&self) -> String;

    /// What happened so far.
    fn counts(&self) -> Counts;

    /// Hands over what is queued, then closes; takes at most some seconds. The receiver's queue ends afterwards.
    fn close(&self) -> Later<'_, ()>;
}

/// Which node this is.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Separates deployments that share a broker.
    pub namespace: &'a str,
    /// The node's name in its namespace.
    pub node: &'a str,
}

/// Why there is no bus.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// A name that cannot be used.
    #[error("failed to name the node")]
    Name(#[from] NotAName),
    /// The broker did not let us in.
    #[error("failed to connect to {url}")]
    Link {
        /// Where to, without the password.
        url: String,
        /// What happened.
        source: LinkError,
    },
}

/// A node's end of the bus, and what it hears. The first thing heard is [`Heard::Connected`].
pub type Connected = (Arc<dyn Bus>, mpsc::Receiver<Heard>);

/// Connects a node to the bus. Must be called on a tokio runtime, which then also keeps the link.
///
/// # Errors
/// A name cannot be used, or the first attempt failed. Later losses are repaired and heard, not returned.
pub async fn connect(url: &BusUrl, place: Place<'_>, settings: &Settings) -> Result<Connected, ConnectError> {
    name::check(place.namespace)?;
    name::check(place.node)?;
    let opened = match &url.0 {
        url::Kind::InProcess(hub) => return Ok(hub.join(place, settings)),
        url::Kind::Amqp(server) => {
            remote::connect(amqp::Rabbit::new(server, place, settings), settings).await
        }
        url::Kind::Nats(server) => remote::connect(nats::Nats::new(server, place), settings).await,
    };
    opened.map_err(|source| ConnectError::Link { url: url.to_string(), source })
}

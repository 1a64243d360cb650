//! Interface of the protocols: encoding and decoding without a socket, and opening links to servers.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;

use crate::{Delivery, Recipient};

/// An outgoing message.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// The destination node; `None` for every node.
    pub(crate) node: Option<Box<str>>,
    pub(crate) body: Bytes,
}

impl Parcel {
    pub(crate) fn new(to: Recipient<'_>, body: Bytes) -> Parcel {
        match to {
            Recipient::All => Parcel { node: None, body },
            Recipient::Node(node) => Parcel { node: Some(node.into()), body },
        }
    }
}

/// A decoded input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Message(Delivery),
    /// Bytes to be written at once.
    Answer(Vec<u8>),
    /// Nothing of interest.
    Chatter,
    /// The server has handled everything sent before the farewell.
    Farewell,
}

/// Encoder of a protocol.
pub(crate) trait Encode: Send + 'static {
    /// Appends a message.
    fn message(&mut self, parcel: &Parcel, out: &mut BytesMut);
    /// Appends a sign of life.
    fn ping(&mut self, out: &mut BytesMut);
    /// Appends the farewell, which the server answers when it has handled everything before.
    fn farewell(&mut self, out: &mut BytesMut);
}

/// Decoder of a protocol.
pub(crate) trait Decode: Send + 'static {
    /// Takes the next input; `None` if more bytes are needed.
    fn next(&mut self, read: &mut BytesMut) -> Result<Option<Incoming>, LinkError>;
    /// Number of unacknowledged messages; 0 for protocols without acknowledgements.
    fn unacknowledged(&self) -> u32;
    /// Appends the acknowledgement of all messages so far.
    fn acknowledge(&mut self, out: &mut BytesMut);
}

/// An open link, ready for messages.
pub(crate) struct Link<E, D> {
    pub(crate) stream: TcpStream,
    /// Bytes read and not yet decoded.
    pub(crate) read: BytesMut,
    pub(crate) encoder: E,
    pub(crate) decoder: D,
    /// The server with its version, and the safety of messages.
    pub(crate) description: String,
}

/// A server to which links can be opened repeatedly.
pub(crate) trait Broker: Send + Sync + 'static {
    type Encoder: Encode;
    type Decoder: Decode;

    /// Connects, logs in and subscribes. The caller limits the time.
    fn open(&self) -> impl Future<Output = Result<Link<Self::Encoder, Self::Decoder>, LinkError>> + Send;
}

/// Reason why a link to a broker could not be opened, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A network error.
    #[error("failed to talk to the broker")]
    Network(#[from] io::Error),
    /// The broker closed the connection without a message.
    #[error("failed to read: the broker closed the connection")]
    Closed,
    /// The broker did not answer in time.
    #[error("failed to hear from the broker within {seconds} s")]
    Silent {
        /// The time limit.
        seconds: u64,
    },
    /// The broker refused, with a reason.
    #[error("failed to be served, the broker says: {says}")]
    Refused {
        /// Its words.
        says: String,
    },
    /// The broker violated the protocol, or a limit of this client.
    #[error("failed to understand the broker: {what}")]
    Protocol {
        /// The violation.
        what: String,
    },
}

impl LinkError {
    pub(crate) fn protocol(what: impl Into<String>) -> LinkError {
        LinkError::Protocol { what: what.into() }
    }

    /// The error with its cause, in one line.
    pub(crate) fn in_words(&self) -> String {
        match self {
            LinkError::Network(cause) => format!("{self}: {cause}"),
            _ => self.to_string(),
        }
    }
}

//! What a protocol says and understands, without a socket, and how a link to its server is opened.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::net::TcpStream;

use crate::{Delivery, To};

/// A message on its way out.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// The inbox it is for; none: every node.
    pub(crate) node: Option<Box<str>>,
    pub(crate) body: Bytes,
}

impl Parcel {
    pub(crate) fn new(to: To<'_>, body: Bytes) -> Parcel {
        match to {
            To::All => Parcel { node: None, body },
            To::Node(node) => Parcel { node: Some(node.into()), body },
        }
    }
}

/// What was understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Message(Delivery),
    /// To be written at once.
    Answer(Vec<u8>),
    /// Of no interest.
    Chatter,
    /// The server has handled everything that was said before the farewell.
    Farewell,
}

/// Puts messages into words.
pub(crate) trait Encode: Send + 'static {
    /// Appends a message.
    fn message(&mut self, parcel: &Parcel, out: &mut BytesMut);
    /// Appends a sign of life.
    fn ping(&mut self, out: &mut BytesMut);
    /// Appends the farewell, to which the server answers when it has handled everything before.
    fn farewell(&mut self, out: &mut BytesMut);
}

/// Understands what the server says.
pub(crate) trait Decode: Send + 'static {
    /// Takes the next thing out of what was read. None: more must be read first.
    fn next(&mut self, read: &mut BytesMut) -> Result<Option<Incoming>, LinkError>;
    /// How many messages wait for an acknowledgement. Protocols without any say 0.
    fn unacknowledged(&self) -> u32;
    /// Appends the acknowledgement of all messages so far.
    fn acknowledge(&mut self, out: &mut BytesMut);
}

/// A link on which messages can be sent and heard at once.
pub(crate) struct Link<E, D> {
    pub(crate) stream: TcpStream,
    /// What was read and not yet understood.
    pub(crate) read: BytesMut,
    pub(crate) encoder: E,
    pub(crate) decoder: D,
    /// The server and its version, and how safe messages are.
    pub(crate) description: String,
}

/// A server to which links can be opened, again and again.
pub(crate) trait Broker: Send + Sync + 'static {
    type Encoder: Encode;
    type Decoder: Decode;

    /// Connects, is let in and subscribes. Whoever calls limits the time.
    fn open(&self) -> impl Future<Output = Result<Link<Self::Encoder, Self::Decoder>, LinkError>> + Send;
}

/// Why a link to a broker could not be opened, or ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The network.
    #[error("failed to talk to the broker")]
    Network(#[from] io::Error),
    /// It ended the connection without a word.
    #[error("failed to read: the broker closed the connection")]
    Closed,
    /// It did not answer in time.
    #[error("failed to hear from the broker within {seconds} s")]
    Silent {
        /// How long was waited.
        seconds: u64,
    },
    /// It said why it does not want us.
    #[error("failed to be served, the broker says: {says}")]
    Refused {
        /// Its words.
        says: String,
    },
    /// It said what this client does not understand, or more than it takes.
    #[error("failed to understand the broker: {what}")]
    Protocol {
        /// What was wrong.
        what: String,
    },
}

impl LinkError {
    pub(crate) fn protocol(what: impl Into<String>) -> LinkError {
        LinkError::Protocol { what: what.into() }
    }

    /// With its cause, in one line, for those who hear of it without the error itself.
    pub(crate) fn in_words(&self) -> String {
        match self {
            LinkError::Network(cause) => format!("{self}: {cause}"),
            _ => self.to_string(),
        }
    }
}

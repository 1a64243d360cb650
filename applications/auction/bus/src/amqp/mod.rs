//! RabbitMQ over AMQP 0.9.1.
//!
//! One topic exchange with the name of the namespace, deleted with its last node. Each node has a queue named
//! by the server, exclusive to its connection and bound with `all` and `node.NAME`: a queue with a fixed name
//! would be locked after a loss until the server notices that the old connection is gone.

mod encoding;
mod frame;
mod greeting;

use amq_protocol::protocol::AMQPClass;
use amq_protocol::types::{AMQPValue, FieldTable};
use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bounds::{BROKER_QUEUE_BYTES, MISSED_AT_MOST, READ_BYTES};
use crate::codec::{Broker, Link, LinkError};
use crate::url::Server;
use crate::{NodeName, Settings};
use encoding::{FrameDecoder, FrameEncoder};
use frame::Frame;

/// The routing key of messages to every node.
const ALL: &str = "all";

/// The only channel used. 0 is the connection itself.
const CHANNEL: u16 = 1;

/// The routing key of a node's inbox.
fn inbox(node: &str) -> String {
    format!("node.{node}")
}

/// A RabbitMQ server, and this node's place there.
pub(crate) struct Rabbit {
    server: Server,
    exchange: String,
    node: String,
    queue_limit: u32,
}

impl Rabbit {
    pub(crate) fn new(server: &Server, place: NodeName<'_>, settings: &Settings) -> Rabbit {
        Rabbit {
            server: server.clone(),
            exchange: place.namespace.to_owned(),
            node: place.node.to_owned(),
            queue_limit: settings.broker_queue.clamp(1, i32::MAX as u32),
        }
    }

    /// Bounds of the node's queue.
    fn queue_arguments(&self) -> FieldTable {
        let mut arguments = FieldTable::default();
        let number = |value: u32| AMQPValue::LongLongInt(i64::from(value));
        arguments.insert("x-max-length".into(), number(self.queue_limit));
        arguments.insert("x-max-length-bytes".into(), number(BROKER_QUEUE_BYTES));
        arguments.insert("x-overflow".into(), AMQPValue::LongString("drop-head".into()));
        arguments
    }
}

impl Broker for Rabbit {
    type Encoder = FrameEncoder;
    type Decoder = FrameDecoder;

    /// Opens a link. The exchange is deleted with its last node, possibly between its declaration and the
    /// binding to it here. An attempt that does not find it is repeated.
    async fn open(&self) -> Result<Link<FrameEncoder, FrameDecoder>, LinkError> {
        for _ in 1..MISSED_AT_MOST {
            match self.attempt().await {
                Err(why) if frame::is_not_found(&why) => {}
                done => return done,
            }
        }
        self.attempt().await
    }
}

impl Rabbit {
    async fn attempt(&self) -> Result<Link<FrameEncoder, FrameDecoder>, LinkError> {
        let stream = TcpStream::connect((self.server.host.as_str(), self.server.port)).await?;
        stream.set_nodelay(true)?;
        let mut talk = Handshake { stream, read: BytesMut::with_capacity(READ_BYTES) };
        let greeted = greeting::greet(&mut talk, &self.server).await?;
        greeting::subscribe(&mut talk, self).await?;
        let description = format!(
            "{} at {}, transient messages, at most {} wait for a node",
            greeted.server, self.server, self.queue_limit
        );
        let encoder = FrameEncoder::new(&self.exchange, greeted.frame_bytes)?;
        Ok(Link {
            stream: talk.stream,
            read: talk.read,
            encoder,
            decoder: FrameDecoder::default(),
            description,
        })
    }
}

/// Requests and answers, before messages flow.
struct Handshake {
    stream: TcpStream,
    read: BytesMut,
}

impl Handshake {
    async fn say(&mut self, channel: u16, method: AMQPClass) -> Result<(), LinkError> {
        let mut out = BytesMut::new();
        frame::put_method(channel, method, &mut out)?;
        Ok(self.stream.write_all(&out).await?)
    }

    /// The next method. A close of the connection or channel is an error with the server's words.
    async fn hear(&mut self) -> Result<AMQPClass, LinkError> {
        loop {
            match frame::take(&mut self.read)? {
                Some(Frame::Method(AMQPClass::Connection(method))) => return frame::unless_closed(method),
                Some(Frame::Method(AMQPClass::Channel(method))) => {
                    return frame::unless_channel_closed(method);
                }
                Some(Frame::Method(method)) => return Ok(method),
                Some(Frame::Heartbeat) => {}
                Some(Frame::Header { .. } | Frame::Body(_)) => {
                    return Err(LinkError::protocol("a message before one was asked for"));
                }
                None => {
                    self.read.reserve(READ_BYTES);
                    if self.stream.read_buf(&mut self.read).await? == 0 {
                        return Err(LinkError::Closed);
                    }
                }
            }
        }
    }
}

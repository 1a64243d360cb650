//! Messages of AMQP, once the queue is subscribed.

use amq_protocol::protocol::{AMQPClass, basic, channel, connection};
use bytes::{BufMut, Bytes, BytesMut};

use super::frame::{self, Frame};
use super::{ALL, CHANNEL, inbox};
use crate::codec::{Decode, Encode, Incoming, LinkError, Parcel};
use crate::{Delivery, DeliveryRoute, MAX_BODY_BYTES};

/// Reply code of a close without an error.
const GOOD: u16 = 200;

/// Encoder of messages into frames.
pub(crate) struct FrameEncoder {
    exchange: String,
    /// The longest frame that the server accepts.
    frame_bytes: usize,
    /// The method that precedes a message to all nodes, encoded: most messages have it.
    to_all: BytesMut,
}

impl FrameEncoder {
    pub(super) fn new(exchange: &str, frame_bytes: usize) -> Result<FrameEncoder, LinkError> {
        let mut speaker =
            FrameEncoder { exchange: exchange.to_owned(), frame_bytes, to_all: BytesMut::new() };
        let mut to_all = BytesMut::new();
        speaker.put_publish(ALL, &mut to_all)?;
        speaker.to_all = to_all;
        Ok(speaker)
    }

    fn put_publish(&self, key: &str, out: &mut BytesMut) -> Result<(), LinkError> {
        let publish = basic::Publish {
            exchange: self.exchange.as_str().into(),
            routing_key: key.into(),
            mandatory: false,
            immediate: false,
        };
        frame::put_method(CHANNEL, AMQPClass::Basic(basic::AMQPMethod::Publish(publish)), out)
    }
}

impl Encode for FrameEncoder {
    fn message(&mut self, parcel: &Parcel, out: &mut BytesMut) {
        match &parcel.node {
            None => out.put_slice(&self.to_all),
            Some(node) => {
                self.put_publish(&inbox(node), out)
                    .expect("checked names fit a short text, nothing else can fail");
            }
        }
        frame::put_content(CHANNEL, &parcel.body, self.frame_bytes, out);
    }

    fn ping(&mut self, out: &mut BytesMut) {
        frame::put_heartbeat(out);
    }

    /// The channel first: messages published on it are routed before its end is confirmed. The connection is
    /// closed on that confirmation.
    fn farewell(&mut self, out: &mut BytesMut) {
        let close = channel::Close { reply_code: GOOD, reply_text: "bye".into(), class_id: 0, method_id: 0 };
        frame::put_method(CHANNEL, AMQPClass::Channel(channel::AMQPMethod::Close(close)), out)
            .expect("a fixed method can be written");
    }
}

/// Decoder of frames.
#[derive(Default)]
pub(crate) struct FrameDecoder {
    begun: Option<PartialMessage>,
    /// The server's number of the newest message, and the number of unacknowledged ones.
    newest: u64,
    unacknowledged: u32,
}

/// A message whose frames have not all arrived.
struct PartialMessage {
    tag: u64,
    through: DeliveryRoute,
    /// `None` until the header has arrived.
    missing_bytes: Option<u64>,
    body: BytesMut,
}

impl FrameDecoder {
    fn method(&mut self, method: AMQPClass) -> Result<Incoming, LinkError> {
        match method {
            AMQPClass::Basic(basic::AMQPMethod::Deliver(deliver)) if self.begun.is_none() => {
                let through = if deliver.routing_key.as_str() == ALL {
                    DeliveryRoute::All
                } else {
                    DeliveryRoute::Inbox
                };
                let (tag, body) = (deliver.delivery_tag, BytesMut::new());
                self.begun = Some(PartialMessage { tag, through, missing_bytes: None, body });
                Ok(Incoming::Chatter)
            }
            AMQPClass::Basic(basic::AMQPMethod::Cancel(_)) => {
                Err(LinkError::Refused { says: "the node's queue is gone".to_owned() })
            }
            AMQPClass::Channel(channel::AMQPMethod::CloseOk(_)) => connection_close(),
            AMQPClass::Connection(connection::AMQPMethod::CloseOk(_)) => Ok(Incoming::Farewell),
            AMQPClass::Connection(method) => frame::unless_closed(method).map(|_| Incoming::Chatter),
            AMQPClass::Channel(method) => frame::unless_channel_closed(method).map(|_| Incoming::Chatter),
            _ => Err(LinkError::protocol("a method that nothing asked for")),
        }
    }

    fn header(&mut self, body_bytes: u64) -> Result<Incoming, LinkError> {
        if body_bytes > MAX_BODY_BYTES as u64 {
            return Err(LinkError::protocol(format!(
                "a message of {body_bytes} bytes, more than {MAX_BODY_BYTES}"
            )));
        }
        match &mut self.begun {
            Some(begun) if begun.missing_bytes.is_none() => begun.missing_bytes = Some(body_bytes),
            _ => return Err(LinkError::protocol("a message header out of order")),
        }
        Ok(self.whole(Bytes::new()))
    }

    fn body(&mut self, piece: Bytes) -> Result<Incoming, LinkError> {
        let missing = self.begun.as_mut().and_then(|begun| begun.missing_bytes.as_mut());
        let missing = missing.filter(|missing| **missing >= piece.len() as u64);
        let missing = missing.ok_or_else(|| LinkError::protocol("more of a message than was announced"))?;
        *missing -= piece.len() as u64;
        Ok(self.whole(piece))
    }

    /// Returns the message, if this was its last piece.
    fn whole(&mut self, piece: Bytes) -> Incoming {
        let Some(begun) = &mut self.begun else { return Incoming::Chatter };
        if begun.missing_bytes != Some(0) {
            begun.body.put_slice(&piece);
            return Incoming::Chatter;
        }
        // Most messages are one piece, which is passed on without a copy.
        let body = if begun.body.is_empty() {
            piece
        } else {
            begun.body.put_slice(&piece);
            begun.body.split().freeze()
        };
        self.newest = begun.tag;
        self.unacknowledged += 1;
        let through = begun.through;
        self.begun = None;
        Incoming::Message(Delivery { through, body })
    }
}

impl Decode for FrameDecoder {
    fn next(&mut self, read: &mut BytesMut) -> Result<Option<Incoming>, LinkError> {
        let Some(frame) = frame::take(read)? else { return Ok(None) };
        match frame {
            Frame::Method(method) => self.method(method),
            Frame::Header { body_bytes } => self.header(body_bytes),
            Frame::Body(piece) => self.body(piece),
            Frame::Heartbeat => Ok(Incoming::Chatter),
        }
        .map(Some)
    }

    fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    fn acknowledge(&mut self, out: &mut BytesMut) {
        self.unacknowledged = 0;
        let ack = basic::Ack { delivery_tag: self.newest, multiple: true };
        frame::put_method(CHANNEL, AMQPClass::Basic(basic::AMQPMethod::Ack(ack)), out)
            .expect("a number can be written");
    }
}

/// The end of the connection, after the end of the channel was confirmed.
fn connection_close() -> Result<Incoming, LinkError> {
    let close = connection::Close { reply_code: GOOD, reply_text: "bye".into(), class_id: 0, method_id: 0 };
    let mut out = BytesMut::new();
    frame::put_method(0, AMQPClass::Connection(connection::AMQPMethod::Close(close)), &mut out)?;
    Ok(Incoming::Answer(out.to_vec()))
}

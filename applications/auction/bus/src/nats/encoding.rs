//! Lines and messages of NATS.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use serde_json::Value;

use crate::bounds::LINE_BYTES;
use crate::codec::{Decode, Encode, Incoming, LinkError, Parcel};
use crate::{Delivery, DeliveryRoute, MAX_BODY_BYTES};

/// Id of the subscription to messages for all nodes.
pub(super) const ALL_ID: u64 = 1;
/// Id of the subscription to the inbox.
pub(super) const INBOX_ID: u64 = 2;

/// The answer to a ping.
pub(super) const PONG: &[u8] = b"PONG\r\n";
/// A ping, answered by the server with a pong.
const PING: &[u8] = b"PING\r\n";
/// End of every line.
const LINE_END: &[u8] = b"\r\n";

pub(super) fn all(namespace: &str) -> String {
    format!("{namespace}.all")
}

pub(super) fn inbox(namespace: &str, node: &str) -> String {
    format!("{namespace}.node.{node}")
}

/// Counter of pings. The server answers them in order, so the answer to the last one confirms that everything
/// before it was handled.
#[derive(Debug, Default)]
pub(super) struct Pings {
    asked: AtomicU64,
    last: AtomicBool,
}

/// Encoder of messages into lines.
pub(crate) struct LineEncoder {
    namespace: String,
    to_all: String,
    pings: Arc<Pings>,
}

impl LineEncoder {
    pub(super) fn new(namespace: &str, pings: Arc<Pings>) -> LineEncoder {
        LineEncoder { namespace: namespace.to_owned(), to_all: all(namespace), pings }
    }
}

impl Encode for LineEncoder {
    fn message(&mut self, parcel: &Parcel, out: &mut BytesMut) {
        out.put_slice(b"PUB ");
        match &parcel.node {
            None => out.put_slice(self.to_all.as_bytes()),
            Some(node) => out.put_slice(inbox(&self.namespace, node).as_bytes()),
        }
        out.put_u8(b' ');
        out.put_slice(parcel.body.len().to_string().as_bytes());
        out.put_slice(LINE_END);
        out.put_slice(&parcel.body);
        out.put_slice(LINE_END);
    }

    fn ping(&mut self, out: &mut BytesMut) {
        self.pings.asked.fetch_add(1, Ordering::AcqRel);
        out.put_slice(PING);
    }

    fn farewell(&mut self, out: &mut BytesMut) {
        self.ping(out);
        self.pings.last.store(true, Ordering::Release);
    }
}

/// A line from the server.
#[derive(Debug, PartialEq)]
pub(super) enum ServerLine {
    /// The server's description of itself.
    Info(Value),
    /// A message's announcement; its body follows.
    Message {
        id: u64,
        bytes: usize,
    },
    Ping,
    Pong,
    /// Nothing to do.
    Fine,
}

/// Takes the next whole line; `None` if more bytes are needed.
pub(super) fn take_line(read: &mut BytesMut) -> Result<Option<ServerLine>, LinkError> {
    let Some(end) = read.iter().take(LINE_BYTES).position(|byte| *byte == b'\n') else {
        if read.len() >= LINE_BYTES {
            return Err(LinkError::protocol(format!("a line of more than {LINE_BYTES} bytes")));
        }
        return Ok(None);
    };
    let line = read.split_to(end + 1);
    let line =
        std::str::from_utf8(&line).map_err(|_| LinkError::protocol("a line that is no text"))?.trim_end();
    let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    match word {
        "MSG" => announcement(rest).map(Some),
        "PING" => Ok(Some(ServerLine::Ping)),
        "PONG" => Ok(Some(ServerLine::Pong)),
        "+OK" => Ok(Some(ServerLine::Fine)),
        "INFO" => match serde_json::from_str(rest) {
            Ok(info) => Ok(Some(ServerLine::Info(info))),
            Err(_) => Err(LinkError::protocol("an INFO that is not JSON")),
        },
        "-ERR" => Err(LinkError::Refused { says: rest.trim_matches(['\'', ' ']).to_owned() }),
        // The line is not quoted: its source is unknown.
        _ => Err(LinkError::protocol("a line that is not of NATS")),
    }
}

/// Parses subject, id of the subscription, optional reply address, length.
fn announcement(rest: &str) -> Result<ServerLine, LinkError> {
    let unreadable = || LinkError::protocol("a message without its length");
    let mut words = rest.split_ascii_whitespace();
    let id = words.nth(1).and_then(|word| word.parse().ok()).ok_or_else(unreadable)?;
    let bytes: usize = words.last().and_then(|word| word.parse().ok()).ok_or_else(unreadable)?;
    if bytes > MAX_BODY_BYTES {
        return Err(LinkError::protocol(format!("a message of {bytes} bytes, more than {MAX_BODY_BYTES}")));
    }
    Ok(ServerLine::Message { id, bytes })
}

/// Takes a body and its line end; `None` if more bytes are needed.
pub(super) fn take_body(read: &mut BytesMut, bytes: usize) -> Result<Option<Bytes>, LinkError> {
    if read.len() < bytes + LINE_END.len() {
        return Ok(None);
    }
    if &read[bytes..bytes + LINE_END.len()] != LINE_END {
        return Err(LinkError::protocol("a message that is not as long as it says"));
    }
    // Copied: a slice would keep the whole buffer alive as long as the application keeps the message.
    let body = Bytes::copy_from_slice(&read[..bytes]);
    read.advance(bytes + LINE_END.len());
    Ok(Some(body))
}

/// Decoder of lines and bodies.
pub(crate) struct LineDecoder {
    pings: Arc<Pings>,
    answered: u64,
    /// A message whose body is incomplete.
    announced: Option<(DeliveryRoute, usize)>,
}

impl LineDecoder {
    pub(super) fn new(pings: Arc<Pings>) -> LineDecoder {
        LineDecoder { pings, answered: 0, announced: None }
    }

    fn pong(&mut self) -> Incoming {
        self.answered += 1;
        let last = self.pings.last.load(Ordering::Acquire);
        if last && self.answered == self.pings.asked.load(Ordering::Acquire) {
            return Incoming::Farewell;
        }
        Incoming::Chatter
    }
}

impl Decode for LineDecoder {
    fn next(&mut self, read: &mut BytesMut) -> Result<Option<Incoming>, LinkError> {
        if self.announced.is_none() {
            let Some(line) = take_line(read)? else { return Ok(None) };
            match line {
                ServerLine::Message { id, bytes } => {
                    let through = if id == ALL_ID { DeliveryRoute::All } else { DeliveryRoute::Inbox };
                    self.announced = Some((through, bytes));
                }
                ServerLine::Ping => return Ok(Some(Incoming::Answer(PONG.to_vec()))),
                ServerLine::Pong => return Ok(Some(self.pong())),
                ServerLine::Info(_) | ServerLine::Fine => return Ok(Some(Incoming::Chatter)),
            }
        }
        let Some((through, bytes)) = self.announced else { return Ok(None) };
        let Some(body) = take_body(read, bytes)? else { return Ok(None) };
        self.announced = None;
        Ok(Some(Incoming::Message(Delivery { through, body })))
    }

    fn unacknowledged(&self) -> u32 {
        0
    }

    fn acknowledge(&mut self, _out: &mut BytesMut) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(through: DeliveryRoute, body: &'static [u8]) -> Incoming {
        Incoming::Message(Delivery { through, body: Bytes::from_static(body) })
    }

    /// Decodes a text that arrives in pieces.
    fn understood(text: &[u8], piece: usize) -> Result<Vec<Incoming>, LinkError> {
        let mut listener = LineDecoder::new(Arc::default());
        let (mut read, mut all) = (BytesMut::new(), Vec::new());
        for bytes in text.chunks(piece) {
            read.put_slice(bytes);
            while let Some(incoming) = listener.next(&mut read)? {
                all.push(incoming);
            }
        }
        Ok(all)
    }

    #[test]
    fn a_conversation_in_pieces_of_any_length() {
        let text = b"+OK\r\nMSG n.all 1 5\r\nhe\r\no\r\nMSG n.node.a 2 n.reply 0\r\n\r\nPING\r\nPONG\r\n";
        for piece in 1..text.len() {
            let expected = [
                Incoming::Chatter,
                message(DeliveryRoute::All, b"he\r\no"),
                message(DeliveryRoute::Inbox, b""),
                Incoming::Answer(PONG.to_vec()),
                Incoming::Chatter,
            ];
            assert_eq!(understood(text, piece).expect("well-formed"), expected, "pieces of {piece}");
        }
    }

    #[test]
    fn bad_lines_are_refused() {
        let long = [b'x'; LINE_BYTES];
        for (text, says) in [
            (&b"-ERR 'Slow Consumer'\r\n"[..], "says: Slow Consumer"),
            (b"HTTP/1.1 400 Bad Request\r\n", "not of NATS"),
            (b"MSG a 1\r\n", "without its length"),
            (b"MSG a 1 65537\r\n", "more than"),
            (b"MSG a 1 1\r\nab\r\n", "not as long"),
            (b"INFO {\r\n", "not JSON"),
            (b"\xff\r\n", "no text"),
            (&long, "a line of more"),
        ] {
            let error = understood(text, 7).expect_err(says).to_string();
            assert!(error.contains(says), "{error} should say {says}");
        }
    }

    #[test]
    fn the_last_ping_is_the_farewell() {
        let pings = Arc::new(Pings::default());
        let mut speaker = LineEncoder::new("n", Arc::clone(&pings));
        let (mut listener, mut out) = (LineDecoder::new(pings), BytesMut::new());
        speaker.ping(&mut out);
        speaker.farewell(&mut out);
        let mut read = BytesMut::from(&b"PONG\r\nPONG\r\n"[..]);
        let mut hear = || listener.next(&mut read).expect("well-formed");
        assert_eq!((hear(), hear()), (Some(Incoming::Chatter), Some(Incoming::Farewell)));
    }

    proptest! {
        /// No input causes a panic.
        #[test]
        fn any_bytes_are_survived(word in "(MSG|INFO|PING|x| )*", bytes in proptest::collection::vec(any::<u8>(), 0..99)) {
            let mut text = word.into_bytes();
            text.extend_from_slice(&bytes);
            text.extend_from_slice(b"\r\n");
            // Success and failure are both right; a panic is not.
            let _ = understood(&text, 5);
        }
    }
}

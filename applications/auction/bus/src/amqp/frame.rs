//! Frames of AMQP 0.9.1: splitting, bounds, contents. Methods are encoded and decoded by `amq-protocol`.

use amq_protocol::frame::{AMQPFrame, WriteContext, gen_frame, parse_frame};
use amq_protocol::protocol::{AMQPClass, channel, connection};
use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::bounds::FRAME_BYTES;
use crate::codec::LinkError;

/// Type of a frame with a method.
const METHOD: u8 = 1;
/// Type of a frame with the header of a message.
const HEADER: u8 = 2;
/// Type of a frame with a part of a message's body.
const BODY: u8 = 3;
/// Type of a heartbeat.
const HEARTBEAT: u8 = 8;
/// Last byte of every frame.
const END: u8 = 0xCE;

/// Type, channel and length.
const HEAD_BYTES: usize = 7;
/// Bytes around a payload: the head and the end mark.
pub(super) const AROUND_BYTES: usize = HEAD_BYTES + 1;

/// The class of messages.
const BASIC: u16 = 60;
/// Length of class, weight, length of the body, and flags for "no properties". Without properties a message
/// is transient.
const HEADER_BYTES: u32 = 2 + 2 + 8 + 2;

/// A frame, as far as this client distinguishes them.
#[derive(Debug, PartialEq)]
pub(super) enum Frame {
    Method(AMQPClass),
    /// The header before a body, with its whole length.
    Header {
        body_bytes: u64,
    },
    /// A piece of a body.
    Body(Bytes),
    Heartbeat,
}

/// Takes the next whole frame; `None` if more bytes are needed.
pub(super) fn take(read: &mut BytesMut) -> Result<Option<Frame>, LinkError> {
    let Some(mut head) = read.get(..HEAD_BYTES) else { return Ok(None) };
    let (kind, _channel, length) = (head.get_u8(), head.get_u16(), head.get_u32());
    if kind == b'A' {
        return Err(LinkError::protocol("it speaks another version of AMQP than 0.9.1"));
    }
    if length > FRAME_BYTES {
        return Err(LinkError::protocol(format!("a frame of {length} bytes, more than {FRAME_BYTES}")));
    }
    let whole = length as usize + AROUND_BYTES;
    if read.len() < whole {
        read.reserve(whole - read.len());
        return Ok(None);
    }
    if read[whole - 1] != END {
        return Err(LinkError::protocol("a frame without its end mark"));
    }
    let frame = read.split_to(whole);
    let payload = &frame[HEAD_BYTES..whole - 1];
    match kind {
        METHOD => match parse_frame(&frame[..]) {
            Ok((_, AMQPFrame::Method(_, method))) => Ok(Some(Frame::Method(method))),
            _ => Err(LinkError::protocol("a method that cannot be read")),
        },
        HEADER => {
            let bytes = payload.get(4..12).and_then(|bytes| bytes.try_into().ok());
            let bytes = bytes.ok_or_else(|| LinkError::protocol("a message header that is too short"))?;
            Ok(Some(Frame::Header { body_bytes: u64::from_be_bytes(bytes) }))
        }
        // Copied: a slice would keep the whole buffer alive as long as the application keeps the message.
        BODY => Ok(Some(Frame::Body(Bytes::copy_from_slice(payload)))),
        HEARTBEAT => Ok(Some(Frame::Heartbeat)),
        other => Err(LinkError::protocol(format!("a frame of kind {other}"))),
    }
}

/// Appends a method.
pub(super) fn put_method(channel: u16, method: AMQPClass, out: &mut BytesMut) -> Result<(), LinkError> {
    let frame = AMQPFrame::Method(channel, method);
    let written = gen_frame(&frame)(WriteContext::from(Vec::new()));
    let written = written.map_err(|_| LinkError::protocol("a method that cannot be written"))?;
    out.put_slice(&written.into_inner().0);
    Ok(())
}

/// Appends a message's header and its body in pieces that fit frames of at most `frame_bytes`.
pub(super) fn put_content(channel: u16, body: &[u8], frame_bytes: usize, out: &mut BytesMut) {
    out.put_u8(HEADER);
    out.put_u16(channel);
    out.put_u32(HEADER_BYTES);
    out.put_u16(BASIC);
    out.put_u16(0);
    out.put_u64(body.len() as u64);
    out.put_u16(0);
    out.put_u8(END);
    for piece in body.chunks(frame_bytes.saturating_sub(AROUND_BYTES).max(1)) {
        out.put_u8(BODY);
        out.put_u16(channel);
        out.put_u32(u32::try_from(piece.len()).expect("bodies are bounded far below 4 GiB"));
        out.put_slice(piece);
        out.put_u8(END);
    }
}

pub(super) fn put_heartbeat(out: &mut BytesMut) {
    out.put_slice(&[HEARTBEAT, 0, 0, 0, 0, 0, 0, END]);
}

/// Fails with the server's words if the method ends the connection.
pub(super) fn unless_closed(method: connection::AMQPMethod) -> Result<AMQPClass, LinkError> {
    match method {
        connection::AMQPMethod::Close(close) => Err(refused(close.reply_code, close.reply_text.as_str())),
        method => Ok(AMQPClass::Connection(method)),
    }
}

/// Fails with the server's words if the method ends the channel.
pub(super) fn unless_channel_closed(method: channel::AMQPMethod) -> Result<AMQPClass, LinkError> {
    match method {
        channel::AMQPMethod::Close(close) => Err(refused(close.reply_code, close.reply_text.as_str())),
        method => Ok(AMQPClass::Channel(method)),
    }
}

fn refused(code: u16, text: &str) -> LinkError {
    LinkError::Refused { says: format!("{code} {text}") }
}

/// Whether the server lacks a requested entity. AMQP 0.9.1 has the same number for that as HTTP.
pub(super) fn is_not_found(why: &LinkError) -> bool {
    matches!(why, LinkError::Refused { says } if says.starts_with("404 "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(mut read: BytesMut) -> Vec<Frame> {
        let mut all = Vec::new();
        while let Some(frame) = take(&mut read).expect("well-formed") {
            all.push(frame);
        }
        assert!(read.is_empty(), "{} bytes left", read.len());
        all
    }

    #[test]
    fn a_body_is_cut_to_frames() {
        let mut out = BytesMut::new();
        put_content(1, b"abcdef", AROUND_BYTES + 4, &mut out);
        put_heartbeat(&mut out);
        let body = |bytes: &'static [u8]| Frame::Body(Bytes::from_static(bytes));
        let expected = [Frame::Header { body_bytes: 6 }, body(b"abcd"), body(b"ef"), Frame::Heartbeat];
        assert_eq!(frames(out), expected);
    }

    #[test]
    fn bad_frames_are_refused() {
        let head = |kind: u8, length: u32| {
            let mut bytes = BytesMut::from(&[kind, 0, 1][..]);
            bytes.put_u32(length);
            bytes
        };
        for (bytes, what) in [
            (BytesMut::from(&b"AMQP\0\0\x09\x01"[..]), "another version"),
            (head(BODY, FRAME_BYTES + 1), "more than"),
            (BytesMut::from(&[BODY, 0, 1, 0, 0, 0, 1, b'x', 0][..]), "end mark"),
            (BytesMut::from(&[HEADER, 0, 1, 0, 0, 0, 1, b'x', END][..]), "too short"),
            (BytesMut::from(&[METHOD, 0, 1, 0, 0, 0, 1, b'x', END][..]), "cannot be read"),
            (BytesMut::from(&[9, 0, 1, 0, 0, 0, 0, END][..]), "kind 9"),
        ] {
            let error = take(&mut bytes.clone()).expect_err(what).to_string();
            assert!(error.contains(what), "{error} should say {what}");
        }
    }

    proptest! {
        /// No input causes a panic, and a frame never takes more than the available bytes.
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0_u8..10) {
            let mut read = BytesMut::from(&[kind, 0, 1, 0, 0, 0][..]);
            read.extend_from_slice(&bytes);
            for _ in 0..30 {
                if !matches!(take(&mut read), Ok(Some(_))) {
                    break;
                }
            }
        }
    }
}

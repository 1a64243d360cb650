//! Packets: a length, a number and a payload. One or several make a message.

use crate::flaw::Flaw;

/// Most bytes of a message: far above the rows of any load. A longer one is taken for a broken length.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Bytes before the payload: length and number.
pub(crate) const HEAD: usize = 4;

/// Payload of a packet that is followed by another one of the same message.
pub(crate) const FULL: usize = 0xff_ffff;

/// First byte of an error, which no other message has.
pub(crate) const ERROR: u8 = 0xff;

/// The front of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A whole message.
    Whole {
        /// Its bytes, with the heads of its packets.
        length: usize,
        /// Number of the packet after it.
        next: u8,
    },
    /// The beginning of a message.
    Part {
        /// Bytes of the whole message, as far as is known.
        needed: usize,
    },
}

/// Looks for a message at the front of `bytes`, whose first packet has this number. An error may have any: a server that
/// ends a session does not wait for its turn.
pub(crate) fn frame(bytes: &[u8], first: u8) -> Result<Frame, Flaw> {
    let begin = bytes.get(HEAD).copied();
    let (mut end, mut payload, mut expected) = (0, 0, first);
    loop {
        let Some((length, got)) = bytes.get(end..).and_then(head) else {
            return Ok(Frame::Part { needed: end + HEAD });
        };
        if got != expected && begin.is_some_and(|byte| byte != ERROR) {
            return Err(Flaw::Number { expected, got });
        }
        payload += length;
        end += HEAD + length;
        expected = got.wrapping_add(1);
        if payload > MOST_BYTES {
            return Err(Flaw::Length(payload));
        }
        if bytes.len() < end {
            return Ok(Frame::Part { needed: end });
        }
        if length < FULL {
            return Ok(Frame::Whole { length: end, next: expected });
        }
    }
}

/// Length and number of a packet.
fn head(bytes: &[u8]) -> Option<(usize, u8)> {
    let [a, b, c, number] = *bytes.first_chunk()?;
    Some((u32::from_le_bytes([a, b, c, 0]) as usize, number))
}

/// Moves the payloads of a message's packets together; `bytes` begins with the first payload. Returns its length.
pub(crate) fn join(bytes: &mut [u8]) -> usize {
    let (mut to, mut from) = (FULL, FULL);
    while let Some((length, _)) = bytes.get(from..).and_then(head) {
        let begin = from + HEAD;
        bytes.copy_within(begin..begin + length, to);
        to += length;
        from = begin + length;
    }
    to
}

/// Appends a message that `write` writes, in packets numbered from `number`. Returns the number after the last one.
pub(crate) fn message(out: &mut Vec<u8>, number: u8, write: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let begin = out.len();
    out.extend([0; HEAD]);
    write(out);
    let length = out.len() - begin - HEAD;
    if length < FULL {
        out[begin..begin + HEAD].copy_from_slice(&head_of(length, number));
        return number.wrapping_add(1);
    }
    let payload = out.split_off(begin + HEAD);
    out.truncate(begin);
    let mut next = number;
    for part in payload.chunks(FULL).chain(length.is_multiple_of(FULL).then_some(&[][..])) {
        out.extend(head_of(part.len(), next));
        out.extend_from_slice(part);
        next = next.wrapping_add(1);
    }
    next
}

fn head_of(length: usize, number: u8) -> [u8; HEAD] {
    let [a, b, c, _] = (length as u32).to_le_bytes();
    [a, b, c, number]
}

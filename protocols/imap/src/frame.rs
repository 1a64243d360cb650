//! The extent of responses: lines, and the literals that continue them.

use barograph_lines::Frame;
use memchr::memchr;

use crate::flaw::Flaw;

/// Longest line: the result of a search in a mailbox of 150,000 messages.
const LONGEST_LINE: usize = 1 << 20;

/// Longest literal.
const LONGEST_LITERAL: usize = 64 << 20;

/// The response at the front of a buffer.
///
/// # Errors
/// [`Flaw`] if the bytes are no response.
pub(crate) fn frame(bytes: &[u8]) -> Result<Frame, Flaw> {
    let mut at = 0;
    loop {
        let rest = &bytes[at.min(bytes.len())..];
        let part = Ok(Frame::Part(bytes.len().max(at) + 1));
        let Some(end) = memchr(b'\n', &rest[..rest.len().min(LONGEST_LINE)]) else {
            return if rest.len() < LONGEST_LINE { part } else { Err(Flaw::LongLine) };
        };
        if end == 0 || rest[end - 1] != b'\r' {
            return Err(Flaw::BareLineFeed);
        }
        let line = &rest[..end - 1];
        let literal = match at == 0 && is_text(line) {
            true => None,
            false => literal(line)?,
        };
        at += end + 1;
        let Some(length) = literal else { return Ok(Frame::Whole(at)) };
        at += length;
        if at > bytes.len() {
            return Ok(Frame::Part(at + 2));
        }
    }
}

/// Whether the line ends with text, in which braces mean nothing.
fn is_text(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"* ") else { return true };
    let word = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
    [&b"OK"[..], b"NO", b"BAD", b"BYE", b"PREAUTH"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The length of the literal after a line; `None` if the line announces none.
fn literal(line: &[u8]) -> Result<Option<usize>, Flaw> {
    let Some(rest) = line.strip_suffix(b"}") else { return Ok(None) };
    let begin = rest.iter().rposition(|byte| *byte == b'{').ok_or(Flaw::Literal)?;
    let digits = &rest[begin + 1..];
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Flaw::Literal);
    }
    let length = digits.iter().fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    if length > LONGEST_LITERAL { Err(Flaw::Literal) } else { Ok(Some(length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_ends_after_its_last_literal() {
        let bytes = b"* 1 FETCH (BODY[] {3}\r\na\r\n UID 7)\r\n* 2";
        assert_eq!(frame(bytes), Ok(Frame::Whole(35)));
        assert_eq!(
            frame(&bytes[..24]),
            Ok(Frame::Part(28)),
            "the literal and a line end are known to follow"
        );
        assert_eq!(frame(b"* 1 FETCH (BODY[] {0}\r\n)\r\n"), Ok(Frame::Whole(26)));
        assert_eq!(frame(b"* OK braces {5}\r\nx"), Ok(Frame::Whole(17)));
        assert_eq!(frame(b"a1 NO {x}\r\n"), Ok(Frame::Whole(11)));
        assert_eq!(frame(b"+ {9}\r\n"), Ok(Frame::Whole(7)));
        assert_eq!(frame(b""), Ok(Frame::Part(1)));
    }

    #[test]
    fn bad_lines_and_literals_are_flaws() {
        assert_eq!(frame(b"* 1 EXISTS\n"), Err(Flaw::BareLineFeed));
        assert_eq!(frame(b"\n"), Err(Flaw::BareLineFeed));
        for length in ["", "x", "-1", "1x", "67108865", "9999999999", "3+"] {
            let line = format!("* 1 FETCH (BODY[] {{{length}}}\r\n");
            assert_eq!(frame(line.as_bytes()), Err(Flaw::Literal), "{length}");
        }
        assert_eq!(frame(b"* 1 FETCH (X 3}\r\n"), Err(Flaw::Literal));
        assert_eq!(frame(&vec![b'x'; LONGEST_LINE]), Err(Flaw::LongLine));
    }
}

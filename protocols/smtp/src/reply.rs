//! Replies: one or several lines with one code.

use std::fmt;

use barograph_lines::Frame;
use memchr::memchr;

use crate::flaw::Flaw;

/// Longest line, in bytes.
const LONGEST_LINE: usize = 4_096;

/// Most lines of a reply.
const MOST_LINES: usize = 128;

/// A whole reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'b> {
    /// Its code, from 200 to 599.
    pub code: u16,
    bytes: &'b [u8],
}

impl<'b> Reply<'b> {
    /// The reply in the bytes of a whole frame.
    pub(crate) fn of(bytes: &'b [u8]) -> Self {
        let code = bytes.iter().take(3).fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        Reply { code, bytes }
    }

    /// The texts of its lines, without codes and line ends.
    pub fn lines(&self) -> impl Iterator<Item = &'b [u8]> {
        self.bytes.split_inclusive(|byte| *byte == b'\n').map(|line| {
            let line = line.strip_suffix(b"\r\n").unwrap_or(line);
            line.get(4..).unwrap_or_default()
        })
    }

    /// Whether the command was done.
    #[must_use]
    pub fn is_positive(&self) -> bool {
        self.code < 300
    }

    /// Whether the server waits for more.
    #[must_use]
    pub fn is_intermediate(&self) -> bool {
        (300..400).contains(&self.code)
    }
}

impl fmt::Display for Reply<'_> {
    /// Formats as in `550 no such mailbox`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        self.lines().try_for_each(|line| write!(f, " {}", String::from_utf8_lossy(line)))
    }
}

/// The reply at the front of a buffer.
///
/// # Errors
/// [`Flaw`] if the bytes are no reply.
pub(crate) fn frame(bytes: &[u8]) -> Result<Frame, Flaw> {
    let (mut at, mut first) = (0, None);
    for _ in 0..MOST_LINES {
        let rest = &bytes[at..];
        let Some(end) = memchr(b'\n', &rest[..rest.len().min(LONGEST_LINE)]) else {
            return match rest.len() < LONGEST_LINE {
                true => Ok(Frame::Part(bytes.len() + 1)),
                false => Err(Flaw::LongLine),
            };
        };
        if end == 0 || rest[end - 1] != b'\r' {
            return Err(Flaw::BareLineFeed);
        }
        let line = &rest[..end - 1];
        let code = code(line)?;
        match first {
            Some(first) if first != code => return Err(Flaw::Codes { first, other: code }),
            _ => first = Some(code),
        }
        at += end + 1;
        match line.get(3) {
            None | Some(b' ') => return Ok(Frame::Whole(at)),
            Some(b'-') => {}
            Some(_) => return Err(Flaw::Code),
        }
    }
    Err(Flaw::ManyLines)
}

fn code(line: &[u8]) -> Result<u16, Flaw> {
    match line {
        [a @ b'2'..=b'5', b, c, ..] if b.is_ascii_digit() && c.is_ascii_digit() => {
            Ok([a, b, c].into_iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0')))
        }
        _ => Err(Flaw::Code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_read_whole() {
        let bytes = b"250-first\r\n250 SIZE 10\r\n220 next\r\n";
        assert_eq!(frame(bytes), Ok(Frame::Whole(24)));
        let reply = Reply::of(&bytes[..24]);
        let lines: Vec<&[u8]> = reply.lines().collect();
        assert_eq!((reply.code, lines), (250, vec![&b"first"[..], b"SIZE 10"]));
        assert_eq!(reply.to_string(), "250 first SIZE 10");
        assert_eq!(frame(b"354\r\n"), Ok(Frame::Whole(5)));
        for end in 0..24 {
            assert_eq!(frame(&bytes[..end]), Ok(Frame::Part(end + 1)), "{end}");
        }
    }

    #[test]
    fn other_bytes_are_flaws() {
        let long = [b"250 ".to_vec(), vec![b'x'; LONGEST_LINE]].concat();
        for (bytes, flaw) in [
            (&b"250 ok\n"[..], Flaw::BareLineFeed),
            (b"\n", Flaw::BareLineFeed),
            (b"25 ok\r\n", Flaw::Code),
            (b"hello\r\n", Flaw::Code),
            (b"\r\n", Flaw::Code),
            (b"650 ok\r\n", Flaw::Code),
            (b"250_ok\r\n", Flaw::Code),
            (b"250-a\r\n251 b\r\n", Flaw::Codes { first: 250, other: 251 }),
            (&long, Flaw::LongLine),
            (&b"250-x\r\n".repeat(MOST_LINES + 1), Flaw::ManyLines),
        ] {
            assert_eq!(frame(bytes), Err(flaw));
        }
    }
}

//! The head of an HTTP/1.1 answer: where it ends, how its body is framed, its fields by name.

use std::mem::MaybeUninit;

/// Heads longer than this are not HTTP as anybody writes it.
pub(crate) const MAX_HEAD: usize = 32 * 1024;

/// Header lines in an answer.
const MAX_HEADERS: usize = 128;

/// What makes an answer none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Garbage,
    TooLarge,
}

/// How the end of a body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// An answer's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: usize,
    pub(crate) framing: Framing,
    /// May the connection carry another request, if the body has an end?
    pub(crate) keep: bool,
}

impl Head {
    /// May the connection carry another request after this answer with its body?
    pub(crate) fn keeps(&self) -> bool {
        self.keep && self.framing != Framing::UntilClose
    }
}

/// Reads the head at the start of `bytes`; `None` when more bytes are needed.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Head>, Flaw> {
    // Not initialised: most answers have ten of them, and clearing the rest would cost as much as reading those.
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => judge(&response, length).map(Some),
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => Ok(None),
        _ => Err(Flaw::Garbage),
    }
}

fn judge(response: &httparse::Response<'_, '_>, length: usize) -> Result<Head, Flaw> {
    let status = response.code.filter(|code| (100..=999).contains(code)).ok_or(Flaw::Garbage)?;
    let mut framing = None;
    let newer = response.version == Some(1);
    let (mut close, mut stay) = (false, false);
    for header in response.headers.iter() {
        // Lengths first: nearly every name is told apart by its length alone.
        match header.name.len() {
            10 if is(header.name.as_bytes(), b"connection") => {
                for word in header.value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                    close |= is(word, b"close");
                    stay |= is(word, b"keep-alive");
                }
            }
            14 if is(header.name.as_bytes(), b"content-length") => {
                let n = Framing::Length(number(header.value)?);
                if framing.is_some_and(|f| f != n) {
                    return Err(Flaw::Garbage);
                }
                framing = Some(n);
            }
            17 if is(header.name.as_bytes(), b"transfer-encoding") => {
                // A length beside it, or another coding: two readers would find two different ends.
                if framing.is_some() || !is(header.value, b"chunked") {
                    return Err(Flaw::Garbage);
                }
                framing = Some(Framing::Chunked);
            }
            _ => {}
        }
    }
    let empty = matches!(status, 100..=199 | 204 | 304);
    let framing = if empty { Framing::Length(0) } else { framing.unwrap_or(Framing::UntilClose) };
    let keep = !close && (newer || stay);
    Ok(Head { status, length, framing, keep })
}

/// Is it this word of small letters and hyphens, in any case of letters? What the parser lets through has no carriage
/// return in it, the one byte that would pass for a hyphen here.
fn is<const N: usize>(found: &[u8], word: &[u8; N]) -> bool {
    <&[u8; N]>::try_from(found).is_ok_and(|found| found.iter().zip(word).all(|(f, w)| f | 0x20 == *w))
}

fn number(digits: &[u8]) -> Result<usize, Flaw> {
    if digits.is_empty() {
        return Err(Flaw::Garbage);
    }
    let mut number = Ok(0usize);
    for digit in digits {
        let value = usize::from(digit.wrapping_sub(b'0'));
        if value > 9 {
            return Err(Flaw::Garbage);
        }
        // More than fits: certainly more than any limit.
        let more = |n: usize| n.checked_mul(10)?.checked_add(value);
        number = number.and_then(|n| more(n).ok_or(Flaw::TooLarge));
    }
    number
}

/// The lines `name: value` of a head or of trailers, in order. Works on what was read or written by this crate; a line
/// without a colon (the status line) is passed over at the start.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|b| *b == b'\n').filter_map(|line| {
        let colon = line.iter().position(|b| *b == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// What follows the status line of a head.
pub(crate) fn after_status_line(head: &[u8]) -> &[u8] {
    let start = head.iter().position(|b| !matches!(b, b'\r' | b'\n')).unwrap_or(head.len());
    let line = head[start..].iter().position(|b| *b == b'\n').map_or(head.len(), |end| start + end + 1);
    &head[line..]
}

/// The first field of this name.
pub(crate) fn field<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    fields(text).find(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_say_how_the_body_ends() {
        let head = |lines: &str| read(format!("HTTP/1.1 200 OK\r\n{lines}\r\n").as_bytes());
        let framing = |lines: &str| head(lines).map(|h| h.map(|h| (h.framing, h.keeps())));
        assert_eq!(framing("Content-Length: 5\r\n"), Ok(Some((Framing::Length(5), true))));
        assert_eq!(
            framing("Content-Length: 5\r\nConnection: Upgrade, close\r\n"),
            Ok(Some((Framing::Length(5), false)))
        );
        assert_eq!(framing("Connection: close\r\n"), Ok(Some((Framing::UntilClose, false))));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Some((Framing::Chunked, true))));
        assert_eq!(
            framing("content-length: 1\r\ncontent-length: 1\r\n"),
            Ok(Some((Framing::Length(1), true)))
        );
        for bad in ["x", "", "+5", "-1", "5 5", "0x5", "5, 5"] {
            assert_eq!(framing(&format!("Content-Length: {bad}\r\n")), Err(Flaw::Garbage), "{bad}");
        }
        assert_eq!(framing("Content-Length: 99999999999999999999\r\n"), Err(Flaw::TooLarge));
        assert_eq!(framing("Content-Length: 1\r\nContent-Length: 2\r\n"), Err(Flaw::Garbage));
        assert_eq!(framing("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), Err(Flaw::Garbage));
        assert_eq!(framing("Transfer-Encoding: gzip, chunked\r\n"), Err(Flaw::Garbage));
    }

    #[test]
    fn old_answers_end_their_connection_unless_they_say_otherwise() {
        let keep = |text: &str| read(text.as_bytes()).unwrap().unwrap().keeps();
        assert!(!keep("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(keep("HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n"));
        assert!(keep("HTTP/1.1 204 No Content\r\n\r\n"));
    }

    #[test]
    fn parts_wait_and_other_things_are_refused() {
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Le"), Ok(None));
        assert_eq!(read(b"HELLO\r\n\r\n"), Err(Flaw::Garbage));
        assert_eq!(read(b"HTTP/1.1 042 Odd\r\n\r\n"), Err(Flaw::Garbage));
        let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(MAX_HEAD));
        assert_eq!(read(long.as_bytes()), Err(Flaw::Garbage));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(MAX_HEADERS + 1));
        assert_eq!(read(many.as_bytes()), Err(Flaw::Garbage));
    }

    #[test]
    fn fields_are_found_by_name_in_any_case() {
        let head =
            b"\r\nHTTP/1.1 200 Colons: fine\r\nX-One:1\r\nx-two:  a: b \r\nX-Empty:\r\nx-one: again\r\n\r\n";
        let lines = after_status_line(head);
        assert_eq!(field(lines, "x-one"), Some(&b"1"[..]));
        assert_eq!(field(lines, "X-TWO"), Some(&b"a: b"[..]));
        assert_eq!(field(lines, "x-empty"), Some(&b""[..]));
        assert_eq!(field(lines, "HTTP/1.1 200 Colons"), None);
        assert_eq!(fields(lines).count(), 4);
    }
}

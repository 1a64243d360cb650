//! Heads of HTTP/1.1 answers: their end, the framing of the body, fields by name.

use std::mem::MaybeUninit;

use crate::flaw::Flaw;

/// Largest head in bytes: more than other clients allow.
pub(crate) const MAX_HEAD: usize = 1024 * 1024;

/// Most headers in an answer.
pub(crate) const MAX_HEADERS: usize = 4_096;

/// Headers with room on the stack; an answer with more costs an allocation.
const USUAL_HEADERS: usize = 128;

/// Framing of a body, which determines its end.
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
    /// Whether the connection may carry another request, if the body has an end.
    pub(crate) keep: bool,
}

impl Head {
    /// Whether the connection may carry another request after this answer with its body.
    pub(crate) fn keeps(&self) -> bool {
        self.keep && self.framing != Framing::UntilClose
    }
}

/// Reads the head at the start of `bytes`; `None` if more bytes are needed.
pub(crate) fn read(bytes: &[u8]) -> Result<Option<Head>, Flaw> {
    // Not initialised: most answers have ten headers, and clearing the rest would cost as much as reading
    // those.
    let mut headers = [const { MaybeUninit::uninit() }; USUAL_HEADERS];
    match parse(bytes, &mut headers) {
        Err(Flaw::ManyHeaders) => parse(bytes, &mut vec![MaybeUninit::uninit(); MAX_HEADERS]),
        other => other,
    }
}

fn parse<'b>(
    bytes: &'b [u8],
    headers: &mut [MaybeUninit<httparse::Header<'b>>],
) -> Result<Option<Head>, Flaw> {
    let mut response = httparse::Response::new(&mut []);
    let config = httparse::ParserConfig::default();
    match config.parse_response_with_uninit_headers(&mut response, bytes, headers) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => judge(&response, length).map(Some),
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => Ok(None),
        Ok(_) => Err(Flaw::LongHead),
        Err(why) => Err(flaw_of(why)),
    }
}

fn flaw_of(why: httparse::Error) -> Flaw {
    match why {
        httparse::Error::HeaderName => Flaw::Name,
        httparse::Error::HeaderValue => Flaw::Value,
        httparse::Error::NewLine => Flaw::LineEnd,
        httparse::Error::TooManyHeaders => Flaw::ManyHeaders,
        httparse::Error::Status => Flaw::Status,
        httparse::Error::Token | httparse::Error::Version => Flaw::Version,
    }
}

fn judge(response: &httparse::Response<'_, '_>, length: usize) -> Result<Head, Flaw> {
    let status = response.code.filter(|code| (100..=999).contains(code)).ok_or(Flaw::Status)?;
    let mut framing = None;
    let newer = response.version == Some(1);
    let (mut close, mut stay) = (false, false);
    for header in response.headers.iter() {
        // Lengths first: they alone distinguish nearly all names.
        match header.name.len() {
            10 if is(header.name.as_bytes(), b"connection") => {
                for word in header.value.split(|b| *b == b',').map(<[u8]>::trim_ascii) {
                    close |= is(word, b"close");
                    stay |= is(word, b"keep-alive");
                }
            }
            14 if is(header.name.as_bytes(), b"content-length") => {
                let n = Framing::Length(number(header.value)?);
                match framing {
                    Some(Framing::Chunked) => return Err(Flaw::TwoFramings),
                    Some(other) if other != n => return Err(Flaw::Lengths),
                    _ => framing = Some(n),
                }
            }
            17 if is(header.name.as_bytes(), b"transfer-encoding") => match framing {
                Some(Framing::Length(_)) => return Err(Flaw::TwoFramings),
                None if is(header.value, b"chunked") => framing = Some(Framing::Chunked),
                _ => return Err(Flaw::Coding),
            },
            _ => {}
        }
    }
    let empty = matches!(status, 100..=199 | 204 | 304);
    let framing = if empty { Framing::Length(0) } else { framing.unwrap_or(Framing::UntilClose) };
    let keep = !close && (newer || stay);
    Ok(Head { status, length, framing, keep })
}

/// Whether `found` equals this word of small letters and hyphens, ignoring case. The parser admits no
/// carriage return, the one byte that would pass for a hyphen here.
fn is<const N: usize>(found: &[u8], word: &[u8; N]) -> bool {
    <&[u8; N]>::try_from(found).is_ok_and(|found| found.iter().zip(word).all(|(f, w)| f | 0x20 == *w))
}

fn number(digits: &[u8]) -> Result<usize, Flaw> {
    if digits.is_empty() {
        return Err(Flaw::Length);
    }
    let mut number = Ok(0usize);
    for digit in digits {
        let value = usize::from(digit.wrapping_sub(b'0'));
        if value > 9 {
            return Err(Flaw::Length);
        }
        // An overflow: certainly more than any limit.
        let more = |n: usize| n.checked_mul(10)?.checked_add(value);
        number = number.and_then(|n| more(n).ok_or(Flaw::TooLarge));
    }
    number
}

/// The lines `name: value` of a head or of trailers, in order. For text read or written by this crate; a line
/// without a colon (the status line) is skipped at the start.
pub(crate) fn fields(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    text.split(|b| *b == b'\n').filter_map(|line| {
        let colon = line.iter().position(|b| *b == b':')?;
        Some((&line[..colon], line[colon + 1..].trim_ascii()))
    })
}

/// The text after the status line of a head.
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
            assert_eq!(framing(&format!("Content-Length: {bad}\r\n")), Err(Flaw::Length), "{bad}");
        }
        assert_eq!(framing("Content-Length: 99999999999999999999\r\n"), Err(Flaw::TooLarge));
        assert_eq!(framing("Content-Length: 1\r\nContent-Length: 2\r\n"), Err(Flaw::Lengths));
        assert_eq!(framing("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), Err(Flaw::TwoFramings));
        assert_eq!(framing("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), Err(Flaw::TwoFramings));
        for other in
            ["gzip, chunked", "identity", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"]
        {
            assert_eq!(framing(&format!("Transfer-Encoding: {other}\r\n")), Err(Flaw::Coding), "{other}");
        }
    }

    #[test]
    fn old_answers_end_their_connection_unless_they_say_otherwise() {
        let keep = |text: &str| read(text.as_bytes()).unwrap().unwrap().keeps();
        assert!(!keep("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n"));
        assert!(keep("HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n"));
        assert!(keep("HTTP/1.1 204 No Content\r\n\r\n"));
    }

    #[test]
    fn heads_are_read_up_to_the_limits() {
        assert_eq!(read(b"HTTP/1.1 200 OK\r\nContent-Le"), Ok(None));
        let lines = |n: usize| format!("HTTP/1.1 200 OK\r\n{}\r\n", "x: y\r\n".repeat(n));
        let long = |n: usize| format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(n));
        for head in [lines(USUAL_HEADERS), lines(USUAL_HEADERS + 1), lines(MAX_HEADERS), long(MAX_HEAD - 100)]
        {
            assert_eq!(read(head.as_bytes()).unwrap().unwrap().length, head.len());
        }
        assert_eq!(read(lines(MAX_HEADERS + 1).as_bytes()), Err(Flaw::ManyHeaders));
        assert_eq!(read(long(MAX_HEAD).as_bytes()), Err(Flaw::LongHead));
        assert_eq!(read(&long(MAX_HEAD).as_bytes()[..=MAX_HEAD]), Err(Flaw::LongHead));
    }

    #[test]
    fn odd_heads_are_told_by_the_rule_they_break() {
        for (head, flaw) in [
            ("HELLO\r\n\r\n", Flaw::Version),
            ("SSH-2.0-OpenSSH\r\n", Flaw::Version),
            ("ICY 200 OK\r\n\r\n", Flaw::Version),
            ("HTTP/2 200 OK\r\n\r\n", Flaw::Version),
            ("<html>\r\n\r\n", Flaw::Version),
            ("\u{15}\u{3}\u{1}\0\u{2}\u{2}F", Flaw::Version),
            ("HTTP/1.1 042 Odd\r\n\r\n", Flaw::Status),
            ("HTTP/1.1  200  OK\r\n\r\n", Flaw::Status),
            ("HTTP/1.1 20x\r\n\r\n", Flaw::Status),
            ("HTTP/1.1 200 OK\r\nX-Odd : 1\r\n\r\n", Flaw::Name),
            ("HTTP/1.1 200 OK\r\nX Odd(1): 1\r\n\r\n", Flaw::Name),
            ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Flaw::Name),
            ("HTTP/1.1 200 OK\r\nA: 1\r\n folded\r\n\r\n", Flaw::Name),
            ("HTTP/1.1 200 OK\r\n: 1\r\n\r\n", Flaw::Name),
            ("HTTP/1.1 200 OK\r\nA: 1\u{1}2\r\n\r\n", Flaw::Value),
            ("HTTP/1.1 200 OK\r\nA: 1\rB: 2\r\n\r\n", Flaw::Value),
        ] {
            assert_eq!(read(head.as_bytes()), Err(flaw), "{head:?}");
        }
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

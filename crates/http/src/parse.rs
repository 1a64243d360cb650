//! Reading an HTTP/1.1 answer in place: where its head ends, how its body is framed, what of it is there.

/// Heads longer than this are not HTTP as anybody writes it.
const MAX_HEAD: usize = 32 * 1024;

/// Header lines in an answer.
const MAX_HEADERS: usize = 64;

/// Largest body taken; larger ones are a fault, so that a runaway target cannot eat the driver's memory.
const MAX_BODY: usize = 256 * 1024 * 1024;

/// What arrived is not an HTTP/1.1 answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbage;

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
    pub(crate) keep: bool,
}

/// Reads the head at the start of `bytes`; `None` when more bytes are needed.
pub(crate) fn head(bytes: &[u8]) -> Result<Option<Head>, Garbage> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => read_head(&response, length).map(Some),
        Ok(httparse::Status::Partial) if bytes.len() <= MAX_HEAD => Ok(None),
        _ => Err(Garbage),
    }
}

fn read_head(response: &httparse::Response<'_, '_>, length: usize) -> Result<Head, Garbage> {
    let status = response.code.ok_or(Garbage)?;
    let mut framing = None;
    let mut keep = response.version == Some(1);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let n: usize =
                std::str::from_utf8(header.value).ok().and_then(|v| v.trim().parse().ok()).ok_or(Garbage)?;
            if n > MAX_BODY || framing.is_some_and(|f| f != Framing::Length(n)) {
                return Err(Garbage);
            }
            framing = Some(Framing::Length(n));
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            if framing.is_some() || !header.value.eq_ignore_ascii_case(b"chunked") {
                return Err(Garbage);
            }
            framing = Some(Framing::Chunked);
        } else if header.name.eq_ignore_ascii_case("connection") {
            keep = !header.value.eq_ignore_ascii_case(b"close");
        }
    }
    let empty = matches!(status, 100..=199 | 204 | 304);
    let framing = if empty { Framing::Length(0) } else { framing.unwrap_or(Framing::UntilClose) };
    Ok(Head { status, length, framing, keep: keep && framing != Framing::UntilClose })
}

/// Where a whole answer ends: its decoded body, and its bytes on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) body: usize,
    pub(crate) wire: usize,
}

/// Decodes a chunked body from `from` on, in place; `None` when more bytes are needed (nothing is moved then).
pub(crate) fn unchunk(buffer: &mut [u8], from: usize) -> Result<Option<End>, Garbage> {
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut at = from;
    let mut total = 0usize;
    loop {
        let (line, size) = match httparse::parse_chunk_size(&buffer[at..]) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(_) => return Err(Garbage),
        };
        let size = usize::try_from(size).ok().filter(|n| *n <= MAX_BODY).ok_or(Garbage)?;
        at += line;
        if size == 0 {
            // Trailers are not used by anything measured here: the body must end with the empty line.
            return match buffer.get(at..at + 2) {
                Some(b"\r\n") => Ok(Some(End { body: gather(buffer, from, &pieces), wire: at + 2 })),
                Some(_) => Err(Garbage),
                None => Ok(None),
            };
        }
        total += size;
        if total > MAX_BODY {
            return Err(Garbage);
        }
        match buffer.get(at + size..at + size + 2) {
            Some(b"\r\n") => pieces.push((at, size)),
            Some(_) => return Err(Garbage),
            None => return Ok(None),
        }
        at += size + 2;
    }
}

fn gather(buffer: &mut [u8], from: usize, pieces: &[(usize, usize)]) -> usize {
    let mut to = from;
    for (at, size) in pieces {
        buffer.copy_within(*at..at + size, to);
        to += size;
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_say_how_the_body_ends() {
        let read = |text: &str| head(text.as_bytes());
        let ok = read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").unwrap().unwrap();
        assert_eq!((ok.status, ok.length, ok.framing, ok.keep), (200, 38, Framing::Length(5), true));
        let close = read("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").unwrap().unwrap();
        assert_eq!((close.framing, close.keep), (Framing::UntilClose, false));
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap().framing, Framing::Length(0));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Le"), Ok(None));
        assert_eq!(read("HELLO\r\n\r\n"), Err(Garbage));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), Err(Garbage));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), Err(Garbage));
    }

    proptest! {
        #[test]
        fn chunks_decode_to_what_was_sent(body in proptest::collection::vec(any::<u8>(), 1..2_000), size in 1usize..300) {
            let mut wire = b"head".to_vec();
            for piece in body.chunks(size) {
                wire.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                wire.extend_from_slice(piece);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\n\r\n");
            for cut in [4, wire.len() / 2, wire.len() - 1] {
                let mut part = wire[..cut.max(4)].to_vec();
                prop_assert_eq!(unchunk(&mut part, 4), Ok(None));
            }
            wire.extend_from_slice(b"more");
            let end = unchunk(&mut wire, 4).unwrap().unwrap();
            prop_assert_eq!(end.wire, wire.len() - 4);
            prop_assert_eq!(&wire[4..end.body], &body[..]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = head(&bytes);
            let mut copy = bytes;
            let _ = unchunk(&mut copy, 0);
        }
    }
}

//! One connection of the timed server: requests from its bytes, answers into it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Largest request; a larger one is a fault of the client under test.
const LARGEST_REQUEST: usize = 1 << 20;

/// Properties of a request that the server needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestTraits {
    pub(super) without_body: bool,
    pub(super) then_close: bool,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    received: Vec<u8>,
    /// The waiting request with its number. One at a time: answers keep the order of requests.
    pub(super) waiting: Option<(u64, RequestTraits)>,
    /// Whether to close when the last byte is out.
    pub(super) closing: bool,
    /// Bytes of an answer that the kernel has not accepted yet.
    unsent: Vec<u8>,
}

impl Link {
    pub(super) fn new(stream: TcpStream) -> Self {
        Link { stream, received: Vec::new(), waiting: None, closing: false, unsent: Vec::new() }
    }

    /// Reads the available bytes. An error ends the connection; so does the client's own end.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    self.received.extend_from_slice(&chunk[..n]);
                    if self.received.len() > LARGEST_REQUEST {
                        return Err(ErrorKind::InvalidData.into());
                    }
                    if n < chunk.len() {
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes a whole request out of the received bytes, unless one waits or is being answered.
    pub(super) fn next(&mut self) -> io::Result<Option<RequestTraits>> {
        if self.waiting.is_some() || !self.unsent.is_empty() {
            return Ok(None);
        }
        let Some((length, asked)) = parse(&self.received)? else { return Ok(None) };
        self.received.drain(..length);
        Ok(Some(asked))
    }

    /// Writes an answer; true if the kernel accepted all of it.
    pub(super) fn answer(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let written = write_some(&mut self.stream, bytes)?;
        self.unsent.extend_from_slice(&bytes[written..]);
        Ok(self.unsent.is_empty())
    }

    /// Writes the rest; true if nothing is left.
    pub(super) fn flush(&mut self) -> io::Result<bool> {
        let written = write_some(&mut self.stream, &self.unsent)?;
        self.unsent.drain(..written);
        Ok(self.unsent.is_empty())
    }
}

/// Writes until the kernel accepts no more.
fn write_some(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match stream.write(&bytes[written..]) {
            Ok(n) => written += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

/// Parses the first request, with its length; `None` if it is incomplete. Bodies are skipped by their length.
fn parse(bytes: &[u8]) -> io::Result<Option<(usize, RequestTraits)>> {
    let Some(head_length) = bytes.windows(4).position(|w| w == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..head_length]).map_err(|_| ErrorKind::InvalidData)?;
    let mut lines = head.split("\r\n");
    let first = lines.next().unwrap_or_default();
    if !first.ends_with(" HTTP/1.1") {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut asked = RequestTraits { without_body: first.starts_with("HEAD "), then_close: false };
    let mut body_length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            body_length = value.parse::<usize>().map_err(|_| ErrorKind::InvalidData)?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(ErrorKind::InvalidData.into());
        } else if name.eq_ignore_ascii_case("connection") {
            asked.then_close = value.eq_ignore_ascii_case("close");
        }
    }
    let whole = head_length.checked_add(body_length).ok_or(ErrorKind::InvalidData)?;
    Ok((bytes.len() >= whole).then_some((whole, asked)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_cut_at_their_end_and_not_before() {
        let text = b"POST / HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabcHEAD";
        for end in 0..text.len() - 4 {
            assert_eq!(parse(&text[..end]).unwrap(), None, "{end}");
        }
        let asked = RequestTraits { without_body: false, then_close: true };
        assert_eq!(parse(text).unwrap(), Some((text.len() - 4, asked)));
        let head = b"HEAD / HTTP/1.1\r\n\r\n";
        assert_eq!(
            parse(head).unwrap(),
            Some((head.len(), RequestTraits { without_body: true, then_close: false }))
        );
    }

    #[test]
    fn other_languages_are_refused() {
        for text in [
            "PRI * HTTP/2.0\r\n\r\n",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n",
        ] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}

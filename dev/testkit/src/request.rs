//! Requests as passed to scripts, and their reader.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Largest head; a larger one is a fault of the client under test.
const LARGEST_HEAD: usize = 64 * 1024;

/// Largest body; a larger one is a fault of the client under test.
const LARGEST_BODY: usize = 64 << 20;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Its number among all requests to this server, from 0.
    pub n: u64,
    /// The number of its connection, from 0.
    pub connection: u64,
    /// Address of the client; `None` at a Unix socket.
    pub peer: Option<IpAddr>,
    /// `GET`, `POST`, ...
    pub method: String,
    /// The target as sent: path and query.
    pub path: String,
    /// Headers as sent, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Request {
    /// The first header of this name (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Whether the client wants the connection closed after the answer.
    pub(crate) fn wants_close(&self) -> bool {
        self.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"))
    }
}

/// Reads requests from one connection; keeps early bytes for the next.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// The next request, without its numbers and its client; `None` when the client closed between two requests.
    pub(crate) async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> io::Result<Option<Request>> {
        let head_end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at;
            }
            if self.buffer.len() > LARGEST_HEAD {
                return Err(invalid("head too large"));
            }
            if stream.read_buf(&mut self.buffer).await? == 0 {
                let clean = self.buffer.is_empty();
                return if clean { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        };
        let mut request = parse_head(&self.buffer[..head_end])?;
        if request.header("transfer-encoding").is_some() {
            return Err(invalid("bodies in chunks are not read"));
        }
        let length = match request.header("content-length") {
            Some(text) => text.parse::<usize>().map_err(|_| invalid("content-length is no number"))?,
            None => 0,
        };
        if length > LARGEST_BODY {
            return Err(invalid("body too large"));
        }
        let (start, end) = (head_end + 4, head_end + 4 + length);
        while self.buffer.len() < end {
            if stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        request.body = self.buffer[start..end].to_vec();
        self.buffer.drain(..end);
        Ok(Some(request))
    }
}

fn parse_head(head: &[u8]) -> io::Result<Request> {
    let text = std::str::from_utf8(head).map_err(|_| invalid("head is no text"))?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(invalid("not a request line of HTTP/1.1"));
    };
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("header without colon"))?;
        Ok((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Ok(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers.collect::<io::Result<_>>()?,
        ..Request::default()
    })
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read_all(mut input: &[u8]) -> io::Result<Vec<Request>> {
        let mut reader = Reader::default();
        let mut all = Vec::new();
        while let Some(request) = reader.next(&mut input).await? {
            all.push(request);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn requests_behind_each_other_are_taken_apart() {
        let input = b"POST /a?b=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nConnection: Close\r\n\r\n";
        let all = read_all(input).await.unwrap();
        assert_eq!(
            (all[0].method.as_str(), all[0].path.as_str(), &all[0].body[..]),
            ("POST", "/a?b=1", &b"abc"[..])
        );
        assert_eq!((all[0].header("host"), all[0].wants_close()), (Some("x"), false));
        assert!(all.len() == 2 && all[1].wants_close());
    }

    #[tokio::test]
    async fn a_wrong_client_is_refused() {
        for input in [
            "GET /\r\n\r\n",
            "GET / HTTP/1.0\r\n\r\n",
            "GET / HTTP/1.1 x\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab",
            "GET / HTT",
        ] {
            assert!(read_all(input.as_bytes()).await.is_err(), "{input:?}");
        }
    }
}

//! Requests written piece by piece straight into the outgoing bytes.

use std::io::Write as _;
use std::rc::Rc;

use crate::fault::Fault;
use crate::request::{Method, RenderedRequest, Request, RequestTemplate, RequestTraits, is_token};

/// Room for the length of a body, in digits; the body is written after the head.
const LENGTH_DIGITS: usize = 10;

/// The piece being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Path,
    Value,
    Body { length_at: usize },
}

/// A request that is written piece by piece into the outgoing bytes: the path, then any fields, then the body.
pub struct Draft {
    wire: RenderedRequest,
    piece: Piece,
    from: usize,
    has_host: bool,
    /// Value of the connection field.
    connection: &'static str,
    wants_length: bool,
    flaw: Option<&'static str>,
}

impl Draft {
    pub(crate) fn new(blank: &Rc<RequestTemplate>, method: Method<'_>) -> Self {
        let mut bytes = blank.buffers.take();
        bytes.extend_from_slice(method.name().as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(blank.origin.as_bytes());
        let asked =
            RequestTraits { bodiless: method == Method::HEAD, counts_body: false, safe: method.is_safe() };
        Draft {
            from: bytes.len(),
            wire: RenderedRequest { bytes, start: 0, blank: Rc::clone(blank), asked },
            piece: Piece::Path,
            has_host: false,
            connection: if blank.once { "connection: close\r\n" } else { "" },
            wants_length: matches!(method, Method::POST | Method::PUT | Method::PATCH),
            flaw: None,
        }
    }

    pub(crate) fn filled(blank: &Rc<RequestTemplate>, request: &Request<'_>) -> Self {
        let mut draft = Draft::new(blank, request.method);
        let path = draft.path();
        match request.path.as_str() {
            Some(constant) => path.extend_from_slice(constant.as_bytes()),
            None => path.write_fmt(request.path).expect("writing to memory cannot fail"),
        }
        for (name, value) in request.headers {
            draft.header(name).extend_from_slice(value.as_bytes());
        }
        if let Some(body) = request.body {
            draft.body().extend_from_slice(body);
        }
        draft
    }

    /// Sets whether the bytes of the answer's body are counted and only its first 16 KiB kept.
    pub fn counts_body(&mut self, counts: bool) {
        self.wire.asked.counts_body = counts;
    }

    /// Buffer for path and query, to be appended first.
    pub fn path(&mut self) -> &mut Vec<u8> {
        if self.piece != Piece::Path {
            self.flaw = Some("its path comes after its fields");
        }
        &mut self.wire.bytes
    }

    /// Buffer for the value of this field.
    pub fn header(&mut self, name: &str) -> &mut Vec<u8> {
        self.end_piece();
        if !is_token(name) {
            self.flaw = Some("a field's name has characters that names do not have");
        }
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("content-length") || is("transfer-encoding") || is("connection") {
            self.flaw = Some("content-length, transfer-encoding and connection are the client's own");
        }
        self.has_host |= is("host");
        self.piece = Piece::Value;
        self.wire.bytes.extend_from_slice(name.as_bytes());
        self.wire.bytes.extend_from_slice(b": ");
        self.from = self.wire.bytes.len();
        &mut self.wire.bytes
    }

    /// Buffer for the body, to be appended last.
    pub fn body(&mut self) -> &mut Vec<u8> {
        self.end_piece();
        self.end_fields();
        self.wire.bytes.extend_from_slice(b"content-length: ");
        let length_at = self.wire.bytes.len();
        self.wire.bytes.extend_from_slice(&[b' '; LENGTH_DIGITS]);
        self.wire.bytes.extend_from_slice(b"\r\n\r\n");
        self.from = self.wire.bytes.len();
        self.piece = Piece::Body { length_at };
        &mut self.wire.bytes
    }

    /// Makes it the handshake of a WebSocket, before anything but path and fields is written.
    pub(crate) fn upgrade(&mut self, key: &str) {
        for (name, value) in
            [("upgrade", "websocket"), ("sec-websocket-version", "13"), ("sec-websocket-key", key)]
        {
            self.header(name).extend_from_slice(value.as_bytes());
        }
        self.connection = "connection: Upgrade\r\n";
    }

    fn end_piece(&mut self) {
        let written = &self.wire.bytes[self.from..];
        match self.piece {
            Piece::Path => {
                if !(written.first() == Some(&b'/') || written == b"*") {
                    self.flaw = Some("its path does not begin with a slash");
                } else if written.iter().any(|b| *b <= b' ' || *b == 0x7f) {
                    self.flaw = Some("its path has a space or a control character in it: percent-encode it");
                }
                self.wire.bytes.extend_from_slice(b" HTTP/1.1\r\n");
            }
            Piece::Value => {
                if written.iter().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
                    self.flaw = Some("the value of a field has a line end in it");
                }
                self.wire.bytes.extend_from_slice(b"\r\n");
            }
            Piece::Body { .. } => self.flaw = Some("its body is not the last of it"),
        }
    }

    fn end_fields(&mut self) {
        let RenderedRequest { bytes, blank, .. } = &mut self.wire;
        if !self.has_host {
            for piece in ["host: ", &blank.authority, "\r\n"] {
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
        bytes.extend_from_slice(blank.for_proxy.as_bytes());
        bytes.extend_from_slice(self.connection.as_bytes());
    }

    pub(crate) fn finish(mut self) -> Result<RenderedRequest, Fault> {
        if let Piece::Body { length_at } = self.piece {
            let length = self.wire.bytes.len() - self.from;
            let digits = &mut self.wire.bytes[length_at..length_at + LENGTH_DIGITS];
            if write!(&mut *digits, "{length:>LENGTH_DIGITS$}").is_err() {
                self.flaw = Some("its body is beyond all measure");
            }
            // The head moves up to the digits, so that no padding is sent: it is shorter than most bodies.
            let padding = digits.iter().take_while(|digit| **digit == b' ').count();
            self.wire.bytes.copy_within(..length_at, padding);
            self.wire.start = padding;
        } else {
            self.end_piece();
            self.end_fields();
            let end: &[u8] = if self.wants_length { b"content-length: 0\r\n\r\n" } else { b"\r\n" };
            self.wire.bytes.extend_from_slice(end);
        }
        match self.flaw {
            None => Ok(self.wire),
            Some(why) => {
                let start: Vec<u8> = self.wire.as_ref().iter().take(120).copied().collect();
                Err(Fault::request(format!("{why}, in `{}`", start.escape_ascii())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Target};

    #[test]
    fn a_head_carries_no_padding_whatever_the_length_of_its_body() {
        let blank = RequestTemplate::new(&Target::parse("http://h/", &Options::default()).unwrap());
        for length in [0, 1, 9, 10, 76, 12_345] {
            let mut draft = Draft::new(&blank, Method::PUT);
            draft.path().extend_from_slice(b"/x");
            draft.header("a").extend_from_slice(b"b");
            let body = ".".repeat(length);
            draft.body().extend_from_slice(body.as_bytes());
            let expected =
                format!("PUT /x HTTP/1.1\r\na: b\r\nhost: h\r\ncontent-length: {length}\r\n\r\n{body}");
            assert_eq!(draft.finish().unwrap().as_ref(), expected.as_bytes());
        }
    }
}

//! An answer: status, fields and body, in a buffer that is reused when the answer is dropped.

use std::ops::Range;
use std::rc::Rc;

use barograph_net::Buffers;

use crate::head;
use crate::reader::AnswerLayout;

/// A whole answer.
pub struct Answer {
    /// The status code.
    pub status: u16,
    head: usize,
    body: Range<usize>,
    body_length: usize,
    trailers: Range<usize>,
    wire: usize,
    buffer: Vec<u8>,
    home: Rc<Buffers>,
}

impl Answer {
    pub(crate) fn new(whole: &AnswerLayout, buffer: Vec<u8>, home: &Rc<Buffers>) -> Self {
        Answer {
            status: whole.status,
            head: whole.head,
            body: whole.body.clone(),
            body_length: whole.body_length,
            trailers: whole.trailers.clone(),
            wire: whole.wire,
            buffer,
            home: Rc::clone(home),
        }
    }

    /// Makes an answer without a connection, for a target simulated in the same process.
    #[must_use]
    pub fn made(status: u16, body: Vec<u8>) -> Self {
        let end = body.len();
        let whole = AnswerLayout {
            status,
            head: 0,
            body: 0..end,
            body_length: end,
            trailers: end..end,
            wire: end,
            keep: false,
        };
        Answer::new(&whole, body, &Rc::new(Buffers::new(0)))
    }

    /// Like [`Self::made`], with fields, name and value.
    #[must_use]
    pub fn made_with(status: u16, fields: &[(&str, &str)], body: &[u8]) -> Self {
        let mut buffer = Vec::new();
        write_status_line(&mut buffer, status);
        for (name, value) in fields {
            write_field(&mut buffer, name.as_bytes(), value.as_bytes());
        }
        buffer.extend_from_slice(b"\r\n");
        let head = buffer.len();
        buffer.extend_from_slice(body);
        let end = buffer.len();
        let whole = AnswerLayout {
            status,
            head,
            body: head..end,
            body_length: end - head,
            trailers: end..end,
            wire: end,
            keep: false,
        };
        Answer::new(&whole, buffer, &Rc::new(Buffers::new(0)))
    }

    /// The body's bytes; its first ones if the request said that they are only counted.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.buffer[self.body.clone()]
    }

    /// Bytes of the body, kept or not.
    #[must_use]
    pub fn body_length(&self) -> usize {
        self.body_length
    }

    /// The value of the first field of this name, ignoring case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        head::field(self.lines(), name)
    }

    /// Names and values of all fields, in order of arrival.
    pub fn headers(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        head::fields(self.lines())
    }

    /// The value of the first trailer of this name.
    #[must_use]
    pub fn trailer(&self, name: &str) -> Option<&[u8]> {
        head::field(&self.buffer[self.trailers.clone()], name)
    }

    /// Bytes of this answer, including head and framing; over HTTP/2, of its fields and body as text.
    #[must_use]
    pub fn wire_bytes(&self) -> usize {
        self.wire
    }

    fn lines(&self) -> &[u8] {
        head::after_status_line(&self.buffer[..self.head])
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.buffer));
    }
}

/// Begins a head as text, for answers that did not arrive as text.
pub(crate) fn write_status_line(buffer: &mut Vec<u8>, status: u16) {
    buffer.extend_from_slice(format!("HTTP {status}\r\n").as_bytes());
}

/// Adds a line to a head or to trailers.
pub(crate) fn write_field(buffer: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for piece in [name, b": ", value, b"\r\n"] {
        buffer.extend_from_slice(piece);
    }
}

//! Chunked bodies: decoded in place, from pieces of any size.

use std::ops::Range;

use crate::flaw::Flaw;
use crate::head::MAX_HEAD;

/// Longest line with a chunk's size and its extensions.
pub(crate) const MAX_LINE: usize = 1024;

/// Most lines after the last chunk.
pub(crate) const MAX_TRAILERS: usize = 128;

/// State of decoding. The decoded body grows from its beginning; raw bytes follow it, after a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunks {
    phase: Phase,
    /// Position of the first undecoded byte.
    pub(crate) raw: usize,
    /// Position of the next decoded byte.
    pub(crate) body: usize,
    trailers: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Size,
    Data(usize),
    LineEnd,
    Trailers,
    Over,
}

impl Chunks {
    /// State for a body that begins at `from`.
    pub(crate) fn new(from: usize) -> Self {
        Chunks { phase: Phase::Size, raw: from, body: from, trailers: 0..0 }
    }

    /// The trailer lines, once the last chunk is over.
    pub(crate) fn trailers(&self) -> Range<usize> {
        self.trailers.clone()
    }

    /// Restarts at the begin of the buffer, after the decoded bytes were removed.
    pub(crate) fn restart(&mut self) {
        self.restart_at(0);
    }

    /// Restarts at a position, after the decoded bytes beyond it were removed.
    pub(crate) fn restart_at(&mut self, position: usize) {
        (self.raw, self.body) = (position, position);
    }

    /// Decodes the available bytes; true when the body is whole. `limit` is the largest position of decoded
    /// bytes.
    pub(crate) fn decode(&mut self, buffer: &mut [u8], limit: usize) -> Result<bool, Flaw> {
        loop {
            let went_on = match self.phase {
                Phase::Size => self.size(buffer, limit)?,
                Phase::Data(left) => self.data(buffer, left),
                Phase::LineEnd => self.line_end(buffer)?,
                Phase::Trailers => self.end(buffer)?,
                Phase::Over => return Ok(true),
            };
            if !went_on {
                return Ok(false);
            }
        }
    }

    fn size(&mut self, buffer: &[u8], limit: usize) -> Result<bool, Flaw> {
        let there = &buffer[self.raw..];
        let (line, size) = match httparse::parse_chunk_size(there) {
            Ok(httparse::Status::Complete(found)) if found.0 <= MAX_LINE => found,
            Ok(httparse::Status::Partial) if there.len() < MAX_LINE => return Ok(false),
            _ => return Err(Flaw::ChunkSize),
        };
        let size = usize::try_from(size).map_err(|_| Flaw::TooLarge)?;
        if size > limit.saturating_sub(self.body) {
            return Err(Flaw::TooLarge);
        }
        self.raw += line;
        self.phase = if size == 0 { Phase::Trailers } else { Phase::Data(size) };
        Ok(true)
    }

    fn data(&mut self, buffer: &mut [u8], left: usize) -> bool {
        let n = left.min(buffer.len() - self.raw);
        buffer.copy_within(self.raw..self.raw + n, self.body);
        self.raw += n;
        self.body += n;
        self.phase = if n == left { Phase::LineEnd } else { Phase::Data(left - n) };
        n > 0
    }

    fn line_end(&mut self, buffer: &[u8]) -> Result<bool, Flaw> {
        match &buffer[self.raw..] {
            [b'\r', b'\n', ..] => {
                self.raw += 2;
                self.phase = Phase::Size;
                Ok(true)
            }
            [] | [b'\r'] => Ok(false),
            _ => Err(Flaw::ChunkEnd),
        }
    }

    /// Reads trailers and the empty line that ends them.
    fn end(&mut self, buffer: &[u8]) -> Result<bool, Flaw> {
        let there = &buffer[self.raw..];
        if let [b'\r', b'\n', ..] = there {
            return Ok(self.over(0, 2));
        }
        if let [] | [b'\r'] = there {
            return Ok(false);
        }
        let mut lines = [httparse::EMPTY_HEADER; MAX_TRAILERS];
        match httparse::parse_headers(there, &mut lines) {
            Ok(httparse::Status::Complete((length, _))) if length <= MAX_HEAD => {
                Ok(self.over(length, length))
            }
            Ok(httparse::Status::Partial) if there.len() <= MAX_HEAD => Ok(false),
            Ok(_) => Err(Flaw::LongHead),
            Err(_) => Err(Flaw::Trailers),
        }
    }

    fn over(&mut self, trailers: usize, length: usize) -> bool {
        self.trailers = self.raw..self.raw + trailers;
        self.raw += length;
        self.phase = Phase::Over;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(wire: &[u8]) -> Result<Option<(Vec<u8>, usize)>, Flaw> {
        let mut buffer = wire.to_vec();
        let mut chunks = Chunks::new(0);
        Ok(chunks.decode(&mut buffer, 1 << 20)?.then(|| (buffer[..chunks.body].to_vec(), chunks.raw)))
    }

    #[test]
    fn chunks_have_extensions_trailers_and_an_end() {
        assert_eq!(whole(b"3;a=b\r\nabc\r\n0\r\n\r\nmore"), Ok(Some((b"abc".to_vec(), 17))));
        assert_eq!(
            whole(b"A\r\n0123456789\r\n0\r\nx-end: yes\r\ny: z\r\n\r\n").unwrap().unwrap().0,
            b"0123456789"
        );
        assert_eq!(whole(b"0\r\n\r\n"), Ok(Some((Vec::new(), 5))));
        assert_eq!(whole(b"3\r\nabc\r\n0\r\n"), Ok(None));
        let trailers = format!("0\r\n{}\r\n", "x: y\r\n".repeat(MAX_TRAILERS + 1));
        for (bad, flaw) in [
            ("x\r\n", Flaw::ChunkSize),
            ("3\r\nabcd\r\n", Flaw::ChunkEnd),
            ("-1\r\n", Flaw::ChunkSize),
            ("11111111111111111\r\n", Flaw::ChunkSize),
            ("0\r\nno colon\r\n\r\n", Flaw::Trailers),
            (&trailers, Flaw::Trailers),
        ] {
            assert_eq!(whole(bad.as_bytes()), Err(flaw), "{bad:?}");
        }
        assert_eq!(whole(b"FFFFFFFF\r\n"), Err(Flaw::TooLarge));
        assert_eq!(
            whole(format!("3;{}\r\nabc\r\n0\r\n\r\n", "e".repeat(MAX_LINE)).as_bytes()),
            Err(Flaw::ChunkSize)
        );
    }

    proptest! {
        #[test]
        fn pieces_give_what_was_sent(
            body in proptest::collection::vec(any::<u8>(), 0..2_000), size in 1usize..300, step in 1usize..97,
        ) {
            let mut wire = b"head".to_vec();
            for piece in body.chunks(size) {
                wire.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                wire.extend_from_slice(piece);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\nx-end: yes\r\n\r\n");
            let (mut buffer, mut chunks) = (wire[..4].to_vec(), Chunks::new(4));
            let mut done = false;
            for piece in wire[4..].chunks(step) {
                prop_assert!(!done);
                buffer.extend_from_slice(piece);
                done = chunks.decode(&mut buffer, usize::MAX).unwrap();
            }
            prop_assert!(done);
            prop_assert_eq!(chunks.raw, wire.len());
            prop_assert_eq!(&buffer[4..chunks.body], &body[..]);
            prop_assert_eq!(crate::head::field(&buffer[chunks.trailers()], "X-End"), Some(&b"yes"[..]));
        }
    }
}

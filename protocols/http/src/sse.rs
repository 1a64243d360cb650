//! Parser of Server-Sent Events from pieces of any size.

use crate::flaw::Flaw;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its kind: `message` by default.
    pub name: &'a str,
    /// The last identifier of the stream, empty before the first.
    pub id: &'a str,
    /// Its data, lines joined by line feeds.
    pub data: &'a str,
}

/// State of the parser.
pub(crate) struct Events {
    /// Limit of a line and of an event, in bytes.
    limit: usize,
    line: Vec<u8>,
    first_line: bool,
    /// Whether a carriage return has ended a line: a line feed right after it belongs to it.
    after_return: bool,
    /// Whether the event was returned: the next one begins clean.
    given: bool,
    name: String,
    id: String,
    data: String,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Events {
            limit,
            line: Vec::new(),
            first_line: true,
            after_return: false,
            given: false,
            name: String::new(),
            id: String::new(),
            data: String::new(),
        }
    }

    /// Takes bytes up to the end of the next event. Returns their number, and whether [`Self::event`] is
    /// whole.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(usize, bool), Flaw> {
        if std::mem::take(&mut self.given) {
            self.name.clear();
            self.data.clear();
        }
        let mut at = 0;
        while at < bytes.len() {
            if std::mem::take(&mut self.after_return) && bytes[at] == b'\n' {
                at += 1;
                continue;
            }
            let rest = &bytes[at..];
            let end = rest.iter().position(|b| matches!(b, b'\r' | b'\n'));
            let piece = &rest[..end.unwrap_or(rest.len())];
            if self.line.len() + self.data.len() + piece.len() > self.limit {
                return Err(Flaw::TooLarge);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { return Ok((bytes.len(), false)) };
            self.after_return = rest[end] == b'\r';
            at += end + 1;
            if self.line_ended() {
                self.given = true;
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }

    /// The whole event.
    pub(crate) fn event(&self) -> Event<'_> {
        let name = if self.name.is_empty() { "message" } else { &self.name };
        // Every line of data has added a line feed, of which the last one is not data.
        Event { name, id: &self.id, data: self.data.strip_suffix('\n').unwrap_or(&self.data) }
    }

    /// Handles a whole line; true if it ends an event.
    fn line_ended(&mut self) -> bool {
        let mut bytes = std::mem::take(&mut self.line);
        let first = std::mem::take(&mut self.first_line);
        let line = bytes.strip_prefix(b"\xef\xbb\xbf").filter(|_| first).unwrap_or(&bytes);
        let ends = line.is_empty();
        if !ends {
            let colon = line.iter().position(|b| *b == b':').unwrap_or(line.len());
            let value = line.get(colon + 1..).unwrap_or_default();
            let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
            match &line[..colon] {
                b"data" => {
                    self.data.push_str(&value);
                    self.data.push('\n');
                }
                b"event" => value.as_ref().clone_into(&mut self.name),
                b"id" if !value.contains('\0') => value.as_ref().clone_into(&mut self.id),
                // A comment, a reconnection time, or something newer.
                _ => {}
            }
        } else if self.data.is_empty() {
            self.name.clear();
        }
        bytes.clear();
        self.line = bytes;
        ends && !self.data.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Name, identifier and data of all events in `text`, taken in pieces of at most `step` bytes.
    fn all(text: &[u8], step: usize) -> Vec<(String, String, String)> {
        let (mut events, mut found) = (Events::new(10_000), Vec::new());
        for mut piece in text.chunks(step) {
            while !piece.is_empty() {
                let (n, whole) = events.take(piece).unwrap();
                piece = &piece[n..];
                if whole {
                    let Event { name, id, data } = events.event();
                    found.push((name.to_owned(), id.to_owned(), data.to_owned()));
                }
            }
        }
        found
    }

    #[test]
    fn streams_are_read_as_the_standard_says() {
        let event = |name: &str, id: &str, data: &str| (name.to_owned(), id.to_owned(), data.to_owned());
        for (text, expected) in [
            ("data: hello\n\n", vec![event("message", "", "hello")]),
            ("\u{feff}data:hello\n\n", vec![event("message", "", "hello")]),
            ("data: a\r\ndata:  b\rdata\n\r\n", vec![event("message", "", "a\n b\n")]),
            (
                ": comment\n\nid: 7\nevent: tick\ndata: x\n\ndata: y\n\n",
                vec![event("tick", "7", "x"), event("message", "7", "y")],
            ),
            ("event: lost\n\ndata: x\n\n", vec![event("message", "", "x")]),
            ("retry: 5\nunknown: z\nid: a\0b\ndata: x\n\n", vec![event("message", "", "x")]),
            ("data\n\n", vec![event("message", "", "")]),
            ("data: never ended\n", vec![]),
            ("id: 1\n\nid\ndata: x\r\r", vec![event("message", "", "x")]),
        ] {
            for step in 1..text.len() {
                assert_eq!(all(text.as_bytes(), step), expected, "{text:?} in steps of {step}");
            }
        }
        assert_eq!(all(b"data: \xff!\n\n", 3), vec![event("message", "", "\u{fffd}!")]);
    }

    #[test]
    fn a_line_without_end_is_too_large() {
        let mut events = Events::new(100);
        assert_eq!(events.take(&[b'x'; 101]), Err(Flaw::TooLarge));
        let mut events = Events::new(100);
        let lines = b"data: 01234567890123456789\n".repeat(6);
        assert_eq!(events.take(&lines), Err(Flaw::TooLarge));
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(text in "(\u{feff}|)((data|event|id|x)(: ?[a-c:]{0,3}|)|)((\r|\n|\r\n)(((data|event|id)(: ?[a-c]{0,3}|))|:c|)){0,12}") {
            let whole = all(text.as_bytes(), usize::MAX >> 1);
            for step in [1, 2, 3, 7] {
                prop_assert_eq!(all(text.as_bytes(), step), whole.clone());
            }
        }
    }
}

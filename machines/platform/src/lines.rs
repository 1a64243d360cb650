//! Splits a unit's stdout into lines of bounded length, and finds the ready line among them.

use std::fmt;
use std::net::SocketAddr;

use crate::{BadReadyLine, OnLine, ready_address};

/// Longest line in bytes; longer ones are split, as a unit that never ends its line must not fill the
/// driver's memory.
const LONGEST_LINE: usize = 64 * 1024;

/// Content of a ready line.
pub type ReadyAddress = Result<SocketAddr, BadReadyLine>;

/// Joins pieces to lines.
pub struct Lines {
    on_line: OnLine,
    announce: Option<Box<dyn FnOnce(ReadyAddress) + Send + Sync>>,
    begun: Vec<u8>,
}

impl Lines {
    /// Passes every line to `on_line`, and the content of the first ready line to `announce`.
    #[must_use]
    pub fn new(on_line: OnLine, announce: impl FnOnce(ReadyAddress) + Send + Sync + 'static) -> Self {
        Lines { on_line, announce: Some(Box::new(announce)), begun: Vec::new() }
    }

    /// Adds the next piece.
    pub fn take(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            self.add(&piece[..end]);
            self.hand_over();
            piece = &piece[end + 1..];
        }
        self.add(piece);
    }

    /// Passes on a last line without line end.
    pub fn finish(mut self) {
        if !self.begun.is_empty() {
            self.hand_over();
        }
    }

    fn add(&mut self, part: &[u8]) {
        let room = LONGEST_LINE.saturating_sub(self.begun.len());
        self.begun.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn hand_over(&mut self) {
        let text = String::from_utf8_lossy(&self.begun);
        let text = text.trim_end_matches('\r');
        (self.on_line)(text);
        if self.announce.is_some()
            && let Some(announced) = ready_address(text)
            && let Some(announce) = self.announce.take()
        {
            announce(announced);
        }
        self.begun.clear();
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("begun", &self.begun.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn read(pieces: &[&[u8]]) -> (Vec<String>, Option<ReadyAddress>) {
        let (seen, announced) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
        let (keep, first) = (seen.clone(), announced.clone());
        let on_line = Arc::new(move |line: &str| keep.lock().unwrap().push(line.to_owned()));
        let mut lines = Lines::new(on_line, move |line| *first.lock().unwrap() = Some(line));
        pieces.iter().for_each(|piece| lines.take(piece));
        lines.finish();
        (seen.lock().unwrap().clone(), announced.lock().unwrap().clone())
    }

    #[test]
    fn pieces_become_lines_and_the_first_ready_line_counts() {
        let (lines, announced) = read(&[
            b"on",
            b"e\r\n\n{\"ready\":true,\"addr",
            b"ess\":\"127.0.0.1:5\"}\n{\"ready\":true,\"address\":\"127.0.0.1:6\"}\nlast",
        ]);
        assert_eq!((lines[0].as_str(), lines[1].as_str(), lines[4].as_str()), ("one", "", "last"));
        assert_eq!(announced, Some(Ok("127.0.0.1:5".parse().unwrap())));
    }

    #[test]
    fn an_endless_line_and_strange_bytes_do_no_harm() {
        let piece = vec![b'x'; LONGEST_LINE * 2];
        let (lines, announced) = read(&[&piece, &piece, b"\n\xff\xfe\nnext\n"]);
        assert_eq!((lines.len(), lines[0].len(), lines[2].as_str()), (3, LONGEST_LINE, "next"));
        assert_eq!(announced, None);
    }
}

//! Destination of a unit's output: its log, and the receiver of its lines.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::{Lines, OnLine, ReadyAddress};

/// The log of a unit, and the receiver of its lines if they are wanted.
pub struct UnitOutput {
    log: File,
    lines: Option<Lines>,
}

impl UnitOutput {
    /// Appends to the log only.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn to_log(log: &Path) -> io::Result<Self> {
        Ok(UnitOutput { log: open(log)?, lines: None })
    }

    /// Appends to the log, passes every line to `on_line`, and the content of the first ready line to `announce`.
    ///
    /// # Errors
    /// If the log cannot be opened.
    pub fn with_lines(
        log: &Path,
        on_line: OnLine,
        announce: impl FnOnce(ReadyAddress) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        Ok(UnitOutput { log: open(log)?, lines: Some(Lines::new(on_line, announce)) })
    }

    /// Appends a piece to the log.
    pub fn log(&mut self, piece: &[u8]) {
        // A full disk loses lines of the log, as it would if the unit wrote them itself.
        let _ = self.log.write_all(piece);
    }

    /// Returns the receiver of lines, if they are wanted.
    pub fn lines(&mut self) -> Option<&mut Lines> {
        self.lines.as_mut()
    }

    /// Passes on a last line without line end.
    pub fn finish(self) {
        if let Some(lines) = self.lines {
            lines.finish();
        }
    }
}

impl fmt::Debug for UnitOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnitOutput").field("log", &self.log).field("lines", &self.lines).finish()
    }
}

fn open(log: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(log)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn logs_are_appended_and_lines_are_passed_on() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let mut first = UnitOutput::to_log(&log).unwrap();
        assert!(first.lines().is_none());
        first.log(b"one\n");
        first.finish();
        let (seen, ready) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
        let (to_seen, to_ready) = (seen.clone(), ready.clone());
        let on_line: OnLine = Arc::new(move |line: &str| to_seen.lock().unwrap().push(line.to_owned()));
        let announce = move |address| *to_ready.lock().unwrap() = Some(address);
        let mut second = UnitOutput::with_lines(&log, on_line, announce).unwrap();
        second.log(b"two\n");
        second.lines().unwrap().take(b"{\"ready\":true,\"address\":\"127.0.0.1:7\"}\nlast");
        second.finish();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\n");
        assert_eq!(*seen.lock().unwrap(), ["{\"ready\":true,\"address\":\"127.0.0.1:7\"}", "last"]);
        assert_eq!(ready.lock().unwrap().take(), Some(Ok("127.0.0.1:7".parse().unwrap())));
        assert!(UnitOutput::to_log(&dir.path().join("no/log")).is_err());
    }
}

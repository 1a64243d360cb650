//! Lines appended to a file, each whole and on disk before the next.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use barograph_model::secret::masked;
use serde::Serialize;

use crate::{Folders, RecordError};

/// Appends lines to a writer; errors name the path.
#[derive(Debug)]
pub struct Appender<W: Write> {
    path: PathBuf,
    out: W,
    line: Vec<u8>,
    torn: bool,
}

impl Appender<File> {
    /// Opens `path` for appending, creating it if absent.
    pub fn open(path: PathBuf) -> Result<Self, RecordError> {
        match OpenOptions::new().create(true).append(true).open(&path) {
            Ok(file) => Ok(Appender::new(path, file)),
            Err(why) => Err(RecordError::Create { path, why }),
        }
    }

    /// Syncs the file to disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.out.sync_all().map_err(|why| RecordError::write(&self.path, why))
    }
}

impl<W: Write> Appender<W> {
    /// Appends to `out`; `path` is its name in errors.
    pub fn new(path: PathBuf, out: W) -> Self {
        Appender { path, out, line: Vec::new(), torn: false }
    }

    /// Returns the name in errors.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends `value` as one line of JSON, with the passwords of URLs removed.
    pub fn json<T: Serialize>(&mut self, value: &T) -> Result<(), RecordError> {
        self.json_relative(value, &Folders::default())
    }

    /// As [`Self::json`], with `folders` replaced by their short names.
    pub fn json_relative<T: Serialize>(&mut self, value: &T, folders: &Folders) -> Result<(), RecordError> {
        let line = serde_json::to_string(value)
            .map_err(|why| RecordError::Encode { path: self.path.clone(), why: why.into() })?;
        let mut line = folders.relative(&masked(&line)).into_owned();
        line.push('\n');
        self.bytes(line.as_bytes())
    }

    /// Appends whole lines, each with its line end.
    pub fn bytes(&mut self, lines: &[u8]) -> Result<(), RecordError> {
        self.line.clear();
        if self.torn {
            // An earlier write ended within a line: only that line is lost, not this one.
            self.line.push(b'\n');
        }
        self.line.extend_from_slice(lines);
        let done = self.out.write_all(&self.line).and_then(|()| self.out.flush());
        self.torn = done.is_err();
        done.map_err(|why| RecordError::write(&self.path, why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let mut appender = Appender::open(PathBuf::from("/dev/full")).unwrap();
        let error = appender.json(&"text").unwrap_err();
        assert_eq!(error.to_string(), "write to `/dev/full`");
        assert!(error.in_one_line().contains("No space left"), "{}", error.in_one_line());
    }

    #[test]
    fn a_line_has_no_passwords() {
        let path = PathBuf::from("lines");
        let out = SmallDisk { taken: Vec::new(), room: 1_000 };
        let mut appender = Appender { path, out, line: Vec::new(), torn: false };
        appender.json(&["redis://me:s3cret@h:1", "it held"]).unwrap();
        assert_eq!(appender.out.taken, b"[\"redis://me:***@h:1\",\"it held\"]\n");
    }

    /// Accepts `room` bytes, then reports a full disk until given more room.
    struct SmallDisk {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for SmallDisk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let n = bytes.len().min(self.room);
            if n == 0 {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.room -= n;
            self.taken.extend_from_slice(&bytes[..n]);
            Ok(n)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let mut appender = Appender::new(PathBuf::from("x"), SmallDisk { taken: Vec::new(), room: 8 });
        appender.json(&1).unwrap();
        assert!(appender.json(&"far too long").is_err());
        appender.out.room = 100;
        appender.json(&2).unwrap();
        assert_eq!(String::from_utf8(appender.out.taken).unwrap(), "1\n\"far t\n2\n");
    }
}

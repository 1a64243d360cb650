//! Buffered reads of a stretch of records, and buffered writes.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::record::{Key, key};
use crate::{RECORD, SortError};

/// Reads a range of records in order.
pub(crate) struct Cursor<'f> {
    file: &'f File,
    /// Records that are not in the buffer yet.
    left: Range<u64>,
    buffer: Vec<u8>,
    /// Records of one read.
    room: u64,
    /// Begin of the current record.
    at: usize,
}

impl<'f> Cursor<'f> {
    /// Begins at the first record of the range.
    pub(crate) fn new(file: &'f File, range: Range<u64>, room: u64) -> Result<Self, SortError> {
        let mut cursor = Cursor { file, left: range, buffer: Vec::new(), room, at: 0 };
        cursor.fill()?;
        Ok(cursor)
    }

    fn fill(&mut self) -> Result<(), SortError> {
        let records = self.room.min(self.left.end - self.left.start);
        let at = self.left.start * RECORD as u64;
        self.buffer.resize(records as usize * RECORD, 0);
        self.file.read_exact_at(&mut self.buffer, at).map_err(|why| SortError::Read { at, why })?;
        self.left.start += records;
        self.at = 0;
        Ok(())
    }

    /// The current record; `None` after the last one.
    pub(crate) fn record(&self) -> Option<&[u8]> {
        self.buffer.get(self.at..self.at + RECORD)
    }

    /// Key of the current record.
    pub(crate) fn key(&self) -> Option<Key> {
        self.record().map(key)
    }

    /// Goes on to the next record.
    pub(crate) fn advance(&mut self) -> Result<(), SortError> {
        self.at += RECORD;
        if self.at == self.buffer.len() { self.fill() } else { Ok(()) }
    }
}

/// Writes records in order from a place on.
pub(crate) struct Sink<'f> {
    file: &'f File,
    at: u64,
    buffer: Vec<u8>,
    room: usize,
}

impl<'f> Sink<'f> {
    /// Begins at the place of a record, with a buffer for `room` records.
    pub(crate) fn new(file: &'f File, record: u64, room: u64) -> Self {
        let room = room as usize * RECORD;
        Sink { file, at: record * RECORD as u64, buffer: Vec::with_capacity(room), room }
    }

    /// Appends a record; true if the buffer was written.
    pub(crate) fn push(&mut self, record: &[u8]) -> Result<bool, SortError> {
        self.buffer.extend_from_slice(record);
        let is_full = self.buffer.len() >= self.room;
        if is_full {
            self.flush()?;
        }
        Ok(is_full)
    }

    /// Writes what is left in the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), SortError> {
        let at = self.at;
        self.file.write_all_at(&self.buffer, at).map_err(|why| SortError::Write { at, why })?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

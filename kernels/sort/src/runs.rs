//! Runs: sorted stretches of a file, the first pass of a sort.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::record::key;
use crate::{RECORD, SortError};

/// Bytes of memory for a record of a run: itself, and its place in the order.
pub(crate) const BYTES_EACH: usize = RECORD + size_of::<Place>();

/// Records that are written at once.
const WRITTEN_AT_ONCE: usize = 1_000;

/// Bytes of the buffer for writes.
pub(crate) const WRITE_BYTES: usize = WRITTEN_AT_ONCE * RECORD;

/// Key of a record and its index in the buffer. Equal keys keep their order by the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    first: u64,
    rest: u16,
    index: u32,
}

/// Buffers of a thread that makes runs.
#[derive(Default)]
pub(crate) struct RunBuffers {
    records: Vec<u8>,
    places: Vec<Place>,
    written: Vec<u8>,
}

impl RunBuffers {
    /// Sorts a range of records of `from` into the same range of `to`.
    pub(crate) fn sort(&mut self, from: &File, to: &File, range: &Range<u64>) -> Result<(), SortError> {
        let at = range.start * RECORD as u64;
        self.records.resize((range.end - range.start) as usize * RECORD, 0);
        from.read_exact_at(&mut self.records, at).map_err(|why| SortError::Read { at, why })?;
        self.places.clear();
        self.places.extend((0..).zip(self.records.chunks_exact(RECORD)).map(|(index, record)| {
            let (first, rest) = key(record);
            Place { first, rest, index }
        }));
        self.places.sort_unstable();
        let mut at = at;
        for places in self.places.chunks(WRITTEN_AT_ONCE) {
            self.written.clear();
            for place in places {
                let begin = place.index as usize * RECORD;
                self.written.extend_from_slice(&self.records[begin..begin + RECORD]);
            }
            to.write_all_at(&self.written, at).map_err(|why| SortError::Write { at, why })?;
            at += self.written.len() as u64;
        }
        Ok(())
    }
}

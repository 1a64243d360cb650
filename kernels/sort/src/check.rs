//! Checksum and order of records.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::record::key;
use crate::{KEY, RECORD, SortError};

/// Records of one read.
const BLOCK: u64 = 10_000;

/// Sum of the CRC-32 of records. Their order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum {
    /// The sum.
    pub sum: u128,
    /// Number of records.
    pub records: u64,
}

impl Checksum {
    /// Adds records.
    pub fn take(&mut self, records: &[u8]) {
        for record in records.chunks_exact(RECORD) {
            self.sum = self.sum.wrapping_add(u128::from(crc32fast::hash(record)));
            self.records += 1;
        }
    }

    /// Adds the records of another.
    pub fn add(&mut self, other: Checksum) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.records += other.records;
    }
}

/// Findings on a file of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Checksum of all records.
    pub checksum: Checksum,
    /// Records with a smaller key than the record before.
    pub disorders: u64,
    /// Number of the first of them.
    pub first_disorder: Option<u64>,
}

impl Findings {
    /// Adds the findings on later records.
    fn add(&mut self, later: Findings) {
        self.checksum.add(later.checksum);
        self.disorders += later.disorders;
        self.first_disorder = self.first_disorder.or(later.first_disorder);
    }
}

/// Reads all `records` of a file by several threads.
///
/// # Errors
/// A file that cannot be read or is shorter, or a request to end.
pub fn check(file: &File, records: u64, threads: usize, stop: &AtomicBool) -> Result<Findings, SortError> {
    let share = records.div_ceil(threads.max(1) as u64).max(1);
    let parts = (0..records).step_by(share as usize).map(|first| first..records.min(first + share));
    thread::scope(|scope| {
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || check_part(file, &part, stop))).collect();
        let mut all = Findings::default();
        for part in parts {
            all.add(part.join().expect("the check of a part does not panic")?);
        }
        Ok(all)
    })
}

/// Checks a part of the records, and the order of its first record after the one before.
fn check_part(file: &File, part: &Range<u64>, stop: &AtomicBool) -> Result<Findings, SortError> {
    let mut checked = Findings::default();
    let mut before = [0; KEY];
    if part.start > 0 {
        read(file, part.start - 1, &mut before)?;
    }
    let mut last = key(&before);
    let mut room = vec![0; BLOCK.min(part.end - part.start) as usize * RECORD];
    for first in part.clone().step_by(BLOCK as usize) {
        if stop.load(Ordering::Relaxed) {
            return Err(SortError::Stopped);
        }
        let block = &mut room[..BLOCK.min(part.end - first) as usize * RECORD];
        read(file, first, block)?;
        checked.checksum.take(block);
        for (number, record) in (first..).zip(block.chunks_exact(RECORD)) {
            let own = key(record);
            if own < last {
                checked.disorders += 1;
                checked.first_disorder = checked.first_disorder.or(Some(number));
            }
            last = own;
        }
    }
    Ok(checked)
}

fn read(file: &File, record: u64, room: &mut [u8]) -> Result<(), SortError> {
    let at = record * RECORD as u64;
    file.read_exact_at(room, at).map_err(|why| SortError::Read { at, why })
}

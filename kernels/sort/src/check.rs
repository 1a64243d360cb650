//! Checksum and order of records.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::record::{Key, key};
use crate::{RECORD, SortError};

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

/// Findings on records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Checksum of all records.
    pub checksum: Checksum,
    /// Records with a smaller key than the record before.
    pub disorders: u64,
    /// Number of the first of them.
    pub first_disorder: Option<u64>,
    /// First and last key; `None` without records.
    keys: Option<(Key, Key)>,
}

impl Findings {
    /// Adds the findings on later records.
    fn add(&mut self, later: Findings) {
        if let (Some((first, last)), Some((begin, end))) = (self.keys, later.keys) {
            self.keys = Some((first, end));
            self.disorder_if(begin < last, self.checksum.records);
        } else {
            self.keys = self.keys.or(later.keys);
        }
        let before = self.checksum.records;
        self.checksum.add(later.checksum);
        self.disorders += later.disorders;
        self.first_disorder = self.first_disorder.or(later.first_disorder.map(|number| before + number));
    }

    fn disorder_if(&mut self, is_smaller: bool, number: u64) {
        if is_smaller {
            self.disorders += 1;
            self.first_disorder = self.first_disorder.or(Some(number));
        }
    }
}

/// Reads all records of files, one file after the other, by several threads.
///
/// # Errors
/// A file that cannot be read or ends within a record, or a request to end.
pub fn check(files: &[File], threads: usize, stop: &AtomicBool) -> Result<Findings, SortError> {
    let mut sizes = Vec::new();
    for file in files {
        sizes.push(records_of(file)?);
    }
    let share = sizes.iter().sum::<u64>().div_ceil(threads.max(1) as u64).max(1);
    let parts = files.iter().zip(sizes).flat_map(|(file, records)| {
        let firsts = (0..records).step_by(share as usize);
        firsts.map(move |first| (file, first..records.min(first + share)))
    });
    let parts: Vec<(&File, Range<u64>)> = parts.collect();
    let mut all = Findings::default();
    for turn in parts.chunks(threads.max(1)) {
        thread::scope(|scope| {
            let turn = turn.iter().map(|(file, part)| scope.spawn(move || check_part(file, part, stop)));
            for part in turn.collect::<Vec<_>>() {
                all.add(part.join().expect("the check of a part does not panic")?);
            }
            Ok(())
        })?;
    }
    Ok(all)
}

/// Number of records of a file.
fn records_of(file: &File) -> Result<u64, SortError> {
    let bytes = file.metadata().map_err(|why| SortError::Read { at: 0, why })?.len();
    if bytes.is_multiple_of(RECORD as u64) {
        Ok(bytes / RECORD as u64)
    } else {
        Err(SortError::Broken { bytes })
    }
}

/// Checks a part of the records of a file.
fn check_part(file: &File, part: &Range<u64>, stop: &AtomicBool) -> Result<Findings, SortError> {
    let mut checked = Findings::default();
    let mut room = vec![0; BLOCK.min(part.end - part.start) as usize * RECORD];
    for first in part.clone().step_by(BLOCK as usize) {
        if stop.load(Ordering::Relaxed) {
            return Err(SortError::Stopped);
        }
        let block = &mut room[..BLOCK.min(part.end - first) as usize * RECORD];
        read(file, first, block)?;
        checked.checksum.take(block);
        for (number, record) in (first - part.start..).zip(block.chunks_exact(RECORD)) {
            let own = key(record);
            let (begin, last) = checked.keys.unwrap_or((own, own));
            checked.disorder_if(own < last, number);
            checked.keys = Some((begin, own));
        }
    }
    Ok(checked)
}

fn read(file: &File, record: u64, room: &mut [u8]) -> Result<(), SortError> {
    let at = record * RECORD as u64;
    file.read_exact_at(room, at).map_err(|why| SortError::Read { at, why })
}

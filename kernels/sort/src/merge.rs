//! Merging: several sorted runs of one file become one run of another, in parts by ranges of keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cursor::{Cursor, Sink};
use crate::record::{Key, key};
use crate::{KEY, RECORD, SortError};

/// Keys that are looked at in each run to choose ranges of about equal size.
const SAMPLES: u64 = 32;

/// A part of a merge: a range of each run, and the place of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Ranges of the runs, in the order of the runs.
    pub(crate) ranges: Vec<Range<u64>>,
    /// First record of the result.
    pub(crate) to: u64,
}

/// Cuts a merge of adjacent runs into parts, at most `parts`. Records of equal keys are in one part.
pub(crate) fn cut(file: &File, runs: &[Range<u64>], parts: usize) -> Result<Vec<Part>, SortError> {
    let mut samples = Vec::new();
    for run in runs {
        let step = ((run.end - run.start) / SAMPLES).max(1);
        for record in run.clone().step_by(step as usize) {
            samples.push(key_at(file, record)?);
        }
    }
    samples.sort_unstable();
    let mut from: Vec<u64> = runs.iter().map(|run| run.start).collect();
    let mut to = runs.first().map_or(0, |run| run.start);
    let mut all = Vec::new();
    for part in 1..=parts {
        let ends = if part == parts {
            runs.iter().map(|run| run.end).collect()
        } else {
            let least = samples[part * samples.len() / parts];
            let ends = runs.iter().map(|run| lower_bound(file, run, least));
            ends.collect::<Result<Vec<u64>, SortError>>()?
        };
        let ranges: Vec<Range<u64>> = from.iter().zip(&ends).map(|(from, end)| *from..*end).collect();
        let records: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        if records > 0 {
            all.push(Part { ranges, to });
        }
        to += records;
        from = ends;
    }
    Ok(all)
}

/// First record of a run whose key is not below `least`.
fn lower_bound(file: &File, run: &Range<u64>, least: Key) -> Result<u64, SortError> {
    let Range { start: mut low, end: mut high } = *run;
    while low < high {
        let middle = low.midpoint(high);
        if key_at(file, middle)? < least {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn key_at(file: &File, record: u64) -> Result<Key, SortError> {
    let (mut room, at) = ([0; KEY], record * RECORD as u64);
    file.read_exact_at(&mut room, at).map_err(|why| SortError::Read { at, why })?;
    Ok(key(&room))
}

/// Merges a part with `bytes` of memory.
pub(crate) fn merge(
    (from, to): (&File, &File),
    part: &Part,
    bytes: usize,
    stop: &AtomicBool,
) -> Result<(), SortError> {
    let room = (bytes / (part.ranges.len() + 1) / RECORD).max(1) as u64;
    let mut cursors: Vec<Cursor<'_>> = Vec::new();
    for range in &part.ranges {
        cursors.push(Cursor::new(from, range.clone(), room)?);
    }
    // Of equal keys that of the first run is the least, so the merge is stable.
    let heads = cursors.iter().zip(0_u32..).filter_map(|(cursor, run)| Some(Reverse((cursor.key()?, run))));
    let mut heads: BinaryHeap<Reverse<(Key, u32)>> = heads.collect();
    let mut sink = Sink::new(to, part.to, room);
    while let Some(mut head) = heads.peek_mut() {
        let cursor = &mut cursors[head.0.1 as usize];
        let record = cursor.record().expect("a run in the heap has a record");
        if sink.push(record)? && stop.load(Ordering::Relaxed) {
            return Err(SortError::Stopped);
        }
        cursor.advance()?;
        match cursor.key() {
            Some(next) => head.0.0 = next,
            None => {
                PeekMut::pop(head);
            }
        }
    }
    sink.flush()
}

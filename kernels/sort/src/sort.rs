//! The sort: a pass that makes runs, and passes that merge them until one is left.

use std::fs::File;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::merge::{Part, cut, merge};
use crate::runs::{BYTES_EACH, RunBuffers, WRITE_BYTES};
use crate::{RECORD, SortError};

/// Bytes of memory with which a sort does its work: those of a thread at the least.
pub const LEAST_MEMORY: usize = 2 * WRITE_BYTES;

/// Bytes of a buffer of a merge, as long as two runs at once are possible: enough that a disk is not busy with seeks.
const BUFFER: usize = 256 << 10;

/// A sort of a number of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Number of records.
    pub records: u64,
    /// Bytes of memory of all buffers together, at least [`LEAST_MEMORY`].
    pub memory: usize,
    /// Threads; fewer are used where memory is too small for all.
    pub threads: usize,
}

/// Files of a sort. All are read and written by position, so none needs a name.
#[derive(Clone, Copy, Debug)]
pub struct Files<'f> {
    /// Unsorted records; not written.
    pub input: &'f File,
    /// Room for as many records; unused in a sort of one pass.
    pub scratch: &'f File,
    /// Sorted records.
    pub output: &'f File,
}

/// Bytes of the passes of a sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Passes over all records, the one that makes runs included.
    pub passes: u32,
    /// Bytes of records read by the passes.
    pub read: u64,
    /// Bytes of records written.
    pub written: u64,
}

impl Sort {
    /// Threads that are used.
    fn used_threads(&self) -> usize {
        self.threads.clamp(1, (self.memory / LEAST_MEMORY).max(1))
    }

    fn memory_of_thread(&self) -> usize {
        self.memory.max(LEAST_MEMORY) / self.used_threads()
    }

    /// Records of a run.
    fn run(&self) -> u64 {
        let fit = (self.memory_of_thread() - WRITE_BYTES) / BYTES_EACH;
        (fit as u64).clamp(1, u32::MAX.into())
    }

    /// Runs that are merged at once.
    fn fan_in(&self) -> usize {
        (self.memory_of_thread() / BUFFER).saturating_sub(1).max(2)
    }

    /// Passes over all records, and the bytes that they move.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let (mut runs, mut passes) = (self.records.div_ceil(self.run()), 1);
        while runs > 1 {
            runs = runs.div_ceil(self.fan_in() as u64);
            passes += 1;
        }
        let bytes = u64::from(passes) * self.records * RECORD as u64;
        Traffic { passes, read: bytes, written: bytes }
    }

    /// Sorts the records by their keys; equal ones keep their order.
    ///
    /// # Errors
    /// Files that cannot be read or written, or a request to end.
    pub fn sort(&self, files: Files<'_>, stop: &AtomicBool) -> Result<Traffic, SortError> {
        let traffic = self.traffic();
        // Passes write to both files in turn, the last one to the output.
        let file =
            |passes_left: u32| if passes_left.is_multiple_of(2) { files.output } else { files.scratch };
        let mut passes_left = traffic.passes - 1;
        let mut runs: Vec<Range<u64>> = ranges(self.records, self.run());
        self.on_threads(&runs, stop, RunBuffers::default, |buffers, run| {
            buffers.sort(files.input, file(passes_left), run)
        })?;
        while passes_left > 0 {
            let (from, to) = (file(passes_left), file(passes_left - 1));
            let mut parts: Vec<Part> = Vec::new();
            for group in runs.chunks(self.fan_in()) {
                parts.extend(cut(from, group, self.used_threads())?);
            }
            let bytes = self.memory_of_thread();
            self.on_threads(&parts, stop, || (), |(), part| merge((from, to), part, bytes, stop))?;
            let joined = runs.chunks(self.fan_in()).map(|group| group[0].start..group[group.len() - 1].end);
            runs = joined.collect();
            passes_left -= 1;
        }
        Ok(traffic)
    }

    /// Does all items on the threads, each with a state of its own. The first error ends the others.
    fn on_threads<I: Sync, S>(
        &self,
        items: &[I],
        stop: &AtomicBool,
        state: impl Fn() -> S + Sync,
        work: impl Fn(&mut S, &I) -> Result<(), SortError> + Sync,
    ) -> Result<(), SortError> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
        let worker = || {
            let mut state = state();
            while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                let done = if stop.load(Ordering::Relaxed) {
                    Err(SortError::Stopped)
                } else {
                    work(&mut state, item)
                };
                if let Err(why) = done {
                    next.store(items.len(), Ordering::Relaxed);
                    let mut failed = failed.lock().expect("no thread panics with it");
                    failed.get_or_insert(why);
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.used_threads() {
                scope.spawn(worker);
            }
            worker();
        });
        failed.into_inner().expect("no thread panics with it").map_or(Ok(()), Err)
    }
}

/// Cuts a number of records into ranges of `length`; the last may be shorter.
fn ranges(records: u64, length: u64) -> Vec<Range<u64>> {
    (0..records).step_by(length as usize).map(|first| first..records.min(first + length)).collect()
}

#[cfg(test)]
mod tests;

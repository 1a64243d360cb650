//! Writing rows into a store at full speed: one thread per file, batches in the order of their numbers.

use super::FillError;

use barograph_store_sqlite::{FileFill, Rows};
use crossbeam_channel::Receiver;
use std::collections::BTreeMap;
use std::path::Path;

/// Creates the store at `path`, writes `batches` numbered batches into it, then makes the indices.
///
/// Batches may arrive in any order and are written in the order of their numbers, so that the file does not
/// depend on the number of threads. At most as many wait as there are threads.
pub(super) fn write<B: Rows>(
    mut store: FileFill<B>,
    path: &Path,
    stamp: &str,
    (batches, queue): (usize, &Receiver<(usize, B)>),
) -> Result<(), FillError> {
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, batch) in queue {
        waiting.insert(number, batch);
        while let Some(batch) = waiting.remove(&next) {
            store.insert(&batch).map_err(FillError::store(path))?;
            next += 1;
        }
    }
    if next < batches {
        // The makers of batches have failed and report the reason.
        return Err(FillError::Stopped);
    }
    store.close(stamp).map_err(FillError::store(path))?;
    std::fs::File::open(path).and_then(|file| file.sync_all()).map_err(FillError::file("flush", path))
}

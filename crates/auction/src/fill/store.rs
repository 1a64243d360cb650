//! Writes rows into a store as fast as it takes them: one thread per file, batches in the order of their numbers.

use super::FillError;
use super::rows::Batch;
use crossbeam_channel::Receiver;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// While filling, nothing protects the file against a crash: without a marker it is thrown away anyway. The cache
/// (in KiB, negative by SQLite's convention) holds the whole tables of small sizes, because bids and attendance
/// are clustered by user and so come in no order.
const WHILE_FILLING: &str = "
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -524288;
BEGIN;
";

/// Creates the store at `path` and writes `batches` numbered batches into it, then makes the indices.
///
/// Batches may come in any order and are written in the order of their numbers, so that the file is the same
/// whatever the number of threads that make them. Only as many wait as there are threads.
pub(super) fn write<B: Batch>(
    path: &Path,
    batches: usize,
    queue: &Receiver<(usize, B)>,
) -> Result<(), FillError> {
    let failed = || FillError::store(path);
    let mut store = Connection::open(path).map_err(failed())?;
    store.set_prepared_statement_cache_capacity(16);
    store.execute_batch(WHILE_FILLING).and_then(|()| store.execute_batch(B::TABLES)).map_err(failed())?;
    let mut waiting = BTreeMap::new();
    let mut next = 0;
    for (number, batch) in queue {
        waiting.insert(number, batch);
        while let Some(batch) = waiting.remove(&next) {
            batch.insert(&mut store).map_err(failed())?;
            next += 1;
        }
    }
    if next < batches {
        // The makers of batches have given up; they know why.
        return Err(FillError::Stopped);
    }
    store.execute_batch(B::INDICES).map_err(failed())?;
    store.execute_batch("COMMIT; ANALYZE;").map_err(failed())?;
    store.close().map_err(|(_, why)| FillError::store(path)(why))?;
    std::fs::File::open(path).and_then(|file| file.sync_all()).map_err(FillError::file("flush", path))
}

//! Fills a database: some threads make rows, and as many sessions copy them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::Contents as _;
use barograph_postgres::{Client, Connection, Fault};
use barograph_reactor::block_on;
use barograph_workload::{FillProgress, OnProgress};

use super::PostgresError;
use super::admin::{in_session, literal, run};
use super::databases::{Databases, State};
use super::schema;
use crate::chunk::Chunk;
use crate::engine::FillCounts;
use crate::generate::{Batch, Generator, Piece};
use crate::tables::Table;

/// Most sessions that copy side by side.
const MOST_SESSIONS: usize = 8;

/// Chunks of a session that wait to be sent: a megabyte or two.
const WAITING: usize = 4;

/// Options of sessions that fill. An interrupted fill begins anew, so nothing waits for the disk before its end.
const OPTIONS: &str = "-c synchronous_commit=off";

/// A fill in progress.
pub(super) struct DatabaseFill {
    pub(super) databases: Databases,
    pub(super) generator: Generator,
    pub(super) progress: OnProgress,
    /// The fill is to end.
    pub(super) stopped: Arc<AtomicBool>,
    pub(super) done: AtomicU64,
}

impl DatabaseFill {
    /// Fills the database, unless it is filled, and copies it for the run. Blocks.
    ///
    /// # Errors
    /// A database with other contents, which is not changed; a server that refuses.
    pub(super) fn run(&self) -> Result<FillCounts, PostgresError> {
        let found = self.databases.state(&self.generator)?;
        let (reused, lines) = match found {
            State::Filled(lines) => (true, lines),
            State::Missing | State::Unfilled => {
                if found == State::Missing {
                    self.databases.create()?;
                }
                self.begin()?;
                let lines = self.copy()?;
                self.finish(lines)?;
                (false, lines)
            }
        };
        let bytes = self.databases.bytes()?;
        self.stage("copy")?;
        self.databases.reset()?;
        Ok(FillCounts { reused, lines, bytes })
    }

    /// Shows a stage.
    fn stage(&self, stage: &str) -> Result<(), PostgresError> {
        let total = Table::ALL.into_iter().map(|table| self.generator.size.rows(table)).sum();
        let done = self.done.load(Ordering::Relaxed);
        (self.progress)(FillProgress { stage: stage.to_owned(), done, total });
        if self.stopped.load(Ordering::Relaxed) { Err(PostgresError::Stopped) } else { Ok(()) }
    }

    /// Makes the marker, which says that the fill is incomplete, and the tables.
    fn begin(&self) -> Result<(), PostgresError> {
        let tables = Table::ALL.map(Table::name).join(", ");
        let insert =
            format!("INSERT INTO barograph_marker (filled) VALUES ({})", literal(&self.generator.stamp()));
        let mut all = vec![format!("DROP TABLE IF EXISTS barograph_marker, {tables}")];
        all.extend([schema::MARKER.to_owned(), insert]);
        all.extend(Table::ALL.map(schema::create));
        in_session(&self.databases.filled(OPTIONS), "fill", async |session| {
            // One transaction.
            run(session, &all.join("; ")).await
        })?;
        Ok(())
    }

    /// Copies all rows. Returns the number of order lines.
    fn copy(&self) -> Result<u64, PostgresError> {
        let pieces = Mutex::new(self.generator.pieces());
        let sessions = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SESSIONS));
        let all: Vec<Result<u64, PostgresError>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..sessions).map(|_| scope.spawn(|| self.pieces(&pieces))).collect();
            all.into_iter().map(|one| one.join().unwrap_or(Err(PostgresError::Thread))).collect()
        });
        // Others were stopped by the first one that failed.
        let is_stop = |one: &Result<u64, PostgresError>| matches!(one, Err(PostgresError::Stopped));
        let (stops, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_stop);
        rest.into_iter().chain(stops).sum()
    }

    /// Copies pieces in one session until none is left. Returns the number of order lines.
    fn pieces(&self, pieces: &Mutex<impl Iterator<Item = Piece> + Send>) -> Result<u64, PostgresError> {
        let (send, chunks) = sync_channel(WAITING);
        let copied = std::thread::scope(|scope| {
            scope.spawn(move || {
                let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
                // Without a receiver the fill has ended.
                let mut take = |batch: Batch| send.send(Chunk::of(&batch)).is_ok();
                std::iter::from_fn(next).all(|piece| self.generator.piece(piece, &mut take))
            });
            block_on(self.take(chunks))
        });
        let copied = copied.map_err(PostgresError::Loop).flatten();
        if copied.is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        copied
    }

    /// Copies chunks in one session, those of a table in one statement.
    async fn take(&self, chunks: Receiver<Chunk>) -> Result<u64, PostgresError> {
        let failed = || PostgresError::of("fill", self.databases.name());
        let client = Client::new(&self.databases.filled(OPTIONS));
        let mut session = client.connect(0).await.map_err(failed())?;
        let (mut lines, mut next) = (0, chunks.recv().ok());
        while let Some(Chunk { table, .. }) = next {
            let sql = format!("COPY {} FROM STDIN", table.name());
            let mut copy = session.copy_in(&sql).await.map_err(failed())?;
            while let Some(chunk) = next.take_if(|chunk| chunk.table == table) {
                copy.write(chunk.text.as_bytes()).await.map_err(failed())?;
                lines += if table == Table::OrderLine { chunk.rows } else { 0 };
                self.done.fetch_add(chunk.rows, Ordering::Relaxed);
                self.stage(table.name())?;
                next = chunks.recv().ok();
            }
            copy.finish().await.map_err(failed())?;
        }
        Ok(lines)
    }

    /// Makes keys, indices and statistics, and completes the marker.
    fn finish(&self, lines: u64) -> Result<(), PostgresError> {
        let keys = Table::ALL.into_iter().filter_map(schema::key);
        let indices = schema::INDICES.into_iter().map(str::to_owned);
        for sql in keys.chain(indices) {
            self.stage("keys")?;
            self.after(&sql)?;
        }
        self.stage("statistics")?;
        // Frozen rows are not written again when they are read first.
        self.after(&format!("VACUUM (FREEZE, ANALYZE) {}", Table::ALL.map(Table::name).join(", ")))?;
        // With this commit all others are on the disk.
        self.after(&format!("SET synchronous_commit = on; UPDATE barograph_marker SET lines = {lines}"))
    }

    fn after(&self, sql: &str) -> Result<(), PostgresError> {
        let run = async |session: &mut Connection| -> Result<u64, Fault> { run(session, sql).await };
        in_session(&self.databases.filled(OPTIONS), "fill", run).map(drop)
    }
}

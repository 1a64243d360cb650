//! Fills a database: some threads make rows, and as many sessions load them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use barograph_mysql::Client;
use barograph_reactor::block_on;
use barograph_workload::{FillProgress, OnProgress};

use super::MariadbError;
use super::admin::{in_session, run};
use super::databases::{Databases, State, beginning};
use super::schema::{INDICES, MARKER};
use crate::chunk::Chunk;
use crate::engine::FillCounts;
use crate::generate::{Batch, Generator, Piece};
use crate::tables::Table;

/// Most sessions that load side by side.
const MOST_SESSIONS: usize = 8;

/// Chunks of a session that wait to be sent: a megabyte or two.
const WAITING: usize = 4;

/// Most chunks of a statement: the server keeps what it would undo.
const MOST_CHUNKS: usize = 64;

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
    pub(super) fn run(&self) -> Result<FillCounts, MariadbError> {
        let found = self.databases.state(&self.generator)?;
        let (reused, lines) = match found {
            State::Filled(lines) => (true, lines),
            State::Missing | State::Unfilled => {
                if found == State::Missing {
                    self.databases.create()?;
                }
                self.after(&beginning(&self.generator))?;
                let lines = self.load()?;
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
    fn stage(&self, stage: &str) -> Result<(), MariadbError> {
        let total = Table::ALL.into_iter().map(|table| self.generator.size.rows(table)).sum();
        let done = self.done.load(Ordering::Relaxed);
        (self.progress)(FillProgress { stage: stage.to_owned(), done, total });
        if self.stopped.load(Ordering::Relaxed) { Err(MariadbError::Stopped) } else { Ok(()) }
    }

    /// Loads all rows. Returns the number of order lines.
    fn load(&self) -> Result<u64, MariadbError> {
        let pieces = Mutex::new(self.generator.pieces());
        let sessions = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SESSIONS));
        let all: Vec<Result<u64, MariadbError>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..sessions).map(|_| scope.spawn(|| self.pieces(&pieces))).collect();
            all.into_iter().map(|one| one.join().unwrap_or(Err(MariadbError::Thread))).collect()
        });
        // Others were stopped by the first one that failed.
        let is_stop = |one: &Result<u64, MariadbError>| matches!(one, Err(MariadbError::Stopped));
        let (stops, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_stop);
        rest.into_iter().chain(stops).sum()
    }

    /// Loads pieces in one session until none is left. Returns the number of order lines.
    fn pieces(&self, pieces: &Mutex<impl Iterator<Item = Piece> + Send>) -> Result<u64, MariadbError> {
        let (send, chunks) = sync_channel(WAITING);
        let loaded = std::thread::scope(|scope| {
            scope.spawn(move || {
                let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
                // Without a receiver the fill has ended.
                let mut take = |batch: Batch| send.send(Chunk::of(&batch)).is_ok();
                std::iter::from_fn(next).all(|piece| self.generator.piece(piece, &mut take))
            });
            block_on(self.take(chunks))
        });
        let loaded = loaded.map_err(MariadbError::Loop).flatten();
        if loaded.is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        loaded
    }

    /// Loads chunks in one session, some of the same table in one statement.
    async fn take(&self, chunks: Receiver<Chunk>) -> Result<u64, MariadbError> {
        let failed = || MariadbError::of("fill", self.databases.name());
        let client = Client::new(&self.databases.filled());
        let mut session = client.connect(0).await.map_err(failed())?;
        let (mut lines, mut next) = (0, chunks.recv().ok());
        while let Some(Chunk { table, .. }) = next {
            let sql =
                format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET utf8mb4", table.name());
            let mut load = session.load_data(&sql).await.map_err(failed())?;
            let mut rows = 0;
            for _ in 0..MOST_CHUNKS {
                let Some(chunk) = next.take_if(|chunk| chunk.table == table) else { break };
                load.write(chunk.text.as_bytes()).await.map_err(failed())?;
                rows += chunk.rows;
                self.done.fetch_add(chunk.rows, Ordering::Relaxed);
                self.stage(table.name())?;
                next = chunks.recv().ok();
            }
            let done = load.finish().await.map_err(failed())?;
            if done.warnings > 0 || done.rows != rows {
                return Err(MariadbError::Changed { table: table.name(), warnings: done.warnings });
            }
            lines += if table == Table::OrderLine { rows } else { 0 };
        }
        Ok(lines)
    }

    /// Makes indices and completes the marker.
    fn finish(&self, lines: u64) -> Result<(), MariadbError> {
        for sql in INDICES {
            self.stage("keys")?;
            self.after(sql)?;
        }
        self.stage("statistics")?;
        self.after(&format!("ANALYZE TABLE {}", Table::ALL.map(Table::name).join(", ")))?;
        self.after(&format!("UPDATE {MARKER} SET order_lines = {lines}"))
    }

    fn after(&self, sql: &str) -> Result<(), MariadbError> {
        let what = ("fill", self.databases.name());
        in_session(&self.databases.filled(), what, async |session| run(session, sql).await).map(drop)
    }
}

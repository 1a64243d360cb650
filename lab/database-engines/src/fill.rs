//! Fills a database: some threads make rows, and as many sessions load them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

use barograph_database::{Batch, Contents, FillResult, Table};
use barograph_reactor::block_on;
use barograph_workload::{FillProgress, OnProgress};

use crate::ServerError;
use crate::chunk::{Chunk, Chunks, Made};
use crate::databases::{Databases, State};
use crate::product::{MARKER, PIECES, Product};

/// Most sessions that load side by side.
const MOST_SESSIONS: usize = 8;

/// Chunks of a session that wait to be sent: a megabyte or two.
const WAITING: usize = 4;

/// A fill in progress.
pub(crate) struct DatabaseFill<'a, P: Product, C: Contents> {
    databases: &'a Databases<P>,
    contents: &'a C,
    tables: Vec<C::Table>,
    progress: OnProgress,
    /// The fill is to end.
    stopped: Arc<AtomicBool>,
    /// Loaded rows of each table.
    loaded: Vec<AtomicU64>,
}

impl<'a, P: Product, C: Contents> DatabaseFill<'a, P, C> {
    /// A fill that ends early when `stopped` is set.
    pub(crate) fn new(
        databases: &'a Databases<P>,
        contents: &'a C,
        progress: OnProgress,
        stopped: Arc<AtomicBool>,
    ) -> Self {
        let tables = contents.tables();
        let loaded = tables.iter().map(|_| AtomicU64::new(0)).collect();
        DatabaseFill { databases, contents, tables, progress, stopped, loaded }
    }

    /// Fills the database, unless it is filled, and copies it for the run. One that is used as it is stays. Blocks.
    ///
    /// # Errors
    /// A database with other contents, which is not changed; a server that refuses.
    pub(crate) fn run(&self) -> Result<FillResult, ServerError> {
        if self.tables.is_empty() {
            return Ok(FillResult { reused: true, rows: Vec::new(), bytes: self.databases.bytes()? });
        }
        let found = self.databases.state(self.contents)?;
        let (reused, rows) = match found {
            State::Filled(rows) => (true, rows),
            State::Missing | State::Unfilled => {
                if found == State::Missing {
                    self.databases.create()?;
                }
                let done = self.begin()?;
                self.load(&done)?;
                let rows: Vec<u64> = self.loaded.iter().map(|rows| rows.load(Ordering::Relaxed)).collect();
                self.finish(&rows, &done)?;
                (false, rows)
            }
        };
        let bytes = self.databases.bytes()?;
        self.stage("copy")?;
        self.databases.reset(self.contents)?;
        let tables = self.tables.iter().map(|table| table.spec().name.to_owned());
        Ok(FillResult { reused, rows: tables.zip(rows).collect(), bytes })
    }

    /// Shows a stage.
    fn stage(&self, stage: &str) -> Result<(), ServerError> {
        let total = self.tables.iter().map(|table| self.contents.expected_rows(*table)).sum();
        let done = self.loaded.iter().map(|rows| rows.load(Ordering::Relaxed)).sum();
        (self.progress)(FillProgress { stage: stage.to_owned(), done, total });
        if self.stopped.load(Ordering::Relaxed) { Err(ServerError::Stopped) } else { Ok(()) }
    }

    /// The names of all tables, joined by commas.
    fn names(&self) -> String {
        let names: Vec<&str> = self.tables.iter().map(|table| table.spec().name).collect();
        names.join(", ")
    }

    /// Makes the tables, or counts the rows of an interrupted fill with these contents. Returns its pieces and steps.
    fn begin(&self) -> Result<HashSet<i64>, ServerError> {
        let Some(done) = self.databases.done(self.contents)? else {
            self.change(&self.beginning())?;
            return Ok(HashSet::new());
        };
        for (table, loaded) in self.tables.iter().zip(&self.loaded) {
            let sql = format!("SELECT count(*) FROM {}", table.spec().name);
            let rows = self.databases.row(self.databases.name(), self.what(), &sql)?;
            loaded.store(rows.and_then(|row| row.first()?.parse().ok()).unwrap_or(0), Ordering::Relaxed);
        }
        Ok(done)
    }

    /// The statements that make the marker, which says that the fill is incomplete, and all tables; last that of the pieces,
    /// without which a fill begins anew.
    fn beginning(&self) -> String {
        let mut all = vec![
            format!("DROP TABLE IF EXISTS {PIECES}, {MARKER}, {}", self.names()),
            format!("CREATE TABLE {MARKER} (stamp VARCHAR(500) NOT NULL, loaded VARCHAR(500))"),
            format!("INSERT INTO {MARKER} (stamp) VALUES ({})", P::literal(&self.contents.stamp())),
        ];
        all.extend(self.tables.iter().map(|table| P::create(table.spec())));
        all.push(format!("CREATE TABLE {PIECES} (piece INTEGER NOT NULL)"));
        all.join("; ")
    }

    /// Loads all rows, except those of the pieces that are done.
    fn load(&self, done: &HashSet<i64>) -> Result<(), ServerError> {
        let pieces = (0..).zip(self.contents.pieces()).filter(|(number, _)| !done.contains(number));
        let pieces = Mutex::new(pieces);
        let sessions = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SESSIONS));
        let all: Vec<Result<(), ServerError>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..sessions).map(|_| scope.spawn(|| self.pieces(&pieces))).collect();
            all.into_iter().map(|one| one.join().unwrap_or(Err(ServerError::Thread))).collect()
        });
        // Others were stopped by the first one that failed.
        let is_stop = |one: &Result<(), ServerError>| matches!(one, Err(ServerError::Stopped));
        let (stops, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_stop);
        rest.into_iter().chain(stops).collect()
    }

    /// Loads pieces in one session until none is left.
    fn pieces(
        &self,
        pieces: &Mutex<impl Iterator<Item = (i64, C::Piece)> + Send>,
    ) -> Result<(), ServerError> {
        let (send, come) = sync_channel(WAITING);
        let told = |table: C::Table, rows: u64| self.told(table, rows);
        let loaded = std::thread::scope(|scope| {
            scope.spawn(move || {
                let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
                // Without a receiver the fill has ended.
                let mut take = |batch: Batch<C::Table>| send.send(Made::Rows(Chunk::of(&batch))).is_ok();
                std::iter::from_fn(next).all(|(number, piece)| {
                    self.contents.piece(piece, &mut take) && send.send(Made::End(number)).is_ok()
                })
            });
            let target = self.databases.target(self.databases.name());
            // The chunks end before the thread is awaited, which waits for room among them.
            let mut chunks = Chunks::new(come, &told);
            block_on(P::load(&target, self.databases.name(), &mut chunks))
        });
        let loaded = loaded.map_err(ServerError::Loop).flatten();
        if loaded.is_err() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        loaded
    }

    /// Counts rows of a table, and shows them.
    fn told(&self, table: C::Table, rows: u64) -> Result<(), ServerError> {
        let counts = self.tables.iter().zip(&self.loaded);
        for (_, loaded) in counts.filter(|(one, _)| **one == table) {
            loaded.fetch_add(rows, Ordering::Relaxed);
        }
        self.stage(table.spec().name)
    }

    /// Makes keys, indices and statistics, except those of the steps that are done, and completes the marker.
    fn finish(&self, rows: &[u64], done: &HashSet<i64>) -> Result<(), ServerError> {
        let completed = self.tables.iter().flat_map(|table| P::complete(table.spec()));
        let indices = self.contents.indices();
        let indices = indices.all.iter().chain(P::indices(indices)).map(|sql| (*sql).to_owned());
        // Steps have numbers below those of the pieces.
        for (step, sql) in (1_i64..).zip(completed.chain(indices)).filter(|(step, _)| !done.contains(&-step))
        {
            self.stage("keys")?;
            // A server may have made an index and then ended.
            let sql = sql.replacen(" INDEX ", " INDEX IF NOT EXISTS ", 1);
            self.change(&format!("{sql}; INSERT INTO {PIECES} VALUES (-{step})"))?;
        }
        self.stage("statistics")?;
        self.databases.run(self.databases.name(), self.what(), &P::analyze(&self.names()))?;
        let rows: Vec<String> = rows.iter().map(u64::to_string).collect();
        let complete = format!("UPDATE {MARKER} SET loaded = '{}'; DROP TABLE {PIECES}", rows.join(" "));
        let sql = format!("{}{complete}", P::LASTING);
        self.databases.run(self.databases.name(), self.what(), &sql)
    }

    /// Changes the filled database.
    fn change(&self, sql: &str) -> Result<(), ServerError> {
        let sql = format!("{}{sql}", P::HASTE);
        self.databases.run(self.databases.name(), self.what(), &sql)
    }

    /// The attempt, for errors.
    fn what(&self) -> (&'static str, &str) {
        ("fill", self.databases.name())
    }
}

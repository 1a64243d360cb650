//! The seam to server products: all that differs between PostgreSQL and MariaDB outside of the statements of users.

use std::sync::Arc;

use barograph_database::{Indices, Reply, Table, TableSpec};
use barograph_engine::Runnable;
use barograph_service_metrics::StatementError;

use crate::anomalies::Asks;
use crate::chunk::Chunks;
use crate::databases::Databases;
use crate::errors::{Cause, Failure};
use crate::observer::Pairs;
use crate::{DatabaseSettings, DatabaseWorkload, EngineKind, ServerError};

/// The name of the table that marks a database.
pub(crate) const MARKER: &str = "barograph_fill";

/// The name of the table of an unfinished fill with the numbers of its pieces and steps that are done.
pub(crate) const PIECES: &str = "barograph_fill_pieces";

/// A server product.
pub(crate) trait Product: Send + Sync + Sized + 'static {
    /// A server whose address was looked up, with the database of its sessions.
    type Target: Clone + Send + Sync + 'static;

    /// A session whose statements are not those of a workload.
    type Session: Asks;

    const KIND: EngineKind;

    /// Its name in `services`.
    const SERVICE: &'static str;

    /// Schemes of addresses; the first is that of a deployed server.
    const SCHEMES: [&'static str; 2];

    /// The user of a deployed server.
    const USER: &'static str;

    /// Databases that a server needs for itself.
    const RESERVED: &'static [&'static str];

    /// Most bytes of the name of a database, with room for the suffix of the copy.
    const LONGEST_NAME: usize;

    /// The database for statements about databases; empty for none.
    const MAINTENANCE: &'static str;

    /// SQL before statements that change databases.
    const PATIENCE: &'static str;

    /// SQL before statements that fill.
    const HASTE: &'static str;

    /// SQL before the last statement of a fill, with whose commit all others are on the disk.
    const LASTING: &'static str;

    /// The query for the version.
    const VERSION: &'static str;

    /// Names of the settings that decide what a commit survives.
    const DURABILITY: &'static [&'static str];

    /// What a commit survives with durability `off` on a server that is there already, as a clause.
    const NOT_DURABLE: &'static str;

    /// Settings with which every commit is durable, as an advice.
    const MAKE_DURABLE: &'static str;

    /// The query for one of the tables of users in a database.
    const TABLES: &'static str;

    /// The query for the size of a database, in bytes.
    const BYTES: &'static str;

    /// What others have in a database in use.
    const IN_USE: &'static str;

    /// The database of an address.
    ///
    /// # Errors
    /// An address that cannot be read, in words.
    fn database_of(url: &str) -> Result<String, String>;

    /// Looks an address up. Blocks.
    fn resolve(url: &str) -> Result<Self::Target, Cause>;

    /// Another database of the server; an empty name is none.
    fn database(target: &Self::Target, name: &str) -> Self::Target;

    /// Whether a server of this version is of the product.
    fn is_product(version: &str) -> bool;

    /// Runs statements in a session of its own, and calls `row` with the texts of each row. Blocks.
    fn ask(target: &Self::Target, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), Failure>;

    /// A session of its own, which begins with `setup`.
    async fn session(target: &Self::Target, setup: &str) -> Reply<Self::Session>;

    /// A server for statements about itself. Blocks.
    fn observed(url: &str) -> Result<Self::Target, Cause>;

    /// A session for statements about the server.
    async fn observe(target: &Self::Target) -> Result<Self::Session, StatementError>;

    /// Runs a statement with rows of a name and a value.
    async fn pairs(session: &mut Self::Session, sql: &str) -> Pairs;

    /// A name as SQL has it.
    fn identifier(name: &str) -> String;

    /// A text as SQL has it.
    fn literal(text: &str) -> String;

    /// SQL with which the sessions of users begin.
    fn setup(settings: &DatabaseSettings) -> String;

    /// The value of a setting, as an expression.
    fn setting(name: &str) -> String;

    /// Whether no commit is lost with these values of [`Self::DURABILITY`].
    fn is_durable(values: &[String]) -> bool;

    /// The query for a database by its name.
    fn exists(name: &str) -> String;

    /// The statement that makes a table.
    fn create(table: TableSpec) -> String;

    /// Statements after the last row: keys, numbers of new rows.
    fn complete(table: TableSpec) -> Vec<String>;

    /// The secondary indices that only this product has.
    fn indices(indices: Indices) -> &'static [&'static str];

    /// The statement that makes the statistics of tables.
    fn analyze(tables: &str) -> String;

    /// Loads chunks in one session until none comes. `database` is its name for errors.
    async fn load<T: Table>(
        target: &Self::Target,
        database: &str,
        chunks: &mut Chunks<'_, T>,
    ) -> Result<(), ServerError>;

    /// Makes the copy for a run, where there is none.
    fn copy(databases: &Databases<Self>, tables: &[TableSpec]) -> Result<(), ServerError>;

    /// Makes the functions of a workload in the copy.
    fn add_functions<W: DatabaseWorkload>(databases: &Databases<Self>) -> Result<(), ServerError>;

    /// The users of a database. `setup` is the SQL with which their sessions begin.
    fn users<W: DatabaseWorkload>(
        target: Self::Target,
        setup: Arc<str>,
        shared: Arc<W::Shared>,
    ) -> Box<dyn Runnable>;
}

//! MariaDB as a server product: its SQL, its bulk load by LOAD DATA, its copies table by table.

mod session;
mod statistics;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_database::{Column, ColumnType, Indices, Reply, Table, TableSpec};
use barograph_engine::{Runnable, runnable};
use barograph_mysql::{Address, Client, Connection, ErrorCode, Fault, Reply as Piece, Target};
use barograph_reactor::block_on;
use barograph_service_metrics::StatementError;

use crate::anomalies::Asks;
use crate::chunk::Chunks;
use crate::databases::Databases;
use crate::errors::{Cause, Failure};
use crate::observer::Pairs;
use crate::product::{MARKER, Product};
use crate::users::SessionUsers;
use crate::{DatabaseSettings, DatabaseWorkload, EngineKind, ServerError};

use session::trouble;
pub use session::{MariadbSession, MariadbSessions};

/// Limit on the first answer of a server.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Most sessions that copy side by side.
const MOST_SESSIONS: usize = 4;

/// MariaDB.
pub(crate) enum Mariadb {}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let is_in_use = matches!(&fault, Fault::Server(said) if said.code() == ErrorCode::LOCK_WAIT_TIMEOUT);
        Failure { is_in_use, why: fault.into() }
    }
}

impl Asks for Connection {
    async fn ask(&mut self, sql: &str) -> Reply<Option<i64>> {
        let number = async {
            let (mut replies, mut number) = (self.query(sql)?, None);
            while let Some(reply) = replies.next().await? {
                if let Piece::Row(row) = reply {
                    number = row.get::<&str>(0)?.parse().ok();
                }
            }
            Ok(number)
        };
        number.await.map_err(|fault: Fault| trouble(&fault))
    }
}

impl Product for Mariadb {
    type Target = Target;
    type Session = Connection;

    const KIND: EngineKind = EngineKind::Mariadb;
    const SERVICE: &'static str = "mariadb";
    const SCHEMES: [&'static str; 2] = ["mysql", "mariadb"];
    const USER: &'static str = "auction";
    const RESERVED: &'static [&'static str] = &["mysql", "information_schema", "performance_schema", "sys"];
    /// The server takes 64 characters.
    const LONGEST_NAME: usize = 60;
    const MAINTENANCE: &'static str = "";
    /// A table that others use is waited for 10 s, and rows are read without locks.
    const PATIENCE: &'static str =
        "SET lock_wait_timeout = 10; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; ";
    const HASTE: &'static str = "";
    const LASTING: &'static str = "";
    const VERSION: &'static str = "SELECT VERSION()";
    /// They are the server's: no session has its own.
    const DURABILITY: &'static [&'static str] =
        &["innodb_flush_log_at_trx_commit", "innodb_doublewrite", "log_bin", "sync_binlog"];
    const NOT_DURABLE: &'static str = "a commit survives what the settings of the server make it survive";
    const MAKE_DURABLE: &'static str = "innodb_flush_log_at_trx_commit = 1 and sync_binlog = 1";
    const TABLES: &'static str =
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    const BYTES: &'static str = "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    const IN_USE: &'static str = "transactions";

    fn database_of(url: &str) -> Result<String, String> {
        Address::parse(url).map(|address| address.database).map_err(|why| why.to_string())
    }

    fn resolve(url: &str) -> Result<Target, Cause> {
        Target::resolve(Address::parse(url)?, &[])?.answering(FIRST_ANSWER)
    }

    fn database(target: &Target, name: &str) -> Target {
        target.database(name)
    }

    fn is_product(version: &str) -> bool {
        version.contains("MariaDB")
    }

    fn ask(target: &Target, sql: &str, row: &mut dyn FnMut(&[Option<&str>])) -> Result<(), Failure> {
        let asked = block_on(async {
            let mut session = Client::new(target).connect(0).await?;
            let mut replies = session.query(sql)?;
            while let Some(reply) = replies.next().await? {
                if let Piece::Row(found) = reply {
                    let texts: Result<Vec<_>, _> =
                        (0..found.len()).map(|column| found.get_optional::<&str>(column)).collect();
                    row(&texts?);
                }
            }
            Ok::<(), Fault>(())
        });
        Ok(asked.map_err(|why| Failure { is_in_use: false, why: why.into() })??)
    }

    async fn session(target: &Target, setup: &str) -> Reply<Connection> {
        let open = async {
            let mut session = Client::new(target).connect(0).await?;
            session.query(setup)?.finish().await?;
            Ok(session)
        };
        open.await.map_err(|fault| trouble(&fault))
    }

    fn observed(url: &str) -> Result<Target, Cause> {
        Ok(Self::resolve(url)?.database(Self::MAINTENANCE))
    }

    async fn observe(target: &Target) -> Result<Connection, StatementError> {
        Client::new(target).connect(0).await.map_err(statistics::failed)
    }

    async fn pairs(session: &mut Connection, sql: &str) -> Pairs {
        statistics::pairs(session, sql).await.map_err(statistics::failed)
    }

    fn identifier(name: &str) -> String {
        format!("`{}`", name.replace('`', "``"))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    }

    /// A transaction begins with its first statement, which saves a call. Waits for locks have whole seconds.
    fn setup(settings: &DatabaseSettings) -> String {
        let seconds = settings.busy.as_millis().div_ceil(1_000);
        let isolation = settings.isolation.replace('-', " ").to_uppercase();
        let variables = format!("SET autocommit = 0, innodb_lock_wait_timeout = {seconds}");
        format!("{variables}; SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
    }

    fn setting(name: &str) -> String {
        format!("@@{name}")
    }

    /// A commit in the binary log is on the disk only with it.
    fn is_durable(values: &[String]) -> bool {
        let [flush, doublewrite, log, sync] = values else { return false };
        flush == "1" && doublewrite != "0" && (log == "0" || sync == "1")
    }

    fn exists(name: &str) -> String {
        let name = Self::literal(name);
        format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {name}")
    }

    /// Rows lie in the order of the key, in which they are loaded. Texts are sorted by their bytes, as on other engines.
    fn create(table: TableSpec) -> String {
        let key = table.key_columns().map(|key| format!("PRIMARY KEY ({key})"));
        let parts: Vec<String> = table.columns().map(definition).chain(key).collect();
        format!(
            "CREATE TABLE {} ({}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            table.name,
            parts.join(", ")
        )
    }

    fn complete(_: TableSpec) -> Vec<String> {
        Vec::new()
    }

    fn indices(indices: Indices) -> &'static [&'static str] {
        indices.mariadb
    }

    fn analyze(tables: &str) -> String {
        format!("ANALYZE TABLE {tables}")
    }

    async fn load<T: Table>(
        target: &Target,
        database: &str,
        chunks: &mut Chunks<'_, T>,
    ) -> Result<(), ServerError> {
        let failed = |fault: Fault| Databases::<Self>::failed(("fill", database), fault.into());
        let mut session = Client::new(target).connect(0).await.map_err(failed)?;
        while let Some(table) = chunks.table() {
            if chunks.begins() {
                session.query("BEGIN").map_err(failed)?.finish().await.map_err(failed)?;
            }
            let name = table.spec().name;
            let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {name} CHARACTER SET utf8mb4");
            let mut load = session.load_data(&sql).await.map_err(failed)?;
            let mut rows = 0;
            while let Some(chunk) = chunks.take(table)? {
                load.write(chunk.text.as_bytes()).await.map_err(failed)?;
                rows += chunk.rows;
            }
            let done = load.finish().await.map_err(failed)?;
            if done.warnings > 0 || done.rows != rows {
                return Err(ServerError::Changed { table: name, warnings: done.warnings });
            }
            if let Some(sql) = chunks.commit() {
                session.query(&sql).map_err(failed)?.finish().await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// There are no templates: tables are made anew, with the rows in the order of their keys. All pages are brought to the disk.
    /// Otherwise that would be done during the load.
    fn copy(databases: &Databases<Self>, tables: &[TableSpec]) -> Result<(), ServerError> {
        let (copy, filled) = (databases.copy_name(), Self::identifier(databases.name()));
        let mut all = vec![
            format!("{}CREATE DATABASE {1}; USE {1}", Self::PATIENCE, Self::identifier(&copy)),
            format!("CREATE TABLE {MARKER} LIKE {filled}.{MARKER}"),
            format!("INSERT INTO {MARKER} SELECT * FROM {filled}.{MARKER}"),
        ];
        all.extend(tables.iter().map(|table| format!("CREATE TABLE {0} LIKE {filled}.{0}", table.name)));
        databases.run(Self::MAINTENANCE, ("make", &copy), &all.join("; "))?;
        copy_rows(databases, tables)?;
        let tables: Vec<&str> = tables.iter().map(|table| table.name).collect();
        let tables = tables.join(", ");
        let settle = format!("ANALYZE TABLE {tables}; FLUSH TABLES {tables} FOR EXPORT; UNLOCK TABLES");
        databases.run(&copy, ("copy", &copy), &format!("{}{settle}", Self::PATIENCE))
    }

    fn add_functions<W: DatabaseWorkload>(databases: &Databases<Self>) -> Result<(), ServerError> {
        if W::PROCEDURES.is_empty() {
            return Ok(());
        }
        let copy = databases.copy_name();
        databases.run(&copy, ("make procedures in", &copy), W::PROCEDURES)
    }

    fn users<W: DatabaseWorkload>(
        target: Target,
        setup: Arc<str>,
        shared: Arc<W::Shared>,
    ) -> Box<dyn Runnable> {
        runnable(move || {
            let sessions = MariadbSessions::<W::Mariadb>::new(&target, &setup);
            let sessions = sessions.with_statements(W::statements(&shared, EngineKind::Mariadb));
            SessionUsers::<_, W::Terminal>::new(sessions, &shared)
        })
    }
}

/// Copies the rows of all tables, some tables side by side.
fn copy_rows(databases: &Databases<Mariadb>, tables: &[TableSpec]) -> Result<(), ServerError> {
    let (copy, filled) = (databases.copy_name(), Mariadb::identifier(databases.name()));
    let left = Mutex::new(tables.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let some = || {
        std::iter::from_fn(next).try_for_each(|table| {
            let order = table.key_columns().map_or(String::new(), |key| format!(" ORDER BY {key}"));
            let rows = format!("INSERT INTO {0} SELECT * FROM {filled}.{0}{order}", table.name);
            databases.run(&copy, ("copy", &copy), &format!("{}{rows}", Mariadb::PATIENCE))
        })
    };
    let sessions = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SESSIONS));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..sessions).map(|_| scope.spawn(some)).collect();
        all.into_iter().try_for_each(|one| one.join().unwrap_or(Err(ServerError::Thread)))
    })
}

/// The definition of a column.
fn definition(column: Column) -> String {
    let kind = match column.kind {
        ColumnType::Int | ColumnType::Serial => "INT",
        ColumnType::BigInt => "BIGINT",
        ColumnType::Text => "VARCHAR(50)",
        ColumnType::LongText => "VARCHAR(500)",
    };
    let limit = if column.is_nullable { "" } else { " NOT NULL" };
    let numbered = if column.kind == ColumnType::Serial { " AUTO_INCREMENT" } else { "" };
    format!("{} {kind}{limit}{numbered}", column.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_types_of_their_values() {
        let orders = TableSpec {
            name: "orders",
            columns: "id n, sum b, text t, data l, sent i",
            key: 1,
            nullable: &["sent"],
        };
        assert_eq!(
            Mariadb::create(orders),
            "CREATE TABLE orders (id INT NOT NULL AUTO_INCREMENT, sum BIGINT NOT NULL, text VARCHAR(50) NOT NULL, \
             data VARCHAR(500) NOT NULL, sent INT, PRIMARY KEY (id)) \
             ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
        );
        assert!(!Mariadb::create(TableSpec { key: 0, ..orders }).contains("KEY"));
    }

    #[test]
    fn commits_are_durable_with_both_logs_on_the_disk() {
        let is_durable = |values: [&str; 4]| Mariadb::is_durable(&values.map(str::to_owned));
        assert!(is_durable(["1", "1", "0", "0"]) && is_durable(["1", "1", "1", "1"]));
        assert!(!is_durable(["2", "1", "0", "1"]) && !is_durable(["1", "0", "0", "1"]));
        assert!(!is_durable(["1", "1", "1", "0"]) && !Mariadb::is_durable(&[]));
    }
}

//! PostgreSQL as a server product: its SQL, its bulk load by COPY, its copies by templates.

mod session;
mod statistics;

use std::sync::Arc;
use std::time::Duration;

use barograph_database::{Column, ColumnType, Indices, Reply, Table, TableSpec};
use barograph_engine::{Runnable, runnable};
use barograph_postgres::{Address, Client, Connection, Fault, Reply as Piece, SqlState, Target};
use barograph_reactor::block_on;
use barograph_service_metrics::StatementError;

use crate::anomalies::Asks;
use crate::chunk::Chunks;
use crate::databases::Databases;
use crate::errors::{Cause, Failure};
use crate::observer::Pairs;
use crate::product::Product;
use crate::users::SessionUsers;
use crate::{DatabaseSettings, DatabaseWorkload, EngineKind, ServerError};

use session::trouble;
pub use session::{PostgresSession, PostgresSessions, Rows};

/// Limit on the first answer of a server.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// The state of an error about a database with sessions.
const IN_USE: SqlState = SqlState(*b"55006");

/// The first version in which the way of copying can be chosen.
const WITH_STRATEGY: u32 = 15;

/// PostgreSQL.
pub(crate) enum Postgres {}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        let is_in_use = matches!(&fault, Fault::Server(said) if said.state() == IN_USE);
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

impl Product for Postgres {
    type Target = Target;
    type Session = Connection;

    const KIND: EngineKind = EngineKind::Postgres;
    const SERVICE: &'static str = "postgres";
    const SCHEMES: [&'static str; 2] = ["postgres", "postgresql"];
    const USER: &'static str = "postgres";
    const RESERVED: &'static [&'static str] = &["postgres", "template0", "template1"];
    /// The server cuts names at 63 bytes.
    const LONGEST_NAME: usize = 59;
    const MAINTENANCE: &'static str = "postgres";
    const PATIENCE: &'static str = "";
    /// Nothing waits for the disk before the end of a fill: what an end of the server loses is made again.
    const HASTE: &'static str = "SET synchronous_commit = off; ";
    const LASTING: &'static str = "SET synchronous_commit = on; ";
    const VERSION: &'static str = "SHOW server_version";
    const DURABILITY: &'static [&'static str] = &["fsync", "full_page_writes", "synchronous_commit"];
    const NOT_DURABLE: &'static str = "commits wait for no disk";
    const MAKE_DURABLE: &'static str = "fsync = on and full_page_writes = on";
    /// Tables, views and sequences, except those of extensions.
    const TABLES: &'static str = "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
         WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
         AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')";
    const BYTES: &'static str = "SELECT pg_database_size(current_database())";
    const IN_USE: &'static str = "sessions";

    fn database_of(url: &str) -> Result<String, String> {
        Address::parse(url).map(|address| address.database).map_err(|why| why.to_string())
    }

    fn resolve(url: &str) -> Result<Target, Cause> {
        Target::resolve(Address::parse(url)?, &[])?.answering(FIRST_ANSWER)
    }

    fn database(target: &Target, name: &str) -> Target {
        target.database(name, "")
    }

    fn is_product(_: &str) -> bool {
        true
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
        statistics::target(url)
    }

    async fn observe(target: &Target) -> Result<Connection, StatementError> {
        Client::new(target).connect(0).await.map_err(statistics::failed)
    }

    async fn pairs(session: &mut Connection, sql: &str) -> Pairs {
        statistics::pairs(session, sql).await.map_err(statistics::failed)
    }

    fn identifier(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }

    fn literal(text: &str) -> String {
        format!("'{}'", text.replace('\'', "''"))
    }

    fn setup(settings: &DatabaseSettings) -> String {
        let DatabaseSettings { is_durable, busy, isolation, .. } = settings;
        let commit = if *is_durable { "on" } else { "off" };
        format!(
            "SET synchronous_commit = {commit}; SET lock_timeout = {}; SET default_transaction_isolation = '{}'",
            busy.as_millis(),
            isolation.replace('-', " ")
        )
    }

    fn setting(name: &str) -> String {
        format!("current_setting('{name}')")
    }

    fn is_durable(values: &[String]) -> bool {
        !values.iter().any(|value| value == "off")
    }

    fn exists(name: &str) -> String {
        format!("SELECT 1 FROM pg_database WHERE datname = {}", Self::literal(name))
    }

    /// Without its key, which is made after the rows.
    fn create(table: TableSpec) -> String {
        let columns: Vec<String> = table.columns().map(definition).collect();
        format!("CREATE TABLE {} ({})", table.name, columns.join(", "))
    }

    fn complete(table: TableSpec) -> Vec<String> {
        let name = table.name;
        let key = table.key_columns().map(|key| format!("ALTER TABLE {name} ADD PRIMARY KEY ({key})"));
        let serial = table.columns().filter(|column| column.kind == ColumnType::Serial);
        let numbers = serial.map(|Column { name: column, .. }| {
            format!(
                "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), greatest(max({column}), 1)) FROM {name}"
            )
        });
        key.into_iter().chain(numbers).collect()
    }

    fn indices(indices: Indices) -> &'static [&'static str] {
        indices.postgres
    }

    /// Frozen rows are not written again when they are read first.
    fn analyze(tables: &str) -> String {
        format!("VACUUM (FREEZE, ANALYZE) {tables}")
    }

    /// The chunks of a table that come one after the other go into one statement.
    async fn load<T: Table>(
        target: &Target,
        database: &str,
        chunks: &mut Chunks<'_, T>,
    ) -> Result<(), ServerError> {
        let failed = |fault: Fault| Databases::<Self>::failed(("fill", database), fault.into());
        let mut session = Client::new(target).connect(0).await.map_err(failed)?;
        session.query(Self::HASTE).map_err(failed)?.finish().await.map_err(failed)?;
        while let Some(table) = chunks.table() {
            if chunks.begins() {
                session.query("BEGIN").map_err(failed)?.finish().await.map_err(failed)?;
            }
            let sql = format!("COPY {} FROM STDIN", table.spec().name);
            let mut copy = session.copy_in(&sql).await.map_err(failed)?;
            while let Some(chunk) = chunks.take(table)? {
                copy.write(chunk.text.as_bytes()).await.map_err(failed)?;
            }
            copy.finish().await.map_err(failed)?;
            if let Some(sql) = chunks.commit() {
                session.query(&sql).map_err(failed)?.finish().await.map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Whole files are copied and brought to the disk. Otherwise every page would go through the log, and to the disk during the
    /// load. Earlier versions know no other way.
    fn copy(databases: &Databases<Self>, _: &[TableSpec]) -> Result<(), ServerError> {
        let version = databases.version()?;
        let major = version.split(['.', ' ']).next().and_then(|major| major.parse::<u32>().ok());
        let how = if major >= Some(WITH_STRATEGY) { " STRATEGY FILE_COPY" } else { "" };
        let [copy, filled] = [&*databases.copy_name(), databases.name()].map(Self::identifier);
        let sql = format!("CREATE DATABASE {copy} TEMPLATE {filled}{how}");
        databases.run(Self::MAINTENANCE, ("copy", databases.name()), &sql)
    }

    fn add_functions<W: DatabaseWorkload>(databases: &Databases<Self>) -> Result<(), ServerError> {
        if W::FUNCTIONS.is_empty() {
            return Ok(());
        }
        let copy = databases.copy_name();
        databases.run(&copy, ("make functions in", &copy), W::FUNCTIONS)
    }

    fn users<W: DatabaseWorkload>(
        target: Target,
        setup: Arc<str>,
        shared: Arc<W::Shared>,
    ) -> Box<dyn Runnable> {
        runnable(move || {
            let sessions = PostgresSessions::<W::Postgres>::new(&target, &setup);
            let sessions = sessions.with_statements(W::statements(&shared, EngineKind::Postgres));
            SessionUsers::<_, W::Terminal>::new(sessions, &shared)
        })
    }
}

/// The definition of a column. Texts are sorted by their bytes, as on other engines.
fn definition(column: Column) -> String {
    let kind = match column.kind {
        ColumnType::Int => "integer",
        ColumnType::BigInt => "bigint",
        ColumnType::Serial => "integer GENERATED BY DEFAULT AS IDENTITY",
        ColumnType::Text | ColumnType::LongText => "text COLLATE \"C\"",
    };
    let limit = if column.is_nullable { "" } else { " NOT NULL" };
    format!("{} {kind}{limit}", column.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_the_types_of_their_values() {
        let orders =
            TableSpec { name: "orders", columns: "id n, sum b, text t, sent i", key: 1, nullable: &["sent"] };
        assert_eq!(
            Postgres::create(orders),
            "CREATE TABLE orders (id integer GENERATED BY DEFAULT AS IDENTITY NOT NULL, sum bigint NOT NULL, \
             text text COLLATE \"C\" NOT NULL, sent integer)"
        );
        assert_eq!(
            Postgres::complete(orders),
            [
                "ALTER TABLE orders ADD PRIMARY KEY (id)",
                "SELECT setval(pg_get_serial_sequence('orders', 'id'), greatest(max(id), 1)) FROM orders"
            ]
        );
        assert!(Postgres::complete(TableSpec { key: 0, columns: "id i", ..orders }).is_empty());
    }
}

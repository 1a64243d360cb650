//! The databases of a load on a server: the filled one, which is never changed, and its copy for a run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use barograph_database::Contents as _;
use barograph_mysql::{Address, Connection, Fault, Target};

use super::MariadbError;
use super::admin::{has_row, identifier, in_session, literal, row, run};
use super::schema::{MARKER, create};
use crate::generate::Generator;
use crate::tables::Table;

/// Limit on the first answer of a server.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// Most sessions that copy side by side.
const MOST_SESSIONS: usize = 4;

/// Variables of sessions that change databases: a table that others use is waited for 10 s, and rows are read without locks.
const PATIENT: &str = "SET lock_wait_timeout = 10; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/// The databases of a load.
#[derive(Clone, Debug)]
pub(super) struct Databases {
    server: Target,
    name: String,
}

/// The state of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It does not exist.
    Missing,
    /// It has no tables, or those of an interrupted fill.
    Unfilled,
    /// It is filled, with this number of order lines.
    Filled(u64),
}

impl Databases {
    /// The databases of an address. Blocks.
    ///
    /// # Errors
    /// A server that does not answer, or that is another product.
    pub(super) fn at(address: Address) -> Result<Self, MariadbError> {
        let name = address.database.clone();
        let server = Target::resolve(address, &[]).map_err(|why| MariadbError::Unreachable(why.into()))?;
        let server = server.answering(FIRST_ANSWER).map_err(MariadbError::Unreachable)?;
        let databases = Databases { server, name };
        let version = databases.version()?;
        if version.contains("MariaDB") { Ok(databases) } else { Err(MariadbError::OtherProduct { version }) }
    }

    /// Version of the server.
    pub(super) fn version(&self) -> Result<String, MariadbError> {
        in_session(&self.server(), ("ask", &self.name), async |session| Ok(session.version().to_owned()))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the copy for a run.
    fn copy_name(&self) -> String {
        format!("{}_run", self.name)
    }

    /// The server without a database.
    pub(super) fn server(&self) -> Target {
        self.server.database("")
    }

    /// The filled database.
    pub(super) fn filled(&self) -> Target {
        self.server.database(&self.name)
    }

    /// The copy for a run.
    pub(super) fn copy(&self) -> Target {
        self.server.database(&self.copy_name())
    }

    /// The state of the filled database.
    ///
    /// # Errors
    /// Other contents.
    pub(super) fn state(&self, generator: &Generator) -> Result<State, MariadbError> {
        if !self.exists(&self.name)? {
            return Ok(State::Missing);
        }
        let name = self.name.clone();
        match in_session(&self.filled(), ("read", &name), async |session| contents(session).await)? {
            Contents::None => Ok(State::Unfilled),
            Contents::Foreign => Err(MariadbError::foreign(&name)),
            Contents::Marked { lines, .. } if lines.is_empty() => Ok(State::Unfilled),
            Contents::Marked { filled, lines } if filled == generator.stamp() => {
                Ok(State::Filled(lines.parse().unwrap_or(0)))
            }
            Contents::Marked { filled, .. } => {
                Err(MariadbError::NotOurs { name, why: format!("was filled otherwise: {filled}") })
            }
        }
    }

    fn exists(&self, name: &str) -> Result<bool, MariadbError> {
        let sql = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {}", literal(name));
        in_session(&self.server(), ("look for", name), async |session| has_row(session, &sql).await)
    }

    /// Makes the filled database, without tables.
    pub(super) fn create(&self) -> Result<(), MariadbError> {
        let sql = format!("CREATE DATABASE {}", identifier(&self.name));
        in_session(&self.server(), ("make", &self.name), async |session| run(session, &sql).await).map(drop)
    }

    /// Copies the filled database for a run, in place of an earlier copy. There are no templates: tables are made anew, with
    /// the rows in the order of their keys.
    ///
    /// # Errors
    /// A database with other contents in place of the copy; transactions of others in one of the two.
    pub(super) fn reset(&self) -> Result<(), MariadbError> {
        self.remove_copy()?;
        let marker = format!("{}.{MARKER}", identifier(&self.name));
        let mut all = vec![
            format!("CREATE DATABASE {0}; USE {0}", identifier(&self.copy_name())),
            format!("CREATE TABLE {MARKER} LIKE {marker}; INSERT INTO {MARKER} SELECT * FROM {marker}"),
        ];
        all.extend(
            Table::ALL
                .map(|table| format!("CREATE TABLE {0} LIKE {1}.{0}", table.name(), identifier(&self.name))),
        );
        self.change("make", &self.server(), &all.join("; "))?;
        self.copy_rows()?;
        // All pages are brought to the disk. Otherwise that would be done during the load.
        let tables = Table::ALL.map(Table::name).join(", ");
        let settle = format!("ANALYZE TABLE {tables}; FLUSH TABLES {tables} FOR EXPORT; UNLOCK TABLES");
        self.change("copy", &self.copy(), &settle)
    }

    /// Copies the rows of all tables, some tables side by side.
    fn copy_rows(&self) -> Result<(), MariadbError> {
        let tables = Mutex::new(Table::ALL.into_iter());
        let next = || tables.lock().unwrap_or_else(PoisonError::into_inner).next();
        let some = || {
            std::iter::from_fn(next).try_for_each(|table| {
                let (name, filled) = (table.name(), identifier(&self.name));
                let key: Vec<&str> = table.names().take(table.key()).collect();
                let order =
                    if key.is_empty() { String::new() } else { format!(" ORDER BY {}", key.join(", ")) };
                let sql = format!("INSERT INTO {name} SELECT * FROM {filled}.{name}{order}");
                self.change("copy", &self.copy(), &sql)
            })
        };
        let sessions = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_SESSIONS));
        std::thread::scope(|scope| {
            let all: Vec<_> = (0..sessions).map(|_| scope.spawn(some)).collect();
            all.into_iter().try_for_each(|one| one.join().unwrap_or(Err(MariadbError::Thread)))
        })
    }

    /// Removes the copy of a run.
    ///
    /// # Errors
    /// Other contents; transactions of others.
    pub(super) fn remove_copy(&self) -> Result<(), MariadbError> {
        let name = self.copy_name();
        if !self.exists(&name)? {
            return Ok(());
        }
        let found = in_session(&self.copy(), ("read", &name), async |session| contents(session).await)?;
        if matches!(found, Contents::Foreign) {
            return Err(MariadbError::foreign(&name));
        }
        self.change("remove", &self.copy(), &format!("DROP DATABASE {}", identifier(&name)))
    }

    /// Runs statements about the copy.
    fn change(&self, what: &'static str, target: &Target, sql: &str) -> Result<(), MariadbError> {
        let sql = format!("{PATIENT}; {sql}");
        in_session(target, (what, &self.copy_name()), async |session| run(session, &sql).await).map(drop)
    }

    /// The size of the filled database, in bytes.
    pub(super) fn bytes(&self) -> Result<u64, MariadbError> {
        let sql = "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
        let row =
            in_session(&self.filled(), ("measure", &self.name), async |session| row(session, sql).await)?;
        Ok(row.and_then(|row| row.first()?.parse().ok()).unwrap_or(0))
    }
}

/// The statements that make the marker, which says that the fill is incomplete, and all tables.
pub(super) fn beginning(generator: &Generator) -> String {
    let tables = Table::ALL.map(Table::name).join(", ");
    let mut all = vec![
        format!("DROP TABLE IF EXISTS {MARKER}, {tables}"),
        super::schema::CREATE_MARKER.to_owned(),
        format!("INSERT INTO {MARKER} (filled) VALUES ({})", literal(&generator.stamp())),
    ];
    all.extend(Table::ALL.map(create));
    all.join("; ")
}

/// The contents of a database.
enum Contents {
    None,
    Foreign,
    /// With a marker; `lines` is empty after an interrupted fill.
    Marked {
        filled: String,
        lines: String,
    },
}

async fn contents(session: &mut Connection) -> Result<Contents, Fault> {
    let tables = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    if !has_row(session, &format!("{tables} AND TABLE_NAME = '{MARKER}'")).await? {
        let has_tables = has_row(session, &format!("{tables} LIMIT 1")).await?;
        return Ok(if has_tables { Contents::Foreign } else { Contents::None });
    }
    let sql = format!("SELECT filled, order_lines FROM {MARKER}");
    let [filled, lines] = row(session, &sql).await?.unwrap_or_default().try_into().unwrap_or_default();
    Ok(Contents::Marked { filled, lines })
}

//! The databases of a load on a server: the filled one, which is never changed, and its copy for a run.

use std::time::Duration;

use barograph_database::Contents as _;
use barograph_postgres::{Address, Connection, Fault, Target};

use super::PostgresError;
use super::admin::{has_row, identifier, in_session, literal, row, run};
use super::statements::FUNCTIONS;
use crate::generate::Generator;

/// Limit on the first answer of a server.
const FIRST_ANSWER: Duration = Duration::from_secs(5);

/// The database for statements about databases, which every server has.
const MAINTENANCE: &str = "postgres";

/// The first version in which the way of copying can be chosen.
const WITH_STRATEGY: u32 = 15;

/// Tables, views and sequences of users, except those of extensions.
const CONTENTS: &str = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
     WHERE relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast') \
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') LIMIT 1";

const HAS_MARKER: &str = "SELECT 1 WHERE to_regclass('barograph_marker') IS NOT NULL";

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
    /// A server that does not answer.
    pub(super) fn at(address: Address) -> Result<Self, PostgresError> {
        let name = address.database.clone();
        let server = Target::resolve(address, &[]).map_err(|why| PostgresError::Unreachable(why.into()))?;
        let server = server.answering(FIRST_ANSWER).map_err(PostgresError::Unreachable)?;
        Ok(Databases { server, name })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the copy for a run.
    fn copy_name(&self) -> String {
        format!("{}_run", self.name)
    }

    /// The database for statements about databases, with options of the session.
    pub(super) fn maintenance(&self, options: &str) -> Target {
        self.server.database(MAINTENANCE, options)
    }

    /// The filled database, with options of the session.
    pub(super) fn filled(&self, options: &str) -> Target {
        self.server.database(&self.name, options)
    }

    /// The copy for a run, with options of the session.
    pub(super) fn copy(&self, options: &str) -> Target {
        self.server.database(&self.copy_name(), options)
    }

    /// The state of the filled database.
    ///
    /// # Errors
    /// Other contents.
    pub(super) fn state(&self, generator: &Generator) -> Result<State, PostgresError> {
        if !self.exists(&self.name)? {
            return Ok(State::Missing);
        }
        let found = in_session(&self.filled(""), "read", async |session| contents(session).await)?;
        match found {
            Contents::None => Ok(State::Unfilled),
            Contents::Foreign => Err(PostgresError::foreign(&self.name)),
            Contents::Marked { lines, .. } if lines.is_empty() => Ok(State::Unfilled),
            Contents::Marked { filled, lines } if filled == generator.stamp() => {
                Ok(State::Filled(lines.parse().unwrap_or(0)))
            }
            Contents::Marked { filled, .. } => {
                let why = format!("was filled otherwise: {filled}");
                Err(PostgresError::NotOurs { name: self.name.clone(), why })
            }
        }
    }

    fn exists(&self, name: &str) -> Result<bool, PostgresError> {
        let sql = format!("SELECT 1 FROM pg_database WHERE datname = {}", literal(name));
        in_session(&self.maintenance(""), "look for", async |session| has_row(session, &sql).await)
    }

    /// Makes the filled database, without tables.
    pub(super) fn create(&self) -> Result<(), PostgresError> {
        let sql = format!("CREATE DATABASE {}", identifier(&self.name));
        self.maintain("make", &self.name, &[sql])
    }

    /// Copies the filled database for a run, in place of an earlier copy.
    ///
    /// # Errors
    /// A database with other contents in place of the copy; sessions of others in one of the two.
    pub(super) fn reset(&self) -> Result<(), PostgresError> {
        self.remove_copy()?;
        let copy = self.copy_name();
        let sql = format!("CREATE DATABASE {} TEMPLATE {}", identifier(&copy), identifier(&self.name));
        let major = in_session(&self.maintenance(""), "ask", async |session| {
            let version = session.setting("server_version").unwrap_or_default();
            Ok(version.split(['.', ' ']).next().and_then(|major| major.parse::<u32>().ok()).unwrap_or(0))
        })?;
        // Whole files are copied and brought to the disk. Otherwise every page would go through the log, and to the disk during
        // the load. Earlier versions know no other way.
        let how = if major >= WITH_STRATEGY { " STRATEGY FILE_COPY" } else { "" };
        self.maintain("copy", &self.name, &[sql + how])
    }

    /// Makes the functions of the stored form in the copy.
    pub(super) fn add_functions(&self) -> Result<(), PostgresError> {
        let add = async |session: &mut Connection| run(session, FUNCTIONS).await;
        in_session(&self.copy(""), "make functions in", add).map(drop)
    }

    /// Removes the copy of a run.
    ///
    /// # Errors
    /// Other contents; sessions of others.
    pub(super) fn remove_copy(&self) -> Result<(), PostgresError> {
        let name = self.copy_name();
        if !self.exists(&name)? {
            return Ok(());
        }
        let is_ours = async |session: &mut Connection| has_row(session, HAS_MARKER).await;
        if !in_session(&self.copy(""), "read", is_ours)? {
            return Err(PostgresError::foreign(&name));
        }
        self.maintain("remove", &name, &[format!("DROP DATABASE {}", identifier(&name))])
    }

    /// Runs statements about databases. `name` is what they are about.
    fn maintain(&self, what: &'static str, name: &str, all: &[String]) -> Result<(), PostgresError> {
        let done = in_session(&self.maintenance(""), what, async |session| {
            for sql in all {
                run(session, sql).await?;
            }
            Ok(())
        });
        done.map_err(|why| match why {
            PostgresError::InUse { .. } => PostgresError::InUse { name: name.to_owned() },
            PostgresError::Failed { what, why, .. } => {
                PostgresError::Failed { what, name: name.to_owned(), why }
            }
            other => other,
        })
    }

    /// The size of the filled database, in bytes.
    pub(super) fn bytes(&self) -> Result<u64, PostgresError> {
        let sql = format!("SELECT pg_database_size({})", literal(&self.name));
        let row = in_session(&self.maintenance(""), "measure", async |session| row(session, &sql).await)?;
        Ok(row.and_then(|row| row.first()?.parse().ok()).unwrap_or(0))
    }
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
    if !has_row(session, HAS_MARKER).await? {
        return Ok(if has_row(session, CONTENTS).await? { Contents::Foreign } else { Contents::None });
    }
    let row = row(session, "SELECT filled, lines FROM barograph_marker").await?.unwrap_or_default();
    let [filled, lines] = row.try_into().unwrap_or_default();
    Ok(Contents::Marked { filled, lines })
}

//! The databases of a load on a server: the filled one, which is never changed, and its copy for a run.

use std::collections::HashSet;
use std::sync::mpsc;
use std::time::Duration;

use barograph_database::{Contents, Database, Table, TableSpec};

use crate::ServerError;
use crate::errors::Failure;
use crate::product::{MARKER, PIECES, Product};

/// Limit on the first statement at a server. One of another protocol never answers.
const FIRST_STATEMENT: Duration = Duration::from_secs(10);

/// The databases of a load.
pub(crate) struct Databases<P: Product> {
    server: P::Target,
    name: String,
}

/// The state of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It does not exist.
    Missing,
    /// It has no tables, or those of an interrupted fill.
    Unfilled,
    /// It is filled, with this number of rows in each table.
    Filled(Vec<u64>),
}

/// The contents of a database.
enum Found {
    Nothing,
    Foreign,
    /// With a marker. `rows` is empty after an interrupted fill.
    Marked {
        stamp: String,
        rows: String,
    },
}

impl<P: Product> Databases<P> {
    /// The databases of an address. Blocks.
    ///
    /// # Errors
    /// A server that does not answer, or that is of another product.
    pub(crate) fn at(url: &str) -> Result<Self, ServerError> {
        Self::answering(url, FIRST_STATEMENT)
    }

    /// The databases of an address whose server answers its first statement within `limit`.
    fn answering(url: &str, limit: Duration) -> Result<Self, ServerError> {
        let name = P::database_of(url).map_err(|why| ServerError::Unreachable(why.into()))?;
        let server = P::resolve(url).map_err(ServerError::Unreachable)?;
        let databases = Databases { server, name };
        let version = databases.first_version(limit)?;
        if P::is_product(&version) {
            return Ok(databases);
        }
        Err(ServerError::OtherProduct { version, wanted: P::KIND.name() })
    }

    /// Version of a server that may be of another protocol. A thread that waits in vain ends with the program.
    fn first_version(&self, limit: Duration) -> Result<String, ServerError> {
        let (send, answer) = mpsc::sync_channel(1);
        let databases: Self = Databases { server: self.server.clone(), name: self.name.clone() };
        let spawned = std::thread::Builder::new().name("first answer".to_owned()).spawn(move || {
            // Without a receiver the answer is too late.
            let _ = send.send(databases.version());
        });
        spawned.map_err(ServerError::Loop)?;
        answer.recv_timeout(limit).unwrap_or_else(|_| {
            let (product, within) = (P::KIND.name(), limit.as_secs_f64());
            let why = format!("no answer of {product} within {within} s; is this the right port?");
            Err(ServerError::Unreachable(why.into()))
        })
    }

    /// Version of the server.
    pub(crate) fn version(&self) -> Result<String, ServerError> {
        let row = self.row(P::MAINTENANCE, ("ask", &self.name), P::VERSION)?;
        Ok(row.into_iter().flatten().next().unwrap_or_default())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The name of the copy for a run.
    pub(crate) fn copy_name(&self) -> String {
        format!("{}_run", self.name)
    }

    /// The name of the database of a run: the copy, or the database itself where it is used as it is.
    pub(crate) fn run_name<C: Contents>(&self, contents: &C) -> String {
        if contents.tables().is_empty() { self.name.clone() } else { self.copy_name() }
    }

    /// A database of the server.
    pub(crate) fn target(&self, name: &str) -> P::Target {
        P::database(&self.server, name)
    }

    /// Runs statements in a session of the database `session`, and calls `row` for each row. `what` is attempted on the
    /// database `name`.
    pub(crate) fn ask(
        &self,
        session: &str,
        (what, name): (&'static str, &str),
        sql: &str,
        row: &mut dyn FnMut(&[Option<&str>]),
    ) -> Result<(), ServerError> {
        P::ask(&self.target(session), sql, row).map_err(|failure| Self::failed((what, name), failure))
    }

    /// The error of a failure.
    pub(crate) fn failed((what, name): (&'static str, &str), failure: Failure) -> ServerError {
        let name = name.to_owned();
        match failure {
            Failure { is_in_use: true, .. } => ServerError::InUse { name, what: P::IN_USE },
            Failure { why, .. } => ServerError::Failed { what, name, why },
        }
    }

    /// Runs statements without rows.
    pub(crate) fn run(
        &self,
        session: &str,
        what: (&'static str, &str),
        sql: &str,
    ) -> Result<(), ServerError> {
        self.ask(session, what, sql, &mut |_| {})
    }

    /// The first row of a query; null is an empty text.
    pub(crate) fn row(
        &self,
        session: &str,
        what: (&'static str, &str),
        sql: &str,
    ) -> Result<Option<Vec<String>>, ServerError> {
        let mut first = None;
        self.ask(session, what, sql, &mut |row| {
            first.get_or_insert_with(|| row.iter().map(|text| text.unwrap_or_default().to_owned()).collect());
        })?;
        Ok(first)
    }

    /// The state of the filled database.
    ///
    /// # Errors
    /// Other contents.
    pub(crate) fn state<C: Contents>(&self, contents: &C) -> Result<State, ServerError> {
        if !self.exists(&self.name)? {
            return Ok(State::Missing);
        }
        match self.found(&self.name)? {
            Found::Nothing => Ok(State::Unfilled),
            Found::Foreign => Err(foreign(&self.name, C::KIND)),
            Found::Marked { rows, .. } if rows.is_empty() => Ok(State::Unfilled),
            Found::Marked { stamp, rows } if stamp == contents.stamp() => {
                Ok(State::Filled(rows.split(' ').filter_map(|count| count.parse().ok()).collect()))
            }
            Found::Marked { stamp, .. } => {
                let why = format!("was filled otherwise: {stamp}");
                Err(ServerError::NotOurs { name: self.name.clone(), why })
            }
        }
    }

    fn exists(&self, name: &str) -> Result<bool, ServerError> {
        Ok(self.row(P::MAINTENANCE, ("look for", name), &P::exists(name))?.is_some())
    }

    fn found(&self, name: &str) -> Result<Found, ServerError> {
        let tables = self.tables(name)?;
        if !tables.iter().any(|table| table == MARKER) {
            return Ok(if tables.is_empty() { Found::Nothing } else { Found::Foreign });
        }
        let marker = self.row(name, ("read", name), &format!("SELECT stamp, loaded FROM {MARKER}"))?;
        let [stamp, rows] = marker.unwrap_or_default().try_into().unwrap_or_default();
        Ok(Found::Marked { stamp, rows })
    }

    /// The numbers of the pieces and steps that are done in an unfinished fill; `None` where it cannot go on.
    pub(crate) fn done<C: Contents>(&self, contents: &C) -> Result<Option<HashSet<i64>>, ServerError> {
        let (name, what) = (&*self.name, ("read", &*self.name));
        let tables = self.tables(name)?;
        if ![MARKER, PIECES].iter().all(|table| tables.iter().any(|found| found == table)) {
            return Ok(None);
        }
        let stamp = self.row(name, what, &format!("SELECT stamp FROM {MARKER}"))?.unwrap_or_default();
        if stamp != [contents.stamp()] {
            return Ok(None);
        }
        let mut done = HashSet::new();
        self.ask(name, what, &format!("SELECT piece FROM {PIECES}"), &mut |row| {
            done.extend(row.iter().flatten().filter_map(|number| number.parse::<i64>().ok()));
        })?;
        Ok(Some(done))
    }

    fn tables(&self, name: &str) -> Result<Vec<String>, ServerError> {
        let mut tables = Vec::new();
        self.ask(name, ("read", name), P::TABLES, &mut |row| {
            tables.extend(row.iter().flatten().map(|name| (*name).to_owned()));
        })?;
        Ok(tables)
    }

    /// Makes the filled database, without tables.
    pub(crate) fn create(&self) -> Result<(), ServerError> {
        let sql = format!("CREATE DATABASE {}", P::identifier(&self.name));
        self.run(P::MAINTENANCE, ("make", &self.name), &sql)
    }

    /// Copies the filled database for a run, in place of an earlier copy.
    ///
    /// # Errors
    /// A database with other contents in place of the copy; one of the two in use.
    pub(crate) fn reset<C: Contents>(&self, contents: &C) -> Result<(), ServerError> {
        self.remove_copy::<C>()?;
        let tables: Vec<TableSpec> = contents.tables().iter().map(|table| table.spec()).collect();
        P::copy(self, &tables)
    }

    /// Removes the copy of a run.
    ///
    /// # Errors
    /// Other contents; a copy in use.
    pub(crate) fn remove_copy<C: Contents>(&self) -> Result<(), ServerError> {
        self.remove(&self.copy_name(), C::KIND)
    }

    /// Removes a database of ours, if there is one. `kind` is what it should be.
    pub(crate) fn remove(&self, name: &str, kind: &str) -> Result<(), ServerError> {
        if !self.exists(name)? {
            return Ok(());
        }
        if matches!(self.found(name)?, Found::Foreign) {
            return Err(foreign(name, kind));
        }
        let sql = format!("{}DROP DATABASE {}", P::PATIENCE, P::identifier(name));
        self.run(P::MAINTENANCE, ("remove", name), &sql)
    }

    /// The size of the filled database, in bytes.
    pub(crate) fn bytes(&self) -> Result<u64, ServerError> {
        let row = self.row(&self.name, ("measure", &self.name), P::BYTES)?;
        Ok(row.and_then(|row| row.first()?.parse().ok()).unwrap_or(0))
    }

    /// The values of the settings of durability, in sessions that begin with `setup`.
    pub(crate) fn durability(&self, setup: &str) -> Result<Vec<String>, ServerError> {
        let values: Vec<String> = P::DURABILITY.iter().map(|name| P::setting(name)).collect();
        let sql = format!("{setup}; SELECT {}", values.join(", "));
        Ok(self.row(P::MAINTENANCE, ("ask", &self.name), &sql)?.unwrap_or_default())
    }
}

/// The refusal of a database with contents of others.
fn foreign(name: &str, kind: &str) -> ServerError {
    let why = format!("holds something else than {kind}");
    ServerError::NotOurs { name: name.to_owned(), why }
}

/// Queries of data checks in the database of this name, each in a session of its own.
pub(crate) struct Queries<'a, P: Product>(pub(crate) &'a Databases<P>, pub(crate) String);

impl<P: Product> Database for Queries<'_, P> {
    type Error = ServerError;

    fn rows(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> Result<(), ServerError> {
        let name = self.1.clone();
        let (mut numbers, mut wrong) = (Vec::new(), None);
        self.0.ask(&name, ("check", &name), sql, &mut |row| {
            // The sum of no rows is null.
            let values = row.iter().map(|text| text.unwrap_or("0").parse::<i64>());
            numbers.clear();
            for value in values {
                numbers.push(value.unwrap_or_else(|why| {
                    wrong = Some(why);
                    0
                }));
            }
            take(&numbers);
        })?;
        match wrong {
            None => Ok(()),
            Some(why) => Err(ServerError::Failed { what: "check", name, why: why.into() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::mariadb::Mariadb;
    use crate::postgres::Postgres;

    fn refused<P: Product>(url: &str) {
        let found = Databases::<P>::answering(url, Duration::from_millis(20));
        let Err(ServerError::Unreachable(why)) = found else {
            panic!("{url} is taken, or refused otherwise")
        };
        let expected = format!("no answer of {} within 0.02 s; is this the right port?", P::KIND.name());
        assert_eq!(why.to_string(), expected);
    }

    #[test]
    fn a_server_that_waits_for_another_protocol_is_refused() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = silent.local_addr().unwrap();
        refused::<Postgres>(&format!("postgres://me@{place}/orders"));
        refused::<Mariadb>(&format!("mysql://me@{place}/orders"));
    }
}

//! Statements of statistics to a PostgreSQL that is there already.

use std::io;

use barograph_model::words::in_one_line;
use barograph_postgres::{Address, Connection, Fault, Reply, SqlState, Target};
use barograph_service_metrics::StatementError;

use super::{FIRST_ANSWER, Postgres};
use crate::errors::Cause;
use crate::product::Product;

/// Name of the session in `pg_stat_activity`, which statements leave out.
const NAME: &str = "barograph-statistics";

/// The state of an error of a user without a right.
const NO_RIGHT: SqlState = SqlState(*b"42501");

/// The server of an address. Blocks.
pub(super) fn target(url: &str) -> Result<Target, Cause> {
    let address = Address {
        application: NAME.to_owned(),
        database: Postgres::MAINTENANCE.to_owned(),
        ..Address::parse(url)?
    };
    Target::resolve(address, &[])?.answering(FIRST_ANSWER)
}

/// The rows of a name and a value; null is left out.
pub(super) async fn pairs(session: &mut Connection, sql: &str) -> Result<Vec<(String, String)>, Fault> {
    let (mut replies, mut pairs) = (session.query(sql)?, Vec::new());
    while let Some(reply) = replies.next().await? {
        if let Reply::Row(row) = reply
            && let (Some(name), Some(value)) = (row.get_optional::<&str>(0)?, row.get_optional::<&str>(1)?)
        {
            pairs.push((name.to_owned(), value.to_owned()));
        }
    }
    Ok(pairs)
}

/// Of class 42 are tables or columns that are missing, too.
pub(super) fn failed(fault: Fault) -> StatementError {
    match fault {
        Fault::Server(said) if said.state() == NO_RIGHT => StatementError::Denied(said.to_string()),
        Fault::Server(said) if said.state().0.starts_with(b"42") => StatementError::Unknown(said.to_string()),
        Fault::Server(said) => StatementError::Refused(said.to_string()),
        other => StatementError::Broken(io::Error::other(in_one_line(&other))),
    }
}

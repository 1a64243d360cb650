//! Statements of statistics to a MariaDB that is there already.

use std::io;

use barograph_model::words::in_one_line;
use barograph_mysql::{Connection, ErrorCode, Fault, Reply};
use barograph_service_metrics::StatementError;

/// Errors of a user without a right: to a database, a table, a column, or one of the server's own.
const RIGHTS: [ErrorCode; 4] = [ErrorCode(1044), ErrorCode(1142), ErrorCode(1143), ErrorCode(1227)];

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
        Fault::Server(said) if RIGHTS.contains(&said.code()) => StatementError::Denied(said.to_string()),
        Fault::Server(said) if said.state().starts_with(b"42") => StatementError::Unknown(said.to_string()),
        Fault::Server(said) => StatementError::Refused(said.to_string()),
        other => StatementError::Broken(io::Error::other(in_one_line(&other))),
    }
}

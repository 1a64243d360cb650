//! A statement to MySQL or MariaDB.

use std::net::SocketAddr;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts, OptsBuilder};

use super::{LARGEST, LinkError};
use crate::sums::Sums;

/// Idle time-out in seconds, longer than any pause between questions; set here, so that the client need not
/// query it.
const IDLE_SECONDS: usize = 3_600;

/// Errors of a user without a right: to a database, a table, a column, or one of the server's own.
const RIGHTS: [u16; 4] = [1044, 1142, 1143, 1227];

/// An open connection.
#[derive(Debug)]
pub(crate) struct Link(Conn);

impl Link {
    pub(super) async fn open(at: SocketAddr, user: &str) -> Result<Self, LinkError> {
        let opts: Opts = OptsBuilder::default()
            .ip_or_hostname(at.ip().to_string())
            .tcp_port(at.port())
            .user(Some(user))
            .prefer_socket(false)
            .max_allowed_packet(Some(LARGEST))
            .wait_timeout(Some(IDLE_SECONDS))
            .into();
        Conn::new(opts).await.map(Link).map_err(trouble)
    }

    pub(super) async fn ask(&mut self, statement: &str, sums: &mut Sums<'_>) -> Result<(), LinkError> {
        for (name, value) in self.rows(statement).await? {
            sums.add(&name, value);
        }
        Ok(())
    }

    /// The rows of a name and a number; others are skipped.
    pub(super) async fn rows(&mut self, statement: &str) -> Result<Vec<(String, f64)>, LinkError> {
        let rows: Vec<(String, String)> = self.0.query(statement).await.map_err(trouble)?;
        Ok(super::numbers(rows))
    }
}

fn trouble(error: Error) -> LinkError {
    match error {
        Error::Server(said) if RIGHTS.contains(&said.code) => LinkError::Denied(said.message),
        Error::Server(said) if said.state.starts_with("42") => LinkError::Unknown(said.message),
        Error::Server(said) => LinkError::Refused(said.message),
        other => LinkError::Io(std::io::Error::other(other)),
    }
}

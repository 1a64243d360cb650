//! A statement to PostgreSQL, in text format so that numbers of any type can be parsed.

use tokio::net::TcpStream;
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::{ConnectionTask, LinkError};
use crate::sums::Sums;

/// Name of the connection in `pg_stat_activity`, so that statements can exclude it.
const NAME: &str = "barograph-statistics";

/// The state of an error of a user without a right.
const NO_RIGHT: &str = "42501";

/// An open connection.
#[derive(Debug)]
pub(crate) struct Link {
    client: Client,
    _beside: ConnectionTask,
}

impl Link {
    pub(super) async fn open(stream: TcpStream, user: &str) -> Result<Self, LinkError> {
        let mut config = Config::new();
        config.user(user).dbname(user).application_name(NAME);
        let (client, connection) = config.connect_raw(stream, NoTls).await.map_err(trouble)?;
        let beside = tokio::spawn(async move {
            // The next question notices its end.
            let _ = connection.await;
        });
        Ok(Link { client, _beside: ConnectionTask(beside) })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    pub(super) async fn ask(&mut self, statement: &str, sums: &mut Sums<'_>) -> Result<(), LinkError> {
        let answer = self.client.simple_query(statement).await.map_err(trouble)?;
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let row = row.ok_or_else(|| LinkError::Unreadable("no row".to_owned()))?;
        for (at, column) in row.columns().iter().enumerate() {
            if let Some(value) = row.get(at).and_then(|text| text.parse().ok()) {
                sums.add(column.name(), value);
            }
        }
        Ok(())
    }

    /// The rows of a name and a number; others are skipped.
    pub(super) async fn rows(&mut self, statement: &str) -> Result<Vec<(String, f64)>, LinkError> {
        let answer = self.client.simple_query(statement).await.map_err(trouble)?;
        let pair = |message: &SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?)),
            _ => None,
        };
        Ok(answer.iter().filter_map(pair).collect())
    }
}

fn trouble(error: tokio_postgres::Error) -> LinkError {
    match error.as_db_error() {
        Some(said) if said.code().code() == NO_RIGHT => LinkError::Denied(said.message().to_owned()),
        Some(said) if said.code().code().starts_with("42") => LinkError::Unknown(said.message().to_owned()),
        Some(said) => LinkError::Refused(said.message().to_owned()),
        None => LinkError::Io(std::io::Error::other(error)),
    }
}

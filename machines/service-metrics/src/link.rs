//! Connections, one kind for each protocol.

mod http;
mod mysql;
mod plain;
mod postgres;

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::sums::Sums;
use crate::{Question, StatementError, Statements};

/// Longest answer in bytes: a bound on memory.
const LARGEST: usize = 4 << 20;

/// Reason for the lack of a usable answer.
#[derive(Debug)]
pub(crate) enum LinkError {
    Io(io::Error),
    /// The server refused, with this message.
    Refused(String),
    /// The user has no right to this statement.
    Denied(String),
    /// This version of the server does not know this statement.
    Unknown(String),
    /// The answer is malformed.
    Unreadable(String),
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        LinkError::Io(error)
    }
}

impl From<StatementError> for LinkError {
    fn from(error: StatementError) -> Self {
        match error {
            StatementError::Broken(why) => LinkError::Io(why),
            StatementError::Denied(said) => LinkError::Denied(said),
            StatementError::Unknown(said) => LinkError::Unknown(said),
            StatementError::Refused(said) => LinkError::Refused(said),
        }
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Link {
    Http(http::Link),
    Postgres(postgres::Link),
    MySql(Box<mysql::Link>),
    Plain(TcpStream),
    /// One that was opened by others.
    Statements(Box<dyn Statements>),
}

impl Link {
    pub(crate) async fn open(question: &Question, at: SocketAddr) -> Result<Self, LinkError> {
        if let Question::MySql { user, .. } = question {
            return Ok(Link::MySql(Box::new(mysql::Link::open(at, user).await?)));
        }
        let stream = TcpStream::connect(at).await?;
        stream.set_nodelay(true)?;
        Ok(match question {
            Question::Http { .. } => Link::Http(http::Link::open(stream, at).await?),
            Question::Postgres { user, .. } => Link::Postgres(postgres::Link::open(stream, user).await?),
            Question::Redis | Question::Memcached | Question::MySql { .. } => Link::Plain(stream),
        })
    }

    /// Whether it can be used again, as far as known.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Link::Http(link) => link.is_open(),
            Link::Postgres(link) => link.is_open(),
            Link::MySql(_) | Link::Plain(_) | Link::Statements(_) => true,
        }
    }

    /// Asks a question that has no statements.
    pub(crate) async fn ask(&mut self, question: &Question, sums: &mut Sums<'_>) -> Result<(), LinkError> {
        match (self, question) {
            (Link::Http(link), Question::Http { path, form }) => link.ask(path, *form, sums).await,
            (Link::Plain(stream), Question::Redis) => plain::redis(stream, sums).await,
            (Link::Plain(stream), Question::Memcached) => plain::memcached(stream, sums).await,
            // The question of an asker never changes.
            _ => Err(LinkError::Unreadable("the connection is of another protocol".to_owned())),
        }
    }

    /// Asks a statement of a question.
    pub(crate) async fn state(
        &mut self,
        question: &Question,
        sql: &str,
        sums: &mut Sums<'_>,
    ) -> Result<(), LinkError> {
        match (self, question) {
            (Link::Postgres(link), _) => link.ask(sql, sums).await,
            (Link::MySql(link), _) => link.ask(sql, sums).await,
            (Link::Statements(link), Question::Postgres { .. }) => {
                // One row of named columns, as rows of name and value.
                let pairs =
                    format!("SELECT key, value FROM json_each_text((SELECT row_to_json(r) FROM ({sql}) r))");
                add(link.rows(&pairs).await?, sums);
                Ok(())
            }
            (Link::Statements(link), _) => {
                add(link.rows(sql).await?, sums);
                Ok(())
            }
            _ => Err(LinkError::Unreadable("the protocol has no statements".to_owned())),
        }
    }

    /// The rows of a statement: a name and a number each.
    pub(crate) async fn rows(&mut self, statement: &str) -> Result<Vec<(String, f64)>, LinkError> {
        match self {
            Link::Postgres(link) => link.rows(statement).await,
            Link::MySql(link) => link.rows(statement).await,
            Link::Statements(link) => Ok(numbers(link.rows(statement).await?)),
            Link::Http(_) | Link::Plain(_) => {
                Err(LinkError::Unreadable("the protocol has no statements".to_owned()))
            }
        }
    }
}

/// The rows with a number; others are skipped.
fn numbers(rows: Vec<(String, String)>) -> Vec<(String, f64)> {
    rows.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect()
}

fn add(rows: Vec<(String, String)>, sums: &mut Sums<'_>) {
    numbers(rows).iter().for_each(|(name, value)| sums.add(name, *value));
}

/// Drives a connection in a task, which ends with the connection, whether the server notices or not.
#[derive(Debug)]
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

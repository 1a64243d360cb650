//! Connections, one kind for each protocol.

mod http;
mod mysql;
mod plain;
mod postgres;

use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::Question;
use crate::sums::Sums;

/// Longest answer in bytes: a bound on memory.
const LARGEST: usize = 4 << 20;

/// Reason for the lack of a usable answer.
#[derive(Debug)]
pub(crate) enum LinkError {
    Io(io::Error),
    /// The server refused, with this message.
    Refused(String),
    /// The answer is malformed.
    Unreadable(String),
}

impl From<io::Error> for LinkError {
    fn from(error: io::Error) -> Self {
        LinkError::Io(error)
    }
}

/// An open connection.
#[derive(Debug)]
pub(crate) enum Link {
    Http(http::Link),
    Postgres(postgres::Link),
    MySql(Box<mysql::Link>),
    Plain(TcpStream),
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
            Link::MySql(_) | Link::Plain(_) => true,
        }
    }

    pub(crate) async fn ask(&mut self, question: &Question, sums: &mut Sums<'_>) -> Result<(), LinkError> {
        match (self, question) {
            (Link::Http(link), Question::Http { path, form }) => link.ask(path, *form, sums).await,
            (Link::Postgres(link), Question::Postgres { row, .. }) => link.ask(row, sums).await,
            (Link::MySql(link), Question::MySql { rows, .. }) => link.ask(rows, sums).await,
            (Link::Plain(stream), Question::Redis) => plain::redis(stream, sums).await,
            (Link::Plain(stream), Question::Memcached) => plain::memcached(stream, sums).await,
            // The question of an asker never changes.
            _ => Err(LinkError::Unreadable("the connection is of another protocol".to_owned())),
        }
    }

    /// The rows of a statement: a name and a number each.
    pub(crate) async fn rows(&mut self, statement: &str) -> Result<Vec<(String, f64)>, LinkError> {
        match self {
            Link::Postgres(link) => link.rows(statement).await,
            Link::MySql(link) => link.rows(statement).await,
            Link::Http(_) | Link::Plain(_) => {
                Err(LinkError::Unreadable("the protocol has no statements".to_owned()))
            }
        }
    }
}

/// Drives a connection in a task, which ends with the connection, whether the server notices or not.
#[derive(Debug)]
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

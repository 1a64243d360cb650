//! Answers to a batch or to a query, in the order of the statements.

use std::ops::Range;

use crate::backend::{self, Message};
use crate::column;
use crate::connection::{BufferedMessage, Connection, order};
use crate::diagnostic::Diagnostic;
use crate::fault::Fault;
use crate::flaw::Flaw;
use crate::row::{self, Row};
use crate::sql_type::SqlType;

/// A piece of an answer that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Rows and end of a prepared statement, by its number.
    Execute(u32),
    /// The end of a group of prepared statements.
    Sync,
    /// All of a simple query.
    Query,
}

/// A piece of the answer.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'r> {
    /// A row of a statement.
    Row(Row<'r>),
    /// The end of a statement.
    Done(CommandTag<'r>),
}

/// What the server says at the end of a statement, such as `INSERT 0 3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTag<'r>(pub(crate) &'r [u8]);

impl CommandTag<'_> {
    /// Rows that were affected or returned; 0 of statements without such a number.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let last = self.0.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
        std::str::from_utf8(last).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    /// Whether it begins with this word. A `COMMIT` of a failed transaction is answered with `ROLLBACK`.
    #[must_use]
    pub fn is(&self, word: &str) -> bool {
        self.0.split(|byte| *byte == b' ').next() == Some(word.as_bytes())
    }
}

/// The answers to what was sent. Dropped before their end, they leave the connection unusable.
#[must_use = "nothing is sent before the first reply is read"]
pub struct Replies<'c> {
    connection: &'c mut Connection,
    /// The step that is awaited.
    at: usize,
    /// The server has bound the statement.
    bound: bool,
    /// The error that ended the group, until its end has come.
    failed: Option<Diagnostic>,
}

/// What has come, by its place.
enum Event {
    Row { step: Step, place: Range<usize> },
    Done(Range<usize>),
    End,
}

impl<'c> Replies<'c> {
    pub(crate) fn new(connection: &'c mut Connection) -> Self {
        Replies { connection, at: 0, bound: false, failed: None }
    }

    /// The next row or end of a statement; `None` after the last one.
    ///
    /// # Errors
    /// [`Fault`]. An error of the server comes at the end of its group, and the next call goes on with the next group.
    pub async fn next(&mut self) -> Result<Option<Reply<'_>>, Fault> {
        let event = self.event().await?;
        let connection = &*self.connection;
        Ok(match event {
            Event::End => None,
            Event::Done(place) => {
                let tag = backend::body(connection.inbox.bytes(&place));
                Some(Reply::Done(CommandTag(tag.strip_suffix(b"\0").unwrap_or(tag))))
            }
            Event::Row { step, place } => Some(Reply::Row(Row {
                body: backend::body(connection.inbox.bytes(&place)),
                cells: &connection.cells,
                columns: match step {
                    Step::Execute(number) => &connection.statements[number as usize].columns,
                    Step::Sync | Step::Query => &connection.columns,
                },
            })),
        })
    }

    /// The next row of the statement; `None` at its end.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn row(&mut self) -> Result<Option<Row<'_>>, Fault> {
        match self.next().await? {
            Some(Reply::Row(row)) => Ok(Some(row)),
            Some(Reply::Done(_)) | None => Ok(None),
        }
    }

    /// Reads to the end; the rows that the statements affected or returned, added up.
    ///
    /// # Errors
    /// The first error of the server, or what broke the connection.
    pub async fn finish(mut self) -> Result<u64, Fault> {
        let (mut rows, mut failed) = (0, None);
        loop {
            match self.event().await {
                Ok(Event::End) => return failed.map_or(Ok(rows), Err),
                Ok(Event::Done(place)) => {
                    let tag = backend::body(self.connection.inbox.bytes(&place));
                    rows += CommandTag(tag.strip_suffix(b"\0").unwrap_or(tag)).rows();
                }
                Ok(Event::Row { .. }) => {}
                Err(said @ Fault::Server(_)) => failed = failed.or(Some(said)),
                Err(fault) => return Err(fault),
            }
        }
    }

    async fn event(&mut self) -> Result<Event, Fault> {
        loop {
            let Some(step) = self.connection.steps.get(self.at).copied() else { return Ok(Event::End) };
            let arrival = self.connection.message().await?;
            if let Some(event) = self.arrived(step, arrival)? {
                return Ok(event);
            }
        }
    }

    /// Takes a message; `None` where it is nothing for the caller.
    fn arrived(&mut self, step: Step, arrival: BufferedMessage) -> Result<Option<Event>, Fault> {
        let expected = self.failed.is_none();
        match (step, self.connection.read(&arrival)?) {
            (Step::Sync | Step::Query, Message::Ready(transaction)) => {
                self.at += 1;
                if self.at == self.connection.steps.len() {
                    self.connection.end(transaction);
                }
                return self.failed.take().map_or(Ok(None), |said| Err(Fault::Server(said)));
            }
            (_, Message::Error(body)) if expected => {
                self.failed = Some(Diagnostic::read(b'E', body)?);
                self.bound = false;
                let left = &self.connection.steps[self.at..];
                self.at += left.iter().position(|step| !matches!(step, Step::Execute(_))).unwrap_or(0);
            }
            (Step::Execute(_), Message::BindComplete) if !self.bound => self.bound = true,
            (Step::Execute(number), Message::Row(_)) if self.bound => {
                let described = self.connection.statements[number as usize].columns.len();
                return self.row_of(step, described, arrival.1);
            }
            (Step::Execute(_), Message::Complete(_) | Message::EmptyQuery) if self.bound => {
                self.bound = false;
                self.at += 1;
                return Ok(Some(Event::Done(arrival.1)));
            }
            (Step::Query, Message::Columns(body)) if expected => {
                let mut columns = column::read(body)?;
                columns.iter_mut().for_each(|column| column.kind = SqlType::Text);
                self.connection.columns = columns;
            }
            (Step::Query, Message::Row(_)) if expected => {
                let described = self.connection.columns.len();
                return self.row_of(step, described, arrival.1);
            }
            (Step::Query, Message::Complete(_) | Message::EmptyQuery) if expected => {
                return Ok(Some(Event::Done(arrival.1)));
            }
            _ => return Err(order(&arrival, step.name())),
        }
        Ok(None)
    }

    fn row_of(&mut self, step: Step, described: usize, place: Range<usize>) -> Result<Option<Event>, Fault> {
        let Connection { inbox, cells, .. } = &mut *self.connection;
        row::split(backend::body(inbox.bytes(&place)), cells)?;
        if cells.len() != described {
            return Err(Flaw::Columns { described, got: cells.len() }.into());
        }
        Ok(Some(Event::Row { step, place }))
    }
}

impl Step {
    fn name(self) -> &'static str {
        match self {
            Step::Execute(_) => "a prepared statement",
            Step::Sync => "the end of a batch",
            Step::Query => "a query",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_says_how_many_rows() {
        for (tag, rows) in [
            ("INSERT 0 3", 3),
            ("UPDATE 7", 7),
            ("SELECT 10", 10),
            ("COPY 100000", 100_000),
            ("BEGIN", 0),
            ("", 0),
        ] {
            assert_eq!(CommandTag(tag.as_bytes()).rows(), rows, "{tag}");
        }
        assert!(CommandTag(b"ROLLBACK").is("ROLLBACK") && CommandTag(b"INSERT 0 3").is("INSERT"));
        assert!(!CommandTag(b"ROLLBACK").is("COMMIT"));
    }
}

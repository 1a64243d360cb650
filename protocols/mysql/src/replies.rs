//! Answers to a statement or to a query, in the order of the statements.

use std::ops::Range;

use crate::answer::{self, Done};
use crate::connection::{Connection, order};
use crate::fault::Fault;
use crate::row::{self, Row};
use crate::sql_type::SqlType;

/// Command code.
const QUERY: u8 = 0x03;

/// A piece of the answer.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'r> {
    /// A row of a statement.
    Row(Row<'r>),
    /// The end of a statement. A CALL has one for each of its results and one of its own.
    Done(Done),
}

/// The form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Text,
    Binary,
}

/// The message that is awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextMessage {
    /// The first one of a statement.
    First,
    /// A description of a column, of which this number is left.
    Column(u64),
    /// The end of the columns.
    EndOfColumns,
    /// A row, after this number of them, or their end.
    Row(u64),
    /// None.
    Nothing,
}

/// The answer to a call. Dropped before its end, it leaves the connection unusable.
#[must_use = "nothing is sent before the first reply is read"]
pub struct Replies<'c> {
    connection: &'c mut Connection,
    rows: Rows,
    awaited: NextMessage,
}

enum Event {
    Row(Range<usize>),
    Done(Done),
    End,
}

impl Connection {
    /// Sends SQL as it is: one or more statements without parameters, such as those that make tables. Their rows are
    /// text. An error ends all of them.
    ///
    /// # Errors
    /// When the connection is unusable.
    pub fn query(&mut self, sql: &str) -> Result<Replies<'_>, Fault> {
        self.call(QUERY, sql.as_bytes())?;
        Ok(Replies { connection: self, rows: Rows::Text, awaited: NextMessage::First })
    }
}

impl<'c> Replies<'c> {
    pub(crate) fn binary(connection: &'c mut Connection) -> Self {
        Replies { connection, rows: Rows::Binary, awaited: NextMessage::First }
    }

    /// The next row or end of a statement; `None` after the last one.
    ///
    /// # Errors
    /// [`Fault`]. An error of the server ends the answer.
    pub async fn next(&mut self) -> Result<Option<Reply<'_>>, Fault> {
        let event = self.event().await?;
        let connection = &*self.connection;
        Ok(match event {
            Event::End => None,
            Event::Done(done) => Some(Reply::Done(done)),
            Event::Row(place) => Some(Reply::Row(Row {
                body: connection.inbox.bytes(&place),
                cells: &connection.cells,
                kinds: &connection.kinds,
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

    /// Reads to the end; the rows that all statements affected or returned, added up.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn finish(mut self) -> Result<u64, Fault> {
        let mut rows = 0;
        loop {
            match self.event().await? {
                Event::End => return Ok(rows),
                Event::Done(done) => rows += done.rows,
                Event::Row(_) => {}
            }
        }
    }

    async fn event(&mut self) -> Result<Event, Fault> {
        let event = loop {
            if self.awaited == NextMessage::Nothing {
                return Ok(Event::End);
            }
            let taken = match self.connection.message().await {
                Ok(place) => self.take(place),
                Err(fault) => Err(fault),
            };
            if let Some(event) = taken.transpose() {
                break event;
            }
        };
        if event.is_err() {
            self.awaited = NextMessage::Nothing;
        }
        event
    }

    /// Takes a message; `None` where it is nothing for the caller.
    fn take(&mut self, place: Range<usize>) -> Result<Option<Event>, Fault> {
        let Connection { inbox, kinds, cells, .. } = &mut *self.connection;
        let body = inbox.bytes(&place);
        match self.awaited {
            NextMessage::First => match body[0] {
                answer::OK => {
                    let (done, status) = answer::ok(body)?;
                    self.connection.status = status;
                    return Ok(Some(self.done(done)));
                }
                answer::FILE | answer::END => return Err(order(body, "a statement")),
                _ => {
                    kinds.clear();
                    self.awaited = NextMessage::Column(answer::count(body)?);
                }
            },
            NextMessage::Column(left) => {
                let kind = answer::column(body)?;
                kinds.push(if self.rows == Rows::Binary { kind } else { SqlType::Text });
                self.awaited =
                    if left > 1 { NextMessage::Column(left - 1) } else { NextMessage::EndOfColumns };
            }
            NextMessage::EndOfColumns => {
                self.connection.ended(&place, "a statement")?;
                self.awaited = NextMessage::Row(0);
            }
            NextMessage::Row(rows) if answer::is_end(body) => {
                let warnings = self.connection.ended(&place, "a statement")?;
                return Ok(Some(self.done(Done { rows, insert_id: 0, warnings })));
            }
            NextMessage::Row(rows) => {
                match self.rows {
                    Rows::Text => row::split_text(body, kinds, cells)?,
                    Rows::Binary => row::split_binary(body, kinds, cells)?,
                }
                self.awaited = NextMessage::Row(rows + 1);
                return Ok(Some(Event::Row(place)));
            }
            NextMessage::Nothing => return Err(order(body, "nothing")),
        }
        Ok(None)
    }

    /// The end of a statement.
    fn done(&mut self, done: Done) -> Event {
        if self.connection.status.has_more() {
            self.awaited = NextMessage::First;
        } else {
            self.awaited = NextMessage::Nothing;
            self.connection.end();
        }
        Event::Done(done)
    }
}

//! Prepared statements.

use std::ops::Range;

use crate::answer::{self, PreparedStatement};
use crate::connection::{Connection, order};
use crate::fault::{CallError, Fault};
use crate::param::{self, Param};
use crate::replies::Replies;

/// Command codes.
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;

/// The name of the command in flaws.
const TO: &str = "a request to prepare";

/// A prepared statement, by its number on its connection. Connections on which the same statements were prepared in the
/// same order have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement(u32);

impl Connection {
    /// Prepares a statement, with `?` in place of its parameters. It is there for as long as the connection is, or until
    /// [`Connection::reset`].
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, Fault> {
        self.call(PREPARE, sql.as_bytes())?;
        let place = self.message().await?;
        let body = self.inbox.bytes(&place);
        if body[0] != answer::OK {
            return Err(order(body, TO));
        }
        let prepared = answer::prepared(body)?;
        for columns in [prepared.parameters, prepared.columns] {
            self.skip(columns).await?;
        }
        self.end();
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() as u32 - 1))
    }

    /// Reads descriptions to their end. Those of an execution tell the types; until then they can change.
    async fn skip(&mut self, columns: u16) -> Result<(), Fault> {
        for _ in 0..columns {
            let place = self.message().await?;
            answer::column(self.inbox.bytes(&place))?;
        }
        if columns > 0 {
            let place = self.message().await?;
            self.ended(&place, TO)?;
        }
        Ok(())
    }

    /// Reads the end of columns or rows and keeps the status; the warnings.
    pub(crate) fn ended(&mut self, place: &Range<usize>, to: &'static str) -> Result<u16, Fault> {
        let body = self.inbox.bytes(place);
        if !answer::is_end(body) {
            return Err(order(body, to));
        }
        let (warnings, status) = answer::end(body)?;
        self.status = status;
        Ok(warnings)
    }

    /// Executes a statement. It leaves with the first read of its replies.
    ///
    /// # Errors
    /// When the statement is not prepared on this connection, the number of values is wrong, or the connection is
    /// unusable.
    pub fn start(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<Replies<'_>, Fault> {
        let number = statement.0;
        let Some(&PreparedStatement { id, parameters, .. }) = self.statements.get(number as usize) else {
            return Err(CallError::Statement(number).into());
        };
        let (parameters, given) = (usize::from(parameters), params.len());
        if parameters != given {
            return Err(CallError::Count { statement: number, parameters, given }.into());
        }
        self.begin()?;
        self.put(|out| {
            out.push(EXECUTE);
            out.extend(id.to_le_bytes());
            // No cursor, once.
            out.extend([0, 1, 0, 0, 0]);
            param::write(params, out);
        });
        self.send();
        Ok(Replies::binary(self))
    }

    /// Executes a statement to its end and drops its rows; the number of rows that it affected or returned.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn execute(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.start(statement, params)?.finish().await
    }
}

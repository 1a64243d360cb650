//! Batches: statements that are sent together.

use crate::connection::Connection;
use crate::fault::{CallError, Fault};
use crate::frontend;
use crate::param::Param;
use crate::replies::{Replies, Step};
use crate::statement::{Statement, no_zero};

/// Statements that are sent together, in one round trip.
///
/// Without an open transaction the statements up to a [`Batch::sync`], or to the end, are one transaction. After an
/// error the server skips the others up to there.
#[must_use = "a batch is sent by `send`"]
pub struct Batch<'c> {
    connection: &'c mut Connection,
}

impl Connection {
    /// A batch without statements.
    pub fn batch(&mut self) -> Batch<'_> {
        self.clear();
        Batch { connection: self }
    }

    /// The batch that was made last, with its statements; without any where it was sent.
    pub fn unsent_batch(&mut self) -> Batch<'_> {
        if self.is_begun() {
            self.clear();
        }
        Batch { connection: self }
    }

    /// Sends SQL as it is: one or more statements without parameters, such as those that make tables. Their rows are
    /// text.
    ///
    /// # Errors
    /// When the connection is unusable, or the text has a zero byte.
    pub fn query(&mut self, sql: &str) -> Result<Replies<'_>, Fault> {
        no_zero(sql)?;
        self.clear();
        frontend::query(&mut self.out, sql);
        self.steps.push(Step::Query);
        self.begin()?;
        Ok(Replies::new(self))
    }
}

impl<'c> Batch<'c> {
    /// Adds a statement with the values of its parameters.
    ///
    /// # Errors
    /// When the statement is not prepared on this connection, or a value does not fit; the batch stays as it was.
    pub fn execute(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<&mut Self, CallError> {
        let Connection { statements, out, steps, .. } = &mut *self.connection;
        let description = statements.get(statement.0 as usize).ok_or(CallError::Statement(statement.0))?;
        description.write(statement.0, params, out)?;
        steps.push(Step::Execute(statement.0));
        Ok(self)
    }

    /// Makes the statements until here independent of the following ones: a failure of one group leaves the other alone.
    pub fn sync(&mut self) -> &mut Self {
        frontend::sync(&mut self.connection.out);
        self.connection.steps.push(Step::Sync);
        self
    }

    /// Ends the batch. It leaves with the first read of its replies.
    ///
    /// # Errors
    /// When the connection is unusable.
    pub fn send(mut self) -> Result<Replies<'c>, Fault> {
        if self.connection.steps.last() != Some(&Step::Sync) {
            self.sync();
        }
        self.connection.begin()?;
        Ok(Replies::new(self.connection))
    }
}

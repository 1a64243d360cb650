//! COPY TO STDOUT: a table or a result in bulk.

use crate::backend::{self, Message};
use crate::connection::Connection;
use crate::fault::Fault;
use crate::replies::CommandTag;

const TO: &str = "COPY TO STDOUT";

/// Data under way out of a table. Dropped before its end, it leaves the connection unusable.
#[must_use = "the connection is unusable until all data was read"]
pub struct CopyOut<'c> {
    connection: &'c mut Connection,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Data,
    /// The data has ended.
    Tail,
    /// The answer has ended, with its number of rows.
    Over(u64),
}

impl Connection {
    /// Begins a `COPY ... TO STDOUT`, in text or binary form as the SQL says.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn copy_out(&mut self, sql: &str) -> Result<CopyOut<'_>, Fault> {
        self.begin_copy(sql)?;
        let arrival = self.message().await?;
        match self.read(&arrival)? {
            Message::CopyOut => Ok(CopyOut { connection: self, phase: Phase::Data }),
            _ => Err(self.copy_failed(arrival, TO).await),
        }
    }
}

impl CopyOut<'_> {
    /// The next piece, a row in most forms; `None` after the last one, when the connection can be used on.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, Fault> {
        loop {
            if matches!(self.phase, Phase::Over(_)) {
                return Ok(None);
            }
            let arrival = self.connection.message().await?;
            match (self.connection.read(&arrival)?, self.phase) {
                (Message::CopyData(_), Phase::Data) => {
                    return Ok(Some(backend::body(self.connection.inbox.bytes(&arrival.1))));
                }
                (Message::CopyDone, Phase::Data) => self.phase = Phase::Tail,
                (Message::Complete(tag), Phase::Tail) => {
                    let rows = CommandTag(tag).rows();
                    self.connection.ready(TO).await?;
                    self.phase = Phase::Over(rows);
                }
                _ => {
                    self.phase = Phase::Over(0);
                    return Err(self.connection.copy_failed(arrival, TO).await);
                }
            }
        }
    }

    /// Reads to the end and drops the rest; how many rows there were.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn finish(mut self) -> Result<u64, Fault> {
        while self.next().await?.is_some() {}
        match self.phase {
            Phase::Over(rows) => Ok(rows),
            Phase::Data | Phase::Tail => Ok(0),
        }
    }
}

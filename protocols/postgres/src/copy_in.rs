//! COPY FROM STDIN: rows in bulk.

use std::future::poll_fn;
use std::task::Poll;

use crate::backend::Message;
use crate::connection::{BufferedMessage, Connection, order};
use crate::diagnostic::Diagnostic;
use crate::fault::{CallError, Fault};
use crate::frontend;
use crate::replies::CommandTag;
use crate::statement::no_zero;

/// Bytes gathered before they are sent.
const SENT_AT: usize = 64 * 1024;

const TO: &str = "COPY FROM STDIN";

/// Data under way into a table. Dropped before [`CopyIn::finish`], it leaves the connection unusable, and no row is
/// kept.
#[must_use = "no row is kept before `finish`"]
pub struct CopyIn<'c> {
    connection: &'c mut Connection,
    /// The server has refused a row.
    refused: bool,
}

impl Connection {
    /// Begins a `COPY ... FROM STDIN`, in text or binary form as the SQL says.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn copy_in(&mut self, sql: &str) -> Result<CopyIn<'_>, Fault> {
        self.begin_copy(sql)?;
        let arrival = self.message().await?;
        match self.read(&arrival)? {
            Message::CopyIn => {}
            _ => return Err(self.copy_failed(arrival, TO).await),
        }
        self.clear();
        Ok(CopyIn { connection: self, refused: false })
    }

    pub(crate) fn begin_copy(&mut self, sql: &str) -> Result<(), Fault> {
        no_zero(sql)?;
        self.clear();
        frontend::query(&mut self.out, sql);
        self.begin()
    }

    /// What an unexpected message of a copy means. After an error it reads to the end of the answer, and sends all of a
    /// message that has begun: the server skips it.
    pub(crate) async fn copy_failed(&mut self, arrival: BufferedMessage, to: &'static str) -> Fault {
        poll_fn(|cx| self.poll_send(cx)).await;
        let said = match self.read(&arrival) {
            Ok(Message::Error(body)) => Diagnostic::read(b'E', body),
            Ok(_) => return order(&arrival, to),
            Err(fault) => return fault,
        };
        match said {
            Ok(said) => self.ready(to).await.err().unwrap_or(Fault::Server(said)),
            Err(flaw) => flaw.into(),
        }
    }
}

impl CopyIn<'_> {
    /// Adds data; pieces may end anywhere. Waits while the server takes no more.
    ///
    /// # Errors
    /// [`Fault::Server`] where the server refuses a row: the copy is over, and the connection can be used on.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), Fault> {
        self.begun()?;
        for piece in data.chunks(SENT_AT) {
            frontend::copy_data(&mut self.connection.out, piece);
            if self.connection.out.len() >= SENT_AT {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Ends the data; how many rows the table has taken.
    ///
    /// # Errors
    /// [`Fault::Server`] where the server refuses a row or the end.
    pub async fn finish(mut self) -> Result<u64, Fault> {
        self.begun()?;
        frontend::copy_done(&mut self.connection.out);
        self.complete().await
    }

    /// Gives the copy up, with a reason for the server's log; the connection can be used on.
    ///
    /// # Errors
    /// What broke the connection.
    pub async fn abort(mut self, why: &str) -> Result<(), Fault> {
        self.begun()?;
        frontend::copy_fail(&mut self.connection.out, &why.replace('\0', " "));
        match self.complete().await {
            Ok(_) | Err(Fault::Server(_)) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    fn begun(&self) -> Result<(), Fault> {
        if self.refused { Err(CallError::Copy.into()) } else { Ok(()) }
    }

    async fn complete(&mut self) -> Result<u64, Fault> {
        let connection = &mut *self.connection;
        connection.send();
        let arrival = connection.message().await?;
        let Message::Complete(tag) = connection.read(&arrival)? else {
            return Err(connection.copy_failed(arrival, TO).await);
        };
        let rows = CommandTag(tag).rows();
        connection.ready(TO).await?;
        Ok(rows)
    }

    /// Sends what was gathered. A server that takes no more may have refused a row.
    async fn flush(&mut self) -> Result<(), Fault> {
        let connection = &mut *self.connection;
        connection.send();
        let early = poll_fn(|cx| match connection.poll_send(cx) {
            Poll::Ready(()) if !connection.is_cut() => Poll::Ready(Ok(None)),
            _ => connection.poll_message(cx).map_ok(Some),
        });
        if let Some(arrival) = early.await? {
            self.refused = true;
            return Err(connection.copy_failed(arrival, TO).await);
        }
        connection.out.clear();
        Ok(())
    }
}

//! LOAD DATA LOCAL INFILE: rows in bulk. The rows come from the caller, and no file is read.

use std::future::poll_fn;
use std::task::Poll;

use crate::answer::{self, Done};
use crate::connection::{Connection, order};
use crate::fault::Fault;

/// Bytes gathered before they are sent.
const SENT_AT: usize = 64 * 1024;

/// Command code.
const QUERY: u8 = 0x03;

const TO: &str = "LOAD DATA LOCAL INFILE";

/// Rows under way into a table. Dropped before [`LoadData::finish`], it leaves the connection unusable, and a table of
/// InnoDB keeps no row.
#[must_use = "no row is kept before `finish`"]
pub struct LoadData<'c> {
    connection: &'c mut Connection,
    /// The server has ended the statement.
    ended: bool,
}

impl Connection {
    /// Begins a `LOAD DATA LOCAL INFILE 'name' INTO TABLE ...`; the name of the file means nothing.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn load_data(&mut self, sql: &str) -> Result<LoadData<'_>, Fault> {
        self.call(QUERY, sql.as_bytes())?;
        let place = self.message().await?;
        let body = self.inbox.bytes(&place);
        if body[0] != answer::FILE {
            return Err(order(body, TO));
        }
        self.out.clear();
        Ok(LoadData { connection: self, ended: false })
    }
}

impl LoadData<'_> {
    /// Adds data in the form that the SQL says; pieces may end anywhere. Waits while the server takes no more.
    ///
    /// # Errors
    /// What broke the connection. [`LoadData::finish`] returns the error of a refused row.
    pub async fn write(&mut self, data: &[u8]) -> Result<(), Fault> {
        for piece in data.chunks(SENT_AT) {
            if self.ended {
                return Err(Fault::Unusable);
            }
            self.connection.put(|out| out.extend_from_slice(piece));
            if self.connection.out.len() >= SENT_AT {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// Ends the data; the rows that the table has taken, and warnings. With LOCAL the server skips rows with a key that is
    /// there already and changes values that do not fit: each is a warning.
    ///
    /// # Errors
    /// [`Fault::Server`] where the server refuses a row.
    pub async fn finish(self) -> Result<Done, Fault> {
        if self.ended {
            return Err(Fault::Unusable);
        }
        let connection = self.connection;
        connection.put(|_| ());
        connection.send();
        let place = connection.message().await?;
        let body = connection.inbox.bytes(&place);
        if body[0] != answer::OK {
            return Err(order(body, TO));
        }
        let (done, status) = answer::ok(body)?;
        connection.status = status;
        connection.end();
        Ok(done)
    }

    /// Sends what was gathered. A server that speaks before the end of the data does not read the rest.
    async fn flush(&mut self) -> Result<(), Fault> {
        let connection = &mut *self.connection;
        connection.send();
        let early = poll_fn(|cx| match connection.poll_send(cx) {
            Poll::Ready(()) if !connection.is_cut() => Poll::Ready(None),
            _ => connection.poll_message(cx).map(Some),
        });
        let Some(early) = early.await else {
            connection.out.clear();
            return Ok(());
        };
        self.ended = true;
        connection.busy = true;
        Err(match early {
            Ok(place) => order(connection.inbox.bytes(&place), TO),
            Err(Fault::Server(said)) => Fault::Ended(said),
            Err(fault) => fault,
        })
    }
}

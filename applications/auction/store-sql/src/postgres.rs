//! A connection to PostgreSQL. Statements are prepared once per connection, and those of one call are in flight together.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use bytes::{BufMut, BytesMut};
use futures::future::{MaybeDone, maybe_done};
use futures::{SinkExt, StreamExt};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls};

use crate::fault::{Fault, StoreMessage};
use crate::link::OPEN_SECONDS;
use crate::sheet::{Cell, Sheet};
use crate::text::{Flavour, PlaceholderStyle, translate};
use crate::value::{Answer, Row, Statement, Value};

/// The name of the store in errors.
pub(crate) const STORE: &str = "PostgreSQL";

/// Prepared statements kept by a connection. The crate has about seventy; filters of lists make the rest.
const PREPARED: usize = 256;

/// Bytes of COPY data sent together: enough to keep the server busy, few enough for both ends' memory.
const COPY_PIECE: usize = 256 * 1024;

/// One connection.
pub(crate) struct Link {
    client: Client,
    prepared: HashMap<Cow<'static, str>, tokio_postgres::Statement>,
}

/// Parses an address. The error does not show it, since it may hold a password.
pub(crate) fn read_url(url: &str) -> Result<Config, StoreMessage> {
    let mut config: Config = url
        .parse()
        .map_err(|_| StoreMessage("the address is not a postgres:// URL that can be read".to_owned()))?;
    config.application_name("barograph");
    Ok(config)
}

impl Link {
    pub(crate) async fn connect(config: &Config) -> Result<Self, Fault> {
        let (client, connection) = config.connect(NoTls).await.map_err(sort)?;
        // Ends when the client is dropped or the server is gone; errors reach the client as well.
        tokio::spawn(async move { drop(connection.await) });
        let greeting = format!("SET idle_in_transaction_session_timeout = '{}s'", OPEN_SECONDS);
        client.batch_execute(&greeting).await.map_err(sort)?;
        Ok(Link { client, prepared: HashMap::new() })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs statements in their order, all sent before the first answer. After an error the server skips the
    /// rest of an open transaction, and a commit undoes it.
    pub(crate) async fn run(&mut self, statements: &[&Statement]) -> Result<Vec<Answer>, Fault> {
        let mut prepared = Vec::with_capacity(statements.len());
        for statement in statements {
            prepared.push(self.prepare(statement).await?);
        }
        if let ([one], [statement]) = (prepared.as_slice(), statements) {
            return Ok(vec![ask(&self.client, one, &statement.values).await?]);
        }
        let asked = prepared.iter().zip(statements);
        together(asked.map(|(prepared, statement)| ask(&self.client, prepared, &statement.values))).await
    }

    async fn prepare(&mut self, statement: &Statement) -> Result<tokio_postgres::Statement, Fault> {
        let marks = (Flavour::Postgres, PlaceholderStyle::Numbered);
        if let Some(found) = self.prepared.get(statement.sql.as_ref()) {
            return Ok(found.clone());
        }
        let sql = translate(&statement.sql, &statement.values, marks);
        let made = self.client.prepare(&sql).await.map_err(sort)?;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(statement.sql.clone(), made.clone());
        Ok(made)
    }

    /// Runs statements without values, separated by semicolons.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), Fault> {
        let sql = translate(sql, &[], (Flavour::Postgres, PlaceholderStyle::Numbered));
        self.client.batch_execute(&sql).await.map_err(sort)
    }

    /// Loads rows of a table by COPY.
    pub(crate) async fn load<S: Sheet>(&mut self, rows: &[S]) -> Result<(), Fault> {
        let copy = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", S::TABLE, S::COLUMNS.join(", "));
        let mut sink = pin!(self.client.copy_in(&copy).await.map_err(sort)?);
        let mut piece = BytesMut::with_capacity(COPY_PIECE);
        // Signature, flags and the length of the extension, zero.
        piece.put_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
        for row in rows {
            put_row(&mut piece, &row.cells(Flavour::Postgres))?;
            if piece.len() >= COPY_PIECE {
                sink.send(piece.split().freeze()).await.map_err(sort)?;
            }
        }
        piece.put_i16(-1);
        sink.send(piece.freeze()).await.map_err(sort)?;
        sink.finish().await.map_err(sort)?;
        Ok(())
    }
}

fn put_row(out: &mut BytesMut, cells: &[Cell<'_>]) -> Result<(), Fault> {
    let too_long = |_| Fault::Refused(Box::new(StoreMessage("a row is too long".to_owned())));
    out.put_i16(i16::try_from(cells.len()).map_err(too_long)?);
    for cell in cells {
        match cell {
            Cell::Null => out.put_i32(-1),
            Cell::Int(number) => {
                out.put_i32(8);
                out.put_i64(*number);
            }
            Cell::Text(text) => {
                out.put_i32(i32::try_from(text.len()).map_err(too_long)?);
                out.put_slice(text.as_bytes());
            }
        }
    }
    Ok(())
}

/// Waits for all, polled in their order; returns the first error.
async fn together<F: Future<Output = Result<Answer, Fault>>>(
    asked: impl Iterator<Item = F>,
) -> Result<Vec<Answer>, Fault> {
    let mut asked: Vec<_> = asked.map(|future| Box::pin(maybe_done(future))).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for one in &mut asked {
            // A request is sent when it is first polled, so this loop determines the order.
            waiting |= one.as_mut().poll(context).is_pending();
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    asked.iter_mut().filter_map(|one| MaybeDone::take_output(one.as_mut())).collect()
}

async fn ask(
    client: &Client,
    statement: &tokio_postgres::Statement,
    values: &[Value],
) -> Result<Answer, Fault> {
    let given: Vec<&(dyn ToSql + Sync)> = values.iter().flat_map(parameters).collect();
    let mut stream = pin!(client.query_raw(statement, given).await.map_err(sort)?);
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await {
        rows.push(Row::Postgres(row.map_err(sort)?));
    }
    Ok(Answer { rows, found: stream.rows_affected().unwrap_or(0) })
}

/// The parameters of a value: one, or one for each of its columns.
fn parameters(value: &Value) -> Vec<&(dyn ToSql + Sync)> {
    match value {
        Value::Columns(columns) => columns.iter().map(|column| column as &(dyn ToSql + Sync)).collect(),
        one => vec![one],
    }
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Ints(numbers) => numbers.to_sql(kind, out),
            Value::Null | Value::Columns(_) => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords and tokens are among the values.
        f.write_str("a value")
    }
}

fn sort(error: tokio_postgres::Error) -> Fault {
    let Some(code) = error.code() else { return Fault::Lost(Box::new(error)) };
    let class = code.code().get(..2).unwrap_or_default();
    if *code == SqlState::UNIQUE_VIOLATION {
        Fault::Conflict
    } else if class == "40" || *code == SqlState::LOCK_NOT_AVAILABLE {
        Fault::Again(Box::new(error))
    // Connections, lack of resources, operators, and the system: an operator repairs them while the
    // application waits.
    } else if matches!(class, "08" | "53" | "57" | "58")
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
    {
        Fault::Lost(Box::new(error))
    } else {
        Fault::Refused(Box::new(error))
    }
}

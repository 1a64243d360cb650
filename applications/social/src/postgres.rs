//! A session of PostgreSQL.

use std::collections::HashMap;
use std::fmt::Write as _;

use bytes::BytesMut;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls};

use crate::sessions::{Fault, PREPARED, lost};
use crate::store::{Changed, Row, Statement, Value};

/// Bytes of a statement that is kept prepared; longer ones are those of the fill, which come once.
const LONGEST_KEPT: usize = 2_000;

/// The settings of an address; `None` for one that cannot be read.
pub(crate) fn config(url: &str) -> Option<Config> {
    let config: Config = url.parse().ok()?;
    (!config.get_hosts().is_empty()).then_some(config)
}

/// The session.
pub(crate) struct PostgresSession {
    client: Client,
    prepared: HashMap<String, tokio_postgres::Statement>,
}

impl PostgresSession {
    pub(crate) async fn connect(config: &Config) -> Result<Self, Fault> {
        let (client, connection) = config.connect(NoTls).await.map_err(sort)?;
        // It ends with the client, which sees its error.
        tokio::spawn(async move { drop(connection.await) });
        Ok(PostgresSession { client, prepared: HashMap::new() })
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.client.is_closed()
    }

    async fn prepare(&mut self, sql: &str) -> Result<tokio_postgres::Statement, Fault> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(&numbered(sql)).await.map_err(sort)?;
        if sql.len() <= LONGEST_KEPT && self.prepared.len() < PREPARED {
            self.prepared.insert(sql.to_owned(), statement.clone());
        }
        Ok(statement)
    }

    pub(crate) async fn read(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        let rows = self.client.query(&statement, &parameters(values)).await.map_err(sort)?;
        rows.iter().map(row).collect()
    }

    pub(crate) async fn change(&mut self, statements: &[Statement]) -> Result<Changed, Fault> {
        let is_one = statements.len() == 1;
        if !is_one {
            self.client.batch_execute("BEGIN").await.map_err(sort)?;
        }
        let mut changed = Changed::default();
        for Statement { sql, values } in statements {
            let values: Vec<Value> = values.iter().map(|value| value.with(changed.new)).collect();
            let statement = self.prepare(sql).await?;
            if statement.columns().is_empty() {
                changed.rows = self.client.execute(&statement, &parameters(&values)).await.map_err(sort)?;
            } else {
                let found = self.read(sql, &values).await?;
                changed =
                    Changed { new: found.first().map_or(0, |row| row.int(0)), rows: found.len() as u64 };
            }
        }
        if !is_one {
            self.client.batch_execute("COMMIT").await.map_err(sort)?;
        }
        Ok(changed)
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), Fault> {
        self.client.batch_execute("ROLLBACK").await.map_err(sort)
    }
}

/// A statement with `$1`, `$2`, ... in the place of its marks.
fn numbered(sql: &str) -> String {
    let mut parts = sql.split('?');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for (number, part) in (1..).zip(parts) {
        // Writing to memory cannot fail.
        let _ = write!(out, "${number}{part}");
    }
    out
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Value::Int(number) if *kind == Type::INT4 => i32::try_from(*number)?.to_sql(kind, out),
            Value::Int(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::New => Ok(IsNull::Yes),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn row(row: &tokio_postgres::Row) -> Result<Row, Fault> {
    let values: Result<_, _> = (0..row.len()).map(|column| value(row, column)).collect();
    values.map(Row).map_err(sort)
}

fn value(row: &tokio_postgres::Row, column: usize) -> Result<Value, tokio_postgres::Error> {
    Ok(match *row.columns()[column].type_() {
        Type::INT8 => Value::Int(row.try_get::<_, Option<i64>>(column)?.unwrap_or(0)),
        Type::INT4 => Value::Int(row.try_get::<_, Option<i32>>(column)?.unwrap_or(0).into()),
        _ => Value::Text(row.try_get::<_, Option<String>>(column)?.unwrap_or_default()),
    })
}

fn sort(error: tokio_postgres::Error) -> Fault {
    let Some(code) = error.code() else { return lost(error) };
    if *code == SqlState::UNIQUE_VIOLATION {
        return Fault::Taken;
    }
    match code.code().get(..2) {
        Some("40") => Fault::Undone(error.into()),
        // Connections, lack of resources, and operators.
        Some("08" | "53" | "57") => lost(error),
        _ => Fault::Refused(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_numbered() {
        assert_eq!(numbered("SELECT 1"), "SELECT 1");
        assert_eq!(numbered("(?,?) LIMIT ?"), "($1,$2) LIMIT $3");
    }
}

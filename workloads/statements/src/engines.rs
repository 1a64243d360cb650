//! The statements of a file on engines: how values are bound, and how rows are read.

use barograph_database::sqlite::{self, Connection};
use barograph_database::{Reply, Transactions, Value};
use barograph_database_engines::{MariadbSession, PostgresSession, Query};
use barograph_mysql as mysql;
use barograph_postgres as postgres;

use crate::draw::room;
use crate::script::{MOST_PARAMETERS, Statement};

/// A connection to the database.
pub(crate) trait Session: Transactions {
    /// Executes a statement with the values of slots. The columns of its last row are kept. Returns the number of rows that it
    /// returned or changed.
    async fn execute(&mut self, statement: &Statement, values: &[Value], kept: &mut [Value]) -> Reply<u64>;
}

/// The number of a statement on a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered(usize);

impl Query for Numbered {
    /// Statements are those of the file.
    const ALL: &'static [(Self, &'static str)] = &[];

    fn number(self) -> usize {
        self.0
    }
}

impl Session for Connection {
    async fn execute(&mut self, statement: &Statement, values: &[Value], kept: &mut [Value]) -> Reply<u64> {
        let places = statement.sqlite.slots.iter().map(|slot| &values[*slot]);
        self.run(&statement.sqlite.sql, sqlite::params_from_iter(places), |row| {
            for (column, slot) in kept.iter_mut().enumerate() {
                match row.get::<_, Option<i64>>(column) {
                    Ok(number) => *slot = number.map_or(Value::Null, Value::Int),
                    Err(_) => room(slot).push_str(&row.get::<_, String>(column)?),
                }
            }
            Ok(())
        })
    }
}

impl Session for PostgresSession<Numbered> {
    async fn execute(&mut self, statement: &Statement, values: &[Value], kept: &mut [Value]) -> Reply<u64> {
        use postgres::{ColumnError, Param};
        let mut places = [Param::Null; MOST_PARAMETERS];
        for (place, slot) in places.iter_mut().zip(&statement.postgres.slots) {
            *place = match &values[*slot] {
                Value::Int(number) => Param::Int(*number),
                Value::Text(text) => Param::Text(text),
                Value::Null => Param::Null,
            };
        }
        let places = &places[..statement.postgres.slots.len()];
        self.call(Numbered(statement.number), places, |row| {
            for (column, slot) in kept.iter_mut().enumerate() {
                match row.get_optional::<i64>(column) {
                    Ok(number) => *slot = number.map_or(Value::Null, Value::Int),
                    Err(ColumnError::Kind { .. }) => match row.get_optional::<&str>(column)? {
                        Some(text) => room(slot).push_str(text),
                        None => *slot = Value::Null,
                    },
                    Err(why) => return Err(why.into()),
                }
            }
            Ok(())
        })
        .await
    }
}

impl Session for MariadbSession<Numbered> {
    async fn execute(&mut self, statement: &Statement, values: &[Value], kept: &mut [Value]) -> Reply<u64> {
        use mysql::{ColumnError, Param};
        let mut places = [Param::Null; MOST_PARAMETERS];
        for (place, slot) in places.iter_mut().zip(&statement.mariadb.slots) {
            *place = match &values[*slot] {
                Value::Int(number) => Param::Int(*number),
                Value::Text(text) => Param::Text(text),
                Value::Null => Param::Null,
            };
        }
        let places = &places[..statement.mariadb.slots.len()];
        self.call(Numbered(statement.number), places, |row| {
            for (column, slot) in kept.iter_mut().enumerate() {
                match row.get_optional::<i64>(column) {
                    Ok(number) => *slot = number.map_or(Value::Null, Value::Int),
                    Err(ColumnError::Kind { .. }) => match row.get_optional::<&str>(column)? {
                        Some(text) => room(slot).push_str(text),
                        None => *slot = Value::Null,
                    },
                    Err(why) => return Err(why.into()),
                }
            }
            Ok(())
        })
        .await
    }
}

//! The data checks on a database: each query in a session of its own.

use barograph_database::Database;
use barograph_mysql::{ColumnError, Target};

use super::MariadbError;
use super::admin::in_session;

/// A database that can be queried.
pub(super) struct Queries(pub(super) Target);

impl Database for Queries {
    type Error = MariadbError;

    fn rows(&mut self, sql: &str, take: &mut dyn FnMut(&[i64])) -> Result<(), MariadbError> {
        let name = self.0.address().database.clone();
        in_session(&self.0, ("check", &name), async |session| {
            let mut replies = session.query(sql)?;
            let mut numbers = Vec::new();
            while let Some(row) = replies.row().await? {
                numbers.clear();
                for column in 0..row.len() {
                    // The sum of no rows is null.
                    let text = row.get_optional::<&str>(column)?.unwrap_or("0");
                    let wrong = |_| ColumnError::Value { column, wanted: "whole number" };
                    numbers.push(text.parse().map_err(wrong)?);
                }
                take(&numbers);
            }
            replies.finish().await.map(drop)
        })
    }
}

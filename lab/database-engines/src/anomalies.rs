//! Anomalies of concurrent transactions: which of them an engine lets happen at an isolation level.
//!
//! Two sessions do the statements of an anomaly in a fixed order. A conflict ends the transaction of its session. An anomaly is
//! judged by the numbers that were read and by the commits that were acknowledged.

use barograph_database::{Reply, TransactionError};

/// A session whose statements are not those of a workload.
pub(crate) trait Asks {
    /// Runs a statement. Returns the number in the first column of its row, if any.
    async fn ask(&mut self, sql: &str) -> Reply<Option<i64>>;
}

/// The statement that makes the table.
pub(crate) const TABLE: &str = "CREATE TABLE probe (id INTEGER PRIMARY KEY, v INTEGER NOT NULL)";

/// An anomaly.
struct Anomaly {
    name: &'static str,
    /// Each with the index of its session.
    statements: &'static [(usize, &'static str)],
    /// Whether it was seen, by the numbers that were read and the number of acknowledged commits.
    is_seen: fn(&[i64], usize) -> bool,
}

const BEGIN: &str = "BEGIN";
const COMMIT: &str = "COMMIT";
const READ: &str = "SELECT v FROM probe WHERE id = 1";
const SUM: &str = "SELECT sum(v) FROM probe";
const COUNT: &str = "SELECT count(*) FROM probe WHERE v = 1";

/// All anomalies. Both rows begin with 1.
const ALL: [Anomaly; 5] = [
    Anomaly {
        name: "dirty read",
        statements: &[
            (1, BEGIN),
            (1, "UPDATE probe SET v = 9 WHERE id = 1"),
            (0, BEGIN),
            (0, READ),
            (1, "ROLLBACK"),
            (0, COMMIT),
        ],
        is_seen: |read, _| read == [9],
    },
    Anomaly {
        name: "non-repeatable read",
        statements: &[
            (0, BEGIN),
            (0, READ),
            (1, BEGIN),
            (1, "UPDATE probe SET v = 5 WHERE id = 1"),
            (1, COMMIT),
            (0, READ),
            (0, COMMIT),
        ],
        is_seen: |read, _| read == [1, 5],
    },
    Anomaly {
        name: "phantom",
        statements: &[
            (0, BEGIN),
            (0, COUNT),
            (1, BEGIN),
            (1, "INSERT INTO probe VALUES (3, 1)"),
            (1, COMMIT),
            (0, COUNT),
            (0, COMMIT),
        ],
        is_seen: |read, _| read == [2, 3],
    },
    // Both add 1 to the value that they have read.
    Anomaly {
        name: "lost update",
        statements: &[
            (0, BEGIN),
            (1, BEGIN),
            (0, READ),
            (1, READ),
            (0, "UPDATE probe SET v = 2 WHERE id = 1"),
            (0, COMMIT),
            (1, "UPDATE probe SET v = 2 WHERE id = 1"),
            (1, COMMIT),
        ],
        is_seen: |read, commits| read == [1, 1] && commits == 2,
    },
    // Each takes 1 away where the sum is 2, so that 1 stays.
    Anomaly {
        name: "write skew",
        statements: &[
            (0, BEGIN),
            (1, BEGIN),
            (0, SUM),
            (1, SUM),
            (0, "UPDATE probe SET v = 0 WHERE id = 1"),
            (1, "UPDATE probe SET v = 0 WHERE id = 2"),
            (0, COMMIT),
            (1, COMMIT),
        ],
        is_seen: |read, commits| read == [2, 2] && commits == 2,
    },
];

/// Whether each anomaly is seen, by its name.
///
/// # Errors
/// A statement that failed, and not by a conflict.
pub(crate) async fn seen<S: Asks>(
    sessions: &mut [S; 2],
) -> Result<Vec<(&'static str, bool)>, TransactionError> {
    let mut all = Vec::new();
    for Anomaly { name, statements, is_seen } in &ALL {
        for sql in [BEGIN, "DELETE FROM probe", "INSERT INTO probe VALUES (1, 1), (2, 1)", COMMIT] {
            sessions[0].ask(sql).await?;
        }
        let (mut read, mut commits, mut is_refused) = (Vec::new(), 0, [false; 2]);
        for (at, sql) in *statements {
            if is_refused[*at] {
                continue;
            }
            match sessions[*at].ask(sql).await {
                Ok(number) => {
                    read.extend(number);
                    commits += usize::from(*sql == COMMIT);
                }
                Err(TransactionError::Conflict(_)) => {
                    is_refused[*at] = true;
                    sessions[*at].ask("ROLLBACK").await?;
                }
                Err(failed) => return Err(failed),
            }
        }
        all.push((*name, is_seen(&read, commits)));
    }
    Ok(all)
}

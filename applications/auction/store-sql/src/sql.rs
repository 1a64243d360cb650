//! Execution of statements: reads, changes, and transactions in two steps, with their retries.
//!
//! A read that loses its connection is retried once on another one. A change is retried if the server undid
//! it in favour of another transaction, or if its connection was lost before a commit was sent. After a
//! commit was sent only the caller may decide.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use barograph_auction_store::{Initial, StoreDescription, StoreError};
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

use crate::fault::{AnswerTimeout, CommitProgress, Fault};
use crate::pool::{Lease, Pool};
use crate::text::Flavour;
use crate::value::{Answer, Row, Statement};

/// Time limit of the server for one exchange. None takes a second on a healthy one; a claim may wait for the
/// transactions before it.
const ANSWER_WAIT: Duration = Duration::from_secs(20);

/// Time limit of a server for a ping.
const PING_WAIT: Duration = Duration::from_secs(2);

/// Most tries of a change that is undone in favour of other transactions. Transactions here take their locks
/// in one order, so a second try is already rare.
const TRIES: u32 = 6;

/// Pause before the second try; doubled for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// The relational store in PostgreSQL, MariaDB or MySQL. Cheap to clone.
///
/// A node's number is remembered by the value through which it registered, and its clones: only they act for
/// that node.
#[derive(Clone)]
pub struct Sql {
    inner: Arc<SqlState>,
}

pub(crate) struct SqlState {
    pub(crate) pool: Arc<Pool>,
    pub(crate) flavour: Flavour,
    pub(crate) described: StoreDescription,
    pub(crate) initial: Initial,
    pub(crate) stamp: String,
    /// Numbers of the nodes registered here.
    pub(crate) enlisted: Mutex<HashMap<String, i64>>,
}

impl std::fmt::Debug for Sql {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sql").field("product", &self.inner.described.product).finish_non_exhaustive()
    }
}

impl Sql {
    pub(crate) fn new(inner: SqlState) -> Self {
        Sql { inner: Arc::new(inner) }
    }

    pub(crate) fn inner(&self) -> &SqlState {
        &self.inner
    }

    /// The name of the loaded data set, as given to [`barograph_auction_store::Loading::finish`].
    #[must_use]
    pub fn stamp(&self) -> &str {
        &self.inner.stamp
    }

    /// Contents after loading.
    #[must_use]
    pub fn initial(&self) -> Initial {
        self.inner.initial
    }

    /// Sends the smallest query, with a short time limit.
    pub(crate) async fn answers(&self) -> Result<(), StoreError> {
        let read = self.read("answer", Statement::plain("SELECT 1"));
        let silent = Fault::Lost(Box::new(AnswerTimeout { seconds: PING_WAIT.as_secs() }));
        match timeout(PING_WAIT, read).await {
            Ok(result) => result.map(drop),
            Err(_) => Err(self.error(silent, "answer", CommitProgress::Nothing)),
        }
    }

    /// Reads with one statement.
    pub(crate) async fn read(
        &self,
        what: &'static str,
        statement: Statement,
    ) -> Result<Vec<Row>, StoreError> {
        let mut answers = self.read_framed(what, &[&statement]).await?;
        Ok(answers.pop().map(|answer| answer.rows).unwrap_or_default())
    }

    /// Reads with several statements on the same state.
    pub(crate) async fn snapshot(
        &self,
        what: &'static str,
        statements: Vec<Statement>,
    ) -> Result<Vec<Answer>, StoreError> {
        let before: &[&'static str] = match self.inner.flavour {
            Flavour::Postgres => &["BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"],
            Flavour::MariaDb | Flavour::MySql => &[
                "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
            ],
        };
        let before: Vec<Statement> = before.iter().map(|sql| Statement::plain(sql)).collect();
        let end = Statement::plain("COMMIT");
        let all: Vec<&Statement> = before.iter().chain(&statements).chain([&end]).collect();
        let mut answers = self.read_framed(what, &all).await?;
        answers.pop();
        answers.drain(..before.len());
        Ok(answers)
    }

    async fn read_framed(
        &self,
        what: &'static str,
        statements: &[&Statement],
    ) -> Result<Vec<Answer>, StoreError> {
        let mut first = true;
        loop {
            let mut lease = self.lease().await?;
            match exchange(&mut lease, statements).await {
                Ok(answers) => {
                    lease.give_back();
                    return Ok(answers);
                }
                Err(fault) if first && fault.is_of_one_connection() => {
                    first = false;
                    lease.lose();
                }
                Err(fault) => {
                    settle(lease, &fault).await;
                    return Err(self.error(fault, what, CommitProgress::Nothing));
                }
            }
        }
    }

    /// Changes with fixed statements: one exchange with the server, one transaction.
    pub(crate) async fn change(
        &self,
        what: &'static str,
        statements: Vec<Statement>,
    ) -> Result<Vec<Answer>, StoreError> {
        let (begin, end) = (Statement::plain(BEGIN), Statement::plain("COMMIT"));
        let framed = statements.len() > 1;
        let all: Vec<&Statement> = if framed {
            [&begin].into_iter().chain(&statements).chain([&end]).collect()
        } else {
            statements.iter().collect()
        };
        let mut tries = Retries::new();
        loop {
            match self.change_once(&all).await {
                Ok(mut answers) => {
                    if framed {
                        answers.pop();
                        answers.remove(0);
                    }
                    return Ok(answers);
                }
                Err((fault, sent)) => {
                    tries.after(fault, sent).await.map_err(|fault| self.error(fault, what, sent))?
                }
            }
        }
    }

    async fn change_once(&self, statements: &[&Statement]) -> Result<Vec<Answer>, (Fault, CommitProgress)> {
        let mut lease = self.pooled().await?;
        match exchange(&mut lease, statements).await {
            Ok(answers) => {
                lease.give_back();
                Ok(answers)
            }
            Err(fault) => {
                settle(lease, &fault).await;
                Err((fault, CommitProgress::Commit))
            }
        }
    }

    /// Changes with statements that depend on rows read and locked first: two exchanges, one transaction.
    /// `decide` may be called several times; if it returns no statements, nothing is changed.
    pub(crate) async fn transact<T>(
        &self,
        what: &'static str,
        first: Vec<Statement>,
        decide: impl Fn(&[Answer]) -> Result<(Vec<Statement>, T), StoreError>,
    ) -> Result<T, StoreError> {
        let mut tries = Retries::new();
        loop {
            match self.transact_once(&first, &decide).await {
                Ok(decided) => return decided,
                Err((fault, sent)) => {
                    tries.after(fault, sent).await.map_err(|fault| self.error(fault, what, sent))?
                }
            }
        }
    }

    async fn transact_once<T>(
        &self,
        first: &[Statement],
        decide: impl Fn(&[Answer]) -> Result<(Vec<Statement>, T), StoreError>,
    ) -> Result<Result<T, StoreError>, (Fault, CommitProgress)> {
        let (begin, end) = (Statement::plain(BEGIN), Statement::plain("COMMIT"));
        let reads: Vec<&Statement> = [&begin].into_iter().chain(first).collect();
        let mut lease = self.pooled().await?;
        let answers = match exchange(&mut lease, &reads).await {
            Ok(answers) => answers,
            Err(fault) => {
                settle(lease, &fault).await;
                return Err((fault, CommitProgress::Nothing));
            }
        };
        let (then, value) = match decide(answers.get(1..).unwrap_or_default()) {
            Ok(decided) => decided,
            Err(error) => {
                roll_back(lease).await;
                return Ok(Err(error));
            }
        };
        let writes: Vec<&Statement> = then.iter().chain([&end]).collect();
        match exchange(&mut lease, &writes).await {
            Ok(_) => {
                lease.give_back();
                Ok(Ok(value))
            }
            Err(fault) => {
                settle(lease, &fault).await;
                Err((fault, CommitProgress::Commit))
            }
        }
    }

    async fn pooled(&self) -> Result<Lease, (Fault, CommitProgress)> {
        self.inner.pool.take().await.map_err(|fault| (fault, CommitProgress::Nothing))
    }

    async fn lease(&self) -> Result<Lease, StoreError> {
        self.inner.pool.take().await.map_err(|fault| self.error(fault, "connect", CommitProgress::Nothing))
    }

    fn error(&self, fault: Fault, what: &'static str, sent: CommitProgress) -> StoreError {
        fault.into_error(self.inner.pool.store(), what, sent)
    }
}

/// Remaining tries of a change.
struct Retries {
    left: u32,
    pause: Duration,
    reconnected: bool,
}

impl Retries {
    fn new() -> Self {
        Retries { left: TRIES, pause: FIRST_PAUSE, reconnected: false }
    }

    /// Returns if the change is to be tried again; otherwise fails with the fault.
    async fn after(&mut self, fault: Fault, sent: CommitProgress) -> Result<(), Fault> {
        self.left = self.left.saturating_sub(1);
        match (fault, sent) {
            (Fault::Again(_), _) if self.left > 0 => {
                sleep(self.pause).await;
                self.pause *= 2;
                Ok(())
            }
            // The idle connection most likely outlived the server: one more try on a new one.
            (fault, CommitProgress::Nothing) if !self.reconnected && fault.is_of_one_connection() => {
                self.reconnected = true;
                Ok(())
            }
            (fault, _) => Err(fault),
        }
    }
}

/// Begin of a transaction. PostgreSQL reads committed data by default, and connections to MariaDB are set to
/// do so.
const BEGIN: &str = "BEGIN";

/// Runs statements and returns their answers, within the time limit.
pub(crate) async fn exchange(lease: &mut Lease, statements: &[&Statement]) -> Result<Vec<Answer>, Fault> {
    let link = lease.link()?;
    bounded(link.run(statements)).await
}

async fn bounded<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    timeout(ANSWER_WAIT, work)
        .await
        .unwrap_or_else(|_| Err(Fault::Lost(Box::new(AnswerTimeout { seconds: ANSWER_WAIT.as_secs() }))))
}

/// Handles a connection after a fault.
async fn settle(lease: Lease, fault: &Fault) {
    match fault {
        Fault::Lost(_) => lease.lose(),
        Fault::Conflict | Fault::Again(_) | Fault::Refused(_) | Fault::Full => roll_back(lease).await,
    }
}

/// Rolls an open transaction back. A connection on which that fails is not used again.
async fn roll_back(mut lease: Lease) {
    let statement = Statement::plain("ROLLBACK");
    if exchange(&mut lease, &[&statement]).await.is_ok() {
        lease.give_back();
    }
}

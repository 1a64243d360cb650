//! The sessions of users on MariaDB, with the statements of a workload.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::{Access, Conflict, Reply, TransactionError, Transactions};
use barograph_engine::OpContext;
use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use barograph_mysql::{Client, Connection, ErrorCode, Fault, Param, Reply as Piece, Row, Statement, Target};

use super::Mariadb;
use crate::product::Product as _;
use crate::{DatabaseSettings, Query, ServerError, Sessions};

/// A row was changed after the snapshot of the transaction: from MariaDB 11.6 on, and before with
/// `innodb_snapshot_isolation`.
const OUTDATED: ErrorCode = ErrorCode(1020);

/// The statements at the end of a transaction, before those of a workload.
const FRAME: [&str; 2] = ["COMMIT", "ROLLBACK"];

/// Their places.
const COMMIT: usize = 0;
const ROLL_BACK: usize = 1;

/// Opens the sessions of one worker.
pub struct MariadbSessions<Q> {
    client: Client,
    setup: Arc<str>,
    /// SQL of the statements of the workload.
    list: Vec<String>,
    _statements: PhantomData<Q>,
}

impl<Q: Query> MariadbSessions<Q> {
    /// Sessions that begin with the SQL `setup`.
    #[must_use]
    pub fn new(target: &Target, setup: &Arc<str>) -> Self {
        let (client, setup, list) = (Client::new(target), Arc::clone(setup), crate::query::texts::<Q>());
        MariadbSessions { client, setup, list, _statements: PhantomData }
    }

    /// Sessions with other statements.
    #[must_use]
    pub fn with_statements(self, list: Vec<String>) -> Self {
        MariadbSessions { list, ..self }
    }

    /// Looks a database up. The result makes its sessions on any thread. Blocks.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn of(
        url: &str,
        settings: &DatabaseSettings,
    ) -> Result<impl Fn() -> Self + Clone + Send + use<Q>, ServerError> {
        let target = Mariadb::resolve(url).map_err(ServerError::Unreachable)?;
        let setup: Arc<str> = Mariadb::setup(settings).into();
        Ok(move || Self::new(&target, &setup))
    }

    async fn begin(&self, number: u32) -> Result<MariadbSession<Q>, Fault> {
        let mut connection = self.client.connect(number).await?;
        connection.query(&self.setup)?.finish().await?;
        let mut statements = Vec::with_capacity(FRAME.len() + self.list.len());
        for sql in FRAME.into_iter().chain(self.list.iter().map(String::as_str)) {
            statements.push(connection.prepare(sql).await?);
        }
        let (state, _statements) = (State::Idle, PhantomData);
        Ok(MariadbSession { connection, statements, sent: 0, state, is_broken: false, _statements })
    }
}

impl<Q: Query> Sessions for MariadbSessions<Q> {
    type Session = MariadbSession<Q>;

    async fn open(&self, number: u32) -> Result<MariadbSession<Q>, (Outcome, String)> {
        self.begin(number).await.map_err(|fault| (fault.outcome(), in_one_line(&fault)))
    }
}

/// The state of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// None is open.
    Idle,
    /// The next statement opens one.
    Begun,
    /// One is open.
    Open,
}

/// A session with its prepared statements.
pub struct MariadbSession<Q> {
    connection: Connection,
    statements: Vec<Statement>,
    /// Statements since the last call of `take_statements`.
    sent: u64,
    state: State,
    /// The connection has failed: the server rolls back.
    is_broken: bool,
    _statements: PhantomData<Q>,
}

impl<Q: Query> MariadbSession<Q> {
    /// Executes a statement and reads its rows. Returns the number of rows that it found or returned. Outside of a transaction a
    /// commit follows.
    ///
    /// # Errors
    /// A conflict or a failure.
    pub async fn call(
        &mut self,
        sql: Q,
        values: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<u64> {
        let is_alone = self.state == State::Idle;
        self.state = State::Open;
        let rows = self.execute(FRAME.len() + sql.number(), values, read).await?;
        if is_alone {
            self.commit().await?;
        }
        Ok(rows)
    }

    /// Calls a procedure, which does a whole transaction with its end, and reads its rows.
    ///
    /// # Errors
    /// As [`Self::call`]; the transaction is open.
    pub async fn call_procedure(
        &mut self,
        sql: Q,
        values: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<()> {
        self.state = State::Open;
        self.execute(FRAME.len() + sql.number(), values, read).await?;
        self.state = State::Idle;
        Ok(())
    }

    async fn execute(
        &mut self,
        place: usize,
        values: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<u64> {
        self.sent += 1;
        let answer = async {
            let mut replies = self.connection.start(self.statements[place], values)?;
            let (mut rows, mut wrong) = (0, None);
            while let Some(piece) = replies.next().await? {
                match piece {
                    Piece::Row(row) => wrong = wrong.or(read(&row).err()),
                    Piece::Done(done) => rows = done.rows,
                }
            }
            wrong.map_or(Ok(rows), Err)
        };
        answer.await.map_err(|fault| self.trouble(&fault))
    }

    /// The error of a transaction for one of the client.
    fn trouble(&mut self, fault: &Fault) -> TransactionError {
        self.is_broken = !matches!(fault, Fault::Server(_) | Fault::Call(_) | Fault::Column(_));
        trouble(fault)
    }

    /// Changes exactly one row.
    ///
    /// # Errors
    /// As [`Self::call`]; `what` is missing.
    pub async fn change_one(&mut self, sql: Q, values: &[Param<'_>], what: &str) -> Reply<()> {
        self.change(sql, values, (1, what)).await
    }

    /// Changes or inserts exactly this number of rows.
    ///
    /// # Errors
    /// As [`Self::call`]; `what` is missing.
    pub async fn change(&mut self, sql: Q, values: &[Param<'_>], (rows, what): (usize, &str)) -> Reply<()> {
        let changed = self.call(sql, values, |_| Ok(())).await?;
        if changed == rows as u64 { Ok(()) } else { Err(TransactionError::missing(what)) }
    }

    /// The number in the first column of the last row, if any.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn optional(&mut self, sql: Q, values: &[Param<'_>]) -> Reply<Option<i64>> {
        let mut number = None;
        let read = |row: &Row<'_>| {
            number = Some(row.get(0)?);
            Ok(())
        };
        self.call(sql, values, read).await?;
        Ok(number)
    }

    /// The number in the first column of the one row.
    ///
    /// # Errors
    /// As [`Self::change_one`].
    pub async fn number(&mut self, sql: Q, values: &[Param<'_>], what: &str) -> Reply<i64> {
        self.optional(sql, values).await?.ok_or_else(|| TransactionError::missing(what))
    }

    /// Reads rows, and counts them.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn count(&mut self, sql: Q, values: &[Param<'_>]) -> Reply<i64> {
        Ok(self.call(sql, values, |_| Ok(())).await? as i64)
    }

    /// Appends the text in the first column of the one row.
    ///
    /// # Errors
    /// As [`Self::change_one`].
    pub async fn text(
        &mut self,
        sql: Q,
        values: &[Param<'_>],
        (text, what): (&mut String, &str),
    ) -> Reply<()> {
        let read = |row: &Row<'_>| {
            text.push_str(row.get(0)?);
            Ok(())
        };
        if self.call(sql, values, read).await? == 1 { Ok(()) } else { Err(TransactionError::missing(what)) }
    }
}

impl<Q: Query> Transactions for MariadbSession<Q> {
    fn take_statements(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    /// A transaction begins with its first statement.
    async fn begin(&mut self, _: Access, _: &mut OpContext) -> Reply<()> {
        self.state = State::Begun;
        Ok(())
    }

    async fn commit(&mut self) -> Reply<()> {
        self.execute(COMMIT, &[], |_| Ok(())).await?;
        self.state = State::Idle;
        Ok(())
    }

    async fn roll_back(&mut self) -> Reply<()> {
        if self.state == State::Open && !self.is_broken {
            self.execute(ROLL_BACK, &[], |_| Ok(())).await?;
        }
        self.state = State::Idle;
        Ok(())
    }
}

/// The error of a transaction for one of the client.
pub(super) fn trouble(fault: &Fault) -> TransactionError {
    let code = if let Fault::Server(said) = fault { Some(said.code()) } else { None };
    match code {
        Some(ErrorCode::DEADLOCK | ErrorCode::NO_AUTO_INCREMENT) => {
            TransactionError::Conflict(Conflict::Deadlock)
        }
        Some(ErrorCode::LOCK_WAIT_TIMEOUT) => TransactionError::Conflict(Conflict::Busy),
        Some(OUTDATED) => TransactionError::Conflict(Conflict::Snapshot),
        _ => TransactionError::Failed { outcome: fault.outcome(), why: in_one_line(fault) },
    }
}

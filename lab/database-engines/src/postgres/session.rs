//! The sessions of users on PostgreSQL, with the statements of a workload.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::{Access, Conflict, Reply, TransactionError, Transactions};
use barograph_engine::OpContext;
use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use barograph_postgres::{
    Client, Connection, Fault, Param, Reply as Piece, Row, SqlState, Statement, Target, Transaction,
};

use super::Postgres;
use crate::product::Product as _;
use crate::{DatabaseSettings, Query, ServerError, Sessions};

/// The statements around those of a workload.
#[derive(Clone, Copy, Debug)]
enum Frame {
    BeginRead,
    BeginWrite,
    Commit,
    RollBack,
}

/// Their SQL.
const FRAME: [&str; 4] = ["BEGIN READ ONLY", "BEGIN", "COMMIT", "ROLLBACK"];

/// Opens the sessions of one worker.
pub struct PostgresSessions<Q> {
    client: Client,
    setup: Arc<str>,
    /// SQL of the statements of the workload.
    list: Vec<String>,
    _statements: PhantomData<Q>,
}

impl<Q: Query> PostgresSessions<Q> {
    /// Sessions that begin with the SQL `setup`.
    #[must_use]
    pub fn new(target: &Target, setup: &Arc<str>) -> Self {
        let (client, setup, list) = (Client::new(target), Arc::clone(setup), crate::query::texts::<Q>());
        PostgresSessions { client, setup, list, _statements: PhantomData }
    }

    /// Sessions with other statements.
    #[must_use]
    pub fn with_statements(self, list: Vec<String>) -> Self {
        PostgresSessions { list, ..self }
    }

    /// Looks a database up. The result makes its sessions on any thread. Blocks.
    ///
    /// # Errors
    /// A server that does not answer.
    pub fn of(
        url: &str,
        settings: &DatabaseSettings,
    ) -> Result<impl Fn() -> Self + Clone + Send + use<Q>, ServerError> {
        let target = Postgres::resolve(url).map_err(ServerError::Unreachable)?;
        let setup: Arc<str> = Postgres::setup(settings).into();
        Ok(move || Self::new(&target, &setup))
    }

    async fn begin(&self, number: u32) -> Result<PostgresSession<Q>, Fault> {
        let mut connection = self.client.connect(number).await?;
        connection.query(&self.setup)?.finish().await?;
        let list: Vec<&str> = FRAME.into_iter().chain(self.list.iter().map(String::as_str)).collect();
        let statements = connection.prepare_all(&list).await?;
        let _statements = PhantomData;
        Ok(PostgresSession { connection, statements, sent: 0, begin: None, is_broken: false, _statements })
    }
}

impl<Q: Query> Sessions for PostgresSessions<Q> {
    type Session = PostgresSession<Q>;

    async fn open(&self, number: u32) -> Result<PostgresSession<Q>, (Outcome, String)> {
        self.begin(number).await.map_err(|fault| (fault.outcome(), in_one_line(&fault)))
    }
}

/// A session with its prepared statements.
pub struct PostgresSession<Q> {
    connection: Connection,
    statements: Vec<Statement>,
    /// Statements since the last call of `take_statements`.
    sent: u64,
    /// The beginning of a transaction, which is sent with its first statement.
    begin: Option<Frame>,
    /// The connection has failed: the server rolls back.
    is_broken: bool,
    _statements: PhantomData<Q>,
}

impl<Q: Query> PostgresSession<Q> {
    /// Executes a statement and reads its rows. Returns the number of rows that it changed or returned.
    ///
    /// # Errors
    /// [`Fault`].
    pub async fn execute(
        &mut self,
        sql: Q,
        values: &[Param<'_>],
        mut read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Result<u64, Fault> {
        let mut batch = self.connection.batch();
        if let Some(begin) = self.begin.take() {
            batch.execute(self.statements[begin as usize], &[])?;
            self.sent += 1;
        }
        self.sent += 1;
        batch.execute(self.statements[FRAME.len() + sql.number()], values)?;
        let mut replies = batch.send()?;
        let (mut rows, mut wrong) = (0, None);
        while let Some(piece) = replies.next().await? {
            match piece {
                Piece::Row(row) => wrong = wrong.or(read(&row).err()),
                Piece::Done(tag) => rows = tag.rows(),
            }
        }
        wrong.map_or(Ok(rows), Err)
    }

    /// Executes a statement of a transaction, as [`Self::execute`].
    ///
    /// # Errors
    /// A conflict or a failure.
    pub async fn call(
        &mut self,
        sql: Q,
        values: &[Param<'_>],
        read: impl FnMut(&Row<'_>) -> Result<(), Fault>,
    ) -> Reply<u64> {
        self.execute(sql, values, read).await.map_err(|fault| self.trouble(&fault))
    }

    /// The error of a transaction for one of the client.
    pub fn trouble(&mut self, fault: &Fault) -> TransactionError {
        self.is_broken = !matches!(fault, Fault::Server(_) | Fault::Call(_) | Fault::Column(_));
        trouble(fault)
    }

    /// Changes exactly one row.
    ///
    /// # Errors
    /// As [`Self::call`]; `what` is missing.
    pub async fn change_one(&mut self, sql: Q, values: &[Param<'_>], what: &str) -> Reply<()> {
        let changed = self.call(sql, values, |_| Ok(())).await?;
        if changed == 1 { Ok(()) } else { Err(TransactionError::missing(what)) }
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

    /// Executes a statement of the frame. Returns whether the server has done what it says.
    async fn frame(&mut self, frame: Frame) -> Result<bool, Fault> {
        self.sent += 1;
        let mut batch = self.connection.batch();
        batch.execute(self.statements[frame as usize], &[])?;
        let mut replies = batch.send()?;
        let mut is_done = false;
        while let Some(piece) = replies.next().await? {
            is_done |= matches!(piece, Piece::Done(tag) if tag.is(FRAME[frame as usize]));
        }
        Ok(is_done)
    }
}

impl<Q: Query> Transactions for PostgresSession<Q> {
    fn take_statements(&mut self) -> u64 {
        std::mem::take(&mut self.sent)
    }

    async fn begin(&mut self, access: Access, _: &mut OpContext) -> Reply<()> {
        self.begin = Some(match access {
            Access::Read => Frame::BeginRead,
            Access::Write => Frame::BeginWrite,
        });
        Ok(())
    }

    /// The server answers the commit of a failed transaction with a rollback.
    async fn commit(&mut self) -> Reply<()> {
        match self.frame(Frame::Commit).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                let why = "the server rolled back where it should commit".to_owned();
                Err(TransactionError::Failed { outcome: Outcome::Refused, why })
            }
            Err(fault) => Err(self.trouble(&fault)),
        }
    }

    async fn roll_back(&mut self) -> Reply<()> {
        let is_sent = self.begin.take().is_none();
        if !is_sent || self.is_broken || self.connection.transaction() == Transaction::Idle {
            return Ok(());
        }
        self.frame(Frame::RollBack).await.map(drop).map_err(|fault| self.trouble(&fault))
    }
}

/// The error of a transaction for one of the client.
pub(super) fn trouble(fault: &Fault) -> TransactionError {
    let state = if let Fault::Server(said) = fault { Some(said.state()) } else { None };
    match state {
        Some(SqlState::SERIALIZATION_FAILURE) => TransactionError::Conflict(Conflict::Snapshot),
        Some(SqlState::DEADLOCK) => TransactionError::Conflict(Conflict::Deadlock),
        Some(SqlState::LOCK_NOT_AVAILABLE) => TransactionError::Conflict(Conflict::Busy),
        _ => TransactionError::Failed { outcome: fault.outcome(), why: in_one_line(fault) },
    }
}

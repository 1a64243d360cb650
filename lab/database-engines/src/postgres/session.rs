//! The sessions of users on PostgreSQL, with the statements of a workload.

use std::marker::PhantomData;
use std::sync::Arc;

use barograph_database::{Access, Conflict, Reply, TransactionError, Transactions};
use barograph_engine::OpContext;
use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use barograph_postgres::{
    CallError, Client, Connection, Fault, Param, Reply as Piece, Row, SqlState, Statement, Target,
    Transaction,
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
        let (begin, batch, _statements) = (None, Vec::new(), PhantomData);
        Ok(PostgresSession { connection, statements, sent: 0, begin, batch, is_broken: false, _statements })
    }
}

impl<Q: Query> Sessions for PostgresSessions<Q> {
    type Session = PostgresSession<Q>;

    async fn open(&self, number: u32) -> Result<PostgresSession<Q>, (Outcome, String)> {
        self.begin(number).await.map_err(|fault| (fault.outcome(), in_one_line(&fault)))
    }
}

/// The rows that a statement must return or change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Any number.
    Any,
    /// At least one; the name of what is missing otherwise.
    Some(&'static str),
    /// Exactly this number; the name of what is missing otherwise.
    Exactly(usize, &'static str),
}

impl Rows {
    /// The name of what is missing.
    fn missing(self, rows: u64) -> Option<&'static str> {
        match self {
            Rows::Some(what) if rows == 0 => Some(what),
            Rows::Exactly(number, what) if rows != number as u64 => Some(what),
            Rows::Any | Rows::Some(_) | Rows::Exactly(..) => None,
        }
    }
}

/// A statement of a batch.
#[derive(Clone, Copy, Debug)]
enum BatchPart {
    Frame(Frame),
    Statement(Rows),
}

/// The answers to statements that were sent together.
#[derive(Default)]
struct Answers {
    /// Rows of the last statement.
    rows: u64,
    /// The name of the first thing that is missing.
    missing: Option<&'static str>,
    is_committed: bool,
}

/// A session with its prepared statements.
pub struct PostgresSession<Q> {
    connection: Connection,
    statements: Vec<Statement>,
    /// Statements since the last call of `take_statements`. Those that the server skips after an error do not count.
    sent: u64,
    /// The beginning of a transaction, which is sent with its first statement.
    begin: Option<Frame>,
    /// Statements that were written and not answered.
    batch: Vec<BatchPart>,
    /// The connection has failed: the server rolls back.
    is_broken: bool,
    _statements: PhantomData<Q>,
}

impl<Q: Query> PostgresSession<Q> {
    /// Adds a statement to those that are sent together by [`Self::flush`] or with the commit. After an error the server skips
    /// those that follow, the commit among them.
    ///
    /// # Errors
    /// Values that do not fit.
    pub fn add(&mut self, sql: Q, values: &[Param<'_>], rows: Rows) -> Reply<()> {
        self.write(sql, values, rows).map_err(|why| self.trouble(&why.into()))
    }

    /// Sends the statements that were added, and reads their rows. `read` gets a row with the place of its statement among them.
    ///
    /// # Errors
    /// A conflict or a failure; a row that is missing.
    pub async fn flush(&mut self, read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>) -> Reply<()> {
        let answers = self.exchange(read).await?;
        answers.missing.map_or(Ok(()), |what| Err(TransactionError::missing(what)))
    }

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
        self.write(sql, values, Rows::Any)?;
        Ok(self.answers(|_, row| read(row)).await?.rows)
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

    fn write(&mut self, sql: Q, values: &[Param<'_>], rows: Rows) -> Result<(), CallError> {
        if let Some(begin) = self.begin.take() {
            self.put(begin as usize, &[], BatchPart::Frame(begin))?;
        }
        self.put(FRAME.len() + sql.number(), values, BatchPart::Statement(rows))
    }

    fn put(&mut self, place: usize, values: &[Param<'_>], part: BatchPart) -> Result<(), CallError> {
        let mut batch =
            if self.batch.is_empty() { self.connection.batch() } else { self.connection.unsent_batch() };
        batch.execute(self.statements[place], values)?;
        self.batch.push(part);
        Ok(())
    }

    /// Executes a statement of the frame, after those that were added.
    async fn frame(&mut self, frame: Frame) -> Reply<Answers> {
        let put = self.put(frame as usize, &[], BatchPart::Frame(frame));
        put.map_err(|why| self.trouble(&why.into()))?;
        self.exchange(|_, _| Ok(())).await
    }

    async fn exchange(&mut self, read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>) -> Reply<Answers> {
        self.answers(read).await.map_err(|fault| self.trouble(&fault))
    }

    /// Sends the statements that were written, if any, and reads their answers.
    async fn answers(
        &mut self,
        mut read: impl FnMut(usize, &Row<'_>) -> Result<(), Fault>,
    ) -> Result<Answers, Fault> {
        let (mut answers, mut place, mut wrong) = (Answers::default(), 0, None);
        if self.batch.is_empty() {
            return Ok(answers);
        }
        let PostgresSession { connection, batch, sent, .. } = self;
        let mut parts = batch.drain(..);
        let mut replies = connection.unsent_batch().send()?;
        while let Some(piece) = replies.next().await.inspect_err(|_| *sent += 1)? {
            let tag = match piece {
                Piece::Row(row) => {
                    wrong = wrong.or(read(place, &row).err());
                    continue;
                }
                Piece::Done(tag) => tag,
            };
            *sent += 1;
            match parts.next() {
                Some(BatchPart::Statement(rows)) => {
                    answers.rows = tag.rows();
                    answers.missing = answers.missing.or(rows.missing(answers.rows));
                    place += 1;
                }
                Some(BatchPart::Frame(frame)) => {
                    answers.is_committed = matches!(frame, Frame::Commit) && tag.is(FRAME[frame as usize]);
                }
                None => {}
            }
        }
        wrong.map_or(Ok(answers), Err)
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

    /// Statements that were added leave with it. The server answers the commit of a failed transaction with a rollback.
    async fn commit(&mut self) -> Reply<()> {
        let answers = self.frame(Frame::Commit).await?;
        match answers.missing {
            Some(what) => Err(TransactionError::missing(what)),
            None if answers.is_committed => Ok(()),
            None => {
                let why = "the server rolled back where it should commit".to_owned();
                Err(TransactionError::Failed { outcome: Outcome::Refused, why })
            }
        }
    }

    /// Statements that were added and not sent are forgotten.
    async fn roll_back(&mut self) -> Reply<()> {
        self.batch.clear();
        let is_sent = self.begin.take().is_none();
        if !is_sent || self.is_broken || self.connection.transaction() == Transaction::Idle {
            return Ok(());
        }
        self.frame(Frame::RollBack).await.map(drop)
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

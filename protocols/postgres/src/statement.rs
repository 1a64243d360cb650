//! Prepared statements.

use crate::backend::{self, Message};
use crate::column::{self, Column};
use crate::connection::{Connection, order};
use crate::fault::{CallError, Fault};
use crate::frontend;
use crate::param::Param;
use crate::sql_type::SqlType;

/// A prepared statement, by its number on its connection. Connections on which the same lists were prepared in the same
/// order have the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Statement(pub(crate) u32);

/// What is known of a prepared statement, and the parts of its Bind message that never change.
pub(crate) struct Description {
    parameters: Box<[SqlType]>,
    pub(crate) columns: Box<[Column]>,
    head: Box<[u8]>,
    formats: Box<[u8]>,
}

impl Description {
    fn new(number: u32, parameters: Box<[SqlType]>, columns: Box<[Column]>) -> Self {
        let head = frontend::bind_head(number, parameters.iter().map(|kind| kind.is_binary()));
        let mut formats = Vec::new();
        frontend::formats(&mut formats, columns.iter().map(|column| column.kind.is_binary()));
        Description { parameters, columns, head: head.into(), formats: formats.into() }
    }

    /// Writes the messages that execute it. Where the values do not fit, `out` stays as it was.
    pub(crate) fn write(
        &self,
        number: u32,
        params: &[Param<'_>],
        out: &mut Vec<u8>,
    ) -> Result<(), CallError> {
        if params.len() != self.parameters.len() {
            let (parameters, given) = (self.parameters.len(), params.len());
            return Err(CallError::Count { statement: number, parameters, given });
        }
        let begin = out.len();
        let misfit = frontend::message(out, b'B', |out| {
            out.extend_from_slice(&self.head);
            let misfit =
                params.iter().zip(&self.parameters).position(|(param, kind)| !param.write(*kind, out));
            out.extend_from_slice(&self.formats);
            misfit
        });
        if let Some(at) = misfit {
            out.truncate(begin);
            return Err(CallError::Value { statement: number, number: at + 1, kind: self.parameters[at] });
        }
        frontend::execute(out);
        Ok(())
    }
}

impl Connection {
    /// Prepares a statement, with `$1`, `$2` and so on in place of its parameters.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, Fault> {
        let mut statements = self.prepare_all(&[sql]).await?;
        Ok(statements.remove(0))
    }

    /// Prepares statements in one round trip; they are there for as long as the connection is. `BEGIN`, `COMMIT` and
    /// `ROLLBACK` are statements like others.
    ///
    /// # Errors
    /// [`Fault`]. After an error of the server none of them is prepared.
    pub async fn prepare_all(&mut self, list: &[&str]) -> Result<Vec<Statement>, Fault> {
        self.clear();
        let first = self.names;
        for (sql, number) in list.iter().zip(first..) {
            no_zero(sql)?;
            frontend::prepare(&mut self.out, number, sql);
        }
        frontend::sync(&mut self.out);
        self.begin()?;
        // The server may know some of them by name, even if one fails.
        self.names += list.len() as u32;
        let mut found = Vec::with_capacity(list.len());
        let mut failed = None;
        for number in (first..).take(list.len()) {
            match self.description(number).await {
                Ok(description) => found.push(description),
                Err(Fault::Server(said)) => {
                    failed = Some(said);
                    break;
                }
                Err(fault) => return Err(fault),
            }
        }
        self.ready("a request to prepare").await?;
        if let Some(said) = failed {
            return Err(Fault::Server(said));
        }
        let begin = self.statements.len() as u32;
        self.statements.extend(found);
        Ok((begin..self.statements.len() as u32).map(Statement).collect())
    }

    /// The columns of a statement; `None` where it is not prepared on this connection.
    #[must_use]
    pub fn columns(&self, statement: Statement) -> Option<&[Column]> {
        self.statements.get(statement.0 as usize).map(|description| &*description.columns)
    }

    /// Executes one statement in a round trip of its own and drops its rows; how many rows it affected or returned.
    ///
    /// # Errors
    /// [`Fault`], an error of the server among them.
    pub async fn execute(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<u64, Fault> {
        let mut batch = self.batch();
        batch.execute(statement, params)?;
        batch.send()?.finish().await
    }

    /// Reads the description of a statement. An error of the server is returned where it stands.
    async fn description(&mut self, number: u32) -> Result<Description, Fault> {
        const TO: &str = "a request to prepare";
        let mut parameters: Option<Box<[SqlType]>> = None;
        let mut parsed = false;
        loop {
            let arrival = self.message().await?;
            let columns = match (self.read(&arrival)?, &parameters) {
                (Message::Error(body), _) => {
                    return Err(Fault::Server(crate::Diagnostic::read(b'E', body)?));
                }
                (Message::ParseComplete, None) if !parsed => {
                    parsed = true;
                    continue;
                }
                (Message::Parameters(oids), None) if parsed => {
                    let oid = |bytes: &[u8]| u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    parameters = Some(oids.chunks_exact(4).map(|bytes| SqlType::of(oid(bytes))).collect());
                    continue;
                }
                (Message::Columns(body), Some(_)) => column::read(body)?,
                (Message::NoData, Some(_)) => Vec::new(),
                _ => return Err(order(&arrival, TO)),
            };
            return Ok(Description::new(number, parameters.unwrap_or_default(), columns.into()));
        }
    }

    /// Reads the end of an answer.
    pub(crate) async fn ready(&mut self, to: &'static str) -> Result<(), Fault> {
        let arrival = self.message().await?;
        let backend::Message::Ready(transaction) = self.read(&arrival)? else {
            return Err(order(&arrival, to));
        };
        self.end(transaction);
        Ok(())
    }
}

/// Refuses a text that the protocol would cut.
pub(crate) fn no_zero(sql: &str) -> Result<(), CallError> {
    if sql.contains('\0') { Err(CallError::Zero) } else { Ok(()) }
}

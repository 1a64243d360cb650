//! Why a call has failed, in words a user can act on.

use std::io;

use barograph_model::Outcome;
use barograph_net::Peer;

use crate::authentication::LoginError;
use crate::diagnostic::Diagnostic;
use crate::flaw::Flaw;
use crate::row::ColumnError;

/// Why a call has failed. After [`Fault::Server`], [`Fault::Call`] and [`Fault::Column`] the connection can be used on.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The connection could not be made.
    #[error(transparent)]
    Connect(#[from] barograph_net::Fault),
    /// The server does not speak TLS.
    #[error("{to} speaks no TLS: set `ssl = on` there, or sslmode=disable here")]
    NoTls {
        /// The server.
        to: Peer,
    },
    /// The login failed on this side.
    #[error("log in")]
    Login(#[source] LoginError),
    /// The server took the connection and refused the session.
    #[error("the server refuses the session")]
    Refused(#[source] Diagnostic),
    /// The server reported an error; the connection goes on.
    #[error(transparent)]
    Server(#[from] Diagnostic),
    /// The server ended the session, for this reason.
    #[error("the server ended the session")]
    Ended(#[source] Diagnostic),
    /// The connection broke, or the server closed it without a message.
    #[error("the connection broke")]
    Broken(#[source] io::Error),
    /// What came breaks a rule of the protocol.
    #[error("the answer is not PostgreSQL's: {0}")]
    Flawed(#[from] Flaw),
    /// A call before was given up or failed, and its answer may be under way.
    #[error("the connection is amid the answer to a call that was given up")]
    Unusable,
    /// The call is wrong; nothing was sent.
    #[error("{0}")]
    Call(#[from] CallError),
    /// A value cannot be read as what was asked for.
    #[error(transparent)]
    Column(#[from] ColumnError),
}

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The statement is of no list of this connection.
    #[error("statement {0} is not prepared on this connection")]
    Statement(u32),
    /// The number of values is wrong.
    #[error("statement {statement} has {parameters} parameters, and {given} values are given")]
    Count {
        /// Number of the statement.
        statement: u32,
        /// Its parameters.
        parameters: usize,
        /// Values of the call.
        given: usize,
    },
    /// A value does not fit its parameter.
    #[error("the value of parameter ${number} of statement {statement} is none of {kind}")]
    Value {
        /// Number of the statement.
        statement: u32,
        /// Number of the parameter, from 1.
        number: usize,
        /// The type of the parameter.
        kind: crate::SqlType,
    },
    /// A zero byte ends texts in the protocol.
    #[error("a text of SQL has a zero byte")]
    Zero,
    /// The server has refused a row before.
    #[error("the copy is over: the server has refused a row")]
    Copy,
}

impl Fault {
    /// The outcome of an operation that ends with it.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Fault::Connect(why) => why.outcome(),
            Fault::NoTls { .. } | Fault::Login(_) | Fault::Refused(_) | Fault::Server(_) => Outcome::Refused,
            Fault::Ended(_) | Fault::Broken(_) | Fault::Unusable => Outcome::Broken,
            Fault::Flawed(_) | Fault::Column(_) => Outcome::WrongAnswer,
            Fault::Call(_) => Outcome::DriverFault,
        }
    }

    /// The server's own account of it, where there is one.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Fault::Refused(said) | Fault::Server(said) | Fault::Ended(said) => Some(said),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_refuses_is_told_from_what_breaks_and_from_a_wrong_call() {
        let said = Diagnostic::read(b'E', b"VERROR\0C40001\0Mcollides\0\0").unwrap();
        for (fault, outcome) in [
            (Fault::Server(said.clone()), Outcome::Refused),
            (Fault::Refused(said.clone()), Outcome::Refused),
            (Fault::Ended(said), Outcome::Broken),
            (Fault::Broken(io::ErrorKind::ConnectionReset.into()), Outcome::Broken),
            (Fault::Unusable, Outcome::Broken),
            (Fault::Flawed(Flaw::Type(b'x')), Outcome::WrongAnswer),
            (Fault::Column(ColumnError::Null { column: 0 }), Outcome::WrongAnswer),
            (Fault::Call(CallError::Zero), Outcome::DriverFault),
        ] {
            assert_eq!(fault.outcome(), outcome, "{fault}");
        }
    }
}

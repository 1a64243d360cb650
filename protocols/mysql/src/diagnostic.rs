//! Errors of the server: code, SQLSTATE, message.

use std::fmt;

use crate::fields::Fields;
use crate::flaw::Flaw;

/// The state of an error without one.
const GENERAL: [u8; 5] = *b"HY000";

/// The number of an error. Numbers above 1900 differ between MySQL and MariaDB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u16);

impl ErrorCode {
    /// The server has no connection left.
    pub const TOO_MANY_CONNECTIONS: ErrorCode = ErrorCode(1040);
    /// User or password are wrong, or the user may not come from this machine.
    pub const ACCESS_DENIED: ErrorCode = ErrorCode(1045);
    /// The server stops.
    pub const SERVER_SHUTDOWN: ErrorCode = ErrorCode(1053);
    /// A row with the same key is there.
    pub const DUPLICATE_KEY: ErrorCode = ErrorCode(1062);
    /// The table is missing.
    pub const NO_SUCH_TABLE: ErrorCode = ErrorCode(1146);
    /// A lock was not there in time. Only the statement was undone; its transaction is open.
    pub const LOCK_WAIT_TIMEOUT: ErrorCode = ErrorCode(1205);
    /// Transactions wait for each other, and the server has rolled this one back: the same again may succeed.
    pub const DEADLOCK: ErrorCode = ErrorCode(1213);
    /// The statement was cancelled.
    pub const QUERY_INTERRUPTED: ErrorCode = ErrorCode(1317);
    /// The lock of AUTO_INCREMENT was not had, mostly for a deadlock: the same again may succeed.
    pub const NO_AUTO_INCREMENT: ErrorCode = ErrorCode(1467);
    /// The session was killed (MariaDB).
    pub const CONNECTION_KILLED: ErrorCode = ErrorCode(1927);

    /// Errors after which the server closes the connection: shutdown, aborted, packets that cannot be read or sent, killed,
    /// idle for too long (MySQL).
    const FATAL: [u16; 12] = [1053, 1152, 1153, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1927, 4031];
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An error of the server. Shown, it is message, code and SQLSTATE.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    code: ErrorCode,
    state: [u8; 5],
    message: Box<str>,
}

impl Diagnostic {
    /// Reads an error. One that comes before the handshake has no SQLSTATE.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Flaw> {
        let mut fields = Fields::new("an error", body);
        fields.byte()?;
        let code = ErrorCode(fields.int2()?);
        let mut state = GENERAL;
        if fields.rest().first() == Some(&b'#') {
            fields.byte()?;
            state = fields.array()?;
        }
        Ok(Diagnostic { code, state, message: String::from_utf8_lossy(fields.rest()).into() })
    }

    /// The number of the error.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The SQLSTATE.
    #[must_use]
    pub fn state(&self) -> [u8; 5] {
        self.state
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the server ends the session with it.
    pub(crate) fn is_fatal(&self) -> bool {
        ErrorCode::FATAL.contains(&self.code.0)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { code, state, message } = self;
        write!(f, "{message} ({code}, {})", String::from_utf8_lossy(state))
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Diagnostic({self})")
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_code_state_and_message() {
        let said = Diagnostic::read(b"\xff\xbd\x04#40001Deadlock").unwrap();
        assert_eq!((said.code(), said.state(), said.message()), (ErrorCode::DEADLOCK, *b"40001", "Deadlock"));
        assert_eq!(said.to_string(), "Deadlock (1213, 40001)");
        assert!(!said.is_fatal());
        let before_the_handshake = Diagnostic::read(b"\xff\x10\x04Too many").unwrap();
        assert_eq!(before_the_handshake.to_string(), "Too many (1040, HY000)");
        let in_another_encoding = Diagnostic::read(b"\xff\x87\x07#70100\xe9").unwrap();
        assert_eq!(in_another_encoding.message(), "\u{fffd}");
        assert!(in_another_encoding.is_fatal());
        for body in [&b"\xff"[..], b"\xff\x01", b"\xff\x01\x04#4000"] {
            assert_eq!(Diagnostic::read(body), Err(Flaw::Cut("an error")), "{body:?}");
        }
    }
}

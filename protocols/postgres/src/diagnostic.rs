//! Errors and notices of the server: SQLSTATE, message, detail, hint.

use std::borrow::Cow;
use std::fmt;

use crate::fields::Fields;
use crate::flaw::Flaw;

/// The five characters that say what kind of error or notice it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub [u8; 5]);

impl SqlState {
    /// A transaction collides with another one: the same again may succeed.
    pub const SERIALIZATION_FAILURE: SqlState = SqlState(*b"40001");
    /// Transactions wait for each other: the same again may succeed.
    pub const DEADLOCK: SqlState = SqlState(*b"40P01");
    /// A lock was not there in time.
    pub const LOCK_NOT_AVAILABLE: SqlState = SqlState(*b"55P03");
    /// The statement was cancelled, by a request or by a time limit of the server.
    pub const QUERY_CANCELED: SqlState = SqlState(*b"57014");
    /// The server or this session was told to end.
    pub const ADMIN_SHUTDOWN: SqlState = SqlState(*b"57P01");
    /// Another session of the server crashed.
    pub const CRASH_SHUTDOWN: SqlState = SqlState(*b"57P02");
    /// The server starts or stops.
    pub const CANNOT_CONNECT_NOW: SqlState = SqlState(*b"57P03");
    /// A row with the same key is there.
    pub const UNIQUE_VIOLATION: SqlState = SqlState(*b"23505");

    /// Whether the same transaction may succeed when it is begun again.
    #[must_use]
    pub fn is_transient(self) -> bool {
        self == Self::SERIALIZATION_FAILURE || self == Self::DEADLOCK
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

/// An error or a notice of the server. Shown, it is message, SQLSTATE, detail and hint.
#[derive(Clone, PartialEq, Eq)]
pub struct Diagnostic {
    state: SqlState,
    /// Type and text of each field, as they came.
    fields: Box<[u8]>,
}

impl Diagnostic {
    /// Takes the fields of a message.
    pub(crate) fn read(tag: u8, body: &[u8]) -> Result<Self, Flaw> {
        let mut fields = Fields::new(tag, body);
        let mut state = None;
        loop {
            match fields.byte()? {
                0 => break,
                b'C' => state = fields.terminated()?.try_into().ok().map(SqlState),
                _ => _ = fields.terminated()?,
            }
        }
        fields.end()?;
        let state = state.ok_or(Flaw::Cut(char::from(tag)))?;
        Ok(Diagnostic { state, fields: body.into() })
    }

    /// Its SQLSTATE.
    #[must_use]
    pub fn state(&self) -> SqlState {
        self.state
    }

    /// Severity as the protocol has it: `ERROR`, `FATAL`, `WARNING` and others.
    #[must_use]
    pub fn severity(&self) -> Cow<'_, str> {
        self.field(b'V').or_else(|| self.field(b'S')).unwrap_or_default()
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> Cow<'_, str> {
        self.field(b'M').unwrap_or_default()
    }

    /// More about it.
    #[must_use]
    pub fn detail(&self) -> Option<Cow<'_, str>> {
        self.field(b'D')
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'_, str>> {
        self.field(b'H')
    }

    /// A field by its type in the protocol, such as `t` for the table.
    #[must_use]
    pub fn field(&self, kind: u8) -> Option<Cow<'_, str>> {
        let mut fields = Fields::new(b'E', &self.fields);
        loop {
            match fields.byte().ok()? {
                0 => return None,
                found => {
                    let text = fields.terminated().ok()?;
                    if found == kind {
                        return Some(String::from_utf8_lossy(text));
                    }
                }
            }
        }
    }

    /// Whether the server ends the session with it.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(&*self.severity(), "FATAL" | "PANIC")
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message(), self.state)?;
        for more in [self.detail(), self.hint()].into_iter().flatten() {
            write!(f, "; {more}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Diagnostic({}: {self})", self.severity())
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_state_message_detail_and_hint() {
        let body = b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (id)=(1).\0HTake another.\0tshop\0\0";
        let said = Diagnostic::read(b'E', body).unwrap();
        assert_eq!((said.state(), &*said.severity()), (SqlState::UNIQUE_VIOLATION, "ERROR"));
        assert_eq!(said.field(b't').as_deref(), Some("shop"));
        assert_eq!(said.field(b'n'), None);
        assert_eq!(said.to_string(), "duplicate key (23505); Key (id)=(1).; Take another.");
        assert!(!said.is_fatal() && !said.state().is_transient());
        let fatal = Diagnostic::read(b'E', b"SFATAL\0C57P01\0Mgoing\0\0").unwrap();
        assert!(fatal.is_fatal());
        assert_eq!(fatal.to_string(), "going (57P01)");
        // A text in another encoding, as before the session has one.
        let other = Diagnostic::read(b'E', b"SFATAL\0C28P01\0M\xff\0\0").unwrap();
        assert_eq!(other.message(), "\u{fffd}");
    }

    #[test]
    fn an_error_without_a_state_or_an_end_is_none() {
        for body in [&b"\0"[..], b"Mx\0\0", b"C1\0\0", b"C40001\0", b"C40001\0M", b""] {
            assert_eq!(Diagnostic::read(b'E', body), Err(Flaw::Cut('E')), "{body:?}");
        }
        assert_eq!(Diagnostic::read(b'E', b"C40001\0\0x"), Err(Flaw::Excess('E')));
    }

    #[test]
    fn what_may_succeed_again_is_told_apart() {
        let transient: Vec<bool> = [
            SqlState::SERIALIZATION_FAILURE,
            SqlState::DEADLOCK,
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::UNIQUE_VIOLATION,
        ]
        .map(SqlState::is_transient)
        .into();
        assert_eq!(transient, [true, true, false, false]);
    }
}

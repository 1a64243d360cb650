//! The selected mailbox, as reported by the server.

use crate::data::{Condition, Data};
use crate::flaw::Flaw;
use crate::value::number32;

/// State of the selected mailbox. All 0 if none is selected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    /// Number of messages.
    pub exists: u32,
    /// UIDVALIDITY: UIDs of another value name other messages.
    pub validity: u32,
    /// The UID that the next message gets, as of the selection.
    pub next_uid: u32,
    /// Messages removed since the selection.
    pub expunged: u64,
    /// Whether a SELECT is in progress, whose data replace those of the mailbox before.
    pub(crate) selecting: bool,
}

impl Mailbox {
    /// Messages that were there at the selection or arrived since, whether removed or not.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        u64::from(self.exists) + self.expunged
    }

    /// Takes data that concern the mailbox.
    ///
    /// # Errors
    /// [`Flaw`] if they contradict earlier ones.
    pub(crate) fn take(&mut self, data: &Data<'_>) -> Result<(), Flaw> {
        match *data {
            Data::Exists(now) => {
                if now < self.exists && !self.selecting {
                    return Err(Flaw::Shrunk { before: self.exists, now });
                }
                self.exists = now;
            }
            Data::Expunge(sequence) => {
                if sequence == 0 || sequence > self.exists {
                    return Err(Flaw::Sequence(sequence));
                }
                self.exists -= 1;
                self.expunged += 1;
            }
            Data::Fetch(fetched) if fetched.sequence == 0 || fetched.sequence > self.exists => {
                return Err(Flaw::Sequence(fetched.sequence));
            }
            Data::Condition(Condition::Ok, text) => self.code(text)?,
            _ => {}
        }
        Ok(())
    }

    fn code(&mut self, text: &[u8]) -> Result<(), Flaw> {
        if let Some(value) = code(text, "UIDVALIDITY") {
            let validity = number32(value)?;
            if !self.selecting && validity != self.validity {
                return Err(Flaw::Validity);
            }
            self.validity = validity;
        } else if let Some(value) = code(text, "UIDNEXT") {
            self.next_uid = number32(value)?;
        }
        Ok(())
    }
}

/// The value of a code in the brackets at the front of a text, as in `[UIDNEXT 7] next`.
pub(crate) fn code<'b>(text: &'b [u8], name: &str) -> Option<&'b [u8]> {
    let inside = text.strip_prefix(b"[")?;
    let inside = &inside[..inside.iter().position(|byte| *byte == b']')?];
    let (found, value) = inside.split_at_checked(name.len())?;
    match value {
        [] if found.eq_ignore_ascii_case(name.as_bytes()) => Some(value),
        [b' ', value @ ..] if found.eq_ignore_ascii_case(name.as_bytes()) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_follow_the_data() {
        let mut mailbox = Mailbox { exists: 9, selecting: true, ..Mailbox::default() };
        let ok = |text: &'static str| Data::Condition(Condition::Ok, text.as_bytes());
        for data in [Data::Exists(3), ok("[UIDVALIDITY 7] x"), ok("[UIDNEXT 12]"), ok("hello")] {
            mailbox.take(&data).unwrap();
        }
        mailbox.selecting = false;
        mailbox.take(&Data::Expunge(3)).unwrap();
        mailbox.take(&Data::Exists(2)).unwrap();
        let expected = Mailbox { exists: 2, validity: 7, next_uid: 12, expunged: 1, selecting: false };
        assert_eq!(mailbox, expected);
        assert_eq!(mailbox.take(&Data::Expunge(3)), Err(Flaw::Sequence(3)));
        assert_eq!(mailbox.take(&Data::Expunge(0)), Err(Flaw::Sequence(0)));
        assert_eq!(mailbox.take(&Data::Exists(1)), Err(Flaw::Shrunk { before: 2, now: 1 }));
        assert_eq!(mailbox.take(&ok("[UIDVALIDITY 8]")), Err(Flaw::Validity));
        assert_eq!(mailbox.take(&ok("[UIDNEXT x]")), Err(Flaw::Number));
    }
}

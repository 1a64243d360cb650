//! The account of mail: what mailboxes had before the load, and what its users have added and removed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::message::MailId;

/// A mail in the mailbox of an account.
pub(crate) type Copy = (u32, MailId);

/// The numbers that a change has in [`Ledger::numbers`].
const NUMBERS: usize = 4;

/// Changes of the least and the most copies that a mailbox may have of a mail.
#[derive(Clone, std::marker::Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was sent, and the answer is awaited.
    Sent,
    /// The server has taken it.
    Taken,
    /// The server has refused it.
    Refused,
    /// Its removal was sent, and the answer is awaited.
    Removing,
    /// The server has removed it.
    Removed,
    /// The server has refused its removal.
    Kept,
}

impl Change {
    fn bounds(self) -> (i64, i64) {
        match self {
            Change::Sent => (0, 1),
            Change::Taken => (1, 0),
            Change::Refused => (0, -1),
            Change::Removing => (-1, 0),
            Change::Removed => (0, -1),
            Change::Kept => (1, 0),
        }
    }
}

/// The account. Users add to it once for each mail.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Accounts>);

/// Its contents.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    /// Copies before the load.
    pub(crate) before: HashMap<Copy, i64>,
    /// Changes of the least and the most copies by the load.
    pub(crate) changes: HashMap<Copy, (i64, i64)>,
}

impl Ledger {
    /// Its contents, locked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Accounts> {
        // A panic of another thread leaves counts slightly wrong at most.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change.
    pub(crate) fn note(&self, copy: Copy, change: Change) {
        let (least, most) = change.bounds();
        let mut accounts = self.lock();
        let bounds = accounts.changes.entry(copy).or_default();
        *bounds = (bounds.0 + least, bounds.1 + most);
    }

    /// Its changes as numbers.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        let accounts = self.lock();
        let of = |(&(account, MailId(id)), &(least, most)): (&Copy, &(i64, i64))| {
            [i64::from(account), id.cast_signed(), least, most]
        };
        accounts.changes.iter().flat_map(of).collect()
    }

    /// Adds the changes of another ledger.
    pub(crate) fn add_numbers(&self, numbers: &[i64]) {
        let mut accounts = self.lock();
        for change in numbers.chunks_exact(NUMBERS) {
            if let [account, id, least, most] = *change
                && let Ok(account) = u32::try_from(account)
            {
                let copy = (account, MailId(id.cast_unsigned()));
                let bounds = accounts.changes.entry(copy).or_default();
                *bounds = (bounds.0 + least, bounds.1 + most);
            }
        }
    }
}

impl Accounts {
    /// The least and the most copies that a mailbox may have of each mail.
    pub(crate) fn expected(&self) -> HashMap<Copy, (i64, i64)> {
        let mut all: HashMap<Copy, (i64, i64)> =
            self.before.iter().map(|(copy, count)| (*copy, (*count, *count))).collect();
        for (copy, (least, most)) in &self.changes {
            let bounds = all.entry(*copy).or_default();
            *bounds = (bounds.0 + least, bounds.1 + most);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_without_an_answer_leaves_both_ends_open() {
        let ledger = Ledger::default();
        let copy = |number| (3, MailId::sent(1, 3, number));
        let cases: [(&[Change], (i64, i64)); 6] = [
            (&[Change::Sent], (0, 1)),
            (&[Change::Sent, Change::Taken], (1, 1)),
            (&[Change::Sent, Change::Refused], (0, 0)),
            (&[Change::Sent, Change::Taken, Change::Removing], (0, 1)),
            (&[Change::Sent, Change::Taken, Change::Removing, Change::Removed], (0, 0)),
            (&[Change::Sent, Change::Taken, Change::Removing, Change::Kept], (1, 1)),
        ];
        for (number, (changes, _)) in (0..).zip(cases) {
            changes.iter().for_each(|change| ledger.note(copy(number), *change));
        }
        let other = Ledger::default();
        other.lock().before.insert((9, MailId::filled(9, 0)), 1);
        other.add_numbers(&ledger.numbers());
        let expected = other.lock().expected();
        for (number, (changes, bounds)) in (0..).zip(cases) {
            assert_eq!(expected[&copy(number)], bounds, "{changes:?}");
        }
        assert_eq!(expected[&(9, MailId::filled(9, 0))], (1, 1));
    }
}

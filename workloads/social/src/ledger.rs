//! The account of what users have added.

use std::sync::{Mutex, MutexGuard, PoisonError};

use barograph_data::mix;

/// A person or an event that the site has acknowledged: its number, and the hash of its name or title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    pub(crate) id: i64,
    pub(crate) hash: i64,
}

/// The hash of a name or title.
pub(crate) fn hash(name: &str) -> i64 {
    name.bytes().fold(17, |sum, byte| mix(sum ^ u64::from(byte))) as i64
}

/// The account. Users add to it once for each change.
#[derive(Debug, Default)]
pub(crate) struct Ledger(Mutex<Accounts>);

/// Its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// New people that were sent.
    pub(crate) people_sent: i64,
    /// New events that were sent.
    pub(crate) events_sent: i64,
    /// Attendances that were sent.
    pub(crate) attended_sent: i64,
    /// Attendances that the site has acknowledged as new.
    pub(crate) attended: i64,
    pub(crate) people: Vec<Acknowledged>,
    pub(crate) events: Vec<Acknowledged>,
}

impl Ledger {
    /// Its contents, locked.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Accounts> {
        // A panic of another thread leaves counts slightly wrong at most.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its contents as numbers, for a driver in another process.
    pub(crate) fn numbers(&self) -> Vec<i64> {
        let accounts = self.lock();
        let Accounts { people_sent, events_sent, attended_sent, attended, people, events } = &*accounts;
        let mut numbers = vec![*people_sent, *events_sent, *attended_sent, *attended, people.len() as i64];
        numbers.extend(people.iter().chain(events).flat_map(|added| [added.id, added.hash]));
        numbers
    }

    /// Adds the contents of another driver.
    pub(crate) fn add_numbers(&self, numbers: &[i64]) {
        let [people_sent, events_sent, attended_sent, attended, count, added @ ..] = numbers else { return };
        let mut accounts = self.lock();
        accounts.people_sent += people_sent;
        accounts.events_sent += events_sent;
        accounts.attended_sent += attended_sent;
        accounts.attended += attended;
        let all = added.chunks_exact(2).map(|pair| Acknowledged { id: pair[0], hash: pair[1] });
        for (number, added) in (0..).zip(all) {
            if number < *count { accounts.people.push(added) } else { accounts.events.push(added) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_drivers_add_up() {
        let (one, sum) = (Ledger::default(), Ledger::default());
        *one.lock() = Accounts {
            people_sent: 2,
            events_sent: 3,
            attended_sent: 4,
            attended: 4,
            people: vec![Acknowledged { id: 7, hash: hash("a") }],
            events: vec![Acknowledged { id: 8, hash: hash("b") }, Acknowledged { id: 9, hash: hash("c") }],
        };
        sum.add_numbers(&one.numbers());
        assert_eq!(*sum.lock(), *one.lock());
        sum.add_numbers(&one.numbers());
        let Accounts { people, events, attended, .. } = sum.lock().clone();
        assert_eq!((people.len(), events.len(), attended), (2, 4, 8));
        assert_ne!(hash("ab"), hash("ba"));
    }
}

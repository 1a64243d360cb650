//! The operations of users, the matrix of their transitions, and the mix that follows from it.

use barograph_model::{Nanos, OpId, OpSpec, Share, Vector};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Home,
    Login,
    TagSearch,
    Event,
    Person,
    AddPerson,
    AddEvent,
}

/// Operations.
pub(crate) const OPERATIONS: usize = 7;

/// Percent of the transitions from an operation (row) to another (column).
const MATRIX: [[u32; OPERATIONS]; OPERATIONS] = [
    [0, 11, 52, 36, 0, 1, 0],
    [0, 0, 60, 20, 0, 0, 20],
    [21, 6, 41, 31, 0, 1, 0],
    [72, 21, 0, 0, 6, 1, 0],
    [52, 6, 0, 31, 11, 0, 0],
    [0, 0, 0, 0, 100, 0, 0],
    [0, 0, 0, 100, 0, 0, 0],
];

/// Steps after which the shares no longer change in their last digits.
const STEPS: usize = 1_000;

impl Operation {
    /// All operations, by index.
    pub(crate) const ALL: [Operation; OPERATIONS] = [
        Operation::Home,
        Operation::Login,
        Operation::TagSearch,
        Operation::Event,
        Operation::Person,
        Operation::AddPerson,
        Operation::AddEvent,
    ];

    pub(crate) const SPECS: [OpSpec; OPERATIONS] = [
        OpSpec { name: "Home", about: "home page: the ten next events of a zone, tags and calendar" },
        OpSpec { name: "Login", about: "logs in, after a logout if the user was logged in" },
        OpSpec { name: "TagSearch", about: "searches events by tag" },
        OpSpec { name: "Event", about: "page of an event; one in ten is attended" },
        OpSpec { name: "Person", about: "page of a person" },
        OpSpec { name: "AddPerson", about: "logs out, and joins with a picture" },
        OpSpec { name: "AddEvent", about: "posts an event with a picture and a document" },
    ];

    pub(crate) fn op(self) -> OpId {
        OpId(self as u8)
    }

    /// The operations that follow, with their probabilities.
    pub(crate) fn next(self) -> Option<Vector> {
        let row = MATRIX[self as usize].into_iter().zip(Operation::ALL).filter(|(percent, _)| *percent > 0);
        Vector::new(row.map(|(percent, next)| (next.op(), Share::percent(f64::from(percent)))).collect()).ok()
    }

    /// The smallest part of the mean cycle after which the next operation starts.
    pub(crate) fn least_cycle(self) -> f64 {
        match self {
            Operation::AddPerson => 0.4,
            Operation::AddEvent => 0.6,
            _ => 0.0,
        }
    }

    /// Limit of response time at p90.
    pub(crate) fn limit(self, limits: Limits) -> Nanos {
        Nanos::from_millis(match (limits, self) {
            (Limits::Classic, Operation::Home | Operation::Login) => 1_000,
            (Limits::Classic, Operation::TagSearch | Operation::Event | Operation::Person) => 2_000,
            (Limits::Classic, Operation::AddPerson) => 3_000,
            (Limits::Classic, Operation::AddEvent) => 4_000,
            (Limits::Strict, Operation::Person | Operation::AddPerson | Operation::AddEvent) => 500,
            (Limits::Strict, _) => 250,
        })
    }
}

/// Limits of response time, each set a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limits {
    /// From 1 to 4 s.
    Classic,
    /// 250 and 500 ms.
    Strict,
}

impl Limits {
    /// The limits of a profile.
    pub(crate) fn of(profile: &str) -> Option<Self> {
        match profile {
            "classic" => Some(Limits::Classic),
            "strict" => Some(Limits::Strict),
            _ => None,
        }
    }
}

/// The share of each operation in the long run: the stationary distribution of the matrix.
pub(crate) fn stationary() -> [f64; OPERATIONS] {
    let mut shares = [1.0 / OPERATIONS as f64; OPERATIONS];
    for _ in 0..STEPS {
        let mut next = [0.0; OPERATIONS];
        for (share, row) in shares.iter().zip(MATRIX) {
            for (to, percent) in next.iter_mut().zip(row) {
                *to += share * f64::from(percent) / 100.0;
            }
        }
        shares = next;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_the_published_one_to_its_printed_digits() {
        let percent = stationary().map(|share| format!("{:.2}", share * 100.0));
        assert_eq!(percent, ["26.15", "10.22", "33.45", "24.68", "2.61", "0.84", "2.04"]);
        assert!((stationary().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn rows_are_whole_and_operations_have_their_index() {
        for (operation, row) in Operation::ALL.into_iter().zip(MATRIX) {
            assert_eq!(row.iter().sum::<u32>(), 100);
            assert!(operation.next().is_some());
            assert_eq!(Operation::ALL[operation.op().index()], operation);
        }
    }
}

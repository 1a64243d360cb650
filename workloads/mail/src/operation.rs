//! The operations of users, with their shares and limits.

use barograph_model::{Nanos, OpId, OpSpec};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Open,
    Submit,
    Headers,
    Body,
    Mark,
    Move,
    Delete,
    Append,
    Part,
    Search,
    Folders,
    Delivery,
    Watch,
}

/// Tasks of a heavy user in a working day.
pub(crate) const TASKS: u32 = 372;

/// Seconds of a working day.
pub(crate) const DAY_S: f64 = 8.0 * 3_600.0;

impl Operation {
    /// All operations, by index.
    pub(crate) const ALL: [Operation; 13] = [
        Operation::Open,
        Operation::Submit,
        Operation::Headers,
        Operation::Body,
        Operation::Mark,
        Operation::Move,
        Operation::Delete,
        Operation::Append,
        Operation::Part,
        Operation::Search,
        Operation::Folders,
        Operation::Delivery,
        Operation::Watch,
    ];

    pub(crate) const SPECS: [OpSpec; 13] = [
        OpSpec { name: "Open", about: "connects, logs in, selects INBOX and reads its newest headers" },
        OpSpec { name: "Submit", about: "sends a mail to several recipients over a new connection" },
        OpSpec { name: "Headers", about: "fetches headers and flags of mail that has arrived" },
        OpSpec { name: "Body", about: "fetches a mail and checks its content" },
        OpSpec { name: "Mark", about: "marks a mail as seen or answered" },
        OpSpec { name: "Move", about: "moves a mail to another folder" },
        OpSpec { name: "Delete", about: "deletes a mail and expunges it" },
        OpSpec { name: "Append", about: "adds a mail to the folder Sent" },
        OpSpec { name: "Part", about: "fetches 64 KiB of a mail, as of an attachment" },
        OpSpec { name: "Search", about: "searches INBOX by sender, subject or text" },
        OpSpec { name: "Folders", about: "lists the folders and counts the mail of one" },
        OpSpec { name: "Delivery", about: "waits in IDLE until the user's own mail is visible" },
        OpSpec { name: "Watch", about: "opens a second connection and begins IDLE" },
    ];

    pub(crate) fn op(self) -> OpId {
        OpId(self as u8)
    }

    /// How often a heavy user does it in a working day; 0 for operations outside of the mix.
    pub(crate) fn tasks(self) -> u32 {
        match self {
            Operation::Open | Operation::Search => 4,
            Operation::Submit | Operation::Append => 20,
            Operation::Headers | Operation::Body | Operation::Mark => 80,
            Operation::Move => 16,
            Operation::Delete => 32,
            Operation::Part => 12,
            Operation::Folders => 24,
            Operation::Delivery | Operation::Watch => 0,
        }
    }

    /// The limit of response time at p95.
    pub(crate) fn limit(self) -> Nanos {
        Nanos::from_millis(match self {
            Operation::Headers | Operation::Mark | Operation::Folders => 250,
            Operation::Body | Operation::Move | Operation::Delete => 500,
            Operation::Open | Operation::Submit | Operation::Append | Operation::Part | Operation::Watch => {
                1_000
            }
            Operation::Search => 2_000,
            Operation::Delivery => 10_000,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_its_tasks_and_operations_their_index() {
        assert_eq!(Operation::ALL.iter().map(|operation| operation.tasks()).sum::<u32>(), TASKS);
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation.op().index(), at);
        }
    }
}

//! Identities of operations and users, by which everything is counted.

/// Index of an operation in its workload's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u8);

impl OpId {
    /// Returns the index into tables by operation.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A simulated user of a run, counted from 0 over all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u32);

/// A kind of operation; the unit of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSpec {
    /// Name in records and reports, in CamelCase.
    pub name: &'static str,
    /// Description of the user's action, one sentence.
    pub about: &'static str,
}

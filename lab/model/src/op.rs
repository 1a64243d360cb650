//! Operations and users: the identities everything is counted by.

/// Index of an operation in its workload's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u8);

impl OpId {
    /// As an index into tables by operation.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One simulated user of a run, counted from 0 over all workers: the global order number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u32);

/// One kind of thing a user does; the unit of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpSpec {
    /// The name in records and reports, in CamelCase as the field writes it.
    pub name: &'static str,
    /// One sentence: what the user does.
    pub about: &'static str,
}

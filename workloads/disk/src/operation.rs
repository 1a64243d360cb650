//! The kinds of operations.

use barograph_model::OpSpec;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Sync,
}

impl Kind {
    /// All, in the order of tables.
    pub(crate) const ALL: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Sync];

    /// Name and description.
    pub(crate) const fn spec(self) -> OpSpec {
        let (name, about) = match self {
            Kind::Read => ("Read", "reads a block"),
            Kind::Write => ("Write", "writes a block"),
            Kind::Sync => ("Sync", "waits until what was written is on the disk (fdatasync)"),
        };
        OpSpec { name, about }
    }

    /// The kind with this name, in capitals or not.
    pub(crate) fn find(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.spec().name.eq_ignore_ascii_case(name))
    }
}

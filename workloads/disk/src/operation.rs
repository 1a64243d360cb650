//! The kinds of operations.

use barograph_model::OpSpec;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    Read,
    Write,
    Sync,
}

impl OpKind {
    /// All, in the order of tables.
    pub(crate) const ALL: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Sync];

    /// Name and description.
    pub(crate) const fn spec(self) -> OpSpec {
        let (name, about) = match self {
            OpKind::Read => ("Read", "reads a block"),
            OpKind::Write => ("Write", "writes a block"),
            OpKind::Sync => ("Sync", "waits until what was written is on the disk (fdatasync)"),
        };
        OpSpec { name, about }
    }

    /// The kind with this name, in capitals or not.
    pub(crate) fn find(name: &str) -> Option<OpKind> {
        OpKind::ALL.into_iter().find(|kind| kind.spec().name.eq_ignore_ascii_case(name))
    }
}

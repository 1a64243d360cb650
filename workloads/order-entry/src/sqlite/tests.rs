//! The embedded engine with real files: fill, transactions, conflicts, checks.

pub(crate) mod corruption;
mod filling;
pub(crate) mod rig;
mod transacting;

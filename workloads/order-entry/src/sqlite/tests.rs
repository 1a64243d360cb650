//! The embedded engine with real files: fill, transactions, conflicts, checks.

mod corruption;
mod filling;
mod rig;
mod transacting;

//! Dense mode: settings of the kernel for hosts with many small servers.
//!
//! [`HostLoad`] decides whether a host is dense. [`DenseSettings`] finds what this host has, switches it, and sets it back;
//! a ledger names each change before it is made, so that a killed run leaves none.

mod conditions;
mod settings;

pub use conditions::{Condition, HostLoad};
pub use settings::{Change, DenseSettings, Purpose};

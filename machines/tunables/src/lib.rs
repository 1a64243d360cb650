//! Dense mode: settings of a host for many small servers.
//!
//! [`HostLoad`] decides whether a host is dense. [`DenseSettings`] finds what this host has, switches it, and sets it back;
//! a ledger names each change before it is made, so that a killed run leaves none. [`TimerSlack`] is that of the servers' threads,
//! and ends with them.

mod conditions;
mod place;
mod purpose;
mod settings;
mod slack;

pub use conditions::{Condition, HostLoad};
pub use purpose::Purpose;
pub use settings::{Change, DenseSettings};
pub use slack::{TimerSlack, threads};

//! A run as a list of phases: check, fill, deploy, ramp, warm-up, hold, drain, verify, collect, remove.
//!
//! [`run`] calls them in order. Whatever happens in one of them, what was created is removed and what was measured is
//! kept: every phase leaves an entry in the record when it starts and when it ends, intervals are appended as they
//! come. The harness knows no workload and no platform by name; it is handed them in a [`World`].

mod actions;
mod check;
mod clock;
mod connections;
pub mod control;
mod deploy;
mod disk;
mod drive;
mod error;
mod fill;
pub mod fleet;
mod hold;
mod outside;
mod parts;
mod probes;
mod run;
mod screen;
mod snapshots;
mod statistics;
mod stop;
#[cfg(test)]
mod testing;
mod verdict;

pub use check::{Checked, Machine, Most, Target, check, check_all};
pub use deploy::{Planned, missing, outline, outlook, plan_of_all, planned};
pub use error::HarnessError;
pub use run::{CheckedLoad, Finished, World, run, sweep};
pub use screen::{Live, Progress, Screen};
pub use snapshots::{RemovedSnapshots, remove_snapshots};
pub use stop::{Stop, StopHandle};

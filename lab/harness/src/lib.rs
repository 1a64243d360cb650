//! A run as a list of phases: check, fill, deploy, ramp, warm-up, hold, drain, verify, collect, remove.
//!
//! [`run`] calls them in order. Whatever happens in a phase, everything that was created is removed and
//! everything measured is kept: every phase has entries in the record at its start and end, and intervals are
//! appended as they end. The harness names no workload and no platform; it gets them in a [`World`].

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

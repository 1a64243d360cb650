//! A run as a list of phases: check, fill, deploy, ramp, warm-up, hold, drain, verify, collect, remove.
//!
//! [`run`] calls them in order. After any end of a phase, everything that was created is removed and
//! everything measured is kept: every phase has entries in the record at its start and end, and intervals are
//! appended as they end. The harness names no workload and no platform; it gets them in a [`RunContext`].

mod actions;
mod check;
mod clock;
mod connections;
pub mod control;
mod dense;
mod deploy;
mod disk;
mod elastic;
mod error;
mod fill;
pub mod fleet;
mod load_phase;
mod outside;
mod parts;
mod power;
mod probes;
mod run;
mod screen;
mod snapshots;
mod states;
mod statistics;
mod stop;
mod strategy;
#[cfg(test)]
mod testing;
mod verdict;

pub use check::{CheckedPlan, LoadLimit, Machine, Target, check, check_all, missing_policies};
pub use deploy::{PlannedApplication, missing, outline, outlook, plan_of_all, planned};
pub use error::HarnessError;
pub use run::{CheckedLoad, RunContext, RunResult, run, sweep};
pub use screen::{IntervalContext, Progress, Screen};
pub use snapshots::{RemovedSnapshots, remove_snapshots};
pub use stop::{Stop, StopHandle};

#[cfg(test)]
#[global_allocator]
static COUNTING: barograph_testkit::CountingAllocator = barograph_testkit::CountingAllocator;

//! The seam to platforms: hosts and units are described, created, watched and stopped; the ledger of created
//! things.
//!
//! This crate knows no platform. A platform writes to the [`Ledger`] before it creates anything, so that the
//! leftovers of a killed driver can be swept later. The crate has no async runtime: futures are boxed.

mod autoscaler;
mod fault;
mod guest;
mod ledger;
mod lines;
mod log;
mod output;
mod ready;
mod resource;
mod rights;
mod seam;
mod site;
mod unit;
mod unit_exit;

pub use autoscaler::{Autoscaler, Autoscaling, ScaleDecision, ScaledTier};
pub use barograph_model::{Ability, PlatformKind};
pub use fault::{Fault, LogTail, Side};
pub use guest::{GuestCounters, UnitCounters};
pub use ledger::{Entry, Ledger, LedgerError, Leftover, MARK};
pub use lines::{Lines, ReadyAddress};
pub use output::UnitOutput;
pub use ready::{BadReadyLine, ready_address};
pub use resource::{ProcessId, Resource};
pub use rights::in_user_namespace;
pub use seam::{
    Accounts, BoxFuture, DiskFill, Disks, Facts, Guests, Limit, Logs, MachineOperation, Machines,
    MissingRequirement, Network, Nodes, OnLine, Pause, Platform, Site, Standstill, SweepResult, UnitHandle,
    ignore_lines,
};
pub use site::{DiskSpec, HERE, HostSpec, LinkSpec, SiteSpec};
pub use unit::{Capability, Limits, Readiness, ReadinessCheck, Step, StopSignal, Unit, UnitFile, User};
pub use unit_exit::UnitExit;

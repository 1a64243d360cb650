//! The seam to platforms: hosts and units are described, created, watched and stopped; the ledger of created
//! things.
//!
//! This crate knows no platform. A platform writes to the [`Ledger`] before it creates anything, so that the
//! leftovers of a killed driver can be swept later. The crate has no async runtime: futures are boxed.

mod ended;
mod fault;
mod guest;
mod ledger;
mod lines;
mod log;
mod ready;
mod rights;
mod seam;
mod site;
mod thing;
mod unit;

pub use barograph_model::{Ability, PlatformKind};
pub use ended::Ended;
pub use fault::{Fault, LogTail, Side};
pub use guest::{GuestCounters, UnitCounters};
pub use ledger::{Entry, Ledger, LedgerError, Left, MARK};
pub use lines::{Announced, Lines};
pub use ready::{BadReadyLine, ready_address};
pub use rights::in_user_namespace;
pub use seam::{
    Accounts, Disks, Facts, Filled, Guests, Later, Limit, Logs, Machines, Missing, Moved, Network, OnLine,
    Pause, Platform, Running, Site, Swept, ignore_lines,
};
pub use site::{DiskSpec, HERE, HostSpec, LinkSpec, SiteSpec};
pub use thing::{ProcessId, Thing};
pub use unit::{Ask, Limits, Readiness, Step, StopSignal, Unit, UnitFile, User};

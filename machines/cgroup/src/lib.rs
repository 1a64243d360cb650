//! Control groups of both versions: limits, accounts, freezing and killing, for one unit at a time.
//!
//! A machine has one hierarchy of groups (version 2), or one for each controller (version 1), or both
//! (hybrid: those of version 1 limit, and that of version 2 kills and freezes). [`Hierarchies::find`] finds
//! the writable ones, a [`Group`] is one name in all of them, and a [`Meter`] reads the resource use of any
//! group. Every wait has a limit given by the caller, and nothing is asynchronous.

mod disks;
mod error;
mod files;
mod folder;
mod group;
mod hierarchy;
mod limits;
mod meter;
mod mounts;
mod trees;
mod usage;

pub use error::{Error, UnavailableReason};
pub use folder::{kill_folder, processes_in, remove_folder};
pub use group::Group;
pub use hierarchy::{Controller, Hierarchies, Hierarchy, Version};
pub use limits::Limits;
pub use meter::Meter;
pub use mounts::unescape;
pub use trees::{Tree, groups_of, trees};
pub use usage::{Cpu, Io, Memory, Pressure, Pressures, Throttling, Usage};

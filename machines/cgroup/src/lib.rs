//! Control groups of both versions: limits, accounts, freezing and killing, for one unit at a time.
//!
//! A machine has one tree of groups (version 2), or one for each controller (version 1), or both (hybrid: the trees of
//! version 1 limit, and the tree of version 2 kills and freezes). [`Hierarchies::find`] looks what there is and what may
//! be written, a [`Group`] is one name in all of them, and a [`Meter`] reads what any group has used. Nothing here
//! waits longer than it is told to, and nothing is asynchronous.

mod error;
mod files;
mod folder;
mod group;
mod hierarchy;
mod limits;
mod meter;
mod mounts;
mod usage;

pub use error::{Error, Why};
pub use folder::{kill_folder, processes_in, remove_folder};
pub use group::Group;
pub use hierarchy::{Controller, Hierarchies, Hierarchy, Version};
pub use limits::Limits;
pub use meter::Meter;
pub use mounts::unescape;
pub use usage::{Cpu, Io, Memory, Pressure, Pressures, Throttling, Usage};

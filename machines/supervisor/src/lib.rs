//! Commands under a supervisor, a process of its own.
//!
//! It adds up the resources of the command with all its descendants, keeps the last part of its output, and leaves none of its
//! processes behind, even if the driver is killed.

mod report;
mod supervised;
mod supervisor;
mod usage;

pub use report::{End, Report};
pub use supervised::{SupervisedCommand, SupervisorProgram};
pub use supervisor::supervise;
pub use usage::Usage;

//! The command workload: any command as a job, with its elapsed time, CPU time, peak memory and exit status.
//!
//! A user runs the commands of a plan in rounds: each command once, in random order. Every command is the child of a
//! supervisor, a process of its own that adds up the resources of the command with all its descendants, and leaves none of them
//! behind.

mod command_line;
mod kept;
mod measures;
mod one_line;
mod plan;
mod report;
mod seam;
mod supervised;
mod supervisor;
mod usage;
mod user;

pub use seam::Commands;
pub use supervisor::supervise;

/// Raised with every change that can move results.
const VERSION: u32 = 1;

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
mod seam;
mod user;

pub use seam::Commands;

/// Raised with every change that can move results.
const VERSION: u32 = 1;

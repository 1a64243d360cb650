//! The sort workload: records of 100 bytes are generated into a file, sorted into another, and validated.
//!
//! One user does three steps in turn. The sort is that of this program, or a job on a cluster that the run deploys. Files of the
//! former have no names, and those of the latter are in the folder of the run, so nothing of them is left when the program ends, in
//! any way. Order, number and checksum of every result are checked.

mod background;
mod disk;
mod engine;
mod job;
mod measures;
mod one_line;
mod plan;
mod seam;
mod topology;
mod user;

pub use seam::SortRecords;

/// Raised with every change that can move results.
const VERSION: u32 = 2;

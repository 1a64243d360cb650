//! The sort workload: records of 100 bytes are generated into a file, sorted into another, and validated.
//!
//! One user does three steps in turn, each by all threads. The files have no names, so nothing of them is left when the program
//! ends, in any way. Order and checksum of every result are checked.

mod background;
mod disk;
mod measures;
mod one_line;
mod plan;
mod seam;
mod user;

pub use seam::SortRecords;

/// Raised with every change that can move results.
const VERSION: u32 = 1;

//! The STREAM workload: passes over three arrays that are larger than any cache, by all cores.
//!
//! One user makes `Copy`, `Scale`, `Add` and `Triad` in turn; each thread has its own part of the arrays, in memory that it
//! touched first. Every tenth cycle ends with `Check`, which compares the arrays with what the passes must have made.

mod arrays;
mod cache;
mod command;
mod measures;
mod plan;
mod seam;
mod team;
mod user;

pub use seam::StreamMemory;

/// Raised with every change that can move results.
const VERSION: u32 = 2;

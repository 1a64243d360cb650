//! The LINPACK workload: dense systems of linear equations, generated, solved and checked by all cores.
//!
//! One user does four operations in turn: `Peak` measures what the cores can do, `Generate` makes the system, `Solve` factorises
//! and solves it, `Check` generates it again and computes the residual. Only `Solve` counts for the rate.

mod command;
mod measures;
mod plan;
mod seam;
mod user;

pub use seam::Linpack;

/// Raised with every change that can move results.
const VERSION: u32 = 1;

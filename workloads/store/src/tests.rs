//! The workload on SQLite files: fill, operations, conflicts, checks.

mod corruption;
mod filling;
mod operating;
pub(crate) mod rig;
mod seam;

//! The workload on SQLite files and on servers: fill, operations, conflicts, checks.

pub(crate) mod corruption;
mod filling;
mod operating;
pub(crate) mod rig;
pub(crate) mod seam;
mod service;

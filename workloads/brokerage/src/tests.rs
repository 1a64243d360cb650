//! The workload on SQLite files and on servers: fill, transactions, checks.

mod corruption;
pub(crate) mod rig;
mod seam;
mod service;
mod trading;

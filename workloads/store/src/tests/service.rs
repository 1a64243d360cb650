//! The workload on real servers: the same tables as on SQLite, checks, crashes.

mod checking;
mod rig;
mod running;
mod through_web;
mod visiting;

//! The workload run by the engine, against the embedded store and against real ones.

mod faults;
mod rig;
mod stores;

//! The workload run by the engine, against the embedded store and against real ones.

mod allocations;
mod faults;
mod rig;
mod stores;

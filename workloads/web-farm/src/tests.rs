//! The workload run by the engine against static servers, and its plans.

mod broken;
mod loads;
mod plans;
mod rig;
mod service;

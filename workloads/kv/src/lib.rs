//! The key-value workload: commands to Redis, Valkey and what speaks their protocol, direct or through proxies.
//!
//! A user sends one command after the other. Users share connections as a plan says (`kv.pipeline`): together they are the
//! window of a pipeline, in which every command has its own intended start, its own end, and so both times. The driver may
//! spread keys over several stores itself. Values follow from their keys, so any that comes back can be checked.
//!
//! `README.md` beside this folder's manifest says what it models and what it does not.

mod ask;
mod command;
mod fill;
mod group;
mod judge;
mod keys;
mod line;
mod measures;
mod one_line;
mod plan;
mod program;
mod seam;
mod serve;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod topology;
mod values;
mod worker;

pub use seam::KeyValue;

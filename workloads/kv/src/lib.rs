//! The key-value workload: commands to Redis, Valkey and compatible stores, direct or through proxies.
//!
//! A user sends one command after the other. Users share connections as set by the plan (`kv.pipeline`):
//! together they are the window of a pipeline, in which every command has its own intended start, its own
//! end, and so both times. The driver may spread keys over several stores itself. Values follow from their
//! keys, so each can be checked when it is read.
//!
//! `README.md` beside this folder's manifest describes the extent of the model.

mod ask;
mod command;
mod connection;
mod fill;
mod group;
mod judge;
mod keys;
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

//! The engine in simulated time against a target whose answers are known: exact numbers are expected.

mod closed;
mod open;
mod target;

//! The engine in simulated time against a target whose answers are known: exact numbers are expected.

mod closed;
mod drivers;
mod groups;
mod handle;
mod open;
mod quota;
mod target;

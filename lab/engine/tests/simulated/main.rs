//! The engine in simulated time against a target with known answers, with exact expected numbers.

mod closed;
mod drivers;
mod groups;
mod handle;
mod open;
mod quota;
mod target;

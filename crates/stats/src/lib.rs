//! Samples into statements: histograms, window judgement, validity checks and the capacity search.
//!
//! Pure code. It does not know where samples come from, reads no clock and writes nothing.

pub mod binomial;
pub mod interval;
pub mod judge;
mod part;
pub mod search;
pub mod steady;
mod wire;

pub use interval::{Histogram, Interval, OpStats};
pub use part::Part;
pub use wire::Damaged;

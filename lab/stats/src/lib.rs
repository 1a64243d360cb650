//! Statistics of samples: histograms, window judgement, validity checks, the capacity search and elasticity.
//!
//! Pure code. It is independent of the source of samples, reads no clock and writes nothing.

pub mod binomial;
pub mod bounds;
pub mod compare;
pub mod elasticity;
pub mod episode;
pub mod headroom;
pub mod homogeneity;
pub mod interval;
mod interval_sum;
mod interval_summary;
pub mod judge;
mod measure;
mod normal;
mod pace;
pub mod queueing;
pub mod rank;
pub mod scaling;
pub mod score;
pub mod search;
mod sparse;
pub mod steady;
pub mod warm_up;
mod wire;

pub use interval::{Histogram, Interval, OpStats};
pub use interval_sum::IntervalSum;
pub use interval_summary::{IntervalSummary, OpSummary};
pub use sparse::SparseHistogram;
pub use wire::DecodeError;

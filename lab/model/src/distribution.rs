//! Distributions of time: think times, cycles, delays.

use std::sync::Arc;

use crate::Nanos;

/// A distribution of times. Every one has a greatest value, so that no user waits for ever.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(Nanos),
    /// Every value of a range alike.
    Uniform {
        /// Smallest value drawn.
        min: Nanos,
        /// Largest value drawn.
        max: Nanos,
    },
    /// Exponential, as between independent events.
    Exponential {
        /// Mean before the cut.
        mean: Nanos,
        /// Larger draws become this.
        max: Nanos,
    },
    /// Normal with this mean and standard deviation, drawn again until within `min..=max`.
    TruncatedNormal {
        /// Mean before truncation.
        mean: Nanos,
        /// Standard deviation before truncation.
        sd: Nanos,
        /// Smallest value drawn.
        min: Nanos,
        /// Largest value drawn.
        max: Nanos,
    },
    /// Log-normal: many short, few long.
    LogNormal {
        /// Half the draws are below.
        median: Nanos,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Larger draws become this.
        max: Nanos,
    },
    /// Measured values in rising order; draws lie between neighbours in proportion.
    Empirical(Arc<[Nanos]>),
}

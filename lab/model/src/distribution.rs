//! Distributions of time: think times, cycles, delays.

use std::sync::Arc;

use crate::Nanos;

/// A distribution of times. Every one has a largest value, so that no user waits for ever.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// A constant.
    Constant(Nanos),
    /// Uniform over a range.
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
        /// Largest value; larger draws are cut to it.
        max: Nanos,
    },
    /// Exponential from a smallest value on.
    ShiftedExponential {
        /// Smallest value drawn.
        min: Nanos,
        /// Mean before the cut, at least `min`.
        mean: Nanos,
        /// Largest value; larger draws are cut to it.
        max: Nanos,
    },
    /// Normal with this mean and standard deviation, redrawn until within `min..=max`.
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
    /// Log-normal: many short times, few long ones.
    LogNormal {
        /// Median before the cut.
        median: Nanos,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Largest value; larger draws are cut to it.
        max: Nanos,
    },
    /// Measured values in ascending order; draws are interpolated between neighbours.
    Empirical(Arc<[Nanos]>),
}

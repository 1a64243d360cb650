//! Units: nanoseconds and shares.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point or span of time in nanoseconds; a point counts from a start that depends on the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// The start of time.
    pub const ZERO: Nanos = Nanos(0);
    /// Later than any event.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// Converts whole milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        Nanos(ms * 1_000_000)
    }

    /// Converts whole seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Self {
        Nanos(s * 1_000_000_000)
    }

    /// Converts fractional seconds; negative values and NaN become zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        Nanos((s * 1e9).max(0.0) as u64)
    }

    /// Returns the span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the span in whole microseconds, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Returns the distance to an earlier instant; zero if `earlier` is in fact later.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        self.since(other)
    }
}

impl From<Duration> for Nanos {
    fn from(d: Duration) -> Self {
        Nanos(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(n: Nanos) -> Self {
        Duration::from_nanos(n.0)
    }
}

/// A part of a whole, 0 to 1 inclusive. Quantiles, probabilities, mixes and tolerances are shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(f64);

/// A number outside 0 to 1, where a share is required.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a share: allowed is 0 to 1")]
pub struct InvalidShare(pub f64);

impl Share {
    /// The share 0.
    pub const ZERO: Share = Share(0.0);
    /// The share 1.
    pub const ONE: Share = Share(1.0);

    /// Builds a share. Fails if `value` is outside 0 to 1.
    pub fn new(value: f64) -> Result<Self, InvalidShare> {
        if (0.0..=1.0).contains(&value) { Ok(Share(value)) } else { Err(InvalidShare(value)) }
    }

    /// Builds a share from a percentage in source code, a constant in 0 to 100.
    ///
    /// # Panics
    /// If `percent` is outside 0 to 100; a constant fails at compile time.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        assert!(percent >= 0.0 && percent <= 100.0, "a percentage is 0 to 100");
        Share(percent / 100.0)
    }

    /// Returns the number, 0 to 1.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Share {
    /// Formats as a percentage with two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} %", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_refuses_what_is_not_a_part() {
        assert_eq!(Share::new(1.5), Err(InvalidShare(1.5)));
        assert!(Share::new(f64::NAN).is_err());
        assert_eq!(Share::percent(20.0).get(), 0.2);
        assert_eq!(Share::percent(2.35).to_string(), "2.35 %");
    }

    #[test]
    fn spans_never_go_below_zero() {
        assert_eq!(Nanos(3) - Nanos(5), Nanos::ZERO);
        assert_eq!(Nanos::from_secs_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos::from(Duration::from_millis(5)), Nanos::from_millis(5));
    }
}

//! Counts of a relay.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Width of a bin of lateness in nanoseconds.
const STEP_NS: u64 = 20_000;

/// Number of bins: up to 20 ms; larger values show only in the maximum.
const STEPS: usize = 1000;

/// Counts of both directions of a relay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelayCount {
    /// From the host to the switch.
    pub out: LineCount,
    /// From the switch to the host.
    pub back: LineCount,
}

/// Counts of one direction of a relay. Lateness is the time from when a frame was due until it was passed to
/// the kernel: the relay's addition to the requested delay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCount {
    /// Frames sent.
    pub frames: u64,
    /// Bytes of these frames.
    pub bytes: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames lost because the line was full, or because the kernel refused them.
    pub dropped: u64,
    /// Median lateness, in microseconds.
    pub late_p50_us: u64,
    /// 99th percentile of lateness, in microseconds.
    pub late_p99_us: u64,
    /// Largest lateness, in microseconds.
    pub late_max_us: u64,
}

impl fmt::Display for LineCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} frames, {} bytes, {} lost on purpose, {} dropped, late by p50 {} µs, p99 {} µs, longest {} µs",
            self.frames,
            self.bytes,
            self.lost,
            self.dropped,
            self.late_p50_us,
            self.late_p99_us,
            self.late_max_us
        )
    }
}

impl fmt::Display for RelayCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out: {}; back: {}", self.out, self.back)
    }
}

/// Distribution of lateness.
#[derive(Debug)]
pub(crate) struct Lateness {
    steps: Vec<u64>,
    max_ns: u64,
    count: u64,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        Lateness { steps: vec![0; STEPS], max_ns: 0, count: 0 }
    }

    pub(crate) fn add(&mut self, late_ns: u64) {
        let step = usize::try_from(late_ns / STEP_NS).unwrap_or(STEPS).min(STEPS - 1);
        self.steps[step] += 1;
        self.max_ns = self.max_ns.max(late_ns);
        self.count += 1;
    }

    /// Returns the upper end of the bin that contains the quantile.
    pub(crate) fn quantile_us(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let step = self.steps.iter().position(|n| {
            seen += n;
            seen >= rank
        });
        match step {
            Some(step) if step + 1 < STEPS => (step as u64 + 1) * STEP_NS / 1000,
            Some(_) => self.max_us(),
            None => 0,
        }
    }

    pub(crate) fn max_us(&self) -> u64 {
        self.max_ns.div_ceil(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_upper_ends_of_steps() {
        let mut late = Lateness::new();
        assert_eq!((late.quantile_us(0.5), late.max_us()), (0, 0));
        for _ in 0..99 {
            late.add(5_000);
        }
        late.add(90_000_000);
        assert_eq!((late.quantile_us(0.5), late.quantile_us(0.99)), (20, 20));
        assert_eq!((late.quantile_us(1.0), late.max_us()), (90_000, 90_000));
    }
}

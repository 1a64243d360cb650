//! Sums of times for other tools: an exponential histogram and one with fixed bounds, from whole histograms.

use barograph_stats::Histogram;
use barograph_stats::interval::HIGHEST_MICROS;

/// Bounds in microseconds: 1, 2 and 5 of every decade from 0.1 ms to 100 s. A time equal to a bound lies below it.
pub(super) const BOUNDS_US: [u64; 19] = [
    100,
    200,
    500,
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

/// Scale of the exponential buckets: each is wider than the previous one by the factor 2^(1/16), 4.4 %. In
/// OpenTelemetry's numbering, bucket `i` holds seconds above `2^(i/16)` up to `2^((i+1)/16)`.
pub(super) const SCALE: i32 = 4;

/// The bucket of 1 microsecond, the shortest time of a histogram.
const LOWEST: i32 = -319;
/// The bucket of 120 s, the longest time of a histogram.
const HIGHEST: i32 = 110;

/// Number of exponential buckets.
const EXPONENTIAL: usize = (HIGHEST - LOWEST + 1) as usize;

/// Times of one kind, summed since the start of the load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Times {
    /// Number of times.
    pub(super) count: u64,
    /// Their sum in seconds; each is exact to a thousandth.
    pub(super) sum_s: f64,
    /// Number of times up to each bound and above the previous one; the last counts those above all bounds.
    pub(super) bounded: [u64; BOUNDS_US.len() + 1],
    exponential: Box<[u64; EXPONENTIAL]>,
}

impl Times {
    /// Without any times.
    pub(super) fn new() -> Self {
        Times {
            count: 0,
            sum_s: 0.0,
            bounded: [0; BOUNDS_US.len() + 1],
            exponential: Box::new([0; EXPONENTIAL]),
        }
    }

    /// Adds the times of an interval. A histogram is exact to a thousandth; each time counts as the lowest of
    /// its bucket, so that a time equal to a bound stays below it.
    pub(super) fn add(&mut self, histogram: &Histogram) {
        for at in histogram.iter_recorded() {
            let (value, count) = (at.value_iterated_to(), u64::from(at.count_at_value()));
            let lowest = histogram.lowest_equivalent(value).max(1);
            self.count += count;
            self.sum_s += histogram.median_equivalent(value) as f64 / 1e6 * count as f64;
            self.bounded[BOUNDS_US.partition_point(|bound| *bound < lowest)] += count;
            self.exponential[place(lowest)] += count;
        }
    }

    /// The index of the first non-empty exponential bucket, and the counts from there to the last non-empty
    /// one.
    pub(super) fn exponential(&self) -> (i32, &[u64]) {
        let Some(first) = self.exponential.iter().position(|count| *count > 0) else { return (0, &[]) };
        let last = self.exponential.iter().rposition(|count| *count > 0).unwrap_or(first);
        // At most some hundreds.
        (LOWEST + first as i32, &self.exponential[first..=last])
    }
}

/// The index of a time in the table of exponential buckets.
fn place(micros: u64) -> usize {
    let exact = (micros.min(HIGHEST_MICROS) as f64 / 1e6).log2() * f64::from(1 << SCALE);
    let index = (exact.ceil() as i32 - 1).clamp(LOWEST, HIGHEST);
    // Not negative, as it is no lower than the lowest.
    (index - LOWEST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use barograph_stats::interval::histogram;

    #[test]
    fn the_table_holds_the_shortest_and_the_longest() {
        assert_eq!((place(1), place(HIGHEST_MICROS)), (0, EXPONENTIAL - 1));
        assert_eq!(place(u64::MAX), EXPONENTIAL - 1);
    }

    #[test]
    fn bounds_belong_to_the_bucket_below() {
        // One second is 2^0: the upper bound of bucket -1.
        assert_eq!((place(1_000_000) as i32 + LOWEST, place(1_000_001) as i32 + LOWEST), (-1, 0));
        let mut times = Times::new();
        let mut seen = histogram();
        for bound in BOUNDS_US {
            seen.record(bound).unwrap();
        }
        times.add(&seen);
        assert_eq!(times.bounded[..BOUNDS_US.len()], [1; BOUNDS_US.len()]);
        assert_eq!(times.bounded[BOUNDS_US.len()], 0);
    }

    #[test]
    fn every_time_is_counted_once_in_both_and_in_the_right_place() {
        let mut times = Times::new();
        let mut exact = 0.0;
        for round in 1..=3_u64 {
            let mut seen = histogram();
            for i in 0..2_000_u64 {
                let micros = (i * i * 29 * round) % HIGHEST_MICROS;
                seen.record(micros).unwrap();
                exact += micros as f64 / 1e6;
                let index = place(micros.max(1)) as i32 + LOWEST;
                let seconds = micros.max(1) as f64 / 1e6;
                let (low, high) =
                    (2_f64.powf(f64::from(index) / 16.0), 2_f64.powf(f64::from(index + 1) / 16.0));
                assert!(low * 0.999_999 <= seconds && seconds <= high * 1.000_001, "{low} {seconds} {high}");
            }
            times.add(&seen);
        }
        assert_eq!((times.count, times.bounded.iter().sum::<u64>()), (6_000, 6_000));
        let (offset, counts) = times.exponential();
        assert!(offset >= LOWEST && counts.iter().sum::<u64>() == 6_000);
        assert!((times.sum_s / exact - 1.0).abs() < 1e-3, "{} {exact}", times.sum_s);
    }

    #[test]
    fn none_are_no_buckets() {
        assert_eq!(Times::new().exponential(), (0, &[][..]));
    }
}

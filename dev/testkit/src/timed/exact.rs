//! Exact quantiles of a list of times, by the rule of histograms.

use std::time::Duration;

/// The smallest value with at least the share `q` of all values at or below it; `None` without values.
///
/// This is the nearest-rank rule of HdrHistogram, so both differ by the histogram's rounding only.
pub fn exact(values: impl IntoIterator<Item = Duration>, q: f64) -> Option<Duration> {
    let mut values: Vec<Duration> = values.into_iter().collect();
    if values.is_empty() {
        return None;
    }
    let rank = rank(values.len(), q);
    let (_, value, _) = values.select_nth_unstable(rank);
    Some(*value)
}

/// The index of the quantile in the sorted list.
fn rank(count: usize, q: f64) -> usize {
    // A share like 0.999 is not exact in binary: a product that misses a whole number by rounding is that number.
    let at_or_below = (count as f64 * q.clamp(0.0, 1.0) * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize;
    at_or_below.clamp(1, count) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_lists_have_known_quantiles() {
        let list = |n: u64| (1..=n).rev().map(Duration::from_secs);
        for (n, q, wanted) in
            [(100, 0.5, 50), (100, 0.99, 99), (1000, 0.999, 999), (3, 0.5, 2), (7, 0.0, 1), (7, 1.0, 7)]
        {
            assert_eq!(exact(list(n), q), Some(Duration::from_secs(wanted)), "{q} of {n}");
        }
        assert_eq!(exact([], 0.5), None);
    }

    proptest! {
        #[test]
        fn enough_values_lie_at_or_below_and_no_smaller_one_would_do(
            nanos in prop::collection::vec(0_u64..50, 1..200), per_mille in 1_u32..=1000,
        ) {
            let values: Vec<_> = nanos.iter().copied().map(Duration::from_nanos).collect();
            let value = exact(values.clone(), f64::from(per_mille) / 1000.0).unwrap();
            let wanted = (values.len() * per_mille as usize).div_ceil(1000);
            prop_assert!(values.iter().filter(|v| **v <= value).count() >= wanted);
            prop_assert!(values.iter().filter(|v| **v < value).count() < wanted);
        }
    }
}

//! One figure for several metrics or operations: the geometric mean of their ratios.

use super::{Pair, resampled_interval};

/// The geometric mean of ratios, candidate over baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeometricMean {
    /// The mean.
    pub ratio: f64,
    /// Lower end of its 95 % interval; not a number below [`FEWEST_PAIRS`](super::FEWEST_PAIRS) blocks.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Blocks with at least one pair that could be used.
    pub blocks: usize,
}

/// The geometric mean over metrics that have the same direction. Every entry of `blocks` holds the pairs of one block,
/// one per metric, and blocks are drawn again as a whole, because what disturbed one metric of a block disturbed all.
/// Every block has the same weight. `None` when no pair can be used.
///
/// A mean of percentages would depend on which side is called the baseline; this does not.
#[must_use]
pub fn geometric_mean(blocks: &[Vec<Pair>]) -> Option<GeometricMean> {
    let means: Vec<f64> = blocks
        .iter()
        .filter_map(|pairs| mean(pairs.iter().filter_map(Pair::log_ratio).filter(|log| log.is_finite())))
        .collect();
    let ratio = mean(means.iter().copied())?.exp();
    let drawn = |drawn: &[usize]| mean(drawn.iter().map(|block| means[*block]));
    let interval = resampled_interval(means.len(), drawn);
    let (low, high) = interval.map_or((f64::NAN, f64::NAN), |found| (found.low.exp(), found.high.exp()));
    Some(GeometricMean { ratio, low, high, blocks: means.len() })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Vec<Vec<Pair>> {
        let noise = |i: u32| 1.0 + 0.02 * (f64::from(i * 7 % 10) - 4.5) / 4.5;
        (0..10).map(|i| vec![Pair::new(10.0, 20.0 * noise(i)), Pair::new(3.0, 1.5 * noise(i + 3))]).collect()
    }

    #[test]
    fn twice_and_half_are_one() {
        let found = geometric_mean(&blocks()).unwrap();
        assert!((found.ratio - 1.0).abs() < 0.01, "{found:?}");
        assert!(found.low < 1.0 && 1.0 < found.high && found.high < 1.02, "{found:?}");
    }

    #[test]
    fn exchanging_the_sides_inverts_it() {
        let turned: Vec<Vec<Pair>> = blocks()
            .iter()
            .map(|pairs| pairs.iter().map(|p| Pair::new(p.candidate, p.baseline)).collect())
            .collect();
        let (one, other) = (geometric_mean(&blocks()).unwrap(), geometric_mean(&turned).unwrap());
        assert!((one.ratio * other.ratio - 1.0).abs() < 1e-12);
        assert!((one.low * other.high - 1.0).abs() < 0.001, "{one:?} {other:?}");
    }

    #[test]
    fn what_cannot_be_used_is_left_out() {
        assert_eq!(geometric_mean(&[vec![Pair::new(0.0, 1.0)]]), None);
        let few = geometric_mean(&[vec![Pair::new(1.0, 2.0), Pair::new(0.0, 9.0)]]).unwrap();
        assert_eq!((few.blocks, few.low.is_nan()), (1, true));
        assert!((few.ratio - 2.0).abs() < 1e-12);
    }
}

//! The normal distribution cut to a range.

use rand::Rng;
use rand_distr::{Distribution, Normal};

/// Draws outside the range before the value is moved to the nearer end: a bound, so that a range far from the
/// mean cannot hang a fill. Within one standard deviation of the mean it is never reached in practice.
const TRIES: u32 = 1_000;

/// A normal distribution whose values outside a range are drawn again.
#[derive(Debug, Clone, Copy)]
pub struct TruncatedNormal {
    normal: Normal<f64>,
    low: f64,
    high: f64,
}

impl TruncatedNormal {
    /// Mean and standard deviation before cutting. `None` if the deviation is negative or not a number, or if
    /// the range is empty.
    #[must_use]
    pub fn new(mean: f64, deviation: f64, range: std::ops::RangeInclusive<f64>) -> Option<Self> {
        let (low, high) = range.into_inner();
        let usable = mean.is_finite() && deviation >= 0.0 && low <= high;
        let normal = Normal::new(mean, deviation).ok().filter(|_| usable)?;
        Some(Self { normal, low, high })
    }

    /// One value within the range.
    pub fn sample<R: Rng>(&self, rng: &mut R) -> f64 {
        let mut value = self.normal.sample(rng);
        for _ in 0..TRIES {
            if (self.low..=self.high).contains(&value) {
                return value;
            }
            value = self.normal.sample(rng);
        }
        value.clamp(self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    #[test]
    fn values_stay_in_the_range_and_keep_the_mean_of_a_symmetric_cut() {
        let mut rng = Streams::new(3).stream("normal", 0);
        let normal = TruncatedNormal::new(5.0, 1.25, 2.5..=7.5).unwrap();
        let values: Vec<f64> = (0..20_000).map(|_| normal.sample(&mut rng)).collect();
        assert!(values.iter().all(|v| (2.5..=7.5).contains(v)));
        let mean = values.iter().sum::<f64>() / 20_000.0;
        assert!((mean - 5.0).abs() < 0.03, "mean {mean}");
    }

    #[test]
    fn a_range_out_of_reach_ends_at_its_nearer_end() {
        let mut rng = Streams::new(3).stream("normal", 0);
        let normal = TruncatedNormal::new(0.0, 1.0, 50.0..=60.0).unwrap();
        assert_eq!(normal.sample(&mut rng), 50.0);
    }

    #[test]
    fn impossible_settings_do_not_construct() {
        assert!(TruncatedNormal::new(0.0, -1.0, 0.0..=1.0).is_none());
        assert!(TruncatedNormal::new(f64::NAN, 1.0, 0.0..=1.0).is_none());
        assert!(TruncatedNormal::new(0.0, 1.0, 1.0..=0.0).is_none());
    }
}

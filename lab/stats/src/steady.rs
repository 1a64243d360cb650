//! Steadiness of a series: a straight line is fitted through batch means; its drift over the window decides.
//!
//! Neighbouring seconds of a run resemble each other, so a fit over single seconds overstates its certainty
//! and takes noise for a trend. Three measures prevent that: means of batches instead of seconds, an interval
//! widened by the resemblance left between batches, and a drift that must be large as well as certain.

use barograph_model::Share;

/// Largest fitted drift, as a part of the mean, that is steady at any certainty: a window that is a little
/// uneven says the same about a limit as an even one.
pub const DRIFT_ALLOWED: Share = Share::percent(10.0);

/// Fewest values that can show whether a series is steady.
pub const FEWEST_VALUES: usize = 4;

/// Most batches; more make the fit no better, and shorter batches resemble each other more.
const MOST_BATCHES: usize = 20;

/// Values per batch worth having before their number is raised: resemblance between seconds fades within a few.
const BATCH_VALUES: usize = 5;

/// Fewest batches a fit is made from, when there are enough values.
const FEWEST_BATCHES: usize = 8;

/// Two-sided 99 % quantiles of Student's t for 1 to 18 degrees of freedom.
const T_99: [f64; MOST_BATCHES - 2] = [
    63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012, 2.977, 2.947,
    2.921, 2.898, 2.878,
];

/// Rise or fall of a series from the start of the window to its end, along the fitted line, as a part of its
/// mean: 0.2 is a rise by a fifth, -0.2 a fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The fitted drift.
    pub relative: f64,
    /// Lower end of its 99 % interval.
    pub low: f64,
    /// Upper end of its 99 % interval.
    pub high: f64,
    /// Mean of the series, in its own unit.
    pub mean: f64,
}

impl Drift {
    /// The drift in the unit of the series.
    #[must_use]
    pub fn absolute(&self) -> f64 {
        self.relative * self.mean
    }

    /// Whether the 99 % interval includes "no drift".
    #[must_use]
    pub fn uncertain(&self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }

    /// Whether the drift is small, or cannot be distinguished from none. `floor` is the largest drift, in the
    /// unit of the series, that never matters.
    #[must_use]
    pub fn steady(&self, floor: f64) -> bool {
        self.relative.abs() <= DRIFT_ALLOWED.get() || self.uncertain() || self.absolute().abs() <= floor
    }
}

/// Fits the drift of values taken at equal distances; `None` with fewer than [`FEWEST_VALUES`], or if their
/// mean is not above zero (rates and times always are).
#[must_use]
pub fn drift(values: &[f64]) -> Option<Drift> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let batches = batch_means(values);
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let middle = (count - 1.0) / 2.0;
    let spread_x: f64 = (0..batches.len()).map(|i| (i as f64 - middle).powi(2)).sum();
    let slope =
        batches.iter().enumerate().map(|(i, v)| (i as f64 - middle) * (v - mean)).sum::<f64>() / spread_x;
    let residuals: Vec<f64> =
        batches.iter().enumerate().map(|(i, v)| v - mean - slope * (i as f64 - middle)).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let freedom = batches.len() - 2;
    let error = (squares / freedom as f64 / spread_x).sqrt() * widening(&residuals, squares);
    let half = T_99[freedom - 1] * error;
    // Batches cover the whole window, so the line runs over `count` batch widths from edge to edge.
    let over_window = count / mean;
    Some(Drift {
        relative: slope * over_window,
        low: (slope - half) * over_window,
        high: (slope + half) * over_window,
        mean,
    })
}

/// The mean of values taken at equal distances, and its possible error at 99 %; `None` with fewer than
/// [`FEWEST_VALUES`].
#[must_use]
pub fn mean_within(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < FEWEST_VALUES {
        return None;
    }
    let batches = batch_means(values);
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let residuals: Vec<f64> = batches.iter().map(|v| v - mean).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let error = (squares / (count - 1.0) / count).sqrt() * widening(&residuals, squares);
    // The table ends one degree of freedom before the most batches; the last two differ by less than one percent.
    Some((mean, T_99[(batches.len() - 2).min(T_99.len() - 1)] * error))
}

/// Means of successive batches of (nearly) equal length that use every value once.
fn batch_means(values: &[f64]) -> Vec<f64> {
    let few = FEWEST_BATCHES.min(values.len());
    means_of(values, (values.len() / BATCH_VALUES).clamp(few, MOST_BATCHES))
}

/// Means of `count` batches.
pub(crate) fn means_of(values: &[f64], count: usize) -> Vec<f64> {
    let edge = |i: usize| i * values.len() / count;
    (0..count)
        .map(|i| {
            let batch = &values[edge(i)..edge(i + 1)];
            batch.iter().sum::<f64>() / batch.len() as f64
        })
        .collect()
}

/// Factor by which resemblance between neighbouring batches widens the error of a slope. The estimate from
/// few residuals is rough and too low (fitting a line takes some of it away), so a little is added and it
/// stops at 0.8.
pub(crate) fn widening(residuals: &[f64], squares: f64) -> f64 {
    if squares <= 0.0 {
        return 1.0;
    }
    let neighbours: f64 = residuals.windows(2).map(|w| w[0] * w[1]).sum();
    let count = residuals.len() as f64;
    let resemblance = (neighbours / squares + 3.0 / count).clamp(0.0, 0.8);
    ((1.0 + resemblance) / (1.0 - resemblance)).sqrt()
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// Values around 100 in which each keeps `memory` of the deviation of the previous one, multiplied by a
    /// shape over the window.
    pub(crate) fn shaped(
        seed: u64,
        length: usize,
        (noise, memory): (f64, f64),
        shape: impl Fn(f64) -> f64,
    ) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut deviation = 0.0;
        (0..length)
            .map(|i| {
                // The sum of twelve uniform draws minus six is close enough to a normal draw.
                let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
                deviation = memory * deviation + (1.0 - memory * memory).sqrt() * normal * noise;
                100.0 * (1.0 + deviation + shape(i as f64 / length as f64))
            })
            .collect()
    }

    /// With a planted drift.
    fn series(seed: u64, length: usize, (noise, memory, planted): (f64, f64, f64)) -> Vec<f64> {
        shaped(seed, length, (noise, memory), |x| planted * (x - 0.5))
    }

    fn flagged(shape: (f64, f64, f64), length: usize) -> usize {
        (0..1000).filter(|seed| !drift(&series(*seed, length, shape)).unwrap().steady(0.0)).count()
    }

    /// The stated rate of false alarms is below 2 %, where resemblance fades within the time a batch has.
    #[test]
    fn clean_noise_is_rarely_flagged() {
        for noise in [0.02, 0.1, 0.5] {
            for (length, memory) in [(20, 0.0), (20, 0.5), (60, 0.0), (60, 0.5), (300, 0.0), (300, 0.8)] {
                let found = flagged((noise, memory, 0.0), length);
                assert!(
                    found < 20,
                    "{found} of 1000 flagged: {length} values, noise {noise}, memory {memory}"
                );
            }
        }
    }

    /// The limit of the method: strong resemblance in a window of a minute or less is taken for a trend more often.
    #[test]
    fn strong_resemblance_in_a_short_window_costs_false_alarms() {
        for length in [20, 60] {
            let found = flagged((0.5, 0.8, 0.0), length);
            assert!((20..60).contains(&found), "{found} of 1000 flagged: {length} values");
        }
    }

    #[test]
    fn a_planted_trend_is_found() {
        assert!(flagged((0.05, 0.0, 0.3), 60) > 990);
        assert!(flagged((0.05, 0.0, -0.3), 60) > 990);
        assert!(flagged((0.1, 0.5, 0.5), 300) > 990);
    }

    #[test]
    fn a_straight_line_is_read_exactly() {
        let values: Vec<f64> = (0..100).map(|i| 50.0 + f64::from(i)).collect();
        let found = drift(&values).unwrap();
        assert!((found.mean - 99.5).abs() < 1e-9);
        assert!((found.absolute() - 100.0).abs() < 1e-6, "{found:?}");
        assert!(!found.steady(0.0) && found.steady(101.0));
    }

    #[test]
    fn a_small_certain_drift_is_steady() {
        let values: Vec<f64> = (0..60).map(|i| 1000.0 + f64::from(i)).collect();
        let found = drift(&values).unwrap();
        assert!(!found.uncertain() && found.steady(0.0));
    }

    #[test]
    fn a_mean_is_within_what_is_said_99_times_in_100() {
        for (length, memory) in [(20, 0.0), (60, 0.5), (300, 0.8)] {
            let misses = (0..1000).filter(|seed| {
                let (mean, within) = mean_within(&series(*seed, length, (0.3, memory, 0.0))).unwrap();
                (mean - 100.0).abs() > within
            });
            let misses = misses.count();
            assert!(misses < 25, "{misses} of 1000: {length} values, memory {memory}");
        }
        assert_eq!(mean_within(&[1.0; 3]), None);
        assert_eq!(mean_within(&[2.0; 50]), Some((2.0, 0.0)));
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(drift(&[1.0, 2.0, 3.0]), None);
        assert_eq!(drift(&[0.0; 60]), None);
        assert!(drift(&[5.0; 4]).unwrap().steady(0.0));
    }

    proptest! {
        #[test]
        fn turning_a_series_round_turns_its_drift(values in prop::collection::vec(1.0f64..100.0, 20..20 * 8)) {
            // Only lengths that batches divide evenly are cut the same from both ends.
            let count = (values.len() / BATCH_VALUES).clamp(FEWEST_BATCHES, MOST_BATCHES);
            let values = &values[..values.len() / count * count];
            let count_again = (values.len() / BATCH_VALUES).clamp(FEWEST_BATCHES, MOST_BATCHES);
            prop_assume!(count == count_again);
            let back: Vec<f64> = values.iter().rev().copied().collect();
            let (there, turned) = (drift(values).unwrap(), drift(&back).unwrap());
            prop_assert!((there.relative + turned.relative).abs() < 1e-9);
            prop_assert!(there.low <= there.relative && there.relative <= there.high);
        }

        #[test]
        fn the_unit_does_not_matter(values in prop::collection::vec(1.0f64..100.0, 4..100), unit in 0.001f64..1000.0) {
            let scaled: Vec<f64> = values.iter().map(|v| v * unit).collect();
            let (one, other) = (drift(&values).unwrap(), drift(&scaled).unwrap());
            prop_assert!((one.relative - other.relative).abs() < 1e-6);
        }
    }
}

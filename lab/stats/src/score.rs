//! Scores of several tiles: rates over those of a reference, combined by geometric means and a sum.
//!
//! A tile is a set of loads. Whether a load kept its limits is no part of its ratio: it decides whether there
//! is a score at all.

use crate::compare::IntervalEstimate;

/// Weight of the applications in a score with operations on the infrastructure.
const APPLICATIONS: f64 = 0.8;

/// Two-sided 95 % quantiles of Student's t for 1 to 10 degrees of freedom.
const T95: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

/// Score of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Sum over the tiles of the geometric mean of their ratios.
    pub applications: f64,
    /// Geometric mean of the ratios of operations on the infrastructure; `None` in the class without them.
    pub operations: Option<f64>,
}

impl Score {
    /// Combines ratios to the reference: those of each tile, and those of operations on the infrastructure.
    /// `None` without tiles, for a tile without ratios, and for ratios that are not numbers.
    #[must_use]
    pub fn of(tiles: &[Vec<f64>], operations: &[f64]) -> Option<Self> {
        let means: Vec<f64> = tiles.iter().map(|ratios| geometric_mean(ratios)).collect::<Option<_>>()?;
        let operations = match operations {
            [] => None,
            ratios => Some(geometric_mean(ratios)?),
        };
        (!means.is_empty()).then(|| Score { applications: means.iter().sum(), operations })
    }

    /// Returns the score: the applications alone, or 80 % of them and 20 % of the operations.
    #[must_use]
    pub fn total(&self) -> f64 {
        match self.operations {
            None => self.applications,
            Some(operations) => APPLICATIONS * self.applications + (1.0 - APPLICATIONS) * operations,
        }
    }

    /// Returns the name of a score: `2.07 @ 2 tiles`.
    #[must_use]
    pub fn name(total: f64, tiles: f64) -> String {
        let plural = if tiles == 1.0 { "" } else { "s" };
        format!("{total:.2} @ {} tile{plural}", (tiles * 100.0).round() / 100.0)
    }
}

/// Geometric mean; 0 if a value is 0. `None` without values, and for values that are negative or not numbers.
#[must_use]
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sensible = |value: &f64| value.is_finite() && *value >= 0.0;
    if values.is_empty() || !values.iter().all(sensible) {
        return None;
    }
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    Some((logarithms / values.len() as f64).exp())
}

/// Jain's fairness index: 1 if all values are equal, 1/n if one of n has everything. `None` if no value is
/// above 0.
#[must_use]
pub fn fairness(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let index = sum * sum / (values.len() as f64 * squares);
    index.is_finite().then_some(index)
}

/// The value that is scored among those of several windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredWindow {
    /// Index of the window.
    pub window: usize,
    /// Its value, with the 95 % interval of the mean by Student's t; open without a second window.
    pub estimate: IntervalEstimate,
}

/// Chooses the median window; of an even number, the lower one in the middle. `None` without windows, and if
/// the median is not above 0.
///
/// The interval takes windows as independent and normal. Conditions that stay the same throughout a run are
/// not part of it: repeats of the run show those.
#[must_use]
pub fn scored_window(scores: &[f64]) -> Option<ScoredWindow> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]));
    let window = *order.get(scores.len().checked_sub(1)? / 2)?;
    let (low, high) = mean_interval(scores);
    Some(ScoredWindow { window, estimate: IntervalEstimate::new(scores[window], low, high)? })
}

/// 95 % interval of the mean, not below 0.
fn mean_interval(values: &[f64]) -> (f64, f64) {
    if values.len() < 2 {
        return (0.0, f64::INFINITY);
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = T95[(values.len() - 2).min(T95.len() - 1)];
    let arm = t * (variance / n).sqrt();
    ((mean - arm).max(0.0), mean + arm)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REFERENCE: [f64; 5] = [330.0, 4_700.0, 2_200.0, 1_550.0, 1_150.0];

    fn ratios(rates: &[f64], reference: &[f64]) -> Vec<f64> {
        rates.iter().zip(reference).map(|(rate, of)| rate / of).collect()
    }

    fn rounded(values: &[f64]) -> Vec<String> {
        values.iter().map(|value| format!("{value:.3}")).collect()
    }

    #[test]
    fn two_tiles_with_operations_have_the_published_digits() {
        let first = ratios(&[332.0, 4_720.0, 2_900.0, 2_000.0, 1_500.0], &REFERENCE);
        let second = ratios(&[330.0, 4_690.0, 2_700.0, 1_890.0, 1_400.0], &REFERENCE);
        let operations = ratios(&[18.0, 10.0, 4.5], &[16.0, 9.0, 4.0]);
        assert_eq!(rounded(&first), ["1.006", "1.004", "1.318", "1.290", "1.304"]);
        assert_eq!(rounded(&second), ["1.000", "0.998", "1.227", "1.219", "1.217"]);
        assert_eq!(rounded(&operations), ["1.125", "1.111", "1.125"]);
        let means = [&first, &second, &operations].map(|of| geometric_mean(of).unwrap());
        assert_eq!(rounded(&means), ["1.175", "1.127", "1.120"]);
        let score = Score::of(&[first.clone(), second.clone()], &operations).unwrap();
        assert_eq!(rounded(&[score.applications]), ["2.302"]);
        assert_eq!(Score::name(score.total(), 2.0), "2.07 @ 2 tiles");
        let without = Score::of(&[first, second], &[]).unwrap();
        assert_eq!(Score::name(without.total(), 2.0), "2.30 @ 2 tiles");
    }

    /// Three published results on one type of cluster; the reference of the operations is known as a product
    /// only.
    #[test]
    fn three_real_results_have_the_published_digits() {
        let published = [
            (11.18, [28.0, 24.0, 20.0, 6.5], "1.07", "9.16"),
            (13.90, [28.5, 26.0, 21.0, 6.5], "1.11", "11.34"),
            (14.81, [28.0, 25.0, 21.0, 6.5], "1.09", "12.07"),
        ];
        for (applications, rates, operations, total) in published {
            let one = 66_924.0_f64.powf(0.25);
            let found = geometric_mean(&rates.map(|rate| rate / one)).unwrap();
            assert_eq!(format!("{found:.2}"), operations);
            let score = Score { applications, operations: operations.parse().ok() };
            assert_eq!(format!("{:.2}", score.total()), total);
        }
    }

    #[test]
    fn a_load_that_does_nothing_takes_its_tile_and_no_other() {
        let score = Score::of(&[vec![1.0, 0.0], vec![1.0, 1.0]], &[]).unwrap();
        assert_eq!(score.total(), 1.0);
        for wrong in [&[][..], &[vec![]], &[vec![1.0, f64::NAN]], &[vec![-1.0]]] {
            assert_eq!(Score::of(wrong, &[]), None, "{wrong:?}");
        }
        assert_eq!(Score::of(&[vec![1.0]], &[f64::INFINITY]), None);
    }

    #[test]
    fn names_have_two_decimals_and_parts_of_tiles() {
        for (total, tiles, name) in
            [(0.987, 1.0, "0.99 @ 1 tile"), (2.5, 2.5, "2.50 @ 2.5 tiles"), (9.02, 9.0, "9.02 @ 9 tiles")]
        {
            assert_eq!(Score::name(total, tiles), name);
        }
    }

    #[test]
    fn fairness_falls_from_equal_shares_to_one_for_all() {
        for (values, index) in [
            (&[2.0, 2.0, 2.0][..], Some(1.0)),
            (&[1.0, 0.0, 0.0, 0.0], Some(0.25)),
            (&[1.0, 3.0], Some(0.8)),
            (&[0.0, 0.0], None),
            (&[], None),
        ] {
            assert_eq!(fairness(values), index, "{values:?}");
        }
    }

    #[test]
    fn the_median_window_is_scored() {
        let found = scored_window(&[2.0, 2.2, 2.1]).unwrap();
        // Mean 2.1, deviation 0.1: 4.303 x 0.1 / sqrt(3) to either side.
        assert_eq!((found.window, found.estimate.value), (2, 2.1));
        assert!((found.estimate.low - 1.8516).abs() < 1e-4, "{found:?}");
        assert!((found.estimate.high - 2.3484).abs() < 1e-4, "{found:?}");
        assert_eq!(scored_window(&[3.0, 1.0, 2.0, 4.0]).unwrap().estimate.value, 2.0);
        let only = scored_window(&[2.0]).unwrap().estimate;
        assert_eq!((only.value, only.low, only.high), (2.0, 0.0, f64::INFINITY));
        assert_eq!((scored_window(&[]), scored_window(&[0.0])), (None, None));
    }

    /// 95 % of the intervals of three windows hold the mean that they were drawn around.
    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let runs = 4_000;
        let holds = |_: &u32| {
            let scores = [(); 3].map(|()| 2.0 + 0.1 * normal());
            let found = scored_window(&scores).unwrap().estimate;
            (found.low..=found.high).contains(&2.0)
        };
        let held = (0..runs).filter(holds).count() as f64 / f64::from(runs);
        assert!((0.94..0.96).contains(&held), "{held}");
    }

    proptest! {
        #[test]
        fn a_score_grows_with_every_ratio_and_adds_up(
            one in prop::collection::vec(0.01f64..100.0, 1..6),
            other in prop::collection::vec(0.01f64..100.0, 1..6),
            at in 0usize..5,
        ) {
            let alone = |tile: &Vec<f64>| Score::of(std::slice::from_ref(tile), &[]).unwrap().total();
            let both = Score::of(&[one.clone(), other.clone()], &[]).unwrap().total();
            prop_assert!((both - alone(&one) - alone(&other)).abs() < 1e-9 * both);
            let mut more = one.clone();
            let at = at % more.len();
            more[at] *= 2.0;
            prop_assert!(alone(&more) > alone(&one));
            let index = fairness(&one).unwrap();
            prop_assert!(index <= 1.0 + 1e-12 && index >= 1.0 / one.len() as f64 - 1e-12);
        }
    }
}

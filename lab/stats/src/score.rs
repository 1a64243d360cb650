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

/// Difference between two scores: the means over their windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// The second mean minus the first.
    pub value: f64,
    /// Half the width of its 95 % interval.
    pub arm: f64,
}

impl Difference {
    /// Compares the windows of two runs by Student's t with a common variance. `None` with fewer than two
    /// windows in either.
    ///
    /// The interval takes windows as independent and normal, and conditions as the same in both runs.
    #[must_use]
    pub fn of(one: &[f64], other: &[f64]) -> Option<Self> {
        if one.len().min(other.len()) < 2 {
            return None;
        }
        let ((first, squares), (second, more)) = (moments(one), moments(other));
        let (n, m) = (one.len() as f64, other.len() as f64);
        let variance = (squares + more) / (n + m - 2.0);
        let t = t95(one.len() + other.len() - 2);
        Some(Difference { value: second - first, arm: t * (variance * (1.0 / n + 1.0 / m)).sqrt() })
    }

    /// Compares two tiles in the same windows by Student's t of the differences in each. `None` with fewer than two
    /// windows, and if the numbers of windows differ.
    ///
    /// The interval takes windows as independent and normal; what a window does to both tiles is not in it.
    #[must_use]
    pub fn within(one: &[f64], other: &[f64]) -> Option<Self> {
        if one.len() != other.len() || one.len() < 2 {
            return None;
        }
        let each: Vec<f64> = one.iter().zip(other).map(|(one, other)| other - one).collect();
        let ((value, squares), n) = (moments(&each), each.len() as f64);
        Some(Difference { value, arm: t95(each.len() - 1) * (squares / (n - 1.0) / n).sqrt() })
    }

    /// Whether no difference is within the interval.
    #[must_use]
    pub fn holds_none(&self) -> bool {
        self.value.abs() <= self.arm
    }
}

/// Mean, and the sum of the squared deviations from it.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Quantile for these degrees of freedom, at least 1; that of the last entry, which is larger, beyond the table.
fn t95(freedom: usize) -> f64 {
    T95[(freedom - 1).min(T95.len() - 1)]
}

/// 95 % interval of the mean, not below 0.
fn mean_interval(values: &[f64]) -> (f64, f64) {
    if values.len() < 2 {
        return (0.0, f64::INFINITY);
    }
    let n = values.len() as f64;
    let (mean, squares) = moments(values);
    let arm = t95(values.len() - 1) * (squares / (n - 1.0) / n).sqrt();
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

    /// Numbers that are nearly normal, the same in every test.
    fn normal() -> impl FnMut() -> f64 {
        let mut state = 7_u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    #[test]
    fn a_difference_has_the_interval_of_a_common_variance() {
        // Means 2 and 2.3, squares 0.02 and 0.08: 2.776 x sqrt(0.1 / 4 x 2 / 3).
        let found = Difference::of(&[1.9, 2.0, 2.1], &[2.1, 2.3, 2.5]).unwrap();
        assert!((found.value - 0.3).abs() < 1e-9, "{found:?}");
        assert!((found.arm - 0.358_380).abs() < 1e-6, "{found:?}");
        assert!(found.holds_none());
        assert!(!Difference::of(&[1.9, 2.0, 2.1], &[2.3, 2.5, 2.7]).unwrap().holds_none());
        assert_eq!((Difference::of(&[1.0], &[1.0, 2.0]), Difference::of(&[], &[])), (None, None));
    }

    #[test]
    fn tiles_of_one_run_are_compared_window_by_window() {
        // Differences 0.2, 0.3 and 0.4: 4.303 x 0.1 / sqrt(3).
        let found = Difference::within(&[1.9, 2.0, 2.1], &[2.1, 2.3, 2.5]).unwrap();
        assert!((found.value - 0.3).abs() < 1e-9, "{found:?}");
        assert!((found.arm - 0.248_434).abs() < 1e-6, "{found:?}");
        assert!(!found.holds_none());
        assert_eq!(
            (Difference::within(&[1.0], &[1.0]), Difference::within(&[1.0; 3], &[1.0; 2])),
            (None, None)
        );
    }

    /// Equal tiles in three windows that move both by several times their own scatter, alike or against each
    /// other: the interval holds none in 95 %.
    #[test]
    fn equal_tiles_are_equal_as_often_as_they_say() {
        let mut normal = normal();
        for moved in [3.0, -3.0] {
            let runs = 10_000;
            let mut equal = 0;
            for _ in 0..runs {
                let windows = [(); 3].map(|()| {
                    let window = normal();
                    (20.0 + 3.0 * window + normal(), 20.0 + moved * window + normal())
                });
                let (one, other) = (windows.map(|window| window.0), windows.map(|window| window.1));
                equal += u32::from(Difference::within(&one, &other).unwrap().holds_none());
            }
            let share = f64::from(equal) / f64::from(runs);
            assert!((0.943..0.957).contains(&share), "{share}");
        }
    }

    /// Pairs of equal runs of three windows: the interval of the difference holds none in 95 %. Intervals
    /// that overlap do in 99 %, and each median is within the other run's interval in 81 %. Conditions of a
    /// whole run that scatter half as much as windows do leave 90 % to the first.
    #[test]
    fn equal_runs_are_equal_as_often_as_they_say() {
        let mut normal = normal();
        let mut shares = |between: f64| {
            let (runs, mut found) = (10_000, [0; 3]);
            for _ in 0..runs {
                let [one, other] = [(); 2].map(|()| {
                    let level = 20.0 + between * normal();
                    [(); 3].map(|()| level + normal())
                });
                let [a, b] = [&one, &other].map(|of| scored_window(of).unwrap().estimate);
                let holds = |of: &IntervalEstimate, value: f64| (of.low..=of.high).contains(&value);
                found[0] += u32::from(Difference::of(&one, &other).unwrap().holds_none());
                found[1] += u32::from(a.low <= b.high && b.low <= a.high);
                found[2] += u32::from(holds(&a, b.value) && holds(&b, a.value));
            }
            found.map(|count| f64::from(count) / f64::from(runs))
        };
        let [difference, overlap, medians] = shares(0.0);
        assert!((0.943..0.957).contains(&difference), "{difference}");
        assert!(overlap > 0.99, "{overlap}");
        assert!((0.79..0.83).contains(&medians), "{medians}");
        let [difference, ..] = shares(0.5);
        assert!((0.885..0.91).contains(&difference), "{difference}");
    }

    /// 95 % of the intervals of three windows hold the mean that they were drawn around.
    #[test]
    fn intervals_hold_the_mean_as_often_as_they_say() {
        let mut normal = normal();
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

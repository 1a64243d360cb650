//! Bounds of a pass probability, from the number of passes among a number of trials; intervals of shares and
//! quantiles of many operations.

use crate::rank::Confidence;

/// One-sided confidence of the bounds.
pub const CONFIDENCE: f64 = 0.95;

/// Halvings of the range of a bound: more than the precision of a double.
const HALVINGS: u32 = 60;

/// Exact (Clopper-Pearson) lower bound of the pass probability, with 95 % confidence.
#[must_use]
pub fn at_least(passed: u32, trials: u32) -> f64 {
    if passed == 0 {
        return 0.0;
    }
    // The probability of `passed` passes or more rises with the pass probability.
    cross(|p| tail(passed, trials, p))
}

/// Exact (Clopper-Pearson) upper bound of the pass probability, with 95 % confidence.
#[must_use]
pub fn below(passed: u32, trials: u32) -> f64 {
    1.0 - at_least(trials.saturating_sub(passed), trials)
}

/// The probability at which a rising function reaches the error that the confidence leaves.
pub(crate) fn cross(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if rising(middle) < 1.0 - CONFIDENCE { low = middle } else { high = middle }
    }
    low
}

/// Probability of `least` passes or more.
fn tail(least: u32, trials: u32, p: f64) -> f64 {
    number(&vec![p; trials as usize])[least.min(trials + 1) as usize..].iter().sum()
}

/// Probability of each number of passes, from 0 to all, in trials with these pass probabilities.
#[must_use]
pub fn number(pass: &[f64]) -> Vec<f64> {
    let mut of = vec![0.0; pass.len() + 2];
    of[0] = 1.0;
    for (made, p) in pass.iter().enumerate() {
        for passed in (0..=made + 1).rev() {
            let one_less = if passed == 0 { 0.0 } else { of[passed - 1] };
            of[passed] = of[passed] * (1.0 - p) + one_less * p;
        }
    }
    of.truncate(pass.len() + 1);
    of
}

/// Returns the 95 % interval (Wilson) of a share from `hits` of `trials`, as if they were independent.
#[must_use]
pub fn share_interval(hits: u64, trials: u64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, z) = (trials as f64, Confidence::P95.z());
    let share = hits as f64 / n;
    let shrink = 1.0 + z * z / n;
    let middle = (share + z * z / (2.0 * n)) / shrink;
    let half = z / shrink * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// Returns the ranks, from 1, of the sorted values that are the ends of the 95 % interval of a quantile of
/// `count` independent values. `None` if an end lies beyond all values.
#[must_use]
pub fn quantile_ranks(count: u64, quantile: f64) -> Option<(u64, u64)> {
    let n = count as f64;
    let half = Confidence::P95.z() * (n * quantile * (1.0 - quantile)).sqrt();
    let (low, high) = ((n * quantile - half).floor(), (n * quantile + half).ceil() + 1.0);
    (low >= 1.0 && high <= n).then_some((low as u64, high as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lower bounds when all trials pass: 0.05 to the power of one over their number.
    #[test]
    fn all_passes_give_the_known_bounds() {
        let known = [
            (3, 0.368),
            (5, 0.549),
            (6, 0.607),
            (10, 0.741),
            (14, 0.807),
            (22, 0.873),
            (29, 0.902),
            (59, 0.950),
        ];
        for (trials, bound) in known {
            assert!(
                (at_least(trials, trials) - bound).abs() < 5e-4,
                "{trials}: {}",
                at_least(trials, trials)
            );
        }
        assert_eq!((at_least(0, 9), below(9, 9)), (0.0, 1.0));
        // Two failures of two.
        assert!((below(0, 2) - 0.776).abs() < 5e-4, "{}", below(0, 2));
    }

    #[test]
    fn numbers_of_unequal_trials_add_up() {
        let of = number(&[0.5, 0.1, 0.9]);
        assert!((of.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((of[3] - 0.045).abs() < 1e-12 && (of[0] - 0.045).abs() < 1e-12, "{of:?}");
    }

    /// Each exact, over all possible numbers of hits.
    #[test]
    fn intervals_hold_the_truth_in_about_95_percent() {
        for (trials, share) in [(50, 0.1), (200, 0.02), (200, 0.5), (1_000, 0.005)] {
            let of = number(&vec![share; trials]);
            let holds = |hits: usize| {
                let (low, high) = share_interval(hits as u64, trials as u64);
                (low..=high).contains(&share)
            };
            let covered: f64 = (0..=trials).filter(|hits| holds(*hits)).map(|hits| of[hits]).sum();
            assert!((0.92..0.99).contains(&covered), "{trials} trials of {share}: {covered}");
        }
        for (count, quantile) in [(30, 0.5), (100, 0.9), (700, 0.99)] {
            let (low, high) = quantile_ranks(count as u64, quantile).unwrap();
            let covered: f64 = number(&vec![quantile; count])[low as usize..high as usize].iter().sum();
            assert!((0.94..0.99).contains(&covered), "{count} values at {quantile}: {covered}");
        }
        assert_eq!((quantile_ranks(500, 0.99), quantile_ranks(0, 0.5)), (None, None));
        assert_eq!(share_interval(0, 0), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn bounds_lie_around_the_share(trials in 1u32..60, part in 0.0f64..=1.0) {
            let passed = (f64::from(trials) * part) as u32;
            let share = f64::from(passed) / f64::from(trials);
            prop_assert!(at_least(passed, trials) <= share + 1e-9 && share <= below(passed, trials) + 1e-9);
        }
    }
}

//! A sequential test (Wald's SPRT) of the pass probability of a level: 0.5 against 0.9, errors of 5 %.
//!
//! From the start it takes six passes in a row to accept and two failures in a row to reject; a level on the
//! edge itself is rejected nine times of ten.

use crate::binomial;

/// Change of the logarithm of the likelihood ratio by a pass: ln(0.9 / 0.5).
const PASS: f64 = 0.587_786_664_902_119;
/// Change by a failure: ln(0.1 / 0.5).
const FAIL: f64 = -1.609_437_912_434_1;

/// End of the test: ln(0.95 / 0.05).
const END: f64 = 2.944_438_979_166_44;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sequential {
    pub(super) level: u32,
    pub(super) passed: u32,
    pub(super) trials: u32,
    evidence: f64,
}

impl Sequential {
    pub(super) fn at(level: u32) -> Self {
        Sequential { level, passed: 0, trials: 0, evidence: 0.0 }
    }

    pub(super) fn tell(&mut self, passed: bool) {
        self.trials += 1;
        self.passed += u32::from(passed);
        self.evidence += if passed { PASS } else { FAIL };
    }

    /// Lower bound of the pass probability, with 95 % confidence. After acceptance it follows from the number
    /// of trials: a level that passes more often is accepted sooner. Before the end the test did not decide
    /// the number of trials.
    pub(super) fn at_least(&self) -> f64 {
        match self.ended() {
            Some(true) => bound(self.trials, |p| chances(p, self.trials).0),
            _ => binomial::at_least(self.passed, self.trials),
        }
    }

    /// Upper bound of the pass probability, with 95 % confidence.
    pub(super) fn below(&self) -> f64 {
        match self.ended() {
            Some(false) => 1.0 - bound(self.trials, |failure| chances(1.0 - failure, self.trials).1),
            _ => binomial::below(self.passed, self.trials),
        }
    }

    /// Whether the level passes; `None` while the test is open.
    pub(super) fn ended(&self) -> Option<bool> {
        // The last digits of sums are not exact.
        (self.evidence.abs() + 1e-9 >= END).then_some(self.evidence > 0.0)
    }
}

/// The pass probability at which `chance`, which rises with it, reaches the error that the confidence leaves.
fn bound(trials: u32, chance: impl Fn(f64) -> f64) -> f64 {
    if trials == 0 { 0.0 } else { binomial::cross(chance) }
}

/// Probabilities that a test of a level with this pass probability has accepted, and rejected, after `trials`
/// trials.
fn chances(p: f64, trials: u32) -> (f64, f64) {
    let (mut accepted, mut rejected) = (0.0, 0.0);
    // Open tests and their probabilities, by the number of passes.
    let mut open = vec![(Sequential::at(0), 1.0)];
    for _ in 0..trials {
        let mut next: Vec<(Sequential, f64)> = Vec::with_capacity(open.len() + 1);
        for (test, chance) in open {
            // Failures first, so that the same number of passes stands side by side.
            for (passed, likely) in [(false, 1.0 - p), (true, p)] {
                let mut after = test;
                after.tell(passed);
                let chance = chance * likely;
                match (after.ended(), next.last_mut()) {
                    (Some(true), _) => accepted += chance,
                    (Some(false), _) => rejected += chance,
                    (None, Some(same)) if same.0.passed == after.passed => same.1 += chance,
                    (None, _) => next.push((after, chance)),
                }
            }
        }
        open = next;
    }
    (accepted, rejected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hardly any test is longer.
    const LONGEST: u32 = 60;

    fn finished(trials: &str) -> Sequential {
        let mut test = Sequential::at(1);
        trials.chars().for_each(|c| test.tell(c == '+'));
        test
    }

    fn after(trials: &str) -> Option<bool> {
        finished(trials).ended()
    }

    #[test]
    fn six_passes_accept_and_two_failures_reject() {
        assert_eq!((after("+++++"), after("++++++")), (None, Some(true)));
        assert_eq!((after("-"), after("--"), after("+-")), (None, Some(false), None));
        // A failure costs nearly three passes.
        assert_eq!((after("+++-++++"), after("+++-+++++")), (None, Some(true)));
    }

    #[test]
    fn errors_are_as_stated() {
        let (wrongly, rightly) = (chances(0.5, LONGEST).0, chances(0.9, LONGEST).0);
        assert!(wrongly <= 0.05, "{wrongly}");
        assert!(rightly >= 0.89, "{rightly}");
    }

    /// Bounds hold after a test with a random end, because they are derived from that end.
    #[test]
    fn a_bound_is_above_the_truth_in_one_of_twenty_tests_at_the_most() {
        let bounds: Vec<f64> = (1..=LONGEST).map(|trials| bound(trials, |p| chances(p, trials).0)).collect();
        for p in (1..100).map(|p| f64::from(p) / 100.0) {
            let mut before = 0.0;
            let mut overstates = 0.0;
            for (trials, bound) in (1..).zip(&bounds) {
                let chance = chances(p, trials).0;
                if *bound > p {
                    overstates += chance - before;
                }
                before = chance;
            }
            assert!(overstates <= 0.05 + 1e-6, "{p}: {overstates}");
        }
        assert!((finished("++++++").at_least() - 0.607).abs() < 5e-4);
        assert!((finished("--").below() - 0.776).abs() < 5e-4);
        assert!((finished("++++").at_least() - 0.473).abs() < 5e-4, "open: the exact bound of four of four");
        assert!(finished("+++-+++++").at_least() < 0.607);
    }
}

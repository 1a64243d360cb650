//! Bracket and confirm. The first ramp gives an approximate beginning. Passing trials go up in growing steps
//! until one fails, failing ones go down until one passes; then the gap is halved until it is narrower than
//! the resolution. The end of the budget is kept for a second window at the highest level that passed; only a
//! level that passed both is called confirmed. Trials at the edge pass or fail partly by luck; the tests
//! measure the effect on this search, and `docs/method.md` states it.

use std::collections::BTreeSet;

use barograph_model::{SearchBounds, TrialResult};

use super::rounded::rounded;
use super::{Answer, BoundedBy, Method, Purpose, RampEnd, Step, Trial, TrialObservation};

/// First step up after a pass, as a part of the level. Doubled with each further pass before the first
/// failure.
const STEP_UP: f64 = 0.10;
/// First step down after a failure before the first pass, as a part of the level. Doubled with each further
/// one.
const STEP_DOWN: f64 = 0.15;
/// Largest single step down, as a part of the level.
const LARGEST_STEP_DOWN: f64 = 0.60;
/// Least step down of the last trial, if all passes failed their confirmation, as a part of the level.
const LAST_CHANCE_DOWN: f64 = 0.15;
/// First trial after a failed ramp, as a part of the load that the ramp carried: it does not wait for the
/// target to settle, so for a moment it carries a little more than will pass.
const AFTER_FAILED_RAMP: f64 = 0.90;
/// Fewest trials left with which an invalid trial is repeated: afterwards one remains to search and one to
/// confirm.
const LEFT_TO_REPEAT: u32 = 3;
/// Largest budget that keeps two trials to confirm; below four there is none to spare.
const SMALL_BUDGET: u32 = 7;

/// The state of a bisection.
#[derive(Clone, Debug)]
pub(super) struct Bisect {
    bounds: SearchBounds,
    /// Level of the first trial.
    start: u32,
    told: Vec<Trial>,
    /// Levels that passed, even if contradicted later.
    passes: Vec<u32>,
    lowest_fail: Option<u32>,
    /// Lowest level that was invalid and will not be tried again.
    lowest_invalid: Option<u32>,
    /// A level that was invalid once and is to be repeated.
    repeat: Option<(u32, Purpose)>,
    /// After a failed confirmation: the level to confirm next.
    step_down: Option<u32>,
    confirmations_failed: u32,
    /// Highest level that passed a confirming window. Unless it had passed before, that is its only pass.
    settled: Option<u32>,
    /// Whether the confirming window was invalid and will not be repeated.
    confirmation_lost: bool,
}

impl Bisect {
    /// Begins at the highest level, unless a ramp gives a better estimate.
    ///
    /// Invalid bounds are corrected rather than refused, since plans are checked elsewhere: level zero
    /// becomes one, and a maximum below the minimum becomes the minimum.
    pub(super) fn new(bounds: SearchBounds) -> Self {
        let min = bounds.min.max(1);
        let max = bounds.max.max(min);
        Bisect {
            bounds: SearchBounds { min, max, ..bounds },
            start: max,
            told: Vec::new(),
            passes: Vec::new(),
            lowest_fail: None,
            lowest_invalid: None,
            repeat: None,
            step_down: None,
            confirmations_failed: 0,
            settled: None,
            confirmation_lost: false,
        }
    }
}

impl Method for Bisect {
    fn ramp_ended(&mut self, at: u32, how: RampEnd) {
        let wanted = match how {
            RampEnd::GaveWay => f64::from(at) * AFTER_FAILED_RAMP,
            RampEnd::Reached => f64::from(at),
        };
        self.start = self.rounded(wanted);
    }

    fn next(&self) -> Step {
        if self.left() == 0 || self.confirmation_lost {
            return Step::Done(self.answer());
        }
        if let Some((level, purpose)) = self.repeat {
            return Step::Trial { level, purpose };
        }
        if let Some(level) = self.step_down {
            return Step::Trial { level, purpose: Purpose::Confirm };
        }
        let searching = self.left() > self.kept_to_confirm() && self.settled.is_none();
        match (self.candidate(), self.highest_pass()) {
            (Some(level), _) if searching => Step::Trial { level, purpose: Purpose::Search },
            (_, Some(level)) if self.settled.is_none() => Step::Trial { level, purpose: Purpose::Confirm },
            // No pass yet, or trials left over from the confirmation: a long window serves both.
            (Some(level), _) => Step::Trial { level, purpose: Purpose::Confirm },
            (None, _) => Step::Done(self.answer()),
        }
    }

    fn tell(&mut self, level: u32, observed: &TrialObservation) {
        let result = observed.result;
        let Step::Trial { purpose, .. } = self.next() else { return };
        let repeated = self.repeat.take().is_some();
        let may_repeat = !repeated && self.left() >= LEFT_TO_REPEAT;
        let passed_before = self.passes.contains(&level);
        let contested = passed_before || self.step_down == Some(level);
        self.told.push(Trial::new(level, purpose, observed));
        if result == TrialResult::Invalid && may_repeat {
            self.repeat = Some((level, purpose));
            return;
        }
        self.step_down = None;
        match result {
            TrialResult::Pass => {
                self.passes.push(level);
                if purpose == Purpose::Confirm {
                    self.settled = self.settled.max(Some(level));
                }
            }
            TrialResult::Fail => {
                self.lowest_fail = Some(self.lowest_fail.map_or(level, |low| low.min(level)));
                if purpose == Purpose::Confirm && contested {
                    self.confirmations_failed += 1;
                    self.step_down = self.below(level);
                }
            }
            TrialResult::Invalid => {
                self.lowest_invalid = Some(self.lowest_invalid.map_or(level, |low| low.min(level)));
                self.confirmation_lost = purpose == Purpose::Confirm && passed_before;
            }
        }
    }

    fn trials(&self) -> &[Trial] {
        &self.told
    }

    fn answer(&self) -> Answer {
        let highest_pass = self.highest_pass();
        let capacity = self.settled.or(highest_pass);
        Answer {
            capacity,
            highest_pass,
            lowest_fail: self.lowest_fail,
            bounded_by: self.bounded_by(),
            trials: self.used(),
            confirmed: capacity.is_some_and(|level| self.passed_twice(level)),
            estimate: None,
        }
    }
}

impl Bisect {
    fn bounded_by(&self) -> BoundedBy {
        let Some(pass) = self.highest_pass() else {
            return match (self.lowest_fail, self.lowest_invalid) {
                (Some(fail), _) if fail <= self.bounds.min => BoundedBy::Minimum,
                (_, Some(invalid)) if invalid <= self.bounds.min => BoundedBy::Disbelief,
                _ => BoundedBy::Budget,
            };
        };
        if pass >= self.bounds.max {
            return BoundedBy::Maximum;
        }
        if self.between(pass, self.upper()).is_some() {
            // A failed confirmation steps below levels that were open before; the failure is the bound then.
            return if self.confirmations_failed > 0 { BoundedBy::Fail } else { BoundedBy::Budget };
        }
        let fail = self.lowest_fail.unwrap_or(u32::MAX);
        if fail <= self.lowest_invalid.unwrap_or(u32::MAX) { BoundedBy::Fail } else { BoundedBy::Disbelief }
    }

    fn passed_twice(&self, level: u32) -> bool {
        self.passes.iter().filter(|passed| **passed == level).count() >= 2
    }

    fn used(&self) -> u32 {
        u32::try_from(self.told.len()).unwrap_or(u32::MAX)
    }

    /// Trials kept for confirmation. A small budget keeps two, since the luck of one confirming window would
    /// decide too much: the second steps down after a failure, or continues narrowing after a pass.
    fn kept_to_confirm(&self) -> u32 {
        if (4..=SMALL_BUDGET).contains(&self.bounds.max_trials) { 2 } else { 1 }
    }

    fn left(&self) -> u32 {
        self.bounds.max_trials.saturating_sub(self.used())
    }

    /// Highest level that passed without a failure at or below it.
    fn highest_pass(&self) -> Option<u32> {
        let fail = self.lowest_fail.unwrap_or(u32::MAX);
        self.passes.iter().copied().filter(|level| *level < fail).max()
    }

    /// Lowest level that is not to be tried, because it failed or was invalid.
    fn upper(&self) -> Option<u32> {
        self.lowest_fail.into_iter().chain(self.lowest_invalid).min()
    }

    /// The next level that narrows the bracket; `None` when it is narrow enough.
    fn candidate(&self) -> Option<u32> {
        if self.told.is_empty() {
            return Some(self.start);
        }
        let lower = self.highest_pass();
        match (lower, self.upper()) {
            (Some(pass), None) if pass >= self.bounds.max => None,
            (Some(pass), None) => {
                // Past a settled level few trials are left to come back with, so the step is small again.
                let grown =
                    if self.settled.is_some() { 0 } else { self.passes_in_a_row().saturating_sub(1).min(4) };
                let step = STEP_UP * f64::from(1u32 << grown);
                let up = self.rounded(f64::from(pass) * (1.0 + step));
                Some(if up > pass { up } else { (pass + 1).min(self.bounds.max) })
            }
            (Some(pass), upper) => self.between(pass, upper),
            (None, Some(upper)) if upper <= self.bounds.min => None,
            (None, Some(upper)) => {
                let grown = self.levels_missed().saturating_sub(1).min(4);
                let step = (STEP_DOWN * f64::from(1u32 << grown)).min(LARGEST_STEP_DOWN);
                Some(self.rounded(f64::from(upper) * (1.0 - step)).min(upper - 1))
            }
            (None, None) => Some(self.start),
        }
    }

    /// Number of levels that were tried and did not pass. An invalid level that was repeated counts once.
    fn levels_missed(&self) -> usize {
        let missed = self.told.iter().filter(|trial| trial.result != TrialResult::Pass);
        missed.map(|trial| trial.level).collect::<BTreeSet<_>>().len()
    }

    /// Number of successive passes at the end of the trials.
    fn passes_in_a_row(&self) -> usize {
        self.told.iter().rev().take_while(|trial| trial.result == TrialResult::Pass).count()
    }

    /// The middle of a bracket that is wider than the resolution.
    fn between(&self, pass: u32, upper: Option<u32>) -> Option<u32> {
        let upper = upper.unwrap_or(self.bounds.max.saturating_add(1));
        let gap = f64::from(upper.saturating_sub(pass));
        if gap <= (f64::from(upper) * self.bounds.resolution.get()).max(1.0) {
            return None;
        }
        let middle = self.rounded(f64::from(pass) + gap / 2.0);
        Some(if middle > pass && middle < upper { middle } else { pass + (upper - pass) / 2 })
    }

    /// A step below a level that failed its confirmation: the resolution first, then twice and four times as
    /// much; with the last trial and no other pass, far enough down to find an answer.
    fn below(&self, level: u32) -> Option<u32> {
        let steps = f64::from(1u32 << self.confirmations_failed.saturating_sub(1).min(4));
        let last_chance = self.left() == 1 && self.highest_pass().is_none();
        let least = if last_chance { LAST_CHANCE_DOWN } else { 0.0 };
        let step = (self.bounds.resolution.get() * steps).max(least).min(LARGEST_STEP_DOWN);
        let wanted = self.rounded(f64::from(level) * (1.0 - step)).min(level.saturating_sub(1));
        (wanted >= self.bounds.min).then_some(wanted)
    }

    /// A level rounded to a convenient number: within 1 % and the resolution.
    fn rounded(&self, level: f64) -> u32 {
        let finest = level * self.bounds.resolution.get().min(0.01);
        rounded(level, finest, f64::round, &self.bounds)
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

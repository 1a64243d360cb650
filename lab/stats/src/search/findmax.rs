//! The rules of Weathervane's FindMax in a single run, so that its results can be compared with published ones.
//!
//! 1. Initial ramp: a step more each time, as long as 99.9 % of the operations are within their limits; the first always
//!    passes.
//! 2. First maximum: from a tenth below, by steps of a tenth. A pass goes up, three in a row make the step a quarter
//!    larger; a failure goes down, two in a row make it half as large again. A step that would reach the lowest failure
//!    becomes half of the gap, one that would fall to the highest pass three quarters of it. It ends when the gap is below
//!    the resolution (1 % there).
//!
//! Each level is tried once, a failure is final, and the certainty of the result is unknown. The third
//! phase of FindMax only happens with several periods per trial, which is not its default, and is left out.

use barograph_model::{SearchBounds, TrialResult};

use super::{Answer, BoundedBy, Method, Purpose, RampEnd, Step, Trial, TrialObservation};

/// Share of operations within their limits required by the initial ramp.
const RAMP_IN_TIME: f64 = 0.999;
/// Distance of the first level after the ramp below its end, as a part of it.
const BEGIN_BELOW: f64 = 0.10;
/// First step, as a part of the end of the ramp.
const FIRST_STEP: f64 = 0.10;
/// Passes in a row that make the step larger, and the factor.
const AFTER_PASSES: (u32, f64) = (3, 1.25);
/// Failures in a row that make the step larger, and the factor.
const AFTER_FAILURES: (u32, f64) = (2, 1.5);
/// Largest step up, as a part of the gap between pass and failure.
const GAP_UP: f64 = 0.5;
/// Largest step down, as a part of the gap.
const GAP_DOWN: f64 = 0.75;
/// Default step of the initial ramp: 1,000 users, or a tenth of the highest level.
const RAMP_STEP: u32 = 1_000;
/// Invalid results of a level in a row that end the search.
const DISBELIEVED: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct FindMax {
    bounds: SearchBounds,
    ramp_step: u32,
    /// Whether the initial ramp is still going on.
    ramping: bool,
    level: u32,
    step: f64,
    told: Vec<Trial>,
    pass: Option<u32>,
    fail: Option<u32>,
    /// Result of the last trial, and the number of equal ones in a row.
    row: (bool, u32),
    disbelieved: u32,
}

impl FindMax {
    pub(super) fn new(bounds: SearchBounds, step: u32) -> Self {
        let ramp_step = if step == 0 { RAMP_STEP.min(bounds.max / 10).max(1) } else { step };
        let level = ramp_step.clamp(bounds.min, bounds.max);
        FindMax {
            bounds,
            ramp_step,
            ramping: true,
            level,
            step: 0.0,
            told: Vec::new(),
            pass: None,
            fail: None,
            row: (true, 0),
            disbelieved: 0,
        }
    }

    fn over(&self) -> bool {
        let used = self.told.len() as u32 >= self.bounds.max_trials;
        let narrow = match (self.pass, self.fail) {
            (Some(pass), Some(fail)) => {
                f64::from(fail - pass) < f64::from(fail) * self.bounds.resolution.get() || fail - pass <= 1
            }
            (Some(pass), None) => !self.ramping && pass >= self.bounds.max,
            (None, Some(fail)) => fail <= self.bounds.min,
            (None, None) => false,
        };
        used || narrow || self.disbelieved >= DISBELIEVED
    }

    /// A step of the initial ramp. Its passes do not count later: only response times were checked.
    fn ramp(&mut self, observed: &TrialObservation) {
        let in_time =
            observed.in_time.map_or(observed.result == TrialResult::Pass, |share| share >= RAMP_IN_TIME);
        let goes_on = (in_time || self.told.len() == 1) && self.level < self.bounds.max;
        if goes_on {
            self.level = self.level.saturating_add(self.ramp_step).min(self.bounds.max);
            return;
        }
        self.ramping = false;
        let ended = f64::from(self.level);
        self.step = ended * FIRST_STEP;
        self.level = self.within(ended * (1.0 - BEGIN_BELOW));
    }

    fn search(&mut self, passed: bool) {
        let row = if self.row.0 == passed { self.row.1 + 1 } else { 1 };
        self.row = (passed, row);
        let (after, by) = if passed { AFTER_PASSES } else { AFTER_FAILURES };
        if row >= after {
            self.step *= by;
        }
        let level = f64::from(self.level);
        if passed {
            self.pass = self.pass.max(Some(self.level));
            if let Some(fail) = self.fail.filter(|fail| self.within(level + self.step) >= *fail) {
                self.step = (f64::from(fail) - level) * GAP_UP;
            }
            self.level = self.within(level + self.step.max(1.0));
        } else {
            self.fail = Some(self.fail.map_or(self.level, |fail| fail.min(self.level)));
            if let Some(pass) = self.pass.filter(|pass| self.within(level - self.step) <= *pass) {
                self.step = (level - f64::from(pass)) * GAP_DOWN;
            }
            self.level = self.within(level - self.step.max(1.0));
        }
    }

    fn within(&self, level: f64) -> u32 {
        (level.round() as u32).clamp(self.bounds.min, self.bounds.max)
    }
}

impl Method for FindMax {
    /// Ignored: the method has a ramp of its own.
    fn ramp_ended(&mut self, _: u32, _: RampEnd) {}

    fn next(&self) -> Step {
        let purpose = if self.ramping { Purpose::Ramp } else { Purpose::Search };
        if self.over() { Step::Done(self.answer()) } else { Step::Trial { level: self.level, purpose } }
    }

    fn tell(&mut self, _: u32, observed: &TrialObservation) {
        if self.over() {
            return;
        }
        let purpose = if self.ramping { Purpose::Ramp } else { Purpose::Search };
        self.told.push(Trial::new(self.level, purpose, observed));
        if observed.result == TrialResult::Invalid && !self.ramping {
            self.disbelieved += 1;
            return;
        }
        self.disbelieved = 0;
        if self.ramping { self.ramp(observed) } else { self.search(observed.result == TrialResult::Pass) }
    }

    fn trials(&self) -> &[Trial] {
        &self.told
    }

    fn answer(&self) -> Answer {
        let bounded_by = match (self.pass, self.fail) {
            _ if self.disbelieved >= DISBELIEVED => BoundedBy::Disbelief,
            (Some(pass), _) if pass >= self.bounds.max => BoundedBy::Maximum,
            (None, Some(fail)) if fail <= self.bounds.min => BoundedBy::Minimum,
            (Some(_), Some(_)) if self.over() && (self.told.len() as u32) < self.bounds.max_trials => {
                BoundedBy::Fail
            }
            _ => BoundedBy::Budget,
        };
        Answer {
            capacity: self.pass,
            highest_pass: self.pass,
            lowest_fail: self.fail,
            bounded_by,
            trials: self.told.len() as u32,
            confirmed: false,
            estimate: None,
        }
    }
}

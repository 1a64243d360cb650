//! Level by level from below, as published results add tiles or instances: up to the first level that fails,
//! brings no more throughput, or reaches the limit of the host's CPU.
//!
//! One trial per level, and no levels between steps: the answer is as exact as a step.

use barograph_model::{SearchBounds, Stair, TrialResult};

use super::{Answer, BoundedBy, Method, Purpose, RampEnd, Step, Trial, TrialObservation};

/// Default number of steps up to the highest level.
const STEPS: u32 = 20;

/// Invalid results of a level in a row that end the staircase.
const DISBELIEVED: u32 = 2;

#[derive(Clone, Debug)]
pub(super) struct Staircase {
    bounds: SearchBounds,
    stair: Stair,
    level: u32,
    told: Vec<Trial>,
    /// The highest level that passed, and its throughput.
    passed: Option<(u32, Option<f64>)>,
    fail: Option<u32>,
    disbelieved: u32,
    ended: Option<BoundedBy>,
}

impl Staircase {
    pub(super) fn new(bounds: SearchBounds, stair: Stair) -> Self {
        let step = if stair.step == 0 { (bounds.max / STEPS).max(1) } else { stair.step };
        Staircase {
            bounds,
            stair: Stair { step, ..stair },
            level: bounds.min,
            told: Vec::new(),
            passed: None,
            fail: None,
            disbelieved: 0,
            ended: (bounds.max_trials == 0).then_some(BoundedBy::Budget),
        }
    }

    fn step_up(&mut self, observed: &TrialObservation) -> Option<BoundedBy> {
        let before = self.passed.and_then(|(_, throughput)| throughput);
        let gain = before.zip(observed.throughput).map(|(before, now)| now / before - 1.0);
        let least = self.stair.least_gain.get();
        if least > 0.0 && gain.is_some_and(|gain| gain < least) {
            // It passed, but adds no throughput to the level below.
            return Some(BoundedBy::Gain);
        }
        self.passed = Some((self.level, observed.throughput));
        if observed.cpu.is_some_and(|cpu| cpu >= self.stair.most_cpu.get()) {
            return Some(BoundedBy::Cpu);
        }
        if self.level >= self.bounds.max {
            return Some(BoundedBy::Maximum);
        }
        self.level = self.level.saturating_add(self.stair.step).min(self.bounds.max);
        None
    }
}

impl Method for Staircase {
    /// Ignored: the method starts from below.
    fn ramp_ended(&mut self, _: u32, _: RampEnd) {}

    fn next(&self) -> Step {
        match self.ended {
            Some(_) => Step::Done(self.answer()),
            None => Step::Trial { level: self.level, purpose: Purpose::Search },
        }
    }

    fn tell(&mut self, _: u32, observed: &TrialObservation) {
        if self.ended.is_some() {
            return;
        }
        self.told.push(Trial::new(self.level, Purpose::Search, observed));
        self.disbelieved = if observed.result == TrialResult::Invalid { self.disbelieved + 1 } else { 0 };
        self.ended = match observed.result {
            TrialResult::Pass => self.step_up(observed),
            TrialResult::Fail => {
                self.fail = Some(self.level);
                Some(if self.level <= self.bounds.min { BoundedBy::Minimum } else { BoundedBy::Fail })
            }
            TrialResult::Invalid => (self.disbelieved >= DISBELIEVED).then_some(BoundedBy::Disbelief),
        };
        if self.told.len() as u32 >= self.bounds.max_trials {
            self.ended = self.ended.or(Some(BoundedBy::Budget));
        }
    }

    fn trials(&self) -> &[Trial] {
        &self.told
    }

    fn answer(&self) -> Answer {
        Answer {
            capacity: self.passed.map(|(level, _)| level),
            highest_pass: self.passed.map(|(level, _)| level),
            lowest_fail: self.fail,
            bounded_by: self.ended.unwrap_or(BoundedBy::Budget),
            trials: self.told.len() as u32,
            confirmed: false,
            estimate: None,
        }
    }
}

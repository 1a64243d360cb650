//! A search with stated certainty: a posterior over every capacity, softness and share of spurious failures
//! (`grid`), with each trial at the level that is expected to tell the most about the capacity.
//!
//! 1. Without a ramp to begin from, levels are doubled until one fails twice.
//! 2. Trials narrow the interval. Every eighth repeats an earlier level below the edge: a spurious pass or a
//!    changed target would show there, as in all other trials at levels that should pass.
//! 3. When the interval is narrow, or when only the trials kept for it are left, the safe level is confirmed
//!    by a sequential test, and then the upper end is tested the same way. A test counts all trials that its
//!    level ever had. The posterior also learns from the trials of tests, so a test that contradicts it moves
//!    it, and the search goes on.
//!
//! An invalid trial carries no information: it is counted and repeated. After two in a row a lower level is
//! tried; a level to which that happened three times, with valid lower ones in between, is avoided for good.

mod grid;
mod margin;
mod sequential;

use barograph_model::{SearchBounds, TrialResult};

use super::prior::Prior;
use super::rounded::rounded;
use super::{
    Answer, BoundedBy, Confirmation, Estimate, EvidenceAbove, Method, PassPoint, Purpose, RampEnd, Repeats,
    Step, Trial, TrialObservation,
};
use crate::binomial;
use grid::Grid;
use sequential::Sequential;

/// Quantiles of the interval and the median.
const INTERVAL: [f64; 3] = [0.025, 0.5, 0.975];

/// Narrowing trials after which an earlier level is repeated.
const REPEAT_EVERY: u32 = 8;

/// Probability of as few passes, or fewer, below which trials that should have passed indicate a drift.
const DRIFTED: f64 = 0.01;

/// Share of all trials that is kept to confirm, as a fraction.
const KEPT: (u32, u32) = (4, 15);
/// Most trials kept to confirm: as many as a test of both sides takes when all goes well.
const MOST_KEPT: u32 = 8;

/// Capacity as a part of the load that a ramp carried: a ramp carries somewhat more than will pass, because
/// it does not wait for the target to settle …
const RAMP_OVERSHOOTS: f64 = 0.92;
/// … with this spread: logarithm of the distance that one ramp in e is believed to exceed (half of them stay
/// within 0.083) …
const RAMP_DOUBT: f64 = 0.12;
/// … and this weight; the rest of the belief stays where it was.
const RAMP_TRUST: f64 = 0.8;

/// Probability of a capacity below the lowest level at which the search gives up.
const NOTHING_BELOW: f64 = 0.975;

/// Width of an interval, in levels, that is narrow at low levels: its ends are then neighbouring levels.
const NEIGHBOURS: f64 = 1.25;

/// Candidate levels of the first pass; the second pass looks around the best of them.
const CANDIDATES: usize = 40;

/// Invalid results in a row after which a level is left alone until a lower one is valid …
const STRIKE: u32 = 2;
/// … and the number of such strikes after which it is avoided for good.
const STRIKES: usize = 3;
/// Highest next level after an invalid one, as a part of that level.
const BELOW_STRIKE: f64 = 0.9;

/// Points of the curve of pass probabilities.
const CURVE_POINTS: u32 = 33;
/// Extent of the curve beyond the interval on each side, as a part of its width.
const CURVE_MARGIN: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq)]
enum NextTrial {
    Trial { level: u32, purpose: Purpose },
    Done,
}

/// Doubles the level until one fails twice.
#[derive(Clone, Copy, Debug)]
struct Doubling {
    level: u32,
    failed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Posterior {
    bounds: SearchBounds,
    grid: Grid,
    told: Vec<Trial>,
    next: NextTrial,
    doubling: Option<Doubling>,
    /// The test of the level to be reported.
    confirming: Option<Sequential>,
    /// The test of a level above the edge.
    above: Option<Sequential>,
    /// For each trial that should have passed: its pass probability by the posterior before it, and whether
    /// it passed.
    repeats: Vec<(f64, bool)>,
    since_repeat: u32,
    /// The latest invalid trials: their level, and their number in a row.
    disbelieved: (u32, u32),
    /// Levels with enough invalid trials to be left alone, and no valid trial at or above them since.
    strikes: Vec<u32>,
    /// Whether the latest strike came after the latest valid trial: a bad minute is one strike, however long.
    struck: bool,
}

impl Posterior {
    /// Begins at the lowest level, unless a ramp gives a better estimate.
    pub(super) fn new(bounds: SearchBounds, prior: Prior) -> Self {
        let level = bounds.min;
        let next = if bounds.max_trials == 0 {
            NextTrial::Done
        } else {
            NextTrial::Trial { level, purpose: Purpose::Ramp }
        };
        Posterior {
            bounds,
            grid: Grid::new(bounds.min, bounds.max, prior),
            told: Vec::new(),
            next,
            doubling: Some(Doubling { level, failed: false }),
            confirming: None,
            above: None,
            repeats: Vec::new(),
            since_repeat: 0,
            disbelieved: (0, 0),
            strikes: Vec::new(),
            struck: false,
        }
    }

    fn left(&self) -> u32 {
        self.bounds.max_trials.saturating_sub(self.told.len() as u32)
    }

    fn kept(&self) -> u32 {
        (self.bounds.max_trials * KEPT.0 / KEPT.1).min(MOST_KEPT)
    }

    /// Whether the capacity is more likely than not above the highest level.
    fn beyond(&self) -> bool {
        self.grid.above(self.bounds.max) > 0.5
    }

    /// Whether the interval is as narrow as required. Capacities outside of the bounds cannot be
    /// distinguished.
    fn narrow(&self) -> bool {
        let [low, median, high] = self.grid.quantiles(INTERVAL);
        let (min, max) = (f64::from(self.bounds.min), f64::from(self.bounds.max));
        let width = high.clamp(min, max) - low.clamp(min, max);
        width
            <= (median.min(max) * self.bounds.resolution.get()).max(if max < 1e3 { NEIGHBOURS } else { 0.0 })
    }

    fn decide(&mut self) -> NextTrial {
        if self.left() == 0 || 1.0 - self.grid.above(self.bounds.min) > NOTHING_BELOW {
            return NextTrial::Done;
        }
        let limit = self.limit();
        match self.doubling {
            Some(Doubling { level, .. }) if level <= limit => {
                return NextTrial::Trial { level, purpose: Purpose::Ramp };
            }
            // Back to a level that can be valid; then the doubling continues.
            Some(_) if self.struck => return NextTrial::Trial { level: limit, purpose: Purpose::Search },
            _ => self.doubling = None,
        }
        let narrow = self.narrow();
        let kept = self.kept();
        self.forget_stale_tests();
        if narrow || self.left() <= kept {
            if self.confirming.is_none() {
                self.confirming = Some(self.test_of_the_answer());
            }
            let beyond = self.beyond();
            let open = |test: &&Sequential| test.ended().is_none();
            if let Some(test) = self.confirming.as_ref().filter(open) {
                return NextTrial::Trial { level: test.level, purpose: Purpose::Confirm };
            }
            if !beyond && self.above.is_none() {
                self.above = self.test_above();
            }
            if let Some(test) = self.above.as_ref().filter(open).filter(|_| !beyond) {
                return NextTrial::Trial { level: test.level, purpose: Purpose::Confirm };
            }
            if narrow {
                return NextTrial::Done;
            }
        }
        if self.since_repeat >= REPEAT_EVERY
            && let Some(level) = self.level_to_repeat()
        {
            return NextTrial::Trial { level, purpose: Purpose::Repeat };
        }
        NextTrial::Trial { level: self.telling_level(), purpose: Purpose::Search }
    }

    /// Drops tests of levels that no longer need a test.
    fn forget_stale_tests(&mut self) {
        let [low, median, high] = self.grid.quantiles(INTERVAL);
        let beyond = self.beyond();
        let max = self.bounds.max;
        let stale = |test: &Sequential| match test.ended() {
            Some(accepted) => !accepted || f64::from(test.level) > high,
            None => f64::from(test.level) > median.min(f64::from(max)) || (beyond && test.level < max),
        };
        self.confirming = self.confirming.filter(|test| !stale(test));
        let stale_above = |test: &Sequential| match test.ended() {
            Some(accepted) => accepted || f64::from(test.level) < low,
            None => f64::from(test.level) < median,
        };
        self.above = self.above.filter(|test| !stale_above(test));
    }

    /// Test of the highest level if it passes, else of the safe level, or of the next below it without a
    /// rejection.
    fn test_of_the_answer(&self) -> Sequential {
        let mut level = self.below_ceiling(if self.beyond() { self.bounds.max } else { self.safe() });
        loop {
            let test = self.test_at(level);
            if test.ended() != Some(false) || level <= self.bounds.min {
                return test;
            }
            level = self.rounded(f64::from(level - 1), f64::floor);
        }
    }

    /// Test of the upper end of the interval, or of the next level above it without an acceptance, if it may
    /// be tried.
    fn test_above(&self) -> Option<Sequential> {
        let mut level = self.level_above()?;
        loop {
            let test = self.test_at(level);
            if test.ended() != Some(true) {
                return Some(test);
            }
            let next = self.rounded(f64::from(level) + 1.0, f64::ceil);
            if next <= level || self.below_ceiling(next) != next {
                return None;
            }
            level = next;
        }
    }

    /// The test of a level so far. A level has one test with all its valid trials, for any purpose: a test
    /// begun afresh would leave out the evidence against it.
    fn test_at(&self, level: u32) -> Sequential {
        let mut test = Sequential::at(level);
        for passed in self.shown_at(level) {
            if test.ended().is_none() {
                test.tell(passed);
            }
        }
        test
    }

    /// Results of the valid trials at a level, in order: whether they passed.
    fn shown_at(&self, level: u32) -> impl Iterator<Item = bool> {
        let valid = self.told.iter().filter(move |t| t.level == level && t.result != TrialResult::Invalid);
        valid.map(|trial| trial.result == TrialResult::Pass)
    }

    /// Number of passes among the valid trials at a level, and number of all of them.
    fn counted_at(&self, level: u32) -> (u32, u32) {
        self.shown_at(level).fold((0, 0), |(passed, all), pass| (passed + u32::from(pass), all + 1))
    }

    /// The lower end of the interval, rounded down.
    fn safe(&self) -> u32 {
        self.rounded(self.grid.quantiles(INTERVAL)[0], f64::floor)
    }

    /// The upper end of the interval, rounded up, if it may be tried.
    fn level_above(&self) -> Option<u32> {
        let high = self.grid.quantiles(INTERVAL)[2];
        let level = self.rounded(high, f64::ceil);
        (high <= f64::from(self.bounds.max) && self.below_ceiling(level) == level).then_some(level)
    }

    /// The highest tried level at or below the safe level, where a failure would be significant; the lowest
    /// of all if the target has lost so much capacity that there is none.
    fn level_to_repeat(&self) -> Option<u32> {
        let safe = self.safe();
        let tried = self.told.iter().filter(|t| t.result != TrialResult::Invalid).map(|t| t.level);
        tried.clone().filter(|level| *level <= safe).max().or(tried.min())
    }

    /// The level at which a trial is expected to tell the most.
    fn telling_level(&self) -> u32 {
        let [low, high] = self.grid.quantiles([0.002, 0.998]);
        let top = self.limit();
        let within = |level: f64| level.clamp(f64::from(self.bounds.min), f64::from(top));
        let (first, last) = (self.grid.cell_of(within(low * 0.98)), self.grid.cell_of(within(high * 1.02)));
        let stride = ((last - first) / CANDIDATES).max(1);
        let mut outlook = self.grid.outlook();
        let coarse = (first..=last).step_by(stride).chain([last]);
        let best = outlook.most_telling(coarse).unwrap_or(first);
        let around = best.saturating_sub(stride - 1).max(first)..=(best + stride - 1).min(last);
        let best = if stride > 1 { outlook.most_telling(around).unwrap_or(best) } else { best };
        self.rounded(self.grid.level_of(best), f64::round).min(top)
    }

    /// The highest level that may be tried next.
    fn limit(&self) -> u32 {
        let lowest = self.strikes.iter().copied().min().unwrap_or(self.bounds.max);
        // After a valid trial the struck level is tried again, but nothing above it.
        let avoided = self.struck || self.ceiling().is_some();
        let most = if avoided { (f64::from(lowest) * BELOW_STRIKE) as u32 } else { lowest };
        most.clamp(self.bounds.min, self.bounds.max)
    }

    /// The lowest level that is avoided for good.
    fn ceiling(&self) -> Option<u32> {
        (self.strikes.len() >= STRIKES).then(|| self.strikes.iter().copied().min()).flatten()
    }

    fn below_ceiling(&self, level: u32) -> u32 {
        self.ceiling().map_or(level, |ceiling| level.min(ceiling.saturating_sub(1).max(self.bounds.min)))
    }

    /// Counts an invalid trial.
    fn disbelieve(&mut self, level: u32) {
        let times = if self.disbelieved.0 == level { self.disbelieved.1 + 1 } else { 1 };
        self.disbelieved = (level, times);
        let again = self.struck;
        self.struck = again || times >= STRIKE;
        match self.strikes.last_mut() {
            // A bad minute that continues, or the same limit of the measurement met again on the way down.
            Some(strike) if again => *strike = level.min(*strike),
            _ if times >= STRIKE => self.strikes.push(level),
            _ => {}
        }
    }

    /// Whether a trial should pass while the target is unchanged: one at or below the safe level, or a
    /// confirming one whose level was the safe one when its test began.
    fn should_pass(&self, level: u32, purpose: Purpose) -> bool {
        let confirms = self.confirming.is_some_and(|test| test.level == level);
        purpose == Purpose::Repeat || confirms || f64::from(level) <= self.grid.quantiles(INTERVAL)[0]
    }

    fn learn(&mut self, level: u32, purpose: Purpose, passed: bool) {
        self.disbelieved = (0, 0);
        self.struck = false;
        self.strikes.retain(|strike| *strike > level);
        if self.should_pass(level, purpose) {
            self.repeats.push((self.grid.predict(level), passed));
        }
        match purpose {
            Purpose::Repeat => self.since_repeat = 0,
            Purpose::Search => self.since_repeat += 1,
            Purpose::Ramp | Purpose::Confirm => {}
        }
        self.grid.learn(level, passed);
        self.confirming = self.confirming.map(|test| self.test_at(test.level));
        self.above = self.above.map(|test| self.test_at(test.level));
        if let (Some(doubling), Purpose::Ramp) = (&mut self.doubling, purpose) {
            match (passed, doubling.failed) {
                (true, _) if level < self.bounds.max => {
                    *doubling =
                        Doubling { level: level.saturating_mul(2).min(self.bounds.max), failed: false };
                }
                (false, false) => doubling.failed = true,
                (true, _) | (false, true) => self.doubling = None,
            }
        }
    }

    /// A level rounded to a convenient number, within 0.25 %.
    fn rounded(&self, level: f64, round: fn(f64) -> f64) -> u32 {
        rounded(level, level * 0.0025, round, &self.bounds)
    }

    fn levels(&self, result: TrialResult) -> impl Iterator<Item = u32> {
        self.told.iter().filter(move |trial| trial.result == result).map(|trial| trial.level)
    }

    /// Whether the capacity lies at or above invalid levels.
    fn is_hidden(&self, capacity: f64) -> bool {
        self.strikes.iter().min().is_some_and(|level| capacity >= f64::from(*level) * BELOW_STRIKE)
    }

    fn bounded_by(&self, median: f64) -> BoundedBy {
        let hidden = self.is_hidden(median);
        if self.levels(TrialResult::Pass).next().is_none() {
            let failed = self.levels(TrialResult::Fail).min();
            let believed = failed.is_some();
            let no_less = self.bounds.min;
            return match failed {
                Some(level) if level <= no_less && self.grid.above(no_less) < 0.5 => BoundedBy::Minimum,
                _ if hidden || !believed => BoundedBy::Disbelief,
                _ => BoundedBy::Budget,
            };
        }
        // A failure above ends it there; invalid levels in between are missing trials, which the interval
        // accounts for.
        if hidden && !self.levels(TrialResult::Fail).any(|level| f64::from(level) >= median) {
            BoundedBy::Disbelief
        } else if self.beyond() && self.levels(TrialResult::Pass).any(|level| level == self.bounds.max) {
            BoundedBy::Maximum
        } else if self.narrow() && self.levels(TrialResult::Fail).next().is_some() {
            BoundedBy::Fail
        } else {
            BoundedBy::Budget
        }
    }

    fn estimate(&self) -> Estimate {
        let [low, capacity, high] = self.grid.quantiles(INTERVAL);
        let (softness, spurious) = self.grid.kind();
        let invalid = self.levels(TrialResult::Invalid).count() as u32;
        // Trials after the end of a test count too: they must not improve it, and may worsen it.
        let confirmation = self.confirming.filter(|test| test.trials > 0).map(|test| {
            let (passed, trials) = self.counted_at(test.level);
            Confirmation {
                level: test.level,
                passed,
                trials,
                at_least: test.at_least().min(binomial::at_least(passed, trials)),
                complete: test.ended() == Some(true),
            }
        });
        let above = self.above.filter(|test| test.trials > 0).map(|test| {
            let (passed, trials) = self.counted_at(test.level);
            EvidenceAbove {
                level: test.level,
                failed: trials - passed,
                trials,
                below: test.below().max(binomial::below(passed, trials)),
                complete: test.ended() == Some(false),
            }
        });
        Estimate {
            capacity,
            low,
            high,
            safe: self.safe(),
            beyond: self.grid.above(self.bounds.max),
            softness,
            spurious,
            curve: Vec::new(),
            valid: self.told.len() as u32 - invalid,
            invalid,
            confirmation,
            above,
            cross_check: margin::cross_check(&self.told, [low, capacity, high]),
            repeats: self.repeated(),
        }
    }

    fn repeated(&self) -> Option<Repeats> {
        let (likely, passed): (Vec<f64>, Vec<bool>) = self.repeats.iter().copied().unzip();
        let passed = passed.into_iter().filter(|passed| *passed).count();
        // Only too few passes show that a target became slower; the search itself finds a faster one.
        let p = binomial::number(&likely)[..=passed].iter().sum::<f64>().min(1.0);
        (!likely.is_empty()).then(|| Repeats {
            trials: likely.len() as u32,
            passed: passed as u32,
            expected: likely.iter().sum(),
            p,
            drifted: p < DRIFTED,
        })
    }
}

impl Method for Posterior {
    /// A failed ramp makes levels around its load more likely; one that reached the highest level makes the
    /// capacity as likely as not beyond it. Neither makes any level impossible.
    fn ramp_ended(&mut self, at: u32, how: RampEnd) {
        self.doubling = None;
        let max = f64::from(self.bounds.max);
        let cells = self.grid.cell_of(max * 1.3) + 1;
        match how {
            RampEnd::GaveWay => {
                let edge = f64::from(at.clamp(self.bounds.min, self.bounds.max)) * RAMP_OVERSHOOTS;
                let height = cells as f64 * grid::STEP / (2.0 * RAMP_DOUBT);
                self.grid.prefer(|level| {
                    let distance = (level / edge).ln().abs() / RAMP_DOUBT;
                    1.0 - RAMP_TRUST + RAMP_TRUST * height * (-distance).exp()
                });
                self.next = self.decide();
            }
            RampEnd::Reached => {
                let beyond = self.grid.above(self.bounds.max).clamp(1e-6, 1.0 - 1e-6);
                self.grid.prefer(|level| if level > max { 0.5 / beyond } else { 0.5 / (1.0 - beyond) });
                if self.next != NextTrial::Done {
                    self.next = NextTrial::Trial { level: self.bounds.max, purpose: Purpose::Search };
                }
            }
        }
    }

    fn next(&self) -> Step {
        match self.next {
            NextTrial::Trial { level, purpose } => Step::Trial { level, purpose },
            NextTrial::Done => Step::Done(self.answer()),
        }
    }

    fn tell(&mut self, level: u32, observed: &TrialObservation) {
        let NextTrial::Trial { purpose, .. } = self.next else { return };
        self.told.push(Trial::new(level, purpose, observed));
        match observed.result {
            TrialResult::Invalid => self.disbelieve(level),
            TrialResult::Pass => self.learn(level, purpose, true),
            TrialResult::Fail => self.learn(level, purpose, false),
        }
        // Invalid trials are repeated, unless their level is to be left alone.
        let again = observed.result == TrialResult::Invalid && !self.struck && self.left() > 0;
        if !again {
            self.next = self.decide();
        }
    }

    fn trials(&self) -> &[Trial] {
        &self.told
    }

    fn answer(&self) -> Answer {
        let estimate = self.estimate();
        let highest_pass = self.levels(TrialResult::Pass).max();
        let bounded_by = self.bounded_by(estimate.capacity);
        let (min, max) = (f64::from(self.bounds.min), f64::from(self.bounds.max));
        let believed = self.rounded(estimate.capacity.clamp(min, max), f64::floor);
        let capacity = highest_pass.map(|pass| match bounded_by {
            BoundedBy::Disbelief => believed.min(pass),
            _ => believed,
        });
        Answer {
            capacity,
            highest_pass,
            lowest_fail: self.levels(TrialResult::Fail).min(),
            bounded_by,
            trials: self.told.len() as u32,
            confirmed: capacity.is_some() && estimate.confirmation.is_some_and(|c| c.complete),
            estimate: Some(Box::new(estimate)),
        }
    }

    fn curve(&self) -> Vec<PassPoint> {
        let [low, _, high] = self.grid.quantiles(INTERVAL);
        let width = (high / low).ln().max(0.02);
        let from = low.ln() - width * CURVE_MARGIN;
        let step = width * (1.0 + 2.0 * CURVE_MARGIN) / f64::from(CURVE_POINTS - 1);
        let level = |n: u32| (from + f64::from(n) * step).exp().round().max(1.0) as u32;
        let mut levels: Vec<u32> = (0..CURVE_POINTS).map(level).collect();
        levels.dedup();
        let point = |level: u32| {
            let [low, pass, high] = self.grid.pass_at(level, INTERVAL);
            PassPoint { level, pass, low, high }
        };
        levels.into_iter().map(point).collect()
    }
}

#[cfg(test)]
mod tests;

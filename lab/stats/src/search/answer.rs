//! What a search found, and how sure it is of it.

/// What kept the answer from being higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundedBy {
    /// Passed at the highest level that was allowed: the capacity may be higher.
    Maximum,
    /// A higher level failed.
    Fail,
    /// A higher level could not be believed: the measurement, not the target, was the limit.
    Disbelief,
    /// The trials were used up before the edge was known well enough.
    Budget,
    /// Failed at the lowest level worth a trial.
    Minimum,
    /// A higher level would have brought no more throughput.
    Gain,
    /// The host's CPU was used as far as it may be.
    Cpu,
}

/// What the search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The capacity; `None` when no level passed. Of a search by `posterior` the median of what is believed about the
    /// level at which half of the spurious-free trials pass; otherwise the highest level that passed and was not
    /// contradicted later.
    pub capacity: Option<u32>,
    /// Highest level that passed; where the method keeps a bracket, below [`Self::lowest_fail`].
    pub highest_pass: Option<u32>,
    /// Lowest level that failed.
    pub lowest_fail: Option<u32>,
    /// What kept the capacity from being higher.
    pub bounded_by: BoundedBy,
    /// Trials used, those that were not valid included.
    pub trials: u32,
    /// Was the answer confirmed by the rule of its method?
    pub confirmed: bool,
    /// How sure it is; only of a search by `posterior`.
    pub estimate: Option<Box<Estimate>>,
}

/// What is believed about the edge after all trials.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Median of the capacity. It may lie outside the bounds of the search, where no trial was made.
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// The lower end, rounded down to a level within the bounds.
    pub safe: u32,
    /// Probability that the capacity is above the highest level that was allowed.
    pub beyond: f64,
    /// Width of the edge as a share of the capacity: over about four times as much trials go from passing to failing.
    pub softness: f64,
    /// Share of trials that fail for no reason at any level.
    pub spurious: f64,
    /// Pass probability of a trial by level, around the edge; empty in the answer of a step.
    pub curve: Vec<PassPoint>,
    /// Trials that could be believed.
    pub valid: u32,
    /// Trials that could not, which say nothing and were made again.
    pub invalid: u32,
    /// Trials that confirmed the reported level; `None` where there was no trial left for it.
    pub confirmation: Option<Confirmation>,
    /// Trials above the edge; `None` where there was no trial left for it.
    pub above: Option<Above>,
    /// A second opinion, from how far response times were from their limits.
    pub cross_check: Option<CrossCheck>,
    /// Trials that should have passed.
    pub repeats: Option<Repeats>,
}

/// A capacity that is more likely than this to be above all that was allowed has no upper end: how far its interval reaches
/// there is a matter of what was believed at first.
pub const OPEN: f64 = 0.025;

/// A point of the curve of pass probabilities. Probabilities 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassPoint {
    /// The level.
    pub level: u32,
    /// Median of what is believed about its pass probability.
    pub pass: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// What all valid trials at one level say about its pass probability, whatever those at others say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// The level.
    pub level: u32,
    /// Valid trials that passed.
    pub passed: u32,
    /// Valid trials.
    pub trials: u32,
    /// The pass probability is at least this, with 95 % confidence.
    pub at_least: f64,
    /// The sequential test (pass probability 0.5 against 0.9, errors 5 %) ended and accepted.
    pub complete: bool,
}

/// What all valid trials at a level above the edge say about its pass probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Above {
    /// The level.
    pub level: u32,
    /// Valid trials that failed.
    pub failed: u32,
    /// Valid trials.
    pub trials: u32,
    /// The pass probability is below this, with 95 % confidence.
    pub below: f64,
    /// The sequential test ended and rejected.
    pub complete: bool,
}

/// The capacity by a straight line through how far response times were from their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossCheck {
    /// Where the line crosses the limit.
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Trials the line was fitted to.
    pub trials: u32,
    /// The two intervals have nothing in common.
    pub disagrees: bool,
}

/// Trials at levels that should pass, those that confirm included: is the target still what it was?
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// Valid trials that repeated an earlier level, confirmed the safe one, or were at or below it.
    pub trials: u32,
    /// Passed ones among them.
    pub passed: u32,
    /// Passes expected by what was believed before each.
    pub expected: f64,
    /// Probability of so few passes or fewer, if nothing changed.
    pub p: f64,
    /// Less than 1 %: the target changed while the search went on.
    pub drifted: bool,
}

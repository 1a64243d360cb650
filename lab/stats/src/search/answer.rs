//! The answer of a search, and its certainty.

/// Reason why the answer is not higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoundedBy {
    /// Passed at the highest level that was allowed: the capacity may be higher.
    Maximum,
    /// A higher level failed.
    Fail,
    /// A higher level was invalid: the measurement, not the target, was the limit.
    Disbelief,
    /// The trials were used up before the edge was known well enough.
    Budget,
    /// Failed at the lowest level worth a trial.
    Minimum,
    /// A higher level would have brought no more throughput.
    Gain,
    /// The host's CPU reached its limit.
    Cpu,
}

/// The answer of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The capacity; `None` if no level passed. From `posterior`, the median of the level at which half of
    /// the trials without spurious failure pass; otherwise the highest level that passed without a later
    /// contradiction.
    pub capacity: Option<u32>,
    /// Highest level that passed; where the method keeps a bracket, below [`Self::lowest_fail`].
    pub highest_pass: Option<u32>,
    /// Lowest level that failed.
    pub lowest_fail: Option<u32>,
    /// Reason why the capacity is not higher.
    pub bounded_by: BoundedBy,
    /// Trials used, including invalid ones.
    pub trials: u32,
    /// Whether the answer was confirmed by the rule of its method.
    pub confirmed: bool,
    /// Certainty of the answer; only from `posterior`.
    pub estimate: Option<Box<Estimate>>,
}

/// Posterior of the edge after all trials.
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
    /// Probability that the capacity is above the highest allowed level.
    pub beyond: f64,
    /// Width of the edge as a share of the capacity: over about four times this width trials go from passing
    /// to failing.
    pub softness: f64,
    /// Share of trials that fail spuriously, at any level.
    pub spurious: f64,
    /// Pass probability of a trial by level, around the edge; empty in the answer of a step.
    pub curve: Vec<PassPoint>,
    /// Valid trials.
    pub valid: u32,
    /// Invalid trials, which carry no information and were repeated.
    pub invalid: u32,
    /// Trials that confirmed the reported level; `None` without a trial left for it.
    pub confirmation: Option<Confirmation>,
    /// Trials above the edge; `None` without a trial left for it.
    pub above: Option<EvidenceAbove>,
    /// A second estimate, from the distance of response times to their limits.
    pub cross_check: Option<CrossCheck>,
    /// Trials that should have passed.
    pub repeats: Option<Repeats>,
}

/// Probability of a capacity above all allowed levels from which on it has no upper end: the length of its
/// interval there is a matter of the prior.
pub const OPEN: f64 = 0.025;

/// A point of the curve of pass probabilities. Probabilities 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassPoint {
    /// The level.
    pub level: u32,
    /// Median of its pass probability.
    pub pass: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// Evidence on the pass probability of one level from all its valid trials, without those of other levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmation {
    /// The level.
    pub level: u32,
    /// Valid trials that passed.
    pub passed: u32,
    /// Valid trials.
    pub trials: u32,
    /// Lower bound of the pass probability, with 95 % confidence.
    pub at_least: f64,
    /// Whether the sequential test (pass probability 0.5 against 0.9, errors 5 %) ended and accepted.
    pub complete: bool,
}

/// Evidence on the pass probability of a level above the edge from all its valid trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceAbove {
    /// The level.
    pub level: u32,
    /// Valid trials that failed.
    pub failed: u32,
    /// Valid trials.
    pub trials: u32,
    /// Upper bound of the pass probability, with 95 % confidence.
    pub below: f64,
    /// Whether the sequential test ended and rejected.
    pub complete: bool,
}

/// The capacity by a straight line through the distances of response times from their limits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossCheck {
    /// The level at which the line crosses the limit.
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
    /// Trials the line was fitted to.
    pub trials: u32,
    /// Whether the two intervals are disjoint.
    pub disagrees: bool,
}

/// Trials at levels that should pass, including confirming ones, as a test for changes of the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// Valid trials that repeated an earlier level, confirmed the safe one, or were at or below it.
    pub trials: u32,
    /// Those that passed.
    pub passed: u32,
    /// Expected passes, by the posterior before each.
    pub expected: f64,
    /// Probability of that few passes or fewer without a change.
    pub p: f64,
    /// Whether that is less than 1 %: the target changed during the search.
    pub drifted: bool,
}

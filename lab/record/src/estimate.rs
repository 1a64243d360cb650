//! How sure a search is of its answer, as it is kept. Levels are in the unit of the verdict, probabilities 0 to 1.

use barograph_stats::search::{Above, Confirmation, CrossCheck, Estimate, PassPoint, Repeats};
use serde::{Deserialize, Serialize};

use crate::entry::nan;

/// What is believed about the capacity after all trials of a search by posterior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptEstimate {
    /// Median of the capacity: the level at which half of the trials pass that do not fail for no reason.
    #[serde(deserialize_with = "nan")]
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// The lower end, rounded down to a level that may be tried.
    pub safe: u32,
    /// Probability that the capacity is above the highest level that was allowed.
    #[serde(deserialize_with = "nan")]
    pub beyond: f64,
    /// Width of the edge as a share of the capacity.
    #[serde(deserialize_with = "nan")]
    pub softness: f64,
    /// Share of trials that fail for no reason at any level.
    #[serde(deserialize_with = "nan")]
    pub spurious: f64,
    /// Pass probability by level, around the edge.
    pub curve: Vec<KeptPassPoint>,
    /// Trials that could be believed.
    pub valid: u32,
    /// Trials that could not, and were made again.
    pub invalid: u32,
    /// The trials that confirm; absent where there was none left for it.
    pub confirmation: Option<KeptConfirmation>,
    /// Trials at the upper end; absent where there was none left for it.
    pub above: Option<KeptAbove>,
    /// The capacity by response times.
    pub cross_check: Option<KeptCrossCheck>,
    /// Trials that should have passed.
    pub repeats: Option<KeptRepeats>,
}

/// A point of the curve of pass probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptPassPoint {
    /// The level.
    pub level: u32,
    /// Median of what is believed about its pass probability.
    #[serde(deserialize_with = "nan")]
    pub pass: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// What trials at one level say about its pass probability by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptConfirmation {
    /// The level.
    pub level: u32,
    /// Valid trials that passed.
    pub passed: u32,
    /// Valid trials.
    pub trials: u32,
    /// The pass probability is at least this, with 95 % confidence.
    #[serde(deserialize_with = "nan")]
    pub at_least: f64,
    /// The sequential test ended and accepted.
    pub complete: bool,
}

/// What trials at a level above the edge say about its pass probability by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptAbove {
    /// The level.
    pub level: u32,
    /// Valid trials that failed.
    pub failed: u32,
    /// Valid trials.
    pub trials: u32,
    /// The pass probability is below this, with 95 % confidence.
    #[serde(deserialize_with = "nan")]
    pub below: f64,
    /// The sequential test ended and rejected.
    pub complete: bool,
}

/// The capacity by a straight line through how far response times were from their limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptCrossCheck {
    /// Where the line crosses the limit.
    #[serde(deserialize_with = "nan")]
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Trials the line was fitted to.
    pub trials: u32,
    /// Its interval and the one of passes and fails have nothing in common.
    pub disagrees: bool,
}

/// Trials that should have passed: repeats of earlier levels, confirmations of the safe one, and all others at or below it.
/// Older records have repeats alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptRepeats {
    /// Valid ones.
    pub trials: u32,
    /// Passed ones among them.
    pub passed: u32,
    /// Passes expected by what was believed before each.
    #[serde(deserialize_with = "nan")]
    pub expected: f64,
    /// Probability of so few passes or fewer, if nothing changed.
    #[serde(deserialize_with = "nan")]
    pub p: f64,
    /// The target changed while the search went on.
    pub drifted: bool,
}

impl From<&Estimate> for KeptEstimate {
    fn from(found: &Estimate) -> Self {
        let point = |p: &PassPoint| KeptPassPoint { level: p.level, pass: p.pass, low: p.low, high: p.high };
        let confirmation = |c: Confirmation| KeptConfirmation {
            level: c.level,
            passed: c.passed,
            trials: c.trials,
            at_least: c.at_least,
            complete: c.complete,
        };
        let above = |a: Above| KeptAbove {
            level: a.level,
            failed: a.failed,
            trials: a.trials,
            below: a.below,
            complete: a.complete,
        };
        let cross_check = |c: CrossCheck| KeptCrossCheck {
            capacity: c.capacity,
            low: c.low,
            high: c.high,
            trials: c.trials,
            disagrees: c.disagrees,
        };
        let repeats = |r: Repeats| KeptRepeats {
            trials: r.trials,
            passed: r.passed,
            expected: r.expected,
            p: r.p,
            drifted: r.drifted,
        };
        KeptEstimate {
            capacity: found.capacity,
            low: found.low,
            high: found.high,
            safe: found.safe,
            beyond: found.beyond,
            softness: found.softness,
            spurious: found.spurious,
            curve: found.curve.iter().map(point).collect(),
            valid: found.valid,
            invalid: found.invalid,
            confirmation: found.confirmation.map(confirmation),
            above: found.above.map(above),
            cross_check: found.cross_check.map(cross_check),
            repeats: found.repeats.map(repeats),
        }
    }
}

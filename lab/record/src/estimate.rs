//! Certainty of a search. Levels are in the unit of the verdict, probabilities 0 to 1.

use barograph_stats::search::{Confirmation, CrossCheck, Estimate, EvidenceAbove, PassPoint, Repeats};
use serde::{Deserialize, Serialize};

use crate::entry::nan;

/// Posterior of the capacity after all trials of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimateRecord {
    /// Median of the capacity: the level at which half of the trials pass, spurious failures apart.
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
    /// Share of trials that fail spuriously at any level.
    #[serde(deserialize_with = "nan")]
    pub spurious: f64,
    /// Pass probability by level, near the edge.
    pub curve: Vec<PassPointRecord>,
    /// Valid trials.
    pub valid: u32,
    /// Invalid trials, which were repeated.
    pub invalid: u32,
    /// Confirming trials; absent if none remained for them.
    pub confirmation: Option<ConfirmationRecord>,
    /// Trials at the upper end; absent if none remained for them.
    pub above: Option<EvidenceAboveRecord>,
    /// Capacity estimated from response times.
    pub cross_check: Option<CrossCheckRecord>,
    /// Trials that were expected to pass.
    pub repeats: Option<RepeatsRecord>,
}

/// A point of the curve of pass probabilities.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PassPointRecord {
    /// The level.
    pub level: u32,
    /// Median of the pass probability's posterior.
    #[serde(deserialize_with = "nan")]
    pub pass: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
}

/// Evidence of the trials at one level for its pass probability, without the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationRecord {
    /// The level.
    pub level: u32,
    /// Valid trials that passed.
    pub passed: u32,
    /// Valid trials.
    pub trials: u32,
    /// Lower bound of the pass probability, at 95 % confidence.
    #[serde(deserialize_with = "nan")]
    pub at_least: f64,
    /// Whether the sequential test ended and accepted.
    pub complete: bool,
}

/// Evidence of the trials at a level above the edge for its pass probability, without the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAboveRecord {
    /// The level.
    pub level: u32,
    /// Valid trials that failed.
    pub failed: u32,
    /// Valid trials.
    pub trials: u32,
    /// Upper bound of the pass probability, at 95 % confidence.
    #[serde(deserialize_with = "nan")]
    pub below: f64,
    /// Whether the sequential test ended and rejected.
    pub complete: bool,
}

/// Capacity from a straight line fitted to the distances of response times from their limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossCheckRecord {
    /// Level at which the line crosses the limit.
    #[serde(deserialize_with = "nan")]
    pub capacity: f64,
    /// Lower end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub low: f64,
    /// Upper end of its 95 % interval.
    #[serde(deserialize_with = "nan")]
    pub high: f64,
    /// Number of trials in the fit.
    pub trials: u32,
    /// Whether its interval does not overlap with the interval of passes and fails.
    pub disagrees: bool,
}

/// Trials that were expected to pass: repeats of earlier levels, confirmations of the safe one, and all
/// others at or below it. Older records hold repeats only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatsRecord {
    /// Valid trials.
    pub trials: u32,
    /// Trials that passed.
    pub passed: u32,
    /// Expected number of passes, from the posterior before each trial.
    #[serde(deserialize_with = "nan")]
    pub expected: f64,
    /// Probability of this few passes or fewer, if nothing changed.
    #[serde(deserialize_with = "nan")]
    pub p: f64,
    /// Whether the target changed during the search.
    pub drifted: bool,
}

impl From<&Estimate> for EstimateRecord {
    fn from(found: &Estimate) -> Self {
        let point =
            |p: &PassPoint| PassPointRecord { level: p.level, pass: p.pass, low: p.low, high: p.high };
        let confirmation = |c: Confirmation| ConfirmationRecord {
            level: c.level,
            passed: c.passed,
            trials: c.trials,
            at_least: c.at_least,
            complete: c.complete,
        };
        let above = |a: EvidenceAbove| EvidenceAboveRecord {
            level: a.level,
            failed: a.failed,
            trials: a.trials,
            below: a.below,
            complete: a.complete,
        };
        let cross_check = |c: CrossCheck| CrossCheckRecord {
            capacity: c.capacity,
            low: c.low,
            high: c.high,
            trials: c.trials,
            disagrees: c.disagrees,
        };
        let repeats = |r: Repeats| RepeatsRecord {
            trials: r.trials,
            passed: r.passed,
            expected: r.expected,
            p: r.p,
            drifted: r.drifted,
        };
        EstimateRecord {
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

//! Verdict on a window, with *passed* (the QoS rules) and *valid* (the measurement) apart.

use crate::{Bound, Check, MeasureValue, OfferedLoad, Subject};

/// A rule applied to a measured window. Values are in the unit of the subject.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleVerdict {
    /// Subject of the rule.
    pub subject: Subject,
    /// Name of the operation that it is about; `None` for the whole load.
    pub op: Option<String>,
    /// The value; `None` if nothing occurred that would have one.
    pub value: Option<f64>,
    /// The requirement.
    pub bound: Bound,
    /// Deviation of the value that chance alone explains in this window.
    pub chance: f64,
    /// Whether the rule holds.
    pub holds: bool,
}

/// One operation in one measured window, with its rules. Times are in milliseconds, shares 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct OpVerdict {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended in the window.
    pub count: u64,
    /// Failed operations among them.
    pub failed: u64,
    /// Share of all judged operations.
    pub mix: f64,
    /// Required share; 0 if the share is not judged.
    pub mix_required: f64,
    /// Tolerance relative to the required share.
    pub mix_tolerance: f64,
    /// Deviation of the share that chance alone explains in this window; 0 if no share is required.
    pub mix_chance: f64,
    /// Mean response time.
    pub mean_ms: f64,
    /// Median response time.
    pub p50_ms: f64,
    /// 90 % quantile of response time.
    pub p90_ms: f64,
    /// 95 % quantile of response time.
    pub p95_ms: f64,
    /// 99 % quantile of response time.
    pub p99_ms: f64,
    /// 99.9 % quantile of response time.
    pub p999_ms: f64,
    /// Largest response time.
    pub max_ms: f64,
    /// Mean service time (from actual start).
    pub service_mean_ms: f64,
    /// Median service time.
    pub service_p50_ms: f64,
    /// 90 % quantile of service time.
    pub service_p90_ms: f64,
    /// 95 % quantile of service time.
    pub service_p95_ms: f64,
    /// 99 % quantile of service time.
    pub service_p99_ms: f64,
    /// 99.9 % quantile of service time.
    pub service_p999_ms: f64,
    /// Largest service time.
    pub service_max_ms: f64,
    /// Response time at the quantile of its first limit; p99 if it has none.
    pub judged_ms: f64,
    /// Limit of that quantile; `None` if response time has no limit.
    pub limit_ms: Option<f64>,
    /// Share of operations that exceeded the limit.
    pub over_limit: f64,
    /// Largest allowed share of failures.
    pub failures_allowed: f64,
    /// Whether the operation is judged.
    pub judged: bool,
    /// Whether the rule of `limit_ms` holds.
    pub time_ok: bool,
    /// Whether the mix rule holds.
    pub mix_ok: bool,
    /// Whether the failure rule holds.
    pub failures_ok: bool,
    /// Whether all its further rules hold.
    pub further_ok: bool,
}

impl OpVerdict {
    /// Returns whether all rules hold or the operation is not judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.judged || (self.time_ok && self.mix_ok && self.failures_ok && self.further_ok)
    }
}

/// A judged window.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowVerdict {
    /// Load asked for.
    pub offered: OfferedLoad,
    /// Users active at its end.
    pub users: u32,
    /// Start, seconds since the load began.
    pub from_s: f64,
    /// End, seconds since the load began.
    pub to_s: f64,
    /// Operations per second that ended well.
    pub throughput: f64,
    /// Operations per second that ended well and within their limit.
    pub goodput: f64,
    /// Requests per second.
    pub requests_s: f64,
    /// Operations started per second.
    pub starts_s: f64,
    /// Arrivals that waited for a free user (open loop).
    pub late: u64,
    /// Arrivals that never started (open loop).
    pub dropped: u64,
    /// Beats left out because an operation was still in progress.
    pub skipped: u64,
    /// Median start lag, milliseconds.
    pub lag_p50_ms: f64,
    /// 99 % quantile of start lag, milliseconds.
    pub lag_p99_ms: f64,
    /// Figures by operation.
    pub ops: Vec<OpVerdict>,
    /// Every rule, in the order of the profile.
    pub rules: Vec<RuleVerdict>,
    /// Measures of the workload.
    pub measures: Vec<MeasureValue>,
    /// Validity checks.
    pub checks: Vec<Check>,
}

impl WindowVerdict {
    /// Whether every rule holds and at least one operation did not fail.
    #[must_use]
    pub fn passed(&self) -> bool {
        let failed_alone =
            self.ops.iter().any(|op| op.count > 0) && self.ops.iter().all(|op| op.failed == op.count);
        !failed_alone && self.rules.iter().all(|rule| rule.holds) && self.ops.iter().all(OpVerdict::passed)
    }

    /// Returns the window of a load that had nothing to do: no rule is broken, and nothing is doubtful.
    #[must_use]
    pub fn without_load(self) -> Self {
        WindowVerdict { ops: Vec::new(), rules: Vec::new(), checks: Vec::new(), ..self }
    }

    /// Whether every validity check holds.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.checks.iter().all(|c| c.ok)
    }

    /// Returns the result: pass, fail or invalid.
    #[must_use]
    pub fn result(&self) -> TrialResult {
        match (self.valid(), self.passed()) {
            (false, _) => TrialResult::Invalid,
            (true, true) => TrialResult::Pass,
            (true, false) => TrialResult::Fail,
        }
    }
}

/// Result of a trial for a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrialResult {
    /// Valid, and every rule held.
    Pass,
    /// Valid, and a rule did not hold.
    Fail,
    /// Not valid, so neither pass nor fail.
    Invalid,
}

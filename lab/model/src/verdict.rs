//! What was decided about a window: *passed* (the QoS rules) and *valid* (the measurement can be believed) apart.

use crate::{Bound, Check, Measured, Offered, Subject};

/// A rule held against a measured window. Values are in the unit of the subject.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleVerdict {
    /// What was judged.
    pub subject: Subject,
    /// Name of the operation that it is about; `None` for the whole load.
    pub op: Option<String>,
    /// What was found; `None` where nothing happened of which there could be a value.
    pub value: Option<f64>,
    /// What was required.
    pub bound: Bound,
    /// By how much the value may be off by chance in this window.
    pub chance: f64,
    /// Is what was required?
    pub holds: bool,
}

/// One operation in one measured window, held against its rules. Times in milliseconds, shares 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct OpVerdict {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended in the window.
    pub count: u64,
    /// Failed ones among them.
    pub failed: u64,
    /// Share of all judged operations.
    pub mix: f64,
    /// Required share; 0 when the share is not judged.
    pub mix_required: f64,
    /// Tolerance relative to the required share.
    pub mix_tolerance: f64,
    /// By how much the share may be off by chance in this window; 0 where no share is required.
    pub mix_chance: f64,
    /// Response time, mean.
    pub mean_ms: f64,
    /// Response time, median.
    pub p50_ms: f64,
    /// Response time, 90 % quantile.
    pub p90_ms: f64,
    /// Response time, 95 % quantile.
    pub p95_ms: f64,
    /// Response time, 99 % quantile.
    pub p99_ms: f64,
    /// Response time, 99.9 % quantile.
    pub p999_ms: f64,
    /// Response time, largest.
    pub max_ms: f64,
    /// Service time (from actual start), mean.
    pub service_mean_ms: f64,
    /// Service time, median.
    pub service_p50_ms: f64,
    /// Service time, 90 % quantile.
    pub service_p90_ms: f64,
    /// Service time, 95 % quantile.
    pub service_p95_ms: f64,
    /// Service time, 99 % quantile.
    pub service_p99_ms: f64,
    /// Service time, 99.9 % quantile.
    pub service_p999_ms: f64,
    /// Service time, largest.
    pub service_max_ms: f64,
    /// The quantile of response time that its first limit is for; p99 where it has none.
    pub judged_ms: f64,
    /// The limit of that quantile; `None` where response time has no limit.
    pub limit_ms: Option<f64>,
    /// Share of operations over the limit.
    pub over_limit: f64,
    /// Largest allowed share of failures.
    pub failures_allowed: f64,
    /// Is the operation judged at all?
    pub judged: bool,
    /// The rule of `limit_ms` holds.
    pub time_ok: bool,
    /// The mix rule holds.
    pub mix_ok: bool,
    /// The failure rule holds.
    pub failures_ok: bool,
    /// All its further rules hold.
    pub further_ok: bool,
}

impl OpVerdict {
    /// All rules hold, or the operation is not judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.judged || (self.time_ok && self.mix_ok && self.failures_ok && self.further_ok)
    }
}

/// A measured window held against the rules.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowVerdict {
    /// The load that was asked for.
    pub offered: Offered,
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
    /// Arrivals that had to wait for a free user (open loop).
    pub late: u64,
    /// Arrivals that never started (open loop).
    pub dropped: u64,
    /// Beats left out because an operation was still in progress.
    pub skipped: u64,
    /// Start lag, median, milliseconds.
    pub lag_p50_ms: f64,
    /// Start lag, 99 % quantile, milliseconds.
    pub lag_p99_ms: f64,
    /// Per operation.
    pub ops: Vec<OpVerdict>,
    /// Every rule, in the order of the profile.
    pub rules: Vec<RuleVerdict>,
    /// Measures of the workload.
    pub measures: Vec<Measured>,
    /// Validity checks.
    pub checks: Vec<Check>,
}

impl WindowVerdict {
    /// Every rule holds, and something did not fail.
    #[must_use]
    pub fn passed(&self) -> bool {
        let failed_alone =
            self.ops.iter().any(|op| op.count > 0) && self.ops.iter().all(|op| op.failed == op.count);
        !failed_alone && self.rules.iter().all(|rule| rule.holds) && self.ops.iter().all(OpVerdict::passed)
    }

    /// Every validity check holds.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.checks.iter().all(|c| c.ok)
    }

    /// Pass, fail or not to be believed.
    #[must_use]
    pub fn result(&self) -> TrialResult {
        match (self.valid(), self.passed()) {
            (false, _) => TrialResult::Invalid,
            (true, true) => TrialResult::Pass,
            (true, false) => TrialResult::Fail,
        }
    }
}

/// What a trial says to a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrialResult {
    /// Valid, and every rule held.
    Pass,
    /// Valid, and some rule did not hold.
    Fail,
    /// Not to be believed either way.
    Invalid,
}

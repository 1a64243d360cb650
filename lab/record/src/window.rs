//! Trials as recorded: a measured window, its operations with their rules, and the validity checks.

use barograph_model::{CheckId, Level, LoadUnit, OfferedLoad};
use serde::{Deserialize, Serialize};

use crate::entry::{nan, unknown};
use crate::{Figure, Resources, RuleRecord};

/// Most by which the ends of an interval in a log are rounded, in seconds.
const ROUNDED_S: f64 = 0.0015;

/// Unit of a level of load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitRecord {
    /// Users.
    #[default]
    Users,
    /// Starts per second.
    StartsPerSecond,
    /// For several loads: percent of each load's own level, or of a tile.
    Percent,
}

impl UnitRecord {
    /// Returns the level with this unit, as used in sentences.
    #[must_use]
    pub fn offered(self, level: impl Into<Level>) -> OfferedLoad {
        let unit = match self {
            UnitRecord::Users => LoadUnit::Users,
            UnitRecord::StartsPerSecond => LoadUnit::PerSecond,
            UnitRecord::Percent => LoadUnit::Scale,
        };
        OfferedLoad { unit, level: level.into() }
    }

    /// Returns the name in tables and beside figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.offered(Level::ZERO).unit.name()
    }
}

impl From<LoadUnit> for UnitRecord {
    fn from(unit: LoadUnit) -> Self {
        match unit {
            LoadUnit::Users => UnitRecord::Users,
            LoadUnit::PerSecond => UnitRecord::StartsPerSecond,
            LoadUnit::Scale | LoadUnit::Tiles => UnitRecord::Percent,
        }
    }
}

/// Purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Load grew until something gave way.
    Ramp,
    /// A step of the search.
    Search,
    /// The capacity that was found, in a second window.
    Confirm,
    /// A window of a run with a constant load.
    Fixed,
    /// A hold of a load path.
    Path,
    /// Repetition of an earlier level of a search, to detect a change of the target.
    Repeat,
}

impl Purpose {
    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Ramp => "ramp",
            Purpose::Search => "search",
            Purpose::Confirm => "confirm",
            Purpose::Fixed => "fixed",
            Purpose::Path => "path",
            Purpose::Repeat => "repeat",
        }
    }
}

/// Result of a trial: pass, fail or invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultRecord {
    /// Valid, and every rule held.
    Pass,
    /// Valid, and a rule did not hold.
    Fail,
    /// Not valid, so neither pass nor fail.
    Invalid,
}

impl ResultRecord {
    /// Returns the name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ResultRecord::Pass => "pass",
            ResultRecord::Fail => "fail",
            ResultRecord::Invalid => "invalid",
        }
    }
}

/// A trial of one load level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of the trial, from 1.
    pub n: u32,
    /// Purpose of the trial.
    pub purpose: Purpose,
    /// Unit of the level.
    #[serde(default)]
    pub unit: UnitRecord,
    /// Level asked for. Records of version 1 name it `users`.
    #[serde(alias = "users", with = "crate::level")]
    pub level: Level,
    /// Result of the trial.
    pub result: ResultRecord,
    /// Whether it ended early because it could no longer pass.
    #[serde(default)]
    pub aborted: bool,
    /// Number of operations after which the load ends; absent for a load without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// The measured window.
    pub window: WindowRecord,
    /// Resources used.
    #[serde(default)]
    pub resources: Resources,
}

impl Trial {
    /// Returns the seconds from the first start to the last end of a load of a number of operations; `None`
    /// if it ended before all of them had, and for a load without end.
    #[must_use]
    pub fn elapsed_s(&self) -> Option<f64> {
        let is_whole = self.operations? <= self.window.ended();
        is_whole.then(|| self.window.seconds())
    }

    /// Returns the load asked for.
    #[must_use]
    pub fn offered(&self) -> OfferedLoad {
        self.unit.offered(self.level)
    }
}

/// A judged window. Times are in seconds since the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowRecord {
    /// Users active at the end of the window.
    pub users: u32,
    /// Start, seconds since the load began.
    #[serde(deserialize_with = "nan")]
    pub from_s: f64,
    /// End, seconds since the load began.
    #[serde(deserialize_with = "nan")]
    pub to_s: f64,
    /// Operations per second that ended well.
    #[serde(deserialize_with = "nan")]
    pub throughput: f64,
    /// Operations per second that ended well and within their limit.
    #[serde(deserialize_with = "nan")]
    pub goodput: f64,
    /// Requests per second.
    #[serde(deserialize_with = "nan")]
    pub requests_s: f64,
    /// Operations started per second.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub starts_s: f64,
    /// Arrivals that waited for a free user (open loop).
    #[serde(default)]
    pub late: u64,
    /// Arrivals that never started (open loop).
    #[serde(default)]
    pub dropped: u64,
    /// Beats left out because an operation was still in progress.
    #[serde(default)]
    pub skipped: u64,
    /// Median start lag, milliseconds.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub lag_p50_ms: f64,
    /// 99 % quantile of start lag, milliseconds.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub lag_p99_ms: f64,
    /// Whether every rule held.
    pub passed: bool,
    /// Whether every validity check held.
    pub valid: bool,
    /// Figures by operation.
    pub ops: Vec<OpRecord>,
    /// Validity checks.
    pub checks: Vec<CheckRecord>,
    /// Every rule, in the order of the profile. Empty in older records; [`WindowRecord::judged_by`] covers them
    /// too.
    #[serde(default)]
    pub rules: Vec<RuleRecord>,
    /// Measures of the workload. Empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<MeasureRecord>,
}

impl WindowRecord {
    /// Returns the length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Returns the value of a measure; `None` if it was not measured.
    #[must_use]
    pub fn measure(&self, id: &str) -> Option<f64> {
        self.measures.iter().find(|measure| measure.id == id)?.value
    }

    /// Returns the number of operations that ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ops.iter().map(|op| op.count).sum()
    }

    /// Whether an interval lies in the window: intervals end where windows do, but logs round both ends. The middle
    /// alone does not tell, as intervals of threads that are late overlap.
    #[must_use]
    pub fn holds(&self, from_s: f64, to_s: f64) -> bool {
        from_s >= self.from_s - ROUNDED_S && to_s <= self.to_s + ROUNDED_S
    }
}

/// One operation in one window, with its rules. Times are in milliseconds, shares 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpRecord {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended in the window.
    pub count: u64,
    /// Failed operations among them.
    pub failed: u64,
    /// Share of all judged operations.
    #[serde(deserialize_with = "nan")]
    pub mix: f64,
    /// Required share; 0 if the share is not judged.
    #[serde(deserialize_with = "nan")]
    pub mix_required: f64,
    /// Tolerance relative to the required share.
    #[serde(deserialize_with = "nan")]
    pub mix_tolerance: f64,
    /// Deviation of the share that chance alone explains in this window; 0 if no share is required, and in
    /// older records, which allowed only the tolerance.
    #[serde(default, deserialize_with = "nan")]
    pub mix_chance: f64,
    /// Mean response time; NaN in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub mean_ms: f64,
    /// Median response time.
    #[serde(deserialize_with = "nan")]
    pub p50_ms: f64,
    /// 90 % quantile of response time.
    #[serde(deserialize_with = "nan")]
    pub p90_ms: f64,
    /// 95 % quantile of response time; NaN in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub p95_ms: f64,
    /// 99 % quantile of response time.
    #[serde(deserialize_with = "nan")]
    pub p99_ms: f64,
    /// 99.9 % quantile of response time.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub p999_ms: f64,
    /// Largest response time.
    #[serde(deserialize_with = "nan")]
    pub max_ms: f64,
    /// Mean service time; NaN in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_mean_ms: f64,
    /// Median service time.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p50_ms: f64,
    /// 90 % quantile of service time.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p90_ms: f64,
    /// 95 % quantile of service time; NaN in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p95_ms: f64,
    /// 99 % quantile of service time.
    #[serde(deserialize_with = "nan")]
    pub service_p99_ms: f64,
    /// 99.9 % quantile of service time.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p999_ms: f64,
    /// Largest service time.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_max_ms: f64,
    /// Response time at the quantile of its first limit.
    #[serde(deserialize_with = "nan")]
    pub judged_ms: f64,
    /// Limit of that quantile; absent if response time has no limit.
    pub limit_ms: Option<f64>,
    /// Share of operations that exceeded the limit.
    #[serde(deserialize_with = "nan")]
    pub over_limit: f64,
    /// Largest allowed share of failures.
    #[serde(deserialize_with = "nan")]
    pub failures_allowed: f64,
    /// Whether the operation is judged.
    pub judged: bool,
    /// Whether the rule of `limit_ms` held.
    pub time_ok: bool,
    /// Whether the mix rule held.
    pub mix_ok: bool,
    /// Whether the failure rule held.
    pub failures_ok: bool,
    /// Whether all its further rules held. Older records have none.
    #[serde(default = "yes")]
    pub further_ok: bool,
}

fn yes() -> bool {
    true
}

impl OpRecord {
    /// Returns whether all rules held or the operation is not judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.judged || (self.time_ok && self.mix_ok && self.failures_ok && self.further_ok)
    }

    /// Returns the allowed deviation of the mix's share: the tolerance, or what chance explains in this
    /// window if more.
    #[must_use]
    pub fn mix_slack(&self) -> f64 {
        (self.mix_required * self.mix_tolerance).max(self.mix_chance)
    }

    /// Whether chance alone explains any share from zero to twice the required one. Then the mix rule of this
    /// operation held only for lack of operations.
    #[must_use]
    pub fn mix_too_few(&self) -> bool {
        self.judged && self.mix_ok && self.mix_required > 0.0 && self.mix_chance >= self.mix_required
    }

    /// Returns the judged quantile of response time divided by its limit; `None` if response time is not
    /// judged.
    #[must_use]
    pub fn limit_share(&self) -> Option<f64> {
        let limit = self.limit_ms.filter(|l| *l > 0.0)?;
        (self.judged && self.count > 0).then_some(self.judged_ms / limit)
    }
}

/// Direction in which a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterWhenRecord {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Only descriptive.
    Neither,
}

impl BetterWhenRecord {
    /// Returns the name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BetterWhenRecord::Higher => "higher",
            BetterWhenRecord::Lower => "lower",
            BetterWhenRecord::Neither => "neither",
        }
    }
}

/// A measure of the workload in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasureRecord {
    /// Name in study files and tables.
    pub id: String,
    /// Name in sentences.
    pub title: String,
    /// The unit of its value.
    pub unit: String,
    /// Direction in which it is better.
    pub better: BetterWhenRecord,
    /// The value; absent if it would be divided by zero.
    pub value: Option<f64>,
}

/// A validity check of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckRecord {
    /// Id of the check; empty in older records, which have its name alone.
    #[serde(default)]
    pub id: String,
    /// Name in tables.
    pub name: String,
    /// The value, worded with its unit.
    pub found: String,
    /// The limit, worded with its unit.
    pub allowed: String,
    /// Whether the check held.
    pub ok: bool,
    /// Whether it held beyond its limit because the window failed in any case.
    #[serde(default, skip_serializing_if = "is_false")]
    pub excused: bool,
    /// The operation that the check is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The driver that was the limit, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Value and limit as figures, with units at the end of their names. Empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

impl CheckRecord {
    /// Whether it is this check.
    #[must_use]
    pub fn is(&self, id: CheckId) -> bool {
        if self.id.is_empty() { self.name == id.name() } else { self.id == id.id() }
    }
}

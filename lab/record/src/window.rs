//! Trials as they are kept: a measured window, each operation held against its rule, and the validity checks.

use barograph_model::{CheckId, Level, LoadUnit, Offered};
use serde::{Deserialize, Serialize};

use crate::entry::{nan, unknown};
use crate::{Figure, KeptRule, Resources};

/// What a level of load counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptUnit {
    /// Users.
    #[default]
    Users,
    /// Starts per second.
    StartsPerSecond,
    /// Of several loads: percent of what each has of its own.
    Percent,
}

impl KeptUnit {
    /// So much of it, as it is said in sentences.
    #[must_use]
    pub fn offered(self, level: impl Into<Level>) -> Offered {
        let unit = match self {
            KeptUnit::Users => LoadUnit::Users,
            KeptUnit::StartsPerSecond => LoadUnit::PerSecond,
            KeptUnit::Percent => LoadUnit::Scale,
        };
        Offered { unit, level: level.into() }
    }

    /// The name in tables and beside figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.offered(Level::ZERO).unit.name()
    }
}

impl From<LoadUnit> for KeptUnit {
    fn from(unit: LoadUnit) -> Self {
        match unit {
            LoadUnit::Users => KeptUnit::Users,
            LoadUnit::PerSecond => KeptUnit::StartsPerSecond,
            LoadUnit::Scale => KeptUnit::Percent,
        }
    }
}

/// Why a trial was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Load grew until something gave way.
    Ramp,
    /// A step of the search.
    Search,
    /// The found capacity, held once more.
    Confirm,
    /// A window of a run with a constant load.
    Fixed,
    /// A hold of a load path.
    Path,
    /// An earlier level of a search once more, to see whether the target changed.
    Repeat,
}

impl Purpose {
    /// The name in reports.
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

/// Pass, fail, or not to be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptResult {
    /// Valid, and every rule held.
    Pass,
    /// Valid, and some rule did not hold.
    Fail,
    /// Not to be believed either way.
    Invalid,
}

impl KeptResult {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeptResult::Pass => "pass",
            KeptResult::Fail => "fail",
            KeptResult::Invalid => "invalid",
        }
    }
}

/// One load level, tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of the trial, from 1.
    pub n: u32,
    /// Why it was made.
    pub purpose: Purpose,
    /// What the level counts.
    #[serde(default)]
    pub unit: KeptUnit,
    /// The level asked for. Records of version 1 call it users.
    #[serde(alias = "users", with = "crate::level")]
    pub level: Level,
    /// What it says.
    pub result: KeptResult,
    /// It was ended before its time, because it could no longer pass.
    #[serde(default)]
    pub aborted: bool,
    /// The number of operations after which the load was to be over; absent for a window of a load that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
    /// What was measured.
    pub window: KeptWindow,
    /// What it used.
    #[serde(default)]
    pub resources: Resources,
}

impl Trial {
    /// Seconds from the first start to the last end of a load of a number of operations; `None` where it was over before all of
    /// them had ended, and of a load that goes on.
    #[must_use]
    pub fn elapsed_s(&self) -> Option<f64> {
        let is_whole = self.operations? <= self.window.ended();
        is_whole.then(|| self.window.seconds())
    }

    /// The load that was asked for.
    #[must_use]
    pub fn offered(&self) -> Offered {
        self.unit.offered(self.level)
    }
}

/// A measured window, judged. Times count seconds from the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptWindow {
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
    /// Arrivals that had to wait for a free user (open loop).
    #[serde(default)]
    pub late: u64,
    /// Arrivals that never started (open loop).
    #[serde(default)]
    pub dropped: u64,
    /// Beats left out because an operation was still in progress.
    #[serde(default)]
    pub skipped: u64,
    /// Start lag, median, milliseconds.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub lag_p50_ms: f64,
    /// Start lag, 99 % quantile, milliseconds.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub lag_p99_ms: f64,
    /// Every rule held.
    pub passed: bool,
    /// Every validity check held.
    pub valid: bool,
    /// Per operation.
    pub ops: Vec<KeptOp>,
    /// Validity checks.
    pub checks: Vec<KeptCheck>,
    /// Every rule, in the order of the profile. Absent in older records; [`KeptWindow::judged_by`] has theirs too.
    #[serde(default)]
    pub rules: Vec<KeptRule>,
    /// Measures of the workload. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<KeptMeasure>,
}

impl KeptWindow {
    /// Length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }

    /// Operations that ended.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ops.iter().map(|op| op.count).sum()
    }

    /// Does an interval lie in it? Its middle tells: intervals end where windows do, but logs round both ends.
    #[must_use]
    pub fn holds(&self, from_s: f64, to_s: f64) -> bool {
        (self.from_s..=self.to_s).contains(&f64::midpoint(from_s, to_s))
    }
}

/// One operation in one window, held against its rule. Times in milliseconds, shares 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptOp {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended in the window.
    pub count: u64,
    /// Failed ones among them.
    pub failed: u64,
    /// Share of all judged operations.
    #[serde(deserialize_with = "nan")]
    pub mix: f64,
    /// Required share; 0 when the share is not judged.
    #[serde(deserialize_with = "nan")]
    pub mix_required: f64,
    /// Tolerance relative to the required share.
    #[serde(deserialize_with = "nan")]
    pub mix_tolerance: f64,
    /// By how much the share may be off by chance in this window; 0 where no share is required, and in older records, which
    /// allowed the tolerance alone.
    #[serde(default, deserialize_with = "nan")]
    pub mix_chance: f64,
    /// Response time, mean; unknown in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub mean_ms: f64,
    /// Response time, median.
    #[serde(deserialize_with = "nan")]
    pub p50_ms: f64,
    /// Response time, 90 % quantile.
    #[serde(deserialize_with = "nan")]
    pub p90_ms: f64,
    /// Response time, 95 % quantile; unknown in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub p95_ms: f64,
    /// Response time, 99 % quantile.
    #[serde(deserialize_with = "nan")]
    pub p99_ms: f64,
    /// Response time, 99.9 % quantile.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub p999_ms: f64,
    /// Response time, largest.
    #[serde(deserialize_with = "nan")]
    pub max_ms: f64,
    /// Service time, mean; unknown in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_mean_ms: f64,
    /// Service time, median.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p50_ms: f64,
    /// Service time, 90 % quantile.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p90_ms: f64,
    /// Service time, 95 % quantile; unknown in older records.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p95_ms: f64,
    /// Service time, 99 % quantile.
    #[serde(deserialize_with = "nan")]
    pub service_p99_ms: f64,
    /// Service time, 99.9 % quantile.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_p999_ms: f64,
    /// Service time, largest.
    #[serde(default = "unknown", deserialize_with = "nan")]
    pub service_max_ms: f64,
    /// The quantile of response time that its first limit is for.
    #[serde(deserialize_with = "nan")]
    pub judged_ms: f64,
    /// The limit of that quantile; absent where response time has no limit.
    pub limit_ms: Option<f64>,
    /// Share of operations over the limit.
    #[serde(deserialize_with = "nan")]
    pub over_limit: f64,
    /// Largest allowed share of failures.
    #[serde(deserialize_with = "nan")]
    pub failures_allowed: f64,
    /// Is the operation judged at all?
    pub judged: bool,
    /// The rule of `limit_ms` held.
    pub time_ok: bool,
    /// The mix rule held.
    pub mix_ok: bool,
    /// The failure rule held.
    pub failures_ok: bool,
    /// All its further rules held. Older records have none.
    #[serde(default = "yes")]
    pub further_ok: bool,
}

fn yes() -> bool {
    true
}

impl KeptOp {
    /// All rules held, or the operation is not judged.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.judged || (self.time_ok && self.mix_ok && self.failures_ok && self.further_ok)
    }

    /// By how much the share of the mix may be off: the tolerance, or what chance makes in this window where that is more.
    #[must_use]
    pub fn mix_slack(&self) -> f64 {
        (self.mix_required * self.mix_tolerance).max(self.mix_chance)
    }

    /// Did chance alone allow the share to be anything from none to twice what is required? Then the mix rule of this
    /// operation held because there were too few operations to tell.
    #[must_use]
    pub fn mix_too_few(&self) -> bool {
        self.judged && self.mix_ok && self.mix_required > 0.0 && self.mix_chance >= self.mix_required
    }

    /// Judged quantile of response time over its limit; `None` where response time is not judged.
    #[must_use]
    pub fn limit_share(&self) -> Option<f64> {
        let limit = self.limit_ms.filter(|l| *l > 0.0)?;
        (self.judged && self.count > 0).then_some(self.judged_ms / limit)
    }
}

/// Whether more or less of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptBetter {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It only describes.
    Neither,
}

impl KeptBetter {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeptBetter::Higher => "higher",
            KeptBetter::Lower => "lower",
            KeptBetter::Neither => "neither",
        }
    }
}

/// A measure of the workload in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptMeasure {
    /// The name in study files and tables.
    pub id: String,
    /// The name in sentences.
    pub title: String,
    /// The unit of its value.
    pub unit: String,
    /// Which way is better.
    pub better: KeptBetter,
    /// How much; absent where it would be divided by nothing.
    pub value: Option<f64>,
}

/// One reason to believe or not to believe a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptCheck {
    /// Id of the check; empty in older records, which have its name alone.
    #[serde(default)]
    pub id: String,
    /// The name in tables.
    pub name: String,
    /// The figure found, worded with its unit.
    pub found: String,
    /// What is allowed, worded with its unit.
    pub allowed: String,
    /// Did it hold?
    pub ok: bool,
    /// It held although the figures were beyond what is allowed, because the window failed in any case.
    #[serde(default, skip_serializing_if = "is_false")]
    pub excused: bool,
    /// The operation it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The driver that was the limit, of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The figures found and allowed, with their units at the end of their names. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

impl KeptCheck {
    /// Is it this check?
    #[must_use]
    pub fn is(&self, id: CheckId) -> bool {
        if self.id.is_empty() { self.name == id.name() } else { self.id == id.id() }
    }
}

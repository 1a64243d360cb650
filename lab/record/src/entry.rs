//! The entries of `run.jsonl`: one JSON object per line, told apart by `kind`.

use barograph_model::Level;
use barograph_stats::search::OPEN;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Decisions, KeptAction, KeptAnswer, KeptEstimate, KeptReason, KeptTopology, KeptUnit, Resources,
    SearchBound, Trial,
};

/// Version of the record written by this program. It rises when an old reader would misunderstand a new record.
///
/// Version 2: loads are levels of a unit, and not always users; operations may be judged without a share of the mix.
///
/// Version 3: a run may have several loads, each with intervals, windows and histograms in a folder of its own.
pub const VERSION: u32 = 3;

/// Reads a number where JSON, which has no not-a-number, may hold `null`.
pub(crate) fn nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Stands for a figure that older records do not have.
pub(crate) fn unknown() -> f64 {
    f64::NAN
}

/// One line of `run.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Header(Header),
    /// A phase began.
    PhaseStarted(PhaseStarted),
    /// A phase ended.
    PhaseEnded(PhaseEnded),
    /// The zero of the times in intervals and windows.
    LoadStarted(LoadStarted),
    /// Something worth telling.
    Note(Note),
    /// The data under the application.
    Fill(Fill),
    /// The parts that were deployed.
    Topology(Box<KeptTopology>),
    /// An action of the plan. Older records have it as `fault`.
    #[serde(alias = "fault")]
    Action(KeptAction),
    /// What the application stands on.
    Tiers(Tiers),
    /// What the users did in one slice of time.
    Interval(IntervalRow),
    /// The load was changed from outside.
    Control(Control),
    /// A load level, tried.
    Trial(Box<Trial>),
    /// The loads of a run of several.
    Loads(Loads),
    /// What was decided where the plan leaves it open: of a load, or of all loads together.
    Decisions(Decisions),
    /// What the profile asks for.
    Expected(Expected),
    /// The answer.
    Verdict(Box<Verdict>),
    /// The run did not come to its end.
    Interrupted(Interrupted),
    /// The last line of a record that was closed.
    Finished(Finished),
    /// A kind this program does not know, kept as it is.
    #[serde(skip)]
    Unknown(Unknown),
}

/// The first line: what wrote this record, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the record; [`VERSION`] when written here.
    pub v: u32,
    /// Name of the run.
    pub id: String,
    /// Version of the program.
    pub tool: String,
    /// When the run began, as RFC 3339 in UTC.
    pub started_at: String,
    /// The command as typed.
    pub command: String,
}

/// A phase began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseStarted {
    /// Name of the phase.
    pub phase: String,
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
}

/// What the application stands on, as it says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiers {
    /// One entry per tier, in its order.
    pub tiers: Vec<Tier>,
}

/// One tier of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Which: `relational`, `bus`, ...
    pub tier: String,
    /// Product and version.
    pub product: String,
    /// What survives what, in words.
    pub durability: String,
}

/// How a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    /// As meant.
    Done,
    /// With an error.
    Failed,
    /// The run was interrupted in it.
    Interrupted,
}

/// A phase ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseEnded {
    /// Name of the phase.
    pub phase: String,
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// The error in words, when it failed.
    pub error: Option<String>,
}

/// The zero of the times in intervals and windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadStarted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
}

/// Something worth telling.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The words.
    pub text: String,
}

/// The load was changed from outside, by a control command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// What the level counts.
    pub unit: KeptUnit,
    /// The level it leads to.
    #[serde(with = "crate::level")]
    pub level: Level,
    /// In so many seconds.
    #[serde(deserialize_with = "nan")]
    pub over_s: f64,
}

/// A number of things with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Of what.
    pub name: String,
    /// How many.
    pub count: u64,
}

impl Count {
    /// `count` of `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, count: u64) -> Self {
        Count { name: name.into(), count }
    }
}

/// A number with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it says.
    pub name: String,
    /// How much.
    #[serde(deserialize_with = "nan")]
    pub value: f64,
}

impl Figure {
    /// `name` is `value`.
    #[must_use]
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Figure { name: name.into(), value }
    }
}

/// The data under the load: a data set of the application, or what was written through the target's address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Name of the size; empty where data have none.
    pub size: String,
    /// Users the size admits; 0 where it is no matter of users.
    pub max_users: u32,
    /// Rows by table.
    pub rows: Vec<Count>,
    /// Bytes by store.
    pub bytes: Vec<Count>,
    /// Factors against the published size, 1 = as published.
    pub factors: Vec<Figure>,
    /// How long filling took, in seconds (when it was done, if reused).
    #[serde(deserialize_with = "nan")]
    pub seconds: f64,
    /// Data of an earlier run were used again.
    pub reused: bool,
    /// Runs may be compared only if this is equal; empty where nothing is known of it.
    pub stamp: String,
}

/// What the users did in one slice of time. Times count seconds from the start of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalRow {
    /// Start, seconds.
    #[serde(deserialize_with = "nan")]
    pub from_s: f64,
    /// End, seconds.
    #[serde(deserialize_with = "nan")]
    pub to_s: f64,
    /// Users active at its end.
    pub users: u32,
    /// Operations started.
    pub starts: u64,
    /// Arrivals that found no free user and waited for one (open loop).
    #[serde(default)]
    pub late: u64,
    /// Arrivals that never started (open loop).
    #[serde(default)]
    pub dropped: u64,
    /// Beats left out because an operation was still in progress.
    #[serde(default)]
    pub skipped: u64,
    /// Start lag, median, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p50_ms: f64,
    /// Start lag, 99 % quantile, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p99_ms: f64,
    /// Operations in progress, mean.
    #[serde(deserialize_with = "nan")]
    pub in_flight: f64,
    /// Cores the driver's workers used, all together.
    #[serde(deserialize_with = "nan")]
    pub worker_cpu: f64,
    /// Share of its core the busiest worker used, 0 to 1.
    #[serde(deserialize_with = "nan")]
    pub busiest_worker: f64,
    /// The operations that ended in it.
    pub ops: Vec<OpRow>,
    /// What they added to the workload's counters, in the order of [`Expected::counters`]. Zeros at the end are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<u64>,
}

impl IntervalRow {
    /// Length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// One operation in one interval. Response times in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended.
    pub count: u64,
    /// Failed ones among them.
    pub failed: u64,
    /// Response time, median.
    #[serde(deserialize_with = "nan")]
    pub p50_ms: f64,
    /// Response time, 99 % quantile.
    #[serde(deserialize_with = "nan")]
    pub p99_ms: f64,
    /// Response time, largest.
    #[serde(deserialize_with = "nan")]
    pub max_ms: f64,
    /// Operations over their limit.
    pub over_limit: u64,
    /// Requests sent.
    pub requests: u64,
    /// How many ended how; outcomes that did not occur are left out.
    pub outcomes: Vec<Count>,
}

/// The loads of a run of several. What each did is in the folder `loads/NAME`, which is like the record of a run with that load
/// alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loads {
    /// Their names, in the order of the plan.
    pub names: Vec<String>,
}

/// What the profile asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Name of the workload.
    pub workload: String,
    /// Name of the profile.
    pub profile: String,
    /// What levels of load count.
    #[serde(default)]
    pub unit: KeptUnit,
    /// Where a target answered that was there already; absent when the run deployed its own.
    #[serde(default)]
    pub target: Option<String>,
    /// Figures derived from the profile, where they can be.
    pub derived: Option<KeptDerived>,
    /// The operation that happens exactly once in a session, by which sessions are counted.
    pub session_op: Option<String>,
    /// The usual rules of each operation. What further rules found stands in the windows.
    pub rules: Vec<Rule>,
    /// Names of the workload's counters, by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
}

/// Figures derived from a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptDerived {
    /// Operations per user and second.
    #[serde(deserialize_with = "nan")]
    pub ops_per_user_s: f64,
    /// Requests per operation.
    #[serde(deserialize_with = "nan")]
    pub requests_per_op: f64,
    /// Mean length of a session, seconds.
    #[serde(deserialize_with = "nan")]
    pub session_s: f64,
}

/// The usual rules of one operation. Shares 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Name of the operation.
    pub op: String,
    /// What the user does.
    pub about: String,
    /// The quantile of response time that its first limit is for.
    #[serde(deserialize_with = "nan")]
    pub quantile: f64,
    /// The response-time limit in milliseconds; absent where response time is not judged.
    pub limit_ms: Option<f64>,
    /// Is the operation judged at all? Absent in records of version 1, in which a required share said it.
    #[serde(default)]
    pub judged: Option<bool>,
    /// Required share of the mix; 0 means that the share is not judged.
    #[serde(deserialize_with = "nan")]
    pub mix: f64,
    /// Tolerance of the mix, relative.
    #[serde(deserialize_with = "nan")]
    pub mix_tolerance: f64,
    /// Largest allowed share of failures.
    #[serde(deserialize_with = "nan")]
    pub failures: f64,
}

impl Rule {
    /// Is the operation judged at all?
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.judged.unwrap_or(self.mix > 0.0)
    }
}

/// How a search ended. Levels are in the unit of the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchSummary {
    /// Highest level that passed.
    pub highest_pass: Option<u32>,
    /// Lowest level that failed.
    pub lowest_fail: Option<u32>,
    /// What kept the answer from being higher.
    pub bounded_by: SearchBound,
    /// The capacity may be higher: nothing above it was tried, or could be believed. Older records do not say it.
    #[serde(default)]
    pub at_least: bool,
    /// Trials made.
    pub trials: u32,
    /// The answer was confirmed by the rule of its method: by bisection, it passed a second window; by posterior, the
    /// sequential test at the level it names accepted.
    pub confirmed: bool,
    /// How it looked. Absent in older records, which bisected.
    #[serde(default)]
    pub method: Option<String>,
    /// Seconds of load it took, from the start of the load to the end of the last trial.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Trials that were ended early because they could no longer pass.
    #[serde(default)]
    pub aborted: u32,
    /// How sure it is; only of a search by posterior.
    #[serde(default)]
    pub estimate: Option<Box<KeptEstimate>>,
}

impl SearchSummary {
    /// The interval of the capacity has no upper end: where it would be is a matter of what was believed at first.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.at_least || self.estimate.as_deref().is_some_and(|estimate| estimate.beyond > OPEN)
    }
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What the levels count.
    #[serde(default)]
    pub unit: KeptUnit,
    /// The capacity: the median of what the search believes, by bisection the highest level that passed; absent when none
    /// passed or none was sought.
    pub capacity: Option<u32>,
    /// Number of the trial the answer rests on.
    pub trial: Option<u32>,
    /// Every rule held in it.
    pub passed: bool,
    /// The measurement can be believed.
    pub valid: bool,
    /// The answer in one sentence.
    pub sentence: String,
    /// The answer as data. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<KeptAnswer>,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Why it is not passed or not valid, and what gave way first.
    pub reasons: Vec<String>,
    /// Why it is not valid, and nothing else: data that were not right and checks that did not hold. Absent in older
    /// records.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// `reasons` as data, in the same order. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<KeptReason>,
    /// `doubts` as data, in the same order. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_not_valid: Vec<KeptReason>,
    /// What was used for it.
    pub resources: Resources,
    /// How the search ended; absent for a fixed load.
    pub search: Option<SearchSummary>,
}

/// The run did not come to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interrupted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// Name of the phase it happened in.
    pub phase: String,
    /// Why, in words.
    pub cause: String,
}

/// The last line of a record that was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {}

/// An entry of a kind this program does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Its kind.
    pub kind: String,
    /// All of it.
    pub value: serde_json::Value,
}

/// Every kind this program knows, as written.
pub(crate) const KINDS: [&str; 19] = [
    "header",
    "phase_started",
    "phase_ended",
    "load_started",
    "note",
    "fill",
    "topology",
    "action",
    "fault",
    "tiers",
    "interval",
    "control",
    "trial",
    "loads",
    "decisions",
    "expected",
    "verdict",
    "interrupted",
    "finished",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_is_written_is_read() {
        let (unit, act) = ("a-1".to_owned(), "kill".to_owned());
        let action = KeptAction { at_s: 1.0, unit, act, took_s: 0.1, ..KeptAction::default() };
        let entries = [
            Entry::Tiers(Tiers::default()),
            Entry::Topology(Box::default()),
            Entry::Action(action),
            Entry::Decisions(Decisions::default()),
        ];
        for entry in entries {
            let kind = serde_json::to_value(&entry).unwrap()["kind"].clone();
            assert!(KINDS.contains(&kind.as_str().unwrap()), "{kind}");
        }
    }

    #[test]
    fn a_fault_of_an_older_record_is_an_action() {
        let line = r#"{"kind":"fault","at_s":1.0,"unit":"a-1","act":"kill","took_s":0.1,"failed":null}"#;
        let (unit, act) = ("a-1".to_owned(), "kill".to_owned());
        let action = KeptAction { at_s: 1.0, unit, act, took_s: 0.1, ..KeptAction::default() };
        assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), Entry::Action(action));
    }
}

//! Entries of `run.jsonl`: one JSON object per line, distinguished by `kind`.

use barograph_model::Level;
use barograph_stats::search::OPEN;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    ActionRecord, AnswerRecord, Decisions, DemandRecord, EstimateRecord, LevelRecord, ReasonRecord,
    Resources, ScoreRecord, SearchBound, SupplyRecord, TilesRecord, TopologyRecord, Trial, UnitRecord,
};

/// Version of the record written by this program. It is raised when an old reader would misread a new record.
///
/// Version 2: levels of load have a unit and need not be users; operations may be judged without a share of
/// the mix.
///
/// Version 3: a run may have several loads, each with intervals, windows and histograms in a folder of its
/// own.
pub const VERSION: u32 = 3;

/// Reads a number. JSON has no NaN and may hold `null` in its place.
pub(crate) fn nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(from)?.unwrap_or(f64::NAN))
}

/// Default for a figure that older records lack.
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
    /// Time zero of intervals and windows.
    LoadStarted(LoadStarted),
    /// A note.
    Note(Note),
    /// Data of the application.
    Fill(Fill),
    /// The parts that were deployed.
    Topology(Box<TopologyRecord>),
    /// An action of the plan. Older records name it `fault`.
    #[serde(alias = "fault")]
    Action(ActionRecord),
    /// The demand curve against which nodes are held.
    Demand(DemandRecord),
    /// Nodes of a tier from an instant on.
    Supply(SupplyRecord),
    /// A change of the level of the load, where elasticity is measured.
    Level(LevelRecord),
    /// Tiers of the application.
    Tiers(Tiers),
    /// Activity of the users in one slice of time.
    Interval(IntervalRow),
    /// A change of the load by a control command.
    Control(Control),
    /// A trial of a load level.
    Trial(Box<Trial>),
    /// The loads of a run of several.
    Loads(Loads),
    /// The tiles of a run.
    Tiles(TilesRecord),
    /// Decisions on values that the plan leaves open: of a load, or of all loads together.
    Decisions(Decisions),
    /// Rules and figures of the profile.
    Expected(ExpectedFigures),
    /// The answer.
    Verdict(Box<Verdict>),
    /// The run ended early.
    Interrupted(RunInterrupted),
    /// Last line of a closed record.
    Finished(RunFinished),
    /// A kind unknown to this program, kept unchanged.
    #[serde(skip)]
    Unknown(UnknownEntry),
}

/// The first line: program and time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the record; [`VERSION`] when written here.
    pub v: u32,
    /// Name of the run.
    pub id: String,
    /// Version of the program that wrote the record.
    pub tool: String,
    /// Start of the run, as RFC 3339 in UTC.
    pub started_at: String,
    /// The command line as typed.
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

/// Tiers of the application, as it reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tiers {
    /// The tiers, in the order of the application.
    pub tiers: Vec<Tier>,
}

/// One tier of an application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Kind of tier: `relational`, `bus`, ...
    pub tier: String,
    /// Product and version.
    pub product: String,
    /// Durability guarantee, in words.
    pub durability: String,
}

/// Outcome of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseOutcome {
    /// The phase completed.
    Done,
    /// The phase failed.
    Failed,
    /// The run was interrupted during the phase.
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
    /// Outcome of the phase.
    pub outcome: PhaseOutcome,
    /// The error in words, if the phase failed.
    pub error: Option<String>,
}

/// Time zero of intervals and windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadStarted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
}

/// A note.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// The text.
    pub text: String,
}

/// A change of the load by a control command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Seconds since the start of the load.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// Unit of the level.
    pub unit: UnitRecord,
    /// The level it leads to.
    #[serde(with = "crate::level")]
    pub level: Level,
    /// Duration of the change in seconds.
    #[serde(deserialize_with = "nan")]
    pub over_s: f64,
}

/// A named count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Name of the counted things.
    pub name: String,
    /// Their number.
    pub count: u64,
}

impl Count {
    /// Makes a count.
    #[must_use]
    pub fn new(name: impl Into<String>, count: u64) -> Self {
        Count { name: name.into(), count }
    }
}

/// A named figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the figure.
    pub name: String,
    /// Value of the figure.
    #[serde(deserialize_with = "nan")]
    pub value: f64,
}

impl Figure {
    /// Makes a figure.
    #[must_use]
    pub fn new(name: impl Into<String>, value: f64) -> Self {
        Figure { name: name.into(), value }
    }
}

/// Data for the load: a data set of the application, or data written through the target's address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Name of the size; empty if the data have none.
    pub size: String,
    /// Users that the size admits; 0 if it does not limit them.
    pub max_users: u32,
    /// Rows by table.
    pub rows: Vec<Count>,
    /// Bytes by store.
    pub bytes: Vec<Count>,
    /// Factors relative to the published size; 1 means as published.
    pub factors: Vec<Figure>,
    /// Duration of the fill in seconds; for reused data, of the original fill.
    #[serde(deserialize_with = "nan")]
    pub seconds: f64,
    /// Whether data of an earlier run were reused.
    pub reused: bool,
    /// Runs are comparable only if this is equal; empty if unknown.
    pub stamp: String,
}

/// Activity of the users in one slice of time. Times are in seconds since the start of the load.
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
    /// Median start lag, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p50_ms: f64,
    /// 99 % quantile of start lag, milliseconds.
    #[serde(deserialize_with = "nan")]
    pub lag_p99_ms: f64,
    /// Mean number of operations in progress.
    #[serde(deserialize_with = "nan")]
    pub in_flight: f64,
    /// Cores used by all workers of the driver together.
    #[serde(deserialize_with = "nan")]
    pub worker_cpu: f64,
    /// Share of its core used by the busiest worker, 0 to 1.
    #[serde(deserialize_with = "nan")]
    pub busiest_worker: f64,
    /// Operations that ended in the interval.
    pub ops: Vec<OpRow>,
    /// Increments of the workload's counters, in the order of [`ExpectedFigures::counters`]. Trailing zeros are
    /// omitted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<u64>,
}

impl IntervalRow {
    /// Returns the length in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.to_s - self.from_s
    }
}

/// One operation in one interval. Response times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// Name of the operation.
    pub op: String,
    /// Operations that ended.
    pub count: u64,
    /// Failed operations among them.
    pub failed: u64,
    /// Median response time.
    #[serde(deserialize_with = "nan")]
    pub p50_ms: f64,
    /// 99 % quantile of response time.
    #[serde(deserialize_with = "nan")]
    pub p99_ms: f64,
    /// Largest response time.
    #[serde(deserialize_with = "nan")]
    pub max_ms: f64,
    /// Operations that exceeded their limit.
    pub over_limit: u64,
    /// Requests sent.
    pub requests: u64,
    /// Operations by outcome; outcomes that did not occur are omitted.
    pub outcomes: Vec<Count>,
}

/// The loads of a run of several. Each load has a folder `loads/NAME`, in the form of a record of a run with
/// that load alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loads {
    /// Names of the loads, in the order of the plan.
    pub names: Vec<String>,
}

/// Rules and figures of the profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectedFigures {
    /// Name of the workload.
    pub workload: String,
    /// Name of the profile.
    pub profile: String,
    /// Unit of levels.
    #[serde(default)]
    pub unit: UnitRecord,
    /// URL of a target that existed already; absent if the run deployed it.
    #[serde(default)]
    pub target: Option<String>,
    /// Figures derived from the profile, if they can be derived.
    pub derived: Option<DerivedRecord>,
    /// Operation that occurs exactly once in a session and so counts sessions.
    pub session_op: Option<String>,
    /// Default rules of each operation. The windows hold the results of further rules.
    pub rules: Vec<Rule>,
    /// Names of the workload's counters, by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<String>,
}

/// Figures derived from a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivedRecord {
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

/// Default rules of one operation. Shares are 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Name of the operation.
    pub op: String,
    /// Description of the operation.
    pub about: String,
    /// Quantile of the first response-time limit.
    #[serde(deserialize_with = "nan")]
    pub quantile: f64,
    /// Response-time limit in milliseconds; absent if response time is not judged.
    pub limit_ms: Option<f64>,
    /// Whether the operation is judged. Absent in records of version 1, where a required share implies it.
    #[serde(default)]
    pub judged: Option<bool>,
    /// Required share of the mix; 0 if the share is not judged.
    #[serde(deserialize_with = "nan")]
    pub mix: f64,
    /// Relative tolerance of the mix.
    #[serde(deserialize_with = "nan")]
    pub mix_tolerance: f64,
    /// Largest allowed share of failures.
    #[serde(deserialize_with = "nan")]
    pub failures: f64,
}

impl Rule {
    /// Returns whether the operation is judged.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.judged.unwrap_or(self.mix > 0.0)
    }
}

/// Summary of a search. Levels are in the unit of the verdict.
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
    /// Number of trials.
    pub trials: u32,
    /// Whether the answer was confirmed by the rule of its method: in bisection it passed a second window; by
    /// posterior the sequential test at the named level accepted it.
    pub confirmed: bool,
    /// Method of the search. Absent in older records, which used bisection.
    #[serde(default)]
    pub method: Option<String>,
    /// Seconds from the start of the load to the end of the last trial.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Trials that ended early because they could no longer pass.
    #[serde(default)]
    pub aborted: u32,
    /// Certainty of the answer, for a search by posterior.
    #[serde(default)]
    pub estimate: Option<Box<EstimateRecord>>,
}

impl SearchSummary {
    /// Whether the interval of the capacity has no upper end, because that would depend on the prior.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.at_least || self.estimate.as_deref().is_some_and(|estimate| estimate.beyond > OPEN)
    }
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Unit of the levels.
    #[serde(default)]
    pub unit: UnitRecord,
    /// The capacity: the median of the posterior, or in bisection the highest level that passed; absent if
    /// none passed or none was searched for.
    pub capacity: Option<u32>,
    /// Number of the trial that decides.
    pub trial: Option<u32>,
    /// Whether every rule held in it.
    pub passed: bool,
    /// Whether the measurement is valid.
    pub valid: bool,
    /// The answer in one sentence.
    pub sentence: String,
    /// The answer as data. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerRecord>,
    /// The exit code of the run.
    pub exit_code: u8,
    /// Reasons why it did not pass or is not valid, and the part that gave way first.
    pub reasons: Vec<String>,
    /// Reasons why it is not valid: wrong data and failed checks. Absent in older records.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// `reasons` as data, in the same order. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<ReasonRecord>,
    /// `doubts` as data, in the same order. Absent in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why_not_valid: Vec<ReasonRecord>,
    /// Resources used in the deciding trial.
    pub resources: Resources,
    /// Summary of the search; absent for a fixed load.
    pub search: Option<SearchSummary>,
    /// Score of the tiles; absent without tiles, and unless every load passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Box<ScoreRecord>>,
}

/// An early end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInterrupted {
    /// Seconds since the run began.
    #[serde(deserialize_with = "nan")]
    pub at_s: f64,
    /// Name of the phase.
    pub phase: String,
    /// Cause, in words.
    pub cause: String,
}

/// Last line of a closed record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFinished {}

/// An entry of a kind unknown to this program.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownEntry {
    /// Kind of the entry.
    pub kind: String,
    /// The whole entry.
    pub value: serde_json::Value,
}

/// Every kind known to this program, as written.
pub(crate) const KINDS: [&str; 23] = [
    "header",
    "phase_started",
    "phase_ended",
    "load_started",
    "note",
    "fill",
    "topology",
    "action",
    "fault",
    "demand",
    "supply",
    "level",
    "tiers",
    "interval",
    "control",
    "trial",
    "loads",
    "tiles",
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
        let action = ActionRecord { at_s: 1.0, unit, act, took_s: 0.1, ..ActionRecord::default() };
        let entries = [
            Entry::Tiers(Tiers::default()),
            Entry::Topology(Box::default()),
            Entry::Action(action),
            Entry::Demand(DemandRecord::default()),
            Entry::Supply(SupplyRecord::default()),
            Entry::Level(LevelRecord { at_s: 1.0, level: 5.into(), over_s: 0.0 }),
            Entry::Decisions(Decisions::default()),
            Entry::Tiles(TilesRecord::default()),
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
        let action = ActionRecord { at_s: 1.0, unit, act, took_s: 0.1, ..ActionRecord::default() };
        assert_eq!(serde_json::from_str::<Entry>(line).unwrap(), Entry::Action(action));
    }
}

//! The versioned files of a run, appended as it goes on and readable by all later versions.
//!
//! `runs/ID/` holds `plan.toml` (as resolved), `run.jsonl` (entries, one JSON object per line),
//! `response.hlog` and `service.hlog` (HdrHistogram interval logs, microseconds), `probe.csv` (resource
//! samples), `statistics.csv` (statistics of services), `disclosure.json` and `services/` (logs). Complete
//! lines are on disk: a killed run is readable up to its last whole line. Paths are stored relative to the
//! working folder.
//!
//! The types of the record are separate from those of lower floors, so that the latter may change while old
//! records stay readable. Times ending in `at_s` are seconds since the run began; times of intervals and
//! windows are seconds since the start of the load, which [`LoadStarted`] places in the run.

mod answer;
mod append;
mod bound;
mod copies;
mod decisions;
mod elasticity;
mod entry;
mod error;
mod estimate;
mod exit;
mod folders;
mod follow;
mod hlog;
mod id;
mod impact;
mod keep;
pub mod level;
mod metric;
mod operation_rates;
mod power;
mod probe;
mod reader;
mod reason;
mod resources;
mod rule;
mod statistic;
mod statistic_metric;
mod study;
mod tiles;
mod times;
mod topology;
mod window;
mod writer;

pub use answer::{AboutRecord, AnswerRecord, ClaimRecord, DataRecord, HoldRecord, tiles};
pub use append::Appender;
pub use bound::{LoadLimit, SearchBound};
pub use copies::CopiesRate;
pub use decisions::Decisions;
pub use elasticity::{
    DemandRecord, ElasticCourse, ElasticFigure, LevelRecord, NodesHoldRecord, SupplyRecord,
};
pub use entry::{
    Control, Count, DerivedRecord, Entry, ExpectedFigures, Figure, Fill, Header, IntervalRow, LoadStarted,
    Loads, Note, OpRow, PhaseEnded, PhaseOutcome, PhaseStarted, Rule, RunFinished, RunInterrupted,
    SearchSummary, Tier, Tiers, UnknownEntry, VERSION, Verdict,
};
pub use error::RecordError;
pub use estimate::{
    ConfirmationRecord, CrossCheckRecord, EstimateRecord, EvidenceAboveRecord, PassPointRecord, RepeatsRecord,
};
pub use exit::ExitCode;
pub use folders::Folders;
pub use follow::Follower;
pub use hlog::{LogHistogram, LogReader, tag};
pub use id::{InvalidRunId, RunId};
pub use impact::{Impact, WindowSpan, WindowSpanOp};
pub use metric::WindowFigures;
pub use operation_rates::{OperationRatioRecord, OperationReferenceRecord};
pub use power::{PowerFigures, scope_of};
pub use probe::{APPLICATION, ProbeRow, application_of, power_of};
pub use reader::{PhaseSpan, Run, list};
pub use reason::{CauseRecord, ReasonRecord};
pub use resources::{CPU_AT_LIMIT, Resources};
pub use rule::{BoundRecord, RuleRecord, SubjectRecord};
pub use statistic::{STATE, StatisticRow};
pub use study::{
    AmdahlRecord, BandRecord, CONCLUSIONS_VERSION, CONTROL, ComparisonRecord, Conclusions,
    ConfigurationRecord, CrossingRecord, ExcludedRun, FindingRecord, FitRecord, IntervalRecord, KneeRecord,
    KnownAs, LineRecord, MetricRecord, MissingFigure, PercentilesRecord, PointRecord, QuantileRecord,
    RowRecord, RunEnded, RunRecord, RunStarted, STUDY_BEGIN, STUDY_FILE, STUDY_PREFIX, STUDY_VERSION,
    ScalingRecord, StudyEntry, StudyHeader, StudyRead, WithinRunNoise, append_to_study, list_studies,
    read_study,
};
pub use tiles::{RatioRecord, ScoreRecord, TileLoadRecord, TilesRecord, WindowScoreRecord};
pub use times::{TimesRecord, longer_at};
pub use topology::{ActionRecord, PartRecord, SnapshotRecord, TopologyRecord};
pub use window::{
    BetterWhenRecord, CheckRecord, MeasureRecord, OpRecord, Purpose, ResultRecord, Trial, UnitRecord,
    WindowRecord,
};
pub use writer::{RunWriter, draft_of, remove_drafts, write_whole};

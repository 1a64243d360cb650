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
mod decisions;
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
mod probe;
mod reader;
mod reason;
mod resources;
mod rule;
mod statistic;
mod study;
mod times;
mod topology;
mod window;
mod writer;

pub use answer::{KeptAbout, KeptAnswer, KeptClaim, KeptData, KeptHold};
pub use append::Appender;
pub use bound::{Most, SearchBound};
pub use decisions::Decisions;
pub use entry::{
    Control, Count, Entry, Expected, Figure, Fill, Finished, Header, Interrupted, IntervalRow, KeptDerived,
    LoadStarted, Loads, Note, OpRow, PhaseEnded, PhaseOutcome, PhaseStarted, Rule, SearchSummary, Tier,
    Tiers, Unknown, VERSION, Verdict,
};
pub use error::RecordError;
pub use estimate::{KeptAbove, KeptConfirmation, KeptCrossCheck, KeptEstimate, KeptPassPoint, KeptRepeats};
pub use exit::ExitCode;
pub use folders::Folders;
pub use follow::Follower;
pub use hlog::{LogHistogram, LogReader, tag};
pub use id::{NotARunId, RunId};
pub use impact::{Impact, Stretch, StretchOp};
pub use metric::FiguresIn;
pub use probe::{APPLICATION, ProbeRow, application_of};
pub use reader::{PhaseSpan, Run, list};
pub use reason::{KeptCause, KeptReason};
pub use resources::{CPU_AT_LIMIT, Resources};
pub use rule::{KeptBound, KeptRule, KeptSubject};
pub use statistic::StatisticRow;
pub use study::{
    CONCLUSIONS_VERSION, CONTROL, Compared, Conclusions, Excluded, KeptAmdahl, KeptBand, KeptConfiguration,
    KeptCrossing, KeptFinding, KeptFit, KeptInterval, KeptKnee, KeptLine, KeptMetric, KeptPercentiles,
    KeptPoint, KeptQuantile, KeptRow, KeptRun, KeptScaling, KnownAs, MissingFigure, RunEnded, RunStarted,
    STUDY_BEGIN, STUDY_FILE, STUDY_PREFIX, STUDY_VERSION, StudyEntry, StudyHeader, StudyRead, WithinRun,
    append_to_study, list_studies, read_study,
};
pub use times::{KeptTimes, longer_at};
pub use topology::{KeptAction, KeptPart, KeptSnapshot, KeptTopology};
pub use window::{
    KeptBetter, KeptCheck, KeptMeasure, KeptOp, KeptResult, KeptUnit, KeptWindow, Purpose, Trial,
};
pub use writer::{RunWriter, draft_of, remove_drafts, write_whole};

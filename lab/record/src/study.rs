//! Files of a study: `study.jsonl`, appended as it goes on, and its conclusions.
//!
//! `runs/study-ID/` holds `study.toml` (as resolved), `study.jsonl` (entries, one JSON object per line),
//! `runs/` (the ordinary records of its runs), `study.json` (the conclusions) and `study.html`.

mod compared;
mod conclusions;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use compared::{ComparisonRecord, WithinRunNoise};
pub use conclusions::{
    AmdahlRecord, BandRecord, CONCLUSIONS_VERSION, Conclusions, ConfigurationRecord, CrossingRecord,
    ExcludedRun, FindingRecord, FitRecord, IntervalRecord, KneeRecord, KnownAs, LineRecord, MetricRecord,
    PercentilesRecord, PointRecord, QuantileRecord, RowRecord, RunRecord, ScalingRecord,
};

use crate::{Appender, Figure, RecordError, SearchBound, TimesRecord};

/// Version of `study.jsonl` written by this program. It is raised when an old reader would misread a new
/// file.
pub const STUDY_VERSION: u32 = 1;

/// Prefix of the folders of studies, before a name in the form of a run's.
pub const STUDY_PREFIX: &str = "study-";

/// Entries of a study, in its folder.
pub const STUDY_FILE: &str = "study.jsonl";

/// State of this machine for `--resume`, in the folder of a study. It is not shared.
pub const STUDY_BEGIN: &str = "begin.json";

/// One line of `study.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StudyEntry {
    /// The first line.
    Header(Box<StudyHeader>),
    /// A run began.
    RunStarted(RunStarted),
    /// A run ended.
    RunEnded(Box<RunEnded>),
    /// The study was begun again after an interrupt or a kill.
    Resumed {
        /// Time as RFC 3339 in UTC.
        at: String,
    },
    /// The user stopped the study.
    Interrupted {},
    /// All planned runs have been made.
    Finished {},
}

/// The first line: program, time and settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyHeader {
    /// Version of the file; [`STUDY_VERSION`] when written here.
    pub v: u32,
    /// Name of the study.
    pub id: String,
    /// Version of the program.
    pub tool: String,
    /// Start of the study, as RFC 3339 in UTC.
    pub started_at: String,
    /// The command line as typed.
    pub command: String,
    /// The study's file.
    pub file: String,
    /// The working folder, in records of older versions; later ones have it in [`STUDY_BEGIN`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// Overrides of the form `key=value`.
    pub sets: Vec<String>,
    /// Number of blocks, if it overrides that of the file.
    pub repeats: Option<u32>,
    /// Selected levels, as `factor=level,level`.
    pub only: Vec<String>,
    /// The resolved study.
    pub study: String,
    /// Resolved plan of each configuration, by the configuration's name.
    pub plans: Vec<(String, String)>,
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Number of the block, from 1.
    pub block: u32,
    /// Name of the configuration; the control has a name of its own.
    pub configuration: String,
    /// Number of the attempt in this block, from 1.
    pub attempt: u32,
    /// Name of the run.
    pub run: String,
    /// Whether its block is warm-up. Such blocks are numbered separately from 1, and their figures are not
    /// judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm_up: bool,
}

/// A run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The begun run.
    pub started: RunStarted,
    /// Duration of all phases in seconds.
    #[serde(deserialize_with = "crate::entry::nan")]
    pub seconds: f64,
    /// Whether its figures are used.
    pub valid: bool,
    /// Whether every rule held.
    pub passed: bool,
    /// Whether it was stopped from outside, which does not count as an attempt.
    pub interrupted: bool,
    /// Reasons why it is not valid.
    pub reasons: Vec<String>,
    /// Figures by the label of the metric; metrics that were not measured are omitted.
    pub figures: Vec<Figure>,
    /// Reason why the search looked no higher, in words, if the capacity is only a lower bound.
    #[serde(default)]
    pub at_least: Option<SearchBound>,
    /// CPU time that a hypervisor took away in the window the figures are from, relative; older entries do not say.
    #[serde(default)]
    pub stolen: Option<f64>,
    /// Scores of each window that counts: of each tile where all tiles have the same load, else one of all
    /// together. Empty without a score, and in older entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Vec<f64>>,
    /// Metrics of the study without a figure; empty in older entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingFigure>,
    /// Response times by percentile of the operations in the study's metrics; empty in older entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TimesRecord>,
}

/// A metric of a study without a figure in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    /// Label of the metric.
    pub metric: String,
    /// Reason, as in "host_cpu was not measured".
    pub why: String,
}

impl RunEnded {
    /// Returns the figure of a metric.
    #[must_use]
    pub fn figure(&self, label: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == label).map(|figure| figure.value)
    }
}

/// Name of the control.
pub const CONTROL: &str = "control (A/A)";

/// Opens the entries of the study in `folder` for appending.
pub fn append_to_study(folder: &Path) -> Result<Appender<fs::File>, RecordError> {
    let path = folder.join(STUDY_FILE);
    // A killed program may have left half a line, which must not absorb the next one.
    let torn = fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let mut appender = Appender::open(path)?;
    if torn {
        appender.bytes(b"\n")?;
    }
    Ok(appender)
}

/// Content of `study.jsonl`, as far as it can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRead {
    /// The entries, the header first.
    pub entries: Vec<StudyEntry>,
    /// Invalid lines that are not the result of a kill: another program wrote into the file, or the disk is
    /// faulty.
    pub broken: usize,
}

/// Reads the entries of the study in `folder`. A line truncated by a kill is skipped, as its content is not
/// final.
pub fn read_study(folder: &Path) -> Result<StudyRead, RecordError> {
    let path = folder.join(STUDY_FILE);
    let bytes = fs::read(&path).map_err(|why| RecordError::read(&path, why))?;
    // A kill may truncate a character, too.
    let read = read_lines(&String::from_utf8_lossy(&bytes));
    match read.entries.first() {
        Some(StudyEntry::Header(header)) if header.v > STUDY_VERSION => {
            Err(RecordError::NewerVersion { path, found: header.v, known: STUDY_VERSION })
        }
        Some(StudyEntry::Header(_)) => Ok(read),
        _ => Err(RecordError::NoHeader { path }),
    }
}

fn read_lines(text: &str) -> StudyRead {
    let mut read = StudyRead::default();
    // The previous line is invalid. It was truncated if nothing follows it, or if the study was resumed after
    // it.
    let mut doubtful = false;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let entry = serde_json::from_str::<StudyEntry>(line).ok();
        if doubtful && !matches!(entry, Some(StudyEntry::Resumed { .. })) {
            read.broken += 1;
        }
        doubtful = entry.is_none();
        read.entries.extend(entry);
    }
    if doubtful && text.ends_with('\n') {
        read.broken += 1;
    }
    read
}

/// Lists the folders of studies under `root`, by name in the order they began; empty if `root` does not
/// exist.
pub fn list_studies(root: &Path) -> Result<Vec<String>, RecordError> {
    let found = match fs::read_dir(root) {
        Ok(found) => found,
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(RecordError::read(root, why)),
    };
    let names = found.filter_map(|item| item.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.starts_with(STUDY_PREFIX) && root.join(name).join(STUDY_FILE).is_file())
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> StudyEntry {
        StudyEntry::Header(Box::new(StudyHeader {
            v: STUDY_VERSION,
            id: "study-20301120-184500-04f2".to_owned(),
            tool: "barograph 0.1.0".to_owned(),
            started_at: "2030-11-20T18:45:00Z".to_owned(),
            command: "barograph study s.toml".to_owned(),
            file: "s.toml".to_owned(),
            folder: "/".to_owned(),
            sets: Vec::new(),
            repeats: None,
            only: Vec::new(),
            study: String::new(),
            plans: Vec::new(),
        }))
    }

    fn started(configuration: &str) -> StudyEntry {
        let (configuration, run) = (configuration.to_owned(), "20301120-184501-04f3".to_owned());
        StudyEntry::RunStarted(RunStarted { block: 1, configuration, attempt: 1, run, warm_up: false })
    }

    #[test]
    fn a_kill_in_the_middle_of_a_character_costs_that_line_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut appender = append_to_study(folder.path()).unwrap();
        appender.json(&header()).unwrap();
        let whole = serde_json::to_vec(&started("groß")).unwrap();
        let in_it = whole.iter().position(|byte| *byte == 0xc3).unwrap() + 1;
        appender.bytes(&whole[..in_it]).unwrap();
        assert_eq!(read_study(folder.path()).unwrap(), StudyRead { entries: vec![header()], broken: 0 });
        // The study continues after it.
        let resumed = StudyEntry::Resumed { at: "2030-11-20T18:46:00Z".to_owned() };
        let mut appender = append_to_study(folder.path()).unwrap();
        appender.json(&resumed).unwrap();
        appender.json(&started("groß")).unwrap();
        let read = read_study(folder.path()).unwrap();
        assert_eq!(read, StudyRead { entries: vec![header(), resumed, started("groß")], broken: 0 });
    }

    #[test]
    fn entries_of_older_versions_are_of_judged_blocks_and_written_as_they_were() {
        let entry = started("a");
        let line = serde_json::to_string(&entry).unwrap();
        assert!(!line.contains("warm_up"), "{line}");
        assert_eq!(serde_json::from_str::<StudyEntry>(&line).unwrap(), entry);
        let StudyEntry::RunStarted(mut warming) = entry else { unreachable!("it is one") };
        warming.warm_up = true;
        let line = serde_json::to_string(&StudyEntry::RunStarted(warming.clone())).unwrap();
        assert!(line.ends_with(",\"warm_up\":true}"), "{line}");
        assert_eq!(serde_json::from_str::<StudyEntry>(&line).unwrap(), StudyEntry::RunStarted(warming));
    }

    #[test]
    fn lines_that_nobody_cut_are_counted() {
        let [first, other] = [header(), started("a")].map(|entry| serde_json::to_string(&entry).unwrap());
        let read = read_lines(&format!("{first}\nnonsense\n\n{other}\nnonsense\n"));
        assert_eq!((read.entries.len(), read.broken), (2, 2));
        assert_eq!(read_lines(&format!("{first}\n{{}}\n{{}}\n{other}\n{{")).broken, 2);
    }
}

//! What a study leaves behind: `study.jsonl`, appended as it goes, and its conclusions.
//!
//! `runs/study-ID/` holds `study.toml` (as resolved), `study.jsonl` (entries, one JSON object per line), `runs/` (the
//! ordinary records of its runs), `study.json` (the conclusions) and `study.html`.

mod conclusions;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use conclusions::{
    CONCLUSIONS_VERSION, Conclusions, Excluded, KeptBand, KeptConfiguration, KeptCrossing, KeptFinding,
    KeptFit, KeptInterval, KeptKnee, KeptMetric, KeptPoint, KeptRow, KeptScaling,
};

use crate::{Appender, Figure, RecordError};

/// Version of `study.jsonl` written by this program. It rises when an old reader would misunderstand a new file.
pub const STUDY_VERSION: u32 = 1;

/// What the folders of studies begin with, before a name like that of a run.
pub const STUDY_PREFIX: &str = "study-";

/// The entries of a study, in its folder.
pub const STUDY_FILE: &str = "study.jsonl";

/// One line of `study.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StudyEntry {
    /// The first line.
    Header(Box<StudyHeader>),
    /// A run began.
    RunStarted(RunStarted),
    /// A run came to an end.
    RunEnded(Box<RunEnded>),
    /// The study was begun again after an interrupt or a kill.
    Resumed {
        /// When, as RFC 3339 in UTC.
        at: String,
    },
    /// Somebody stopped the study.
    Interrupted {},
    /// Every run that was wanted has been made.
    Finished {},
}

/// The first line: what was asked for, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyHeader {
    /// Version of the file; [`STUDY_VERSION`] when written here.
    pub v: u32,
    /// Name of the study.
    pub id: String,
    /// Version of the program.
    pub tool: String,
    /// When the study began, as RFC 3339 in UTC.
    pub started_at: String,
    /// The command as typed.
    pub command: String,
    /// The study's file, so that it is found from any folder.
    pub file: String,
    /// The folder the study was begun in: paths in plans and overrides count from it.
    pub folder: String,
    /// Overrides of the form `key=value`.
    pub sets: Vec<String>,
    /// Blocks asked for in place of those of the file.
    pub repeats: Option<u32>,
    /// Levels asked for in place of all, as `factor=level,level`.
    pub only: Vec<String>,
    /// The study as resolved.
    pub study: String,
    /// The plan of each configuration as resolved, by the configuration's name.
    pub plans: Vec<(String, String)>,
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Number of the block, from 1.
    pub block: u32,
    /// Name of the configuration; that of the control is its own.
    pub configuration: String,
    /// How often this was tried in this block, from 1.
    pub attempt: u32,
    /// Name of the run.
    pub run: String,
}

/// A run came to an end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// What had begun.
    pub started: RunStarted,
    /// How long it took, all phases, in seconds.
    #[serde(deserialize_with = "crate::entry::nan")]
    pub seconds: f64,
    /// Its figures are used.
    pub valid: bool,
    /// Every rule held.
    pub passed: bool,
    /// It was stopped from outside, and does not count as tried.
    pub interrupted: bool,
    /// Why it is not valid.
    pub reasons: Vec<String>,
    /// Figures by the label of the metric; those that were not measured are left out.
    pub figures: Vec<Figure>,
    /// The capacity is only a bound: what kept the search from looking higher, in words.
    #[serde(default)]
    pub at_least: Option<String>,
}

impl RunEnded {
    /// The figure of a metric.
    #[must_use]
    pub fn figure(&self, label: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == label).map(|figure| figure.value)
    }
}

/// Opens the entries of the study in `folder` for appending.
pub fn append_to_study(folder: &Path) -> Result<Appender<fs::File>, RecordError> {
    let path = folder.join(STUDY_FILE);
    // A killed program may have left half a line, which must not swallow the next one.
    let torn = fs::read(&path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let mut appender = Appender::open(path)?;
    if torn {
        appender.bytes(b"\n")?;
    }
    Ok(appender)
}

/// The entries of the study in `folder`. A line that was cut by a kill is left out: what it says did not count yet.
pub fn read_study(folder: &Path) -> Result<Vec<StudyEntry>, RecordError> {
    let path = folder.join(STUDY_FILE);
    let text = fs::read_to_string(&path).map_err(|why| RecordError::read(&path, why))?;
    let entries: Vec<StudyEntry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    match entries.first() {
        Some(StudyEntry::Header(header)) if header.v > STUDY_VERSION => {
            Err(RecordError::NewerVersion { path, found: header.v, known: STUDY_VERSION })
        }
        Some(StudyEntry::Header(_)) => Ok(entries),
        _ => Err(RecordError::NoHeader { path }),
    }
}

/// The folders of studies under `root`, by name in the order they began; nothing when `root` does not exist.
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

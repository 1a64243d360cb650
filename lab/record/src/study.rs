//! What a study leaves behind: `study.jsonl`, appended as it goes, and its conclusions.
//!
//! `runs/study-ID/` holds `study.toml` (as resolved), `study.jsonl` (entries, one JSON object per line), `runs/` (the
//! ordinary records of its runs), `study.json` (the conclusions) and `study.html`.

mod compared;
mod conclusions;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use compared::{Compared, WithinRun};
pub use conclusions::{
    CONCLUSIONS_VERSION, Conclusions, Excluded, KeptAmdahl, KeptBand, KeptConfiguration, KeptCrossing,
    KeptFinding, KeptFit, KeptInterval, KeptKnee, KeptLine, KeptMetric, KeptPercentiles, KeptPoint,
    KeptQuantile, KeptRow, KeptRun, KeptScaling, KnownAs,
};

use crate::{Appender, Figure, KeptTimes, RecordError, SearchBound};

/// Version of `study.jsonl` written by this program. It rises when an old reader would misunderstand a new file.
pub const STUDY_VERSION: u32 = 1;

/// What the folders of studies begin with, before a name like that of a run.
pub const STUDY_PREFIX: &str = "study-";

/// The entries of a study, in its folder.
pub const STUDY_FILE: &str = "study.jsonl";

/// What `--resume` needs to know of this machine, in the folder of a study. It is no part of what is shared.
pub const STUDY_BEGIN: &str = "begin.json";

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
    /// The study's file.
    pub file: String,
    /// The working folder, in records of older versions; now it is in [`STUDY_BEGIN`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
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
    /// It is of a block of warm-up, which are numbered from 1 by themselves, and its figures are not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warm_up: bool,
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
    /// The capacity is only a bound: what kept the search from looking higher.
    #[serde(default)]
    pub at_least: Option<SearchBound>,
    /// CPU time that a hypervisor took away in the window the figures are from, relative; older entries do not say.
    #[serde(default)]
    pub stolen: Option<f64>,
    /// Metrics of the study without a figure; older entries do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingFigure>,
    /// Response times of the operations that metrics of the study are of, by percentile; older entries do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<KeptTimes>,
}

/// A metric of a study that a run has no figure of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingFigure {
    /// Label of the metric.
    pub metric: String,
    /// Why there is none, as in "host_cpu was not measured".
    pub why: String,
}

impl RunEnded {
    /// The figure of a metric.
    #[must_use]
    pub fn figure(&self, label: &str) -> Option<f64> {
        self.figures.iter().find(|figure| figure.name == label).map(|figure| figure.value)
    }
}

/// What the control is called.
pub const CONTROL: &str = "control (A/A)";

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

/// What `study.jsonl` says, as much of it as can be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRead {
    /// The entries, the header first.
    pub entries: Vec<StudyEntry>,
    /// Lines that are no entries and were not cut by a kill either: somebody else wrote into the file, or its disk fails.
    pub broken: usize,
}

/// The entries of the study in `folder`. A line that was cut by a kill is left out: what it says did not count yet.
pub fn read_study(folder: &Path) -> Result<StudyRead, RecordError> {
    let path = folder.join(STUDY_FILE);
    let bytes = fs::read(&path).map_err(|why| RecordError::read(&path, why))?;
    // A kill may cut a character, too.
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
    // The line before is no entry. It was cut if nothing follows, or the study that begins again.
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
        // The study goes on behind it.
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

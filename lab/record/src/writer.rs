//! Writer of the record of one run, which appends as the run goes on.

use std::borrow::Cow;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use barograph_model::secret::masked;
use barograph_stats::Interval;

use crate::hlog::LogWriter;
use crate::{
    Appender, Entry, Folders, Follower, Header, IntervalRow, Loads, ProbeRow, RecordError, RunFinished,
    RunId, StatisticRow, probe, statistic,
};

/// Ending of a draft's name, which begins with a dot.
const DRAFT: &str = ".part";

/// Returns the draft name of a file. [`remove_drafts`] recognises it.
#[must_use]
pub fn draft_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}{DRAFT}"))
}

/// Writes a file under a draft name first, so that it is either complete or absent.
///
/// # Errors
/// If it cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let draft = draft_of(path);
    fs::write(&draft, bytes)
        .and_then(|()| fs::rename(&draft, path))
        .map_err(|why| RecordError::write(path, why))
}

/// Removes the drafts of killed programs from `dir`: those that were not written for `untouched_for`. Returns
/// their paths.
///
/// # Errors
/// If the folder cannot be read or a file cannot be removed.
pub fn remove_drafts(dir: &Path, untouched_for: Duration) -> Result<Vec<PathBuf>, RecordError> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(dir).map_err(|why| RecordError::read(dir, why))? {
        let path = entry.map_err(|why| RecordError::read(dir, why))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let is_draft =
            name.is_some_and(|name| name.starts_with('.') && name.ends_with(DRAFT)) && path.is_file();
        if is_draft && is_untouched(&path, untouched_for) {
            fs::remove_file(&path).map_err(|why| RecordError::write(&path, why))?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Whether a file was not written for `time`. If that is unknown, it counts as written.
fn is_untouched(path: &Path, time: Duration) -> bool {
    let age = || fs::metadata(path).ok()?.modified().ok()?.elapsed().ok();
    time.is_zero() || age().is_some_and(|age| age >= time)
}

/// Folder of the loads of a run of several.
pub(crate) const LOADS: &str = "loads";

/// Writes the record of one run.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    entries: Appender<File>,
    /// `None` for one of several loads: samples are those of the run.
    probes: Option<Appender<File>>,
    /// Created with its first row, as many targets report no statistics.
    statistics: Option<Appender<File>>,
    response: LogWriter,
    service: LogWriter,
    started_at: SystemTime,
    load_start_s: f64,
    followers: Vec<Arc<dyn Follower>>,
    header: Option<Header>,
    folders: Folders,
    /// Records of the loads of a run of several; empty for one load.
    loads: Vec<RunWriter>,
}

impl RunWriter {
    /// Creates `root/ID/` with its files. Fails if a run of this name exists.
    pub fn create(root: &Path, id: &RunId) -> Result<Self, RecordError> {
        let make = |path: &Path, how: fn(&Path) -> std::io::Result<()>| {
            how(path).map_err(|why| RecordError::CreateDirectory { path: path.to_owned(), why })
        };
        let dir = root.join(id.as_str());
        make(root, |p| fs::create_dir_all(p))?;
        make(&dir, |p| fs::create_dir(p))?;
        make(&dir.join("services"), |p| fs::create_dir(p))?;
        let mut probes = Appender::open(dir.join("probe.csv"))?;
        probes.bytes(probe::header().as_bytes())?;
        RunWriter::in_folder(dir, Some(probes), Folders::of(root))
    }

    /// Keeps absolute paths in all that is written from here on.
    #[must_use]
    pub fn with_absolute_paths(mut self) -> Self {
        self.folders = Folders::absolute();
        self
    }

    /// A text with paths as the record has them.
    #[must_use]
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.folders.relative(text)
    }

    fn in_folder(
        dir: PathBuf,
        probes: Option<Appender<File>>,
        folders: Folders,
    ) -> Result<Self, RecordError> {
        Ok(RunWriter {
            entries: Appender::open(dir.join("run.jsonl"))?,
            probes,
            statistics: None,
            response: LogWriter::open(dir.join("response.hlog"))?,
            service: LogWriter::open(dir.join("service.hlog"))?,
            dir,
            started_at: SystemTime::UNIX_EPOCH,
            load_start_s: 0.0,
            followers: Vec::new(),
            header: None,
            folders,
            loads: Vec::new(),
        })
    }

    /// Creates a record for each of several loads below that of the run. Call it after the header.
    pub fn loads(&mut self, names: &[String]) -> Result<(), RecordError> {
        if names.len() < 2 {
            return Ok(());
        }
        self.append(&Entry::Loads(Loads { names: names.to_vec() }))?;
        for name in names {
            let dir = self.dir.join(LOADS).join(name);
            fs::create_dir_all(&dir)
                .map_err(|why| RecordError::CreateDirectory { path: dir.clone(), why })?;
            let mut load = RunWriter::in_folder(dir, None, self.folders.clone())?;
            if let Some(header) = &self.header {
                load.append(&Entry::Header(header.clone()))?;
            }
            self.loads.push(load);
        }
        Ok(())
    }

    /// Returns the record of a load: that of the run itself if there is only one.
    pub fn of_load(&mut self, load: usize) -> &mut RunWriter {
        if self.loads.is_empty() { self } else { &mut self.loads[load] }
    }

    /// Adds `followers`, which see everything written from here on.
    #[must_use]
    pub fn followed_by(mut self, followers: Vec<Arc<dyn Follower>>) -> Self {
        self.followers = followers;
        self
    }

    /// Releases the followers before the record is closed. Returns their notes for the record.
    pub fn dismiss(&mut self) -> Vec<String> {
        std::mem::take(&mut self.followers).iter().flat_map(|follower| follower.leave()).collect()
    }

    /// Returns the directory of the run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the directory for logs and configurations of services.
    #[must_use]
    pub fn services_dir(&self) -> PathBuf {
        self.dir.join("services")
    }

    /// Writes the resolved plan, with the passwords of URLs removed. From then on, files and folders that it
    /// names are written with their last components.
    pub fn plan(&mut self, toml: &str) -> Result<(), RecordError> {
        self.learn(toml);
        self.text_file("plan.toml", toml)
    }

    /// Writes the disclosure, with the passwords of URLs removed; a later call replaces it.
    pub fn disclosure(&mut self, facts: &serde_json::Value) -> Result<(), RecordError> {
        self.text_file("disclosure.json", &format!("{facts:#}\n"))
    }

    fn learn(&mut self, text: &str) {
        self.folders.learn(text);
        self.loads.iter_mut().for_each(|load| load.folders.learn(text));
    }

    /// Writes the rendered report beside the raw files, and returns its path.
    pub fn report(&mut self, html: &str) -> Result<PathBuf, RecordError> {
        self.whole_file("report.html", html.as_bytes())?;
        Ok(self.dir.join("report.html"))
    }

    /// Appends an entry. The first must be [`Entry::Header`]; [`Entry::LoadStarted`] comes before the first
    /// interval.
    pub fn append(&mut self, entry: &Entry) -> Result<(), RecordError> {
        match entry {
            Entry::Header(header) => {
                if let Ok(at) = header.started_at.parse::<jiff::Timestamp>() {
                    self.started_at = at.into();
                }
                self.header = Some(header.clone());
                self.learn(&header.command);
            }
            Entry::LoadStarted(load) => {
                self.load_start_s = load.at_s;
                self.loads.iter_mut().for_each(|each| each.load_start_s = load.at_s);
            }
            // Unchanged: the kind of an unknown entry is inside its value.
            Entry::Unknown(unknown) => return self.entries.json_relative(&unknown.value, &self.folders),
            _ => {}
        }
        self.entries.json_relative(entry, &self.folders)?;
        self.followers.iter().for_each(|follower| follower.entry(entry));
        Ok(())
    }

    /// Appends an interval: its histograms to the two logs, its figures to the entries. `names` are the
    /// operations' names by index.
    pub fn interval(&mut self, interval: &Interval, names: &[&str]) -> Result<(), RecordError> {
        let offset = Duration::try_from_secs_f64(self.load_start_s).unwrap_or(Duration::ZERO);
        let zero = self.started_at + offset;
        for log in [&mut self.response, &mut self.service] {
            log.begin(zero)?;
        }
        self.response.append(interval, names, |op| &op.response)?;
        self.service.append(interval, names, |op| &op.service)?;
        self.entries.json(&Entry::Interval(IntervalRow::keep(interval, names)))?;
        self.followers.iter().for_each(|follower| follower.interval(interval, names));
        Ok(())
    }

    /// Shows followers an interval of several loads, each of which was appended to its record.
    pub fn show(&self, interval: &Interval, names: &[&str]) {
        self.followers.iter().for_each(|follower| follower.interval(interval, names));
    }

    /// Appends a resource sample.
    pub fn probe(&mut self, row: &ProbeRow) -> Result<(), RecordError> {
        if let Some(probes) = &mut self.probes {
            probes.bytes(probe::line(row).as_bytes())?;
        }
        self.followers.iter().for_each(|follower| follower.probe(row));
        Ok(())
    }

    /// Appends statistics of services.
    pub fn statistics(&mut self, rows: &[StatisticRow]) -> Result<(), RecordError> {
        if rows.is_empty() {
            return Ok(());
        }
        let lines: String = rows.iter().map(statistic::line).collect();
        let file = match &mut self.statistics {
            Some(file) => file,
            empty => {
                let mut file = Appender::open(self.dir.join("statistics.csv"))?;
                file.bytes(statistic::header().as_bytes())?;
                empty.insert(file)
            }
        };
        file.bytes(lines.as_bytes())
    }

    /// Closes the record: writes the last entry, syncs everything to disk, and makes paths in files of
    /// services relative. The writer stays usable for [`Self::report`].
    pub fn finish(&mut self) -> Result<(), RecordError> {
        self.loads.iter_mut().try_for_each(RunWriter::finish)?;
        self.entries.json(&Entry::Finished(RunFinished {}))?;
        self.entries.sync()?;
        self.probes.as_mut().map_or(Ok(()), Appender::sync)?;
        self.statistics.as_mut().map_or(Ok(()), Appender::sync)?;
        self.response.sync()?;
        self.service.sync()?;
        let services = self.services_dir();
        if services.is_dir() { self.folders.rewrite(&services) } else { Ok(()) }
    }

    fn text_file(&self, name: &str, text: &str) -> Result<(), RecordError> {
        self.whole_file(name, self.folders.relative(&masked(text)).as_bytes())
    }

    fn whole_file(&self, name: &str, bytes: &[u8]) -> Result<(), RecordError> {
        write_whole(&self.dir.join(name), bytes)
    }
}

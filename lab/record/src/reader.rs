//! Reader of records, which reads as much as there is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use barograph_model::ChosenWindow;

use crate::entry::KINDS;
use crate::probe::{APPLICATION, application_of};
use crate::writer::LOADS;
use crate::{
    ActionRecord, Decisions, DemandRecord, Entry, ExpectedFigures, Fill, Header, IntervalRow, LevelRecord,
    LogReader, PhaseOutcome, ProbeRow, RecordError, RunId, RunInterrupted, StatisticRow, SupplyRecord, Tier,
    TilesRecord, TopologyRecord, Trial, UnknownEntry, VERSION, Verdict, probe, statistic,
};

/// A record that was read.
#[derive(Clone, Debug)]
pub struct Run {
    /// Directory of the record.
    pub dir: PathBuf,
    /// Program and time.
    pub header: Header,
    /// Every entry in the order written, the header included.
    pub entries: Vec<Entry>,
    /// The resolved plan, if present.
    pub plan: Option<String>,
    /// The disclosure, if present.
    pub disclosure: Option<serde_json::Value>,
    /// Resource samples in the order taken.
    pub probes: Vec<ProbeRow>,
    /// Statistics of services, in the order received; empty if none were requested.
    pub statistics: Vec<StatisticRow>,
    /// Name of the load, if this is one of several.
    pub load: Option<String>,
    /// The loads of a run of several: each like the record of a run with that load alone, with the phases,
    /// samples and notes of all. Empty for one load.
    pub loads: Vec<Run>,
    /// Whether the record was closed: the run ended in order, even if interrupted.
    pub complete: bool,
    /// Defects of the record, each with file and line.
    pub damage: Vec<String>,
}

/// A phase from its start to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpan {
    /// Name of the phase.
    pub phase: String,
    /// Start, seconds since the run began.
    pub from_s: f64,
    /// End, seconds since the run began; absent if the record ends within the phase.
    pub to_s: Option<f64>,
    /// Outcome of the phase; absent if the record ends within it.
    pub outcome: Option<PhaseOutcome>,
    /// The error in words, if the phase failed.
    pub error: Option<String>,
}

impl Run {
    /// Reads the record in `dir`. Only a missing or foreign `run.jsonl` is an error; other damage is listed
    /// in [`Run::damage`] and the rest is read.
    pub fn open(dir: &Path) -> Result<Self, RecordError> {
        let path = dir.join("run.jsonl");
        let bytes = fs::read(&path).map_err(|why| RecordError::read(&path, why))?;
        let (entries, mut bad) = read_entries(&path, &bytes);
        let Some(Entry::Header(header)) = entries.first() else {
            return Err(RecordError::NoHeader { path });
        };
        if header.v > VERSION {
            return Err(RecordError::NewerVersion { path, found: header.v, known: VERSION });
        }
        let header = header.clone();
        let probes = read_probes(dir, &mut bad);
        let statistics = read_statistics(dir, &mut bad);
        let disclosure = read_disclosure(dir, &mut bad);
        let plan = fs::read(dir.join("plan.toml")).ok().map(|b| String::from_utf8_lossy(&b).into_owned());
        let complete = matches!(entries.last(), Some(Entry::Finished(_)));
        let damage = bad.iter().map(RecordError::in_one_line).collect();
        let (dir, load, loads) = (dir.to_owned(), None, Vec::new());
        let mut run =
            Run { dir, header, entries, plan, disclosure, probes, statistics, load, loads, complete, damage };
        for name in run.load_names().to_vec() {
            match run.read_load(&name) {
                Ok(load) => run.loads.push(load),
                Err(why) => run.damage.push(why.in_one_line()),
            }
        }
        Ok(run)
    }

    /// Returns the names of the loads of a run of several, in the order of the plan.
    #[must_use]
    pub fn load_names(&self) -> &[String] {
        self.last(|e| if let Entry::Loads(loads) = e { Some(&loads.names) } else { None })
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the tiles of the run; `None` without tiles.
    #[must_use]
    pub fn tiles(&self) -> Option<&TilesRecord> {
        self.last(|e| if let Entry::Tiles(tiles) = e { Some(tiles) } else { None })
    }

    /// Returns the load of this name; the run itself for `None`.
    #[must_use]
    pub fn of(&self, load: Option<&str>) -> Option<&Run> {
        let Some(name) = load else { return Some(self) };
        self.loads.iter().find(|of| of.load.as_deref() == Some(name))
    }

    /// Returns each load with its windows: the run itself if there is only one.
    #[must_use]
    pub fn each_load(&self) -> &[Run] {
        if self.loads.is_empty() { std::slice::from_ref(self) } else { &self.loads }
    }

    /// Reads a load, with the run's entries for all loads.
    fn read_load(&self, name: &str) -> Result<Run, RecordError> {
        let dir = self.dir.join(LOADS).join(name);
        let path = dir.join("run.jsonl");
        let bytes = fs::read(&path).map_err(|why| RecordError::read(&path, why))?;
        let (own, bad) = read_entries(&path, &bytes);
        let of_run = |entry: &&Entry| {
            !matches!(entry, Entry::Verdict(_) | Entry::Loads(_) | Entry::Tiles(_) | Entry::Decisions(_))
        };
        let own = own.into_iter().filter(|entry| !matches!(entry, Entry::Header(_) | Entry::Finished(_)));
        let entries = self.entries.iter().filter(of_run).cloned().chain(own).collect();
        let damage = bad.iter().map(RecordError::in_one_line).collect();
        let load = Some(name.to_owned());
        let mut load = Run { dir, entries, damage, load, loads: Vec::new(), ..self.clone() };
        load.only_own_application();
        Ok(load)
    }

    /// If several applications were deployed, keeps the samples of this load's application as those of all
    /// nodes.
    fn only_own_application(&mut self) {
        let Some(owner) = self.topology().and_then(TopologyRecord::load) else { return };
        let own = application_of(owner);
        if self.probes.iter().any(|row| row.subject == own) {
            self.probes.retain(|row| row.subject != APPLICATION);
            let rows = self.probes.iter_mut().filter(|row| row.subject == own);
            rows.for_each(|row| APPLICATION.clone_into(&mut row.subject));
        }
    }

    /// Returns the intervals in the order of time.
    pub fn intervals(&self) -> impl Iterator<Item = &IntervalRow> {
        self.entries.iter().filter_map(|e| if let Entry::Interval(row) = e { Some(row) } else { None })
    }

    /// Returns the trials in the order made.
    pub fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.entries.iter().filter_map(|e| if let Entry::Trial(trial) = e { Some(&**trial) } else { None })
    }

    /// Returns the unit of levels.
    #[must_use]
    pub fn unit(&self) -> crate::UnitRecord {
        self.expected().map(|e| e.unit).unwrap_or_default()
    }

    /// Returns the changes of the load by control commands, in the order made.
    pub fn controls(&self) -> impl Iterator<Item = &crate::Control> {
        self.entries.iter().filter_map(|e| if let Entry::Control(control) = e { Some(control) } else { None })
    }

    /// Returns the notes with their times in seconds since the run began.
    pub fn notes(&self) -> impl Iterator<Item = (f64, &str)> {
        self.entries.iter().filter_map(|e| {
            if let Entry::Note(note) = e { Some((note.at_s, note.text.as_str())) } else { None }
        })
    }

    /// Returns the answer.
    #[must_use]
    pub fn verdict(&self) -> Option<&Verdict> {
        self.last(|e| if let Entry::Verdict(verdict) = e { Some(&**verdict) } else { None })
    }

    /// Returns the rules and figures of the profile.
    #[must_use]
    pub fn expected(&self) -> Option<&ExpectedFigures> {
        self.last(|e| if let Entry::Expected(expected) = e { Some(expected) } else { None })
    }

    /// Returns the decisions on values that the plan leaves open; `None` for older records.
    #[must_use]
    pub fn decisions(&self) -> Option<&Decisions> {
        self.last(|e| if let Entry::Decisions(decisions) = e { Some(decisions) } else { None })
    }

    /// Returns the tiers of the application; empty if it reported none.
    #[must_use]
    pub fn tiers(&self) -> &[Tier] {
        self.last(|e| if let Entry::Tiers(tiers) = e { Some(&tiers.tiers) } else { None })
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the deployment; `None` if the target existed already.
    #[must_use]
    pub fn topology(&self) -> Option<&TopologyRecord> {
        self.last(|e| if let Entry::Topology(topology) = e { Some(&**topology) } else { None })
    }

    /// Returns the actions of the plan, in the order of time.
    pub fn actions(&self) -> impl Iterator<Item = &ActionRecord> {
        self.entries.iter().filter_map(|e| if let Entry::Action(action) = e { Some(action) } else { None })
    }

    /// Returns the demand curve, if the plan named one.
    #[must_use]
    pub fn demand(&self) -> Option<&DemandRecord> {
        self.last(|e| if let Entry::Demand(demand) = e { Some(demand) } else { None })
    }

    /// Returns the changes of the nodes of the tier whose elasticity is measured, in the order of time.
    pub fn supplies(&self) -> impl Iterator<Item = &SupplyRecord> {
        self.entries.iter().filter_map(|e| if let Entry::Supply(supply) = e { Some(supply) } else { None })
    }

    /// Returns the changes of the level of the load, in the order of time, where elasticity is measured.
    pub fn levels(&self) -> impl Iterator<Item = &LevelRecord> {
        self.entries.iter().filter_map(|e| if let Entry::Level(level) = e { Some(level) } else { None })
    }

    /// Returns the application's data, if this program filled them.
    #[must_use]
    pub fn fill(&self) -> Option<&Fill> {
        self.last(|e| if let Entry::Fill(fill) = e { Some(fill) } else { None })
    }

    /// Returns the reason why the run ended early, if it was recorded.
    #[must_use]
    pub fn interrupted(&self) -> Option<&RunInterrupted> {
        self.last(|e| if let Entry::Interrupted(interrupted) = e { Some(interrupted) } else { None })
    }

    /// Returns time zero of intervals and windows, in seconds since the run began.
    #[must_use]
    pub fn load_start_s(&self) -> Option<f64> {
        self.last(|e| if let Entry::LoadStarted(load) = e { Some(load) } else { None }).map(|l| l.at_s)
    }

    /// Returns the trial that decides: the one named by the verdict, else the last.
    #[must_use]
    pub fn deciding_trial(&self) -> Option<&Trial> {
        let named = self.verdict().and_then(|v| v.trial);
        named.and_then(|n| self.trials().find(|t| t.n == n)).or_else(|| self.trials().last())
    }

    /// Returns a measured window; `None` without one.
    #[must_use]
    pub fn chosen_trial(&self, window: ChosenWindow) -> Option<&Trial> {
        match window {
            ChosenWindow::Deciding => self.deciding_trial(),
            ChosenWindow::First => self.trials().next(),
            ChosenWindow::Last => self.trials().last(),
        }
    }

    /// Returns the phases in the order begun.
    #[must_use]
    pub fn phases(&self) -> Vec<PhaseSpan> {
        let mut spans: Vec<PhaseSpan> = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::PhaseStarted(p) => spans.push(PhaseSpan {
                    phase: p.phase.clone(),
                    from_s: p.at_s,
                    to_s: None,
                    outcome: None,
                    error: None,
                }),
                Entry::PhaseEnded(p) => {
                    let open = |s: &&mut PhaseSpan| s.phase == p.phase && s.to_s.is_none();
                    if let Some(span) = spans.iter_mut().rev().find(open) {
                        span.to_s = Some(p.at_s);
                        span.outcome = Some(p.outcome);
                        span.error.clone_from(&p.error);
                    }
                }
                _ => {}
            }
        }
        spans
    }

    /// Opens the log of response times, whole histograms.
    pub fn response_log(&self) -> Result<LogReader, RecordError> {
        LogReader::open(&self.dir.join("response.hlog"))
    }

    /// Opens the log of service times, whole histograms.
    pub fn service_log(&self) -> Result<LogReader, RecordError> {
        LogReader::open(&self.dir.join("service.hlog"))
    }

    fn last<'a, T>(&'a self, pick: impl Fn(&'a Entry) -> Option<&'a T>) -> Option<&'a T> {
        self.entries.iter().rev().find_map(pick)
    }
}

/// Lists the runs under `root` in the order they began; empty if `root` does not exist.
pub fn list(root: &Path) -> Result<Vec<RunId>, RecordError> {
    let found = match fs::read_dir(root) {
        Ok(found) => found,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(why) => return Err(RecordError::read(root, why)),
    };
    let mut ids: Vec<RunId> = found
        .filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id: &RunId| root.join(id.as_str()).join("run.jsonl").is_file())
        .collect();
    ids.sort();
    Ok(ids)
}

fn read_entries(path: &Path, bytes: &[u8]) -> (Vec<Entry>, Vec<RecordError>) {
    let (mut entries, mut bad) = (Vec::new(), Vec::new());
    for (i, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        match read_entry(line) {
            Ok(entry) => entries.push(entry),
            Err(why) => bad.push(RecordError::bad_line(path, i + 1, why)),
        }
    }
    (entries, bad)
}

fn read_entry(line: &[u8]) -> Result<Entry, Box<dyn std::error::Error + Send + Sync>> {
    let value: serde_json::Value = serde_json::from_slice(line)?;
    if line.last() != Some(&b'\n') {
        return Err("the line is cut".into());
    }
    let Some(kind) = value.get("kind").and_then(|k| k.as_str()) else {
        return Err("the entry has no kind".into());
    };
    if KINDS.contains(&kind) {
        return Ok(serde_json::from_value(value)?);
    }
    Ok(Entry::Unknown(UnknownEntry { kind: kind.to_owned(), value }))
}

fn read_probes(dir: &Path, bad: &mut Vec<RecordError>) -> Vec<ProbeRow> {
    let path = dir.join("probe.csv");
    match fs::read(&path) {
        Ok(bytes) => {
            let (rows, damage) = probe::read(&path, &String::from_utf8_lossy(&bytes));
            bad.extend(damage);
            rows
        }
        Err(why) => {
            bad.push(RecordError::read(&path, why));
            Vec::new()
        }
    }
}

fn read_statistics(dir: &Path, bad: &mut Vec<RecordError>) -> Vec<StatisticRow> {
    let path = dir.join("statistics.csv");
    match fs::read(&path) {
        Ok(bytes) => {
            let (rows, damage) = statistic::read(&path, &String::from_utf8_lossy(&bytes));
            bad.extend(damage);
            rows
        }
        // Statistics were not requested, or an older version wrote the record: no damage.
        Err(why) if why.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(why) => {
            bad.push(RecordError::read(&path, why));
            Vec::new()
        }
    }
}

fn read_disclosure(dir: &Path, bad: &mut Vec<RecordError>) -> Option<serde_json::Value> {
    let path = dir.join("disclosure.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        // A run that ended early has none yet: no damage.
        Err(why) if why.kind() == io::ErrorKind::NotFound => return None,
        Err(why) => {
            bad.push(RecordError::read(&path, why));
            return None;
        }
    };
    match serde_json::from_slice(&bytes) {
        Ok(value) => Some(value),
        Err(why) => {
            bad.push(RecordError::bad_line(&path, why.line(), why));
            None
        }
    }
}

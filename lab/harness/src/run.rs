//! One run from its first phase to its last.

use std::path::PathBuf;
use std::sync::Arc;

use barograph_model::Phase;
use barograph_model::secret::masked;
use barograph_model::words::in_one_line;
use barograph_platform::{HERE, Ledger, LedgerError, Platform, Resource, Site, SiteSpec, SweepResult};
use barograph_record::{
    Entry, ExitCode, ExpectedFigures, Follower, Header, Note, RunId, RunInterrupted, RunWriter, Tiers,
    Verdict,
};
use barograph_spec::Plan;
use barograph_workload::{DataSet, DataSets, VerifyResult, Workload};

use crate::check::{self, CheckedPlan, Target};
use crate::clock::RunClock;
use crate::deploy::Deployment;
use crate::power::Power;
use crate::{HarnessError, Screen, Stop, control, deploy, disk, fill, load_phase, verdict};

/// Everything that a run gets from its caller.
pub struct RunContext<'w> {
    /// Available platforms. The first is this machine itself.
    pub platforms: &'w [&'w dyn Platform],
    /// Requests the end of the run.
    pub stop: Stop,
    /// Name of the run.
    pub id: RunId,
    /// Start of the run, as RFC 3339 in UTC.
    pub started_at: String,
    /// Version of the program.
    pub tool: String,
    /// The command line as typed.
    pub command: String,
    /// Versions, machine, settings.
    pub disclosure: serde_json::Value,
    /// Followers of the record.
    pub followers: Vec<Arc<dyn Follower>>,
}

/// A run that has ended, with or without success, with its record in place.
#[derive(Debug)]
pub struct RunResult {
    /// Folder of the record.
    pub dir: PathBuf,
    /// Exit code of the program.
    pub exit: ExitCode,
    /// The verdict, if there is one.
    pub verdict: Option<Verdict>,
    /// The error that ended the run early, if any.
    pub error: Option<HarnessError>,
}

/// Time in which a unit must end when asked.
pub(crate) const GRACE: std::time::Duration = std::time::Duration::from_secs(10);

/// Longest delay between the end of a part and its report.
const TOLD: std::time::Duration = std::time::Duration::from_secs(2);

/// Time in which abandoned work must end. The slowest is a container engine, which takes seconds to end on a
/// busy machine.
const LET_GO: std::time::Duration = std::time::Duration::from_secs(30);

/// Interval between polls of abandoned work.
const LET_GO_LOOK: std::time::Duration = std::time::Duration::from_millis(2);

/// A load of a run: its check and its workload.
#[derive(Clone)]
pub struct CheckedLoad {
    /// Its plan with nothing left open, and the results of the check.
    pub checked: CheckedPlan,
    /// Its workload.
    pub workload: Arc<dyn Workload>,
}

/// Runs the checked loads of a plan, all at once. An error means that the record could not be begun; later
/// errors are in [`RunResult`], and in the record if that can still be written.
///
/// # Panics
/// If `loads` is empty.
pub async fn run(
    loads: Vec<CheckedLoad>,
    world: &RunContext<'_>,
    screen: &mut dyn Screen,
) -> Result<RunResult, HarnessError> {
    run_on(RunClock::start(), loads, world, screen).await
}

/// As [`run`], on any clock.
async fn run_on(
    clock: RunClock,
    mut loads: Vec<CheckedLoad>,
    world: &RunContext<'_>,
    screen: &mut dyn Screen,
) -> Result<RunResult, HarnessError> {
    let notes = loads.iter_mut().flat_map(|load| std::mem::take(&mut load.checked.notes)).collect();
    let plan = deploy::plan_of_all(&loads).checked.plan.clone();
    let mut record = begin_record(&plan, world)?;
    let ledger = match Ledger::open(record.dir().join("ledger.jsonl")) {
        Ok(ledger) => ledger,
        Err(why) => {
            let broken = RunAbort { phase: Phase::Check, why: why.into() };
            return Ok(end(&mut record, &clock, None, Some(broken)));
        }
    };
    let mut run = Run {
        world,
        plan,
        loads,
        record,
        ledger,
        clock: clock.clone(),
        power: Power::default(),
        screen,
        phase: Phase::Check,
        phase_is_open: false,
    };
    let mut app = None;
    let staged = match run.stages(notes, &mut app).await {
        Ok(verdict) => Ok(verdict),
        Err(why) => Err(run.break_off(why)),
    };
    // Removal continues after errors; only the first one is the run's.
    let removed = match run.remove(app).await {
        Ok(()) => None,
        Err(why) => Some(run.break_off(why)),
    };
    if let (Err(_), Some(also)) = (&staged, &removed) {
        // The record holds one error, and this is another. The record itself may be what cannot be written.
        let _ = run.note(in_one_line(&also.why));
    }
    let (verdict, broken) = match staged {
        Ok(verdict) => (Some(verdict), removed),
        Err(broken) => (None, Some(broken)),
    };
    Ok(end(&mut run.record, &clock, verdict, broken))
}

fn begin_record(plan: &Plan, world: &RunContext<'_>) -> Result<RunWriter, HarnessError> {
    let mut record = RunWriter::create(&plan.runs, &world.id)?.followed_by(world.followers.clone());
    if plan.has_absolute_paths {
        record = record.with_absolute_paths();
    }
    record.append(&Entry::Header(Header {
        v: barograph_record::VERSION,
        id: world.id.to_string(),
        tool: world.tool.clone(),
        started_at: world.started_at.clone(),
        command: world.command.clone(),
    }))?;
    Ok(record)
}

/// Place and cause of an early end.
struct RunAbort {
    phase: Phase,
    why: HarnessError,
}

/// Writes the last lines of the record. The exit code is known only now and belongs to the verdict.
fn end(
    record: &mut RunWriter,
    clock: &RunClock,
    mut verdict: Option<Verdict>,
    mut broken: Option<RunAbort>,
) -> RunResult {
    let judged = verdict.as_ref().map_or(ExitCode::Bug, Verdict::exit);
    let exit = |broken: &Option<RunAbort>| broken.as_ref().map_or(judged, |b| b.why.exit_code());
    if let Some(verdict) = &mut verdict {
        verdict.exit_code = exit(&broken).code();
        if let Err(why) = record.append(&Entry::Verdict(Box::new(verdict.clone()))) {
            broken.get_or_insert(RunAbort { phase: Phase::Remove, why: why.into() });
        }
    }
    if let Some(RunAbort { phase, why }) = &broken {
        let stop =
            RunInterrupted { at_s: clock.at_s(), phase: phase.name().to_owned(), cause: in_one_line(why) };
        // The disk may be the cause: then the record ends here, without a last line.
        let _ = record.append(&Entry::Interrupted(stop));
    }
    for text in record.dismiss() {
        // As above.
        let _ = record.append(&Entry::Note(Note { at_s: clock.at_s(), text }));
    }
    if let Err(why) = record.finish() {
        broken.get_or_insert(RunAbort { phase: Phase::Remove, why: why.into() });
    }
    let exit = exit(&broken);
    RunResult { dir: record.dir().to_owned(), exit, verdict, error: broken.map(|broken| broken.why) }
}

/// A run in progress.
pub(crate) struct Run<'w> {
    pub(crate) world: &'w RunContext<'w>,
    /// Plan of the first load that deploys its application, or else of the first. Keys shared by all loads
    /// are equal in each.
    pub(crate) plan: Plan,
    /// All loads.
    pub(crate) loads: Vec<CheckedLoad>,
    pub(crate) record: RunWriter,
    pub(crate) ledger: Ledger,
    pub(crate) clock: RunClock,
    pub(crate) power: Power,
    pub(crate) screen: &'w mut dyn Screen,
    /// Latest phase.
    pub(crate) phase: Phase,
    phase_is_open: bool,
}

impl Run<'_> {
    /// All phases up to the answer.
    async fn stages(
        &mut self,
        notes: Vec<String>,
        app: &mut Option<Deployment>,
    ) -> Result<Verdict, HarnessError> {
        self.check(notes).await?;
        self.set_policies()?;
        for at in 0..self.loads.len() {
            fill::fill(self, at).await?;
        }
        deploy::deploy(self, app).await?;
        let urls = self.urls(app.as_ref());
        for (at, url) in urls.iter().enumerate() {
            self.tiers(at, url).await?;
        }
        for (at, url) in urls.iter().enumerate() {
            fill::prepare(self, at, app.as_ref(), url).await?;
        }
        let drivers = app.as_ref().map_or_else(Vec::new, deploy::waiting_drivers);
        self.begin_power().await?;
        let held = load_phase::drive(self, app.as_ref(), &urls, &drivers).await?;
        self.end_power().await?;
        let verified = self.verify(app.as_ref(), &urls).await?;
        self.collect()?;
        Ok(verdict::conclude(self, &held, &verified, &urls))
    }

    /// URL of each load's target.
    fn urls(&self, app: Option<&Deployment>) -> Vec<String> {
        let url = |at: usize| match (self.application_of(at), &self.loads[at].checked.target) {
            (Some(load), _) => app.map(|app| app.url(load)).unwrap_or_default(),
            (None, Target::There { url }) => url.clone(),
            (None, Target::Deployed) => String::new(),
        };
        (0..self.loads.len()).map(url).collect()
    }

    /// Index of the load whose application is the target of the load at `at`; `None` if the target exists
    /// already.
    pub(crate) fn application_of(&self, at: usize) -> Option<usize> {
        deploy::application_of(&self.loads, at)
    }

    /// Data sets of a load's application, with the requested one.
    pub(crate) fn data_sets(
        CheckedLoad { checked, workload }: &CheckedLoad,
    ) -> Option<(&dyn DataSets, &DataSet)> {
        let application = workload.application().filter(|_| checked.target == Target::Deployed)?;
        application.data_sets().zip(checked.data.as_ref())
    }

    /// Record for facts about the target of a load; the record of the run if the load deploys its only
    /// application.
    pub(crate) fn record_of_target(&mut self, at: usize) -> &mut RunWriter {
        let CheckedPlan { plan, target, .. } = &self.loads[at].checked;
        let is_only = *target == Target::Deployed && plan.letter.is_none();
        if is_only { &mut self.record } else { self.record.of_load(at) }
    }

    /// Name for a load's file among those of the services.
    pub(crate) fn file_of(&self, at: usize, name: &str) -> PathBuf {
        let services = self.record.services_dir();
        let plan = &self.loads[at].checked.plan;
        services.join(plan.letter.map_or_else(|| name.to_owned(), |_| format!("{}-{name}", plan.load)))
    }

    /// Records the tiers below the application of a load.
    async fn tiers(&mut self, at: usize, url: &str) -> Result<(), HarnessError> {
        let workload = Arc::clone(&self.loads[at].workload);
        let Some(application) = workload.application() else { return Ok(()) };
        match self.world.stop.clone().or(application.tiers(url)).await? {
            Ok(tiers) if tiers.is_empty() => Ok(()),
            Ok(tiers) => {
                for tier in &tiers {
                    self.say(&format!("{}: {} ({})", tier.tier, tier.product, tier.durability));
                }
                Ok(self.record_of_target(at).append(&Entry::Tiers(Tiers { tiers }))?)
            }
            Err(why) => self.note(format!("the application did not say what it stands on: {why}")),
        }
    }

    /// Runs the data checks of each load; `None` for a load without checks. An inner error means that a check
    /// could not run.
    async fn verify(
        &mut self,
        app: Option<&Deployment>,
        urls: &[String],
    ) -> Result<Vec<Option<Result<VerifyResult, String>>>, HarnessError> {
        let checks = |(load, url): (&CheckedLoad, &String)| {
            load.workload.application().is_some_and(|application| application.verify(url).is_some())
        };
        if !self.loads.iter().zip(urls).any(checks) {
            return Ok(vec![None; self.loads.len()]);
        }
        self.phase(Phase::Verify, "is the data still right?")?;
        let mut all = Vec::new();
        for (at, url) in urls.iter().enumerate() {
            let app = app.filter(|_| self.application_of(at) == Some(at));
            all.push(self.verified(at, app, url).await?);
        }
        self.done()?;
        Ok(all)
    }

    async fn verified(
        &self,
        at: usize,
        app: Option<&Deployment>,
        url: &str,
    ) -> Result<Option<Result<VerifyResult, String>>, HarnessError> {
        let workload = Arc::clone(&self.loads[at].workload);
        let checks = workload.application().and_then(|application| application.verify(url));
        let Some(checks) = checks else { return Ok(None) };
        let ended = async {
            let Some(app) = app else { return std::future::pending().await };
            let (part, ended) = app.application_ends().await;
            (app.called(part), ended)
        };
        let verified = async {
            let mut ended = std::pin::pin!(ended);
            let verified = tokio::select! {
                biased;
                verified = checks => verified,
                (what, ended) = ended.as_mut() => return Err(format!("{what} ended before: {ended}")),
            };
            let Err(why) = verified else { return verified };
            // A part that has ended refuses connections before its end is reported.
            match tokio::time::timeout(TOLD, ended).await {
                Ok((what, ended)) => Err(format!("{what} ended before: {ended}")),
                Err(_) => Err(why),
            }
        };
        Ok(Some(self.world.stop.clone().or(verified).await?))
    }

    /// Records the results of the check, which took place before the run began.
    async fn check(&mut self, notes: Vec<String>) -> Result<(), HarnessError> {
        self.phase(Phase::Check, "the plan is possible here")?;
        self.record.plan(&self.plan_text())?;
        self.record.disclosure(&self.world.disclosure)?;
        if self.loads.iter().any(|load| load.checked.target == Target::Deployed) {
            let mut disclosure = self.world.disclosure.clone();
            disclosure["disk"] = self.world.stop.or(disk::told(self.record.dir())).await?;
            self.record.disclosure(&disclosure)?;
        }
        self.expected()?;
        for note in notes {
            self.note(note)?;
        }
        self.done()
    }

    /// The plan with every default filled in, and decisions as comments.
    fn plan_text(&self) -> String {
        if let [only] = &self.loads[..] {
            return only.checked.text();
        }
        let of_run = check::decisions_of_run(&self.plan).map(|of_run| check::comments(&of_run, ""));
        let each = self.loads.iter().enumerate();
        let each = each.map(|(at, load)| check::comments(&load.checked.decisions, &format!("loads[{at}].")));
        let decided: String = of_run.into_iter().chain(each).collect();
        format!("{}{}{decided}", self.plan.of_run, check::DECIDED)
    }

    /// Records the rules and figures of each load's profile, for the report.
    fn expected(&mut self) -> Result<(), HarnessError> {
        let names: Vec<String> = self.loads.iter().map(|load| load.checked.plan.load.clone()).collect();
        self.record.loads(&names)?;
        if let Some(of_run) = check::decisions_of_run(&self.plan) {
            self.record.append(&Entry::Decisions(of_run))?;
        }
        if let Some(tiles) = verdict::tiles(&self.loads) {
            self.record.append(&Entry::Tiles(tiles))?;
        }
        for (at, CheckedLoad { checked, workload }) in self.loads.iter().enumerate() {
            let plan = &checked.plan;
            let profile = workload.profile(&plan.profile).expect("the profile was checked");
            let mut expected =
                ExpectedFigures::keep(workload.name(), &profile, workload.ops(), workload.session_op());
            expected.unit = plan.unit.into();
            expected.counters = workload.counters().iter().map(|name| (*name).to_owned()).collect();
            if let Target::There { url } = &checked.target {
                expected.target = Some(masked(url).into_owned());
            }
            let record = self.record.of_load(at);
            record.append(&Entry::Expected(expected))?;
            record.append(&Entry::Decisions(checked.decisions.clone()))?;
        }
        Ok(())
    }

    /// Copies the description of the data set, if any. Logs need no collecting, as units write them into the
    /// record.
    fn collect(&mut self) -> Result<(), HarnessError> {
        let loads = self.loads.clone();
        let with_data = |(at, load)| Some((at, Self::data_sets(load)?));
        let all: Vec<_> = loads.iter().enumerate().filter_map(with_data).collect();
        if all.is_empty() {
            return Ok(());
        }
        self.phase(Phase::Collect, "what the data were, into the record")?;
        for (at, (sets, data)) in all {
            for file in sets.describing_files(&data.dir_in(&self.plan.data.dir)) {
                let name = file.file_name().map_or_else(|| "data".into(), std::ffi::OsStr::to_string_lossy);
                if let Err(why) = std::fs::copy(&file, self.file_of(at, &name)) {
                    self.note(format!("could not keep {}: {why}", file.display()))?;
                }
            }
        }
        self.done()
    }

    /// Stops all units and removes everything created. Every step is tried, as a record that cannot be
    /// written must not prevent removal. Returns one error; things left behind take precedence.
    async fn remove(&mut self, app: Option<Deployment>) -> Result<(), HarnessError> {
        let begun = self.phase(Phase::Remove, "units, and what was made for them");
        // The command of a meter holds the ledger.
        self.power = Power::default();
        let stopped = match app {
            Some(app) => app.stop(GRACE).await,
            None => Ok(()),
        };
        self.let_go().await;
        let swept = sweep(self.world.platforms, &self.ledger).await;
        self.ledger.forget_when_empty();
        if let Ok(swept) = &swept
            && !swept.failed.is_empty()
        {
            let things = swept.failed.iter().map(|(thing, why)| format!("{thing}: {why}")).collect();
            return Err(HarnessError::LeftBehind { things });
        }
        begun?;
        stopped?;
        let swept = swept?;
        // Every run removes these folders and sets its policies back; other entries are unexpected.
        let folders = [deploy::SITE, deploy::COMMON, control::FOLDER].map(|name| self.folder(name));
        for thing in &swept.removed {
            match thing {
                Resource::Directory { path } if folders.contains(path) => {}
                Resource::Setting { .. } | Resource::DeviceSetting { .. } => {}
                other => self.note(format!("removed {other}"))?,
            }
        }
        self.done()
    }

    /// Waits for abandoned work, which is completed by other threads and removed by other tasks. A sweep at
    /// the same time would find things about to be removed, or miss things about to be created.
    async fn let_go(&self) {
        let alone = async {
            while self.ledger.is_shared() {
                tokio::time::sleep(LET_GO_LOOK).await;
            }
        };
        // Slower work stays in the ledger if it cannot be swept, and `clean` removes it.
        let _ = tokio::time::timeout(LET_GO, alone).await;
    }

    /// Closes the phase in which the run, or its removal, failed. A failure to write this must not prevent
    /// removal.
    fn break_off(&mut self, why: HarnessError) -> RunAbort {
        let phase = self.phase;
        if std::mem::take(&mut self.phase_is_open) {
            let at_s = self.clock.at_s();
            let entry = match &why {
                HarnessError::Interrupted => Entry::phase_interrupted(phase, at_s),
                why => Entry::phase_failed(phase, at_s, in_one_line(why)),
            };
            self.screen.say(&format!("{} did not come to its end", phase.name()));
            let _ = self.record.append(&entry);
        }
        RunAbort { phase, why }
    }

    /// Begins a phase.
    pub(crate) fn phase(&mut self, phase: Phase, about: &str) -> Result<(), HarnessError> {
        self.phase = phase;
        self.phase_is_open = true;
        self.screen.phase(phase, about);
        Ok(self.record.append(&Entry::phase_started(phase, self.clock.at_s()))?)
    }

    /// Ends the phase with success.
    pub(crate) fn done(&mut self) -> Result<(), HarnessError> {
        if std::mem::take(&mut self.phase_is_open) {
            self.record.append(&Entry::phase_done(self.phase, self.clock.at_s()))?;
        }
        Ok(())
    }

    pub(crate) fn note(&mut self, text: String) -> Result<(), HarnessError> {
        self.screen.say(&text);
        Ok(self.record.append(&Entry::Note(Note { at_s: self.clock.at_s(), text }))?)
    }

    pub(crate) fn notes(&mut self, all: impl IntoIterator<Item = String>) -> Result<(), HarnessError> {
        all.into_iter().try_for_each(|text| self.note(text))
    }

    pub(crate) fn say(&mut self, line: &str) {
        self.screen.say(line);
    }

    /// Opens this machine as a site without hosts of its own, for jobs that precede the application.
    pub(crate) async fn home(&self) -> Result<Box<dyn Site>, HarnessError> {
        let here =
            self.world.platforms.first().ok_or_else(|| HarnessError::NoPlatform { name: HERE.into() })?;
        let spec = SiteSpec { id: "home".into(), folder: self.folder("home"), ..SiteSpec::default() };
        Ok(here.open(&spec, &self.ledger).await?)
    }

    /// A folder within the run's folder, as named in the ledger.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.record.dir().join(name);
        std::path::absolute(&path).unwrap_or(path)
    }
}

/// Removes everything left in the ledger: first things that must be requested from running processes, then
/// processes, then their containers and folders.
pub async fn sweep(platforms: &[&dyn Platform], ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let mut swept = SweepResult::default();
    let (asking, others): (Vec<&dyn Platform>, Vec<&dyn Platform>) =
        platforms.iter().partition(|platform| platform.sweeps_by_asking());
    for platform in asking.into_iter().chain(others) {
        swept.append(platform.sweep(ledger).await?);
    }
    Ok(swept)
}

#[cfg(test)]
mod tests;

//! The load: ramp, warm-up, measured windows, drain. Every interval is recorded as it ends.

use barograph_engine::LoadStart;
use barograph_model::{Arrivals, Level, Nanos, Phase, Strategy};
use barograph_platform::UnitExit;
use barograph_record::{ActionRecord, Entry, LoadStarted, ProbeRow, Resources, Trial};
use barograph_stats::{Interval, IntervalSummary, OpStats, search};
use barograph_workload::LoadJob;

use crate::actions::{ActionFailure, Actions};
use crate::check::CheckedPlan;
use crate::control::{self, ControlListener};
use crate::dense::Dense;
use crate::deploy::{COMMON, Deployment, StartedPart};
use crate::elastic::{self, Elastic};
use crate::fleet::{self, DriverAddress, Fleet, FleetJob, Load};
use crate::probes::{Guests, Probes};
use crate::run::{CheckedLoad, Run};
use crate::statistics::{self, Statistics};
use crate::{HarnessError, IntervalContext, Progress, deploy, outside, strategy};

mod acted;
mod commands;
mod operations;
mod running;
mod tiles;

pub(crate) use running::RunningLoad;

/// Time until the common start of several loads, in which their workers start.
const LEAD: Nanos = Nanos::from_millis(200);

/// Largest share of users that may arrive in a step without showing in the mix.
const FEW_NEW: f64 = 0.05;

/// Log lines shown when the application ended.
const TAIL: usize = 20;

/// Result of the load.
pub(crate) struct LoadResult {
    /// All trials of each load.
    pub(crate) trials: Vec<Vec<Trial>>,
    /// Answer of the search; `None` for other strategies.
    pub(crate) answer: Option<search::Answer>,
    /// Seconds of load until the search ended.
    pub(crate) searched_s: Option<f64>,
    /// Resources used in each trial, for all loads together.
    pub(crate) used: Vec<Resources>,
    /// Actions that were carried out or failed, in the order of their ends.
    pub(crate) acted: Vec<ActionRecord>,
}

/// Drives the whole load of the plan. `app` is the application if the run deployed it; without `drivers` this
/// process is the only driver.
pub(crate) async fn drive(
    run: &mut Run<'_>,
    app: Option<&Deployment>,
    urls: &[String],
    drivers: &[DriverAddress],
) -> Result<LoadResult, HarnessError> {
    let plan = run.plan.clone();
    let folder = run.ledger.make_directory(&run.folder(control::FOLDER))?;
    let ledger = run.ledger.clone();
    let mut drive = LoadPhase::start(run, app, urls, drivers).await?;
    let answer = match plan.of_all() {
        Strategy::Fixed { level, windows } => {
            strategy::fixed(&mut drive, *level, *windows).await.map(|()| None)
        }
        Strategy::Search(bounds) => strategy::search(&mut drive, *bounds).await.map(Some),
        Strategy::Path(path) => strategy::path(&mut drive, path).await.map(|()| None),
    }?;
    drive.drain(plan.durations.drain).await?;
    ledger.remove_directory(folder)?;
    if drive.tried() == 0 {
        // It ended before anything was measured, so there is nothing to judge.
        return Err(HarnessError::Interrupted);
    }
    let trials = drive.loads.into_iter().map(|load| load.trials).collect();
    let (searched_s, used, acted) = (drive.searched_s, drive.used, drive.acted);
    Ok(LoadResult { trials, answer, searched_s, used, acted })
}

/// All loads of a run in progress, on one clock and with intervals of equal length.
pub(crate) struct LoadPhase<'r, 'w> {
    pub(crate) run: &'r mut Run<'w>,
    pub(crate) loads: Vec<RunningLoad>,
    /// Level of the latest change, in the unit of the run.
    level: Level,
    pub(crate) probes: Probes,
    statistics: Statistics,
    app: Option<&'r Deployment>,
    actions: Actions<'r>,
    /// Actions that were carried out or failed.
    acted: Vec<ActionRecord>,
    elastic: Option<Elastic<'r>>,
    dense: Option<Dense>,
    guests: Guests<'r>,
    /// End of the latest interval, in the load's own time: intervals may wait in a queue while the disk is
    /// slow.
    pub(crate) reached: Nanos,
    ends_at_most: Nanos,
    phase_span: (Nanos, Nanos),
    /// `None` from the drain on.
    control: Option<ControlListener>,
    /// Latest figures.
    status: control::Status,
    /// Whether a command ended the load.
    ending: bool,
    /// Seconds of load until a search ended.
    pub(crate) searched_s: Option<f64>,
    /// Whether arrivals waited for users since the load was last empty; some may still wait.
    pub(crate) crowded: bool,
    /// Time at which the plan's latest change of the load is complete.
    level_at: Nanos,
    /// Time at which many users last arrived, or last left a queue.
    pub(crate) crowd_at: Nanos,
    /// Number of changes by commands, and time at which the latest is complete.
    pub(crate) changes: (u32, Nanos),
    /// Resources used in each trial, for all loads together.
    pub(crate) used: Vec<Resources>,
    /// Operations of a limited load that have ended.
    ended: u64,
}

impl<'r, 'w> LoadPhase<'r, 'w> {
    async fn start(
        run: &'r mut Run<'w>,
        app: Option<&'r Deployment>,
        urls: &[String],
        drivers: &[DriverAddress],
    ) -> Result<Self, HarnessError> {
        let folder = run.folder(control::FOLDER);
        let control = ControlListener::start(&folder)
            .map_err(|why| HarnessError::Listen { folder: folder.clone(), why })?;
        let stop = run.world.stop.clone();
        let elastic = stop.or(Elastic::begin(&run.plan.elasticity, app)).await??;
        let mut engines = stop.or(begin(run, urls, drivers)).await??;
        let mut probes = Probes::new(app, &run.clock, engines[0].samples())?;
        let letter = |load: &CheckedLoad| load.checked.plan.letter.map(|_| load.checked.plan.load.clone());
        probes.applications = run.loads.iter().map(letter).collect();
        let there = (0..urls.len()).filter(|at| run.application_of(*at).is_none());
        probes.apart = outside::apart(app, there.map(|at| urls[at].as_str()));
        let statistics = Statistics::of(run, app, urls);
        // The clock of the load, and with it every interval, starts here.
        let at_s = (run.clock.now() - engines[0].now()).as_secs_f64();
        run.record.append(&Entry::LoadStarted(LoadStarted { at_s }))?;
        let demand = elastic::demand(&deploy::plan_of_all(&run.loads).checked).map(Entry::Demand);
        for entry in demand.into_iter().chain(elastic.as_ref().map(|elastic| Entry::Supply(elastic.first())))
        {
            run.record.append(&entry)?;
        }
        run.notes(engines.iter_mut().flat_map(Load::take_notes))?;
        let ends_at_most = barograph_spec::estimate(&run.plan);
        let each = run.loads.iter().zip(engines);
        let loads = each.map(|(load, engine)| RunningLoad::new(load, engine)).collect();
        let actions = Actions::new(&run.plan, app);
        let mut dense = Dense::of(&run.plan, app, probes.processors());
        run.notes(dense.as_mut().map_or(Ok(Vec::new()), |dense| dense.begin(&run.ledger))?)?;
        let guests = Guests::new(app.map(Deployment::site));
        Ok(LoadPhase {
            actions,
            acted: Vec::new(),
            elastic,
            dense,
            guests,
            run,
            loads,
            level: Level::ZERO,
            probes,
            statistics,
            app,
            reached: Nanos::ZERO,
            ends_at_most,
            phase_span: (Nanos::ZERO, Nanos::ZERO),
            control: Some(control),
            status: control::Status::default(),
            ending: false,
            searched_s: None,
            crowded: false,
            level_at: Nanos::ZERO,
            crowd_at: Nanos::ZERO,
            changes: (0, Nanos::ZERO),
            used: Vec::new(),
            ended: 0,
        })
    }

    /// Returns the time since the load began.
    pub(crate) fn now(&self) -> Nanos {
        self.loads[0].engine.now()
    }

    /// Returns the level of the latest change, in the unit of the run.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Each load with its check.
    pub(crate) fn each(&self) -> impl Iterator<Item = LoadView<'_>> {
        self.loads.iter().zip(&self.run.loads).map(|(load, of)| LoadView { load, of })
    }

    /// Number of measured windows.
    pub(crate) fn tried(&self) -> usize {
        self.loads[0].trials.len()
    }

    /// Latest trial of each load; empty before the first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = &Trial> {
        self.loads.iter().filter_map(|load| load.trials.last())
    }

    /// Begins a phase of about `span`.
    pub(crate) fn phase(&mut self, phase: Phase, span: Nanos, about: &str) -> Result<(), HarnessError> {
        self.phase_span = (self.now(), span);
        self.run.phase(phase, about)
    }

    /// Whether the load goes on; false once its end was requested.
    pub(crate) fn goes_on(&self) -> bool {
        !self.ending
    }

    /// Waits for the next interval of each load, and records and shows it with its samples. Commands are
    /// carried out during the wait. A limited load has no further interval once its operations have ended.
    pub(crate) async fn next(&mut self) -> Result<Vec<Interval>, HarnessError> {
        let stop = self.run.world.stop.clone();
        let app = self.app;
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let mut all: Vec<Option<Interval>> = vec![None; self.loads.len()];
        // A delayed worker joins two of its intervals; the other loads are read until the same time. Actions come
        // before intervals, of which a slow machine may have some waiting at any time.
        while let Some(at) = behind(&all, half) {
            let now = (self.now(), self.run.clock.clone());
            tokio::select! {
                biased;
                () = stop.wanted() => return Err(HarnessError::Interrupted),
                (part, ended) = ended(app) => self.lost(part, &ended)?,
                asked = asked(&mut self.control) => self.answer(asked).await?,
                (action, began, done) = self.actions.next(now) => self.acted(&action, began, done)?,
                next = self.loads[at].engine.next() => {
                    let Some(next) = next? else {
                        // Before the drain, an engine ends only with the last operation of a limited load.
                        let is_over = self.loads[at].engine.last_end().is_some();
                        let gone = barograph_engine::EngineError::WorkerGone { worker: 0 };
                        return is_over.then(Vec::new).ok_or(gone.into());
                    };
                    match &mut all[at] {
                        Some(so_far) => so_far.append(&next),
                        empty => *empty = Some(next),
                    }
                }
                told = self.guests.answer() => {
                    let (rows, silent) = self.guests.rows(told, self.run.clock.now());
                    self.keep_rows(&rows)?;
                    silent.map_or(Ok(()), |note| self.run.note(note))?;
                }
            }
        }
        let all: Vec<Interval> = all.into_iter().flatten().collect();
        self.reached = all.iter().map(|interval| interval.to).max().unwrap_or_default();
        self.crowded = self.crowded || all.iter().any(|interval| interval.late > 0);
        self.keep(&all)?;
        self.listen(&all)?;
        Ok(all)
    }

    /// Records an interval of each load.
    fn keep(&mut self, all: &[Interval]) -> Result<(), HarnessError> {
        // Of several loads, one that has ended has no interval.
        let is_there = |interval: &Interval| all.len() == 1 || interval.to > interval.from;
        for (at, interval) in all.iter().enumerate().filter(|(_, interval)| is_there(interval)) {
            self.run.record.of_load(at).interval(interval, &self.loads[at].names)?;
        }
        let joint;
        let interval = match all {
            [only] => only,
            several => {
                joint = Interval::beside(several);
                let names = self.names();
                self.run.record.show(&joint, &names.iter().map(String::as_str).collect::<Vec<_>>());
                &joint
            }
        };
        self.run.notes(self.loads.iter_mut().flat_map(|load| load.engine.take_notes()))?;
        let rows =
            self.probes.sample(self.run.clock.now(), interval.users, self.loads[0].engine.samples())?;
        self.keep_rows(&rows)?;
        self.scale_after(interval, &rows)?;
        if let Some(dense) = &mut self.dense {
            self.run.notes(dense.after(&rows, &self.run.ledger)?)?;
        }
        self.run.keep_power()?;
        self.guests.ask(self.run.clock.now());
        let (mut told, silent) = self.statistics.next();
        let of_drivers = self.loads.iter_mut().map(|load| load.engine.take_gauges());
        told.extend(statistics::of_loads(of_drivers.zip(&self.run.loads), self.run.clock.now()));
        self.run.record.statistics(&told)?;
        self.run.notes(silent)?;
        let done = self.done(interval);
        let cores = |subject: &str| rows.iter().find(|r| r.subject == subject)?.cores();
        let live = IntervalContext {
            phase: self.run.phase,
            done: done.min(1.0),
            offered: self.run.plan.offered_by_all(self.level),
            remaining: self.is_bounded().then(|| self.ends_at_most - interval.to),
            driver_cores: cores("driver"),
            driver_rss_bytes: rows.iter().find(|r| r.subject == "driver").and_then(|r| r.rss_bytes),
            app_cores: cores("app"),
            host_cores: cores("host"),
        };
        self.status = commands::status(interval, &live);
        self.run.screen.interval(interval, &live);
        let line = format!("{}  {}", figures(interval, &live), Probes::rows_to_line(&rows));
        self.run.screen.progress(&Progress { done: live.done, remaining: live.remaining, line });
        Ok(())
    }

    fn keep_rows(&mut self, rows: &[ProbeRow]) -> Result<(), HarnessError> {
        for row in rows {
            self.run.record.probe(row)?;
        }
        Ok(())
    }

    /// Ends the run if the target of a load has stopped answering.
    fn listen(&mut self, all: &[Interval]) -> Result<(), HarnessError> {
        for (load, interval) in self.loads.iter_mut().zip(all) {
            if let Some(silence) = load.silent(interval) {
                let what = match (load.name.as_str(), self.app) {
                    ("", Some(_)) => "application".to_owned(),
                    ("", None) => "target".to_owned(),
                    (name, _) => format!("target of load {name}"),
                };
                return Err(HarnessError::TargetSilent { what, seconds: silence.0 / 1_000_000_000 });
            }
        }
        Ok(())
    }

    /// Names of all operations, prefixed by the load if there are several.
    fn names(&self) -> Vec<String> {
        let of_load = |load: &RunningLoad| -> Vec<String> {
            load.names.iter().map(|op| format!("{}/{op}", load.name)).collect()
        };
        self.loads.iter().flat_map(of_load).collect()
    }

    /// Begins a change of the load and returns the time at which it is complete.
    pub(crate) async fn ramp(&mut self, level: impl Into<Level>, over: Nanos) -> Result<Nanos, HarnessError> {
        let level = level.into();
        let many = self.brings_many(level);
        self.level_at = self.change_to(level, over).await?;
        if many {
            self.crowd_at = self.level_at;
        }
        Ok(self.level_at)
    }

    async fn change_to(&mut self, level: Level, over: Nanos) -> Result<Nanos, HarnessError> {
        self.level = level;
        let mut complete = Nanos::ZERO;
        for load in &mut self.loads {
            complete = complete.max(load.engine.ramp(load.level_at(level), over).await?);
        }
        self.level_changes(level, complete - over, over)?;
        Ok(complete)
    }

    /// Whether a step to `level` adds enough users to show in the mix.
    pub(crate) fn brings_many(&self, level: Level) -> bool {
        let new = f64::from(level) - f64::from(self.level);
        new > FEW_NEW * f64::from(level)
    }

    /// Notes that the current change ends too much load: users who leave a queue act at the same time, as new
    /// users do.
    pub(crate) fn came_out_of_a_queue(&mut self) {
        self.crowd_at = self.level_at;
    }

    /// Waits whole intervals until the load is at its level, as an interval with a change must not be
    /// measured. A trace has no level and is measured from its start.
    pub(crate) async fn level_there(&mut self) -> Result<(), HarnessError> {
        let is_trace = |load: &CheckedLoad| {
            load.checked.open.as_ref().is_some_and(|open| matches!(open.arrivals, Arrivals::Trace(_)))
        };
        if self.run.loads.iter().all(is_trace) {
            return Ok(());
        }
        while self.goes_on() && self.reached < self.level_at {
            self.next().await?;
        }
        Ok(())
    }

    /// Waits whole intervals for about `span`.
    pub(crate) async fn pass(&mut self, span: Nanos) -> Result<(), HarnessError> {
        let end = self.now() + span;
        // The last interval is the one that ends within half an interval of the requested time.
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        while self.goes_on() && self.reached + half < end {
            self.next().await?;
        }
        Ok(())
    }

    /// Collects a window of each load: whole intervals from now until their length is `span`, until the end
    /// is requested, or until `enough` returns true for a load.
    pub(crate) async fn collect(
        &mut self,
        span: Nanos,
        enough: impl Fn(&Self, usize, &LoadWindow) -> bool,
    ) -> Result<Vec<LoadWindow>, HarnessError> {
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let first = self.next().await?;
        let mut all = Vec::new();
        for (load, first) in self.loads.iter_mut().zip(first) {
            load.window = load.engine.samples().to_vec();
            all.push(LoadWindow { parts: vec![IntervalSummary::of(&first, &load.profile)], joined: first });
        }
        let length = |all: &[LoadWindow]| all[0].joined.to - all[0].joined.from;
        while self.goes_on() && length(&all) + half < span {
            let next = self.next().await?;
            for ((load, collected), interval) in self.loads.iter_mut().zip(&mut all).zip(&next) {
                fleet::follow(&mut load.window, load.engine.samples());
                collected.parts.push(IntervalSummary::of(interval, &load.profile));
                collected.joined.append(interval);
            }
            if all.iter().enumerate().any(|(at, collected)| enough(self, at, collected)) {
                break;
            }
        }
        Ok(all)
    }

    /// Lets operations in flight end, without new starts.
    async fn drain(&mut self, span: Nanos) -> Result<(), HarnessError> {
        self.control = None;
        self.run.notes(self.dense.take().map_or(Ok(Vec::new()), |mut dense| dense.end(&self.run.ledger))?)?;
        for (action, began) in self.actions.missed(self.now()) {
            self.acted(&action, began, Err(ActionFailure::TooLate))?;
        }
        self.phase(Phase::Drain, span, "no new operations; those in flight may end")?;
        for load in &mut self.loads {
            load.engine.stop(span).await;
        }
        let stop = self.run.world.stop.clone();
        while let Some(all) = stop.or(last_of(&mut self.loads)).await?? {
            self.keep(&all)?;
        }
        self.run.notes(self.loads.iter_mut().flat_map(|load| load.engine.take_notes()))?;
        for (load, of) in self.loads.iter_mut().zip(&self.run.loads) {
            load.engine.take_counts().iter().for_each(|counts| of.workload.add_counts(counts));
        }
        self.run.done()
    }
}

/// A load in progress, with its check.
#[derive(Clone, Copy)]
pub(crate) struct LoadView<'d> {
    pub(crate) load: &'d RunningLoad,
    pub(crate) of: &'d CheckedLoad,
}

/// Window of one load.
pub(crate) struct LoadWindow {
    /// Its intervals joined to one.
    pub(crate) joined: Interval,
    /// Figures of each interval.
    pub(crate) parts: Vec<IntervalSummary>,
}

/// First load that has no interval yet, or is more than `half` an interval behind the others.
fn behind(all: &[Option<Interval>], half: Nanos) -> Option<usize> {
    let reached = all.iter().flatten().map(|interval| interval.to).max().unwrap_or_default();
    all.iter().position(|own| own.as_ref().is_none_or(|own| own.to + half < reached))
}

/// Next interval of each load in the drain; of length zero for a load that has ended, `None` when all have.
async fn last_of(loads: &mut [RunningLoad]) -> Result<Option<Vec<Interval>>, HarnessError> {
    let (mut all, mut goes_on) = (Vec::new(), false);
    for load in loads.iter_mut() {
        let next = load.engine.next().await?;
        goes_on |= next.is_some();
        all.push(next.unwrap_or_else(|| Interval::new(load.names.len())));
    }
    Ok(goes_on.then_some(all))
}

/// Begins the loads at one instant, in this process or in remote drivers.
async fn begin(
    run: &mut Run<'_>,
    urls: &[String],
    drivers: &[DriverAddress],
) -> Result<Vec<Load>, HarnessError> {
    if !drivers.is_empty() {
        let jobs = run.loads.iter().zip(urls).map(|(load, url)| {
            let CheckedLoad { checked: CheckedPlan { plan, data, open, .. }, workload } = load;
            let (workload, files, tool) = (workload.as_ref(), workload.files()?, run.world.tool.as_str());
            Ok(FleetJob { workload, plan, url, data: data.as_ref(), open: open.as_ref(), files, tool })
        });
        let jobs = jobs.collect::<Result<Vec<_>, HarnessError>>()?;
        let fleets = Fleet::connect(drivers, &jobs).await?;
        return Ok(fleets.into_iter().map(|fleet| Load::Fleet(Box::new(fleet))).collect());
    }
    let mut ready = Vec::new();
    for (at, (load, url)) in run.loads.iter().zip(urls).enumerate() {
        let CheckedLoad { checked: CheckedPlan { plan, data, open, .. }, workload } = load;
        let (workload, data) = (workload.as_ref(), data.as_ref());
        workload.keep_in(run.record.of_load(at).dir());
        workload.share_in(&run.folder(COMMON));
        let settings = fleet::settings(workload, plan, open.clone()).expect("the profile was checked");
        ready.push((workload.load(&LoadJob { url, plan, data })?, settings));
    }
    let mut beginning = LoadStart::default();
    if ready.len() > 1 {
        beginning.origin = fleet::Clock::start().instant(LEAD);
    }
    let mut begun = Vec::new();
    for (load, settings) in ready {
        begun.push(Load::Own(load.begin(&settings, beginning)?));
    }
    if let Some(origin) = beginning.origin {
        tokio::time::sleep_until(origin.into()).await;
    }
    Ok(begun)
}

/// Waits for the end of a service of the application. Targets that exist already are not watched, and drivers
/// report their end themselves.
pub(crate) async fn gone(app: Option<&Deployment>) -> HarnessError {
    let (part, how) = ended(app).await;
    gone_as(app, part, how)
}

async fn ended(app: Option<&Deployment>) -> (&StartedPart, UnitExit) {
    match app {
        Some(app) => app.application_ends().await,
        None => std::future::pending().await,
    }
}

fn gone_as(app: Option<&Deployment>, part: &StartedPart, ended: UnitExit) -> HarnessError {
    let log = part.running().logs().map(|log| log.tail(TAIL)).unwrap_or_default();
    let what = app.map_or_else(|| part.name.clone(), |app| app.called(part));
    HarnessError::TargetGone { what, ended, log }
}

async fn asked(control: &mut Option<ControlListener>) -> control::ReceivedCommand {
    match control {
        Some(control) => control.next().await,
        None => std::future::pending().await,
    }
}

/// Figures of an interval in one line.
fn figures(interval: &Interval, live: &IntervalContext) -> String {
    use barograph_model::LoadUnit;
    use barograph_model::words::{count, offered, users};
    let ended: u64 = interval.ops.iter().map(OpStats::count).sum();
    let failed: u64 = interval.ops.iter().map(OpStats::failed).sum();
    let over: u64 = interval.ops.iter().map(|op| op.over_limit).sum();
    let seconds = interval.seconds().max(1e-9);
    let load = match live.offered.unit {
        LoadUnit::Users => users(interval.users),
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => {
            format!("towards {}, {}", offered(live.offered), users(interval.users))
        }
    };
    let mut text = format!(
        "{load}  {:.0} ops/s  {over} over limit  {failed} failed  lag p99 {:.1} ms",
        ended as f64 / seconds,
        interval.lag.value_at_quantile(0.99) as f64 / 1e3
    );
    for (name, n) in [("late", interval.late), ("dropped", interval.dropped), ("skipped", interval.skipped)] {
        if n > 0 {
            text.push_str(&format!("  {} {name}", count(n)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_is_an_interval_behind_is_asked_again() {
        let until = |ms: u64| Some(Interval { to: Nanos::from_millis(ms), ..Interval::new(0) });
        let half = Nanos::from_millis(50);
        let of = |all: &[Option<Interval>]| behind(all, half);
        assert_eq!(of(&[None, None]), Some(0));
        assert_eq!(of(&[until(100), None]), Some(1));
        assert_eq!(of(&[until(100), until(110)]), None, "the same, but for what a look takes");
        assert_eq!(of(&[until(100), until(200)]), Some(0), "two intervals came as one");
    }
}

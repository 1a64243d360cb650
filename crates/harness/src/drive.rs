//! The load: ramp, warm-up, measured windows, drain; every interval recorded as it comes.

use std::sync::Arc;

use barograph_model::{Arrivals, Nanos, Outcome, Phase, Profile, Strategy};
use barograph_record::{Entry, LoadStarted, ProbeRow, Trial};
use barograph_spec::{FaultAct, FaultPlan};
use barograph_stats::{Interval, OpStats, Part, search};
use barograph_workload::LoadJob;

use crate::check::AFTER_WAIT;
use crate::control::{self, Listening};
use crate::deploy::Deployed;
use crate::faults::{self, Done, Faults, NotDone};
use crate::fleet::{self, DriverAt, DriverSample, Fleet, FleetJob, Load};
use crate::probes::{Guests, Probes};
use crate::run::Run;
use crate::statistics::Statistics;
use crate::{HarnessError, Live, Progress, hold, outside};

mod commands;

/// With operations in progress and not one answered for this long, the target is as good as gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// No more than this part of all users may have come with a step for them not to be seen in the mix.
const FEW_NEW: f64 = 0.05;

/// How many log lines tell why the application ended.
const TAIL: usize = 20;

/// What the load came to.
pub(crate) struct Held {
    /// Every trial.
    pub(crate) trials: Vec<Trial>,
    /// The search's answer; absent for other strategies.
    pub(crate) answer: Option<search::Answer>,
    /// Seconds of load until the search had it.
    pub(crate) searched_s: Option<f64>,
}

/// Drives the whole load of the plan. `app` is the application, when it is one of our units; with no `drivers` this process
/// is the only one.
pub(crate) async fn drive(
    run: &mut Run<'_>,
    app: Option<&Deployed>,
    url: &str,
    drivers: &[DriverAt],
) -> Result<Held, HarnessError> {
    let plan = run.plan.clone();
    let folder = run.ledger.make_directory(&run.folder(control::FOLDER))?;
    let ledger = run.ledger.clone();
    let mut drive = Drive::start(run, app, url, drivers).await?;
    let answer = match &plan.strategy {
        Strategy::Fixed { level, windows } => hold::fixed(&mut drive, *level, *windows).await.map(|()| None),
        Strategy::Search(bounds) => hold::search(&mut drive, *bounds).await.map(Some),
        Strategy::Path(path) => hold::path(&mut drive, path).await.map(|()| None),
    }?;
    drive.drain(plan.durations.drain).await?;
    ledger.remove_directory(folder)?;
    if drive.trials.is_empty() {
        // Ended before anything was measured: there is nothing to judge.
        return Err(HarnessError::Interrupted);
    }
    Ok(Held { trials: drive.trials, answer, searched_s: drive.searched_s })
}

/// A load in progress.
pub(crate) struct Drive<'r, 'w> {
    pub(crate) run: &'r mut Run<'w>,
    pub(crate) engine: Load,
    pub(crate) probes: Probes,
    statistics: Statistics,
    pub(crate) profile: Profile,
    pub(crate) trials: Vec<Trial>,
    app: Option<&'r Deployed>,
    faults: Faults<'r>,
    guests: Guests<'r>,
    names: Vec<&'static str>,
    silent_for: Nanos,
    silence: Nanos,
    /// End of the latest interval. The load's own time: intervals may wait in a queue while the disk is slow.
    pub(crate) reached: Nanos,
    ends_at_most: Nanos,
    phase_span: (Nanos, Nanos),
    /// `None` from the drain on.
    control: Option<Listening>,
    /// The latest figures.
    status: control::Status,
    /// A command asked for the end.
    ending: bool,
    /// Seconds of load until a search was over.
    pub(crate) searched_s: Option<f64>,
    /// Arrivals waited for users since the load was last empty: some may wait still.
    pub(crate) crowded: bool,
    /// When the latest change of the load by the plan is complete.
    level_at: Nanos,
    /// When many users came, or came out of a queue, for the last time.
    pub(crate) crowd_at: Nanos,
    /// How often a command changed the load, and when the latest change is complete.
    pub(crate) changes: (u32, Nanos),
    /// What each driver did in the window that is, or was last, collected; empty when this process is the only one.
    pub(crate) window: Vec<DriverSample>,
}

impl<'r, 'w> Drive<'r, 'w> {
    async fn start(
        run: &'r mut Run<'w>,
        app: Option<&'r Deployed>,
        url: &str,
        drivers: &[DriverAt],
    ) -> Result<Self, HarnessError> {
        let workload = Arc::clone(&run.world.workload);
        let profile = workload.profile(&run.plan.profile).expect("the profile was checked");
        let folder = run.folder(control::FOLDER);
        let control =
            Listening::start(&folder).map_err(|why| HarnessError::Listen { folder: folder.clone(), why })?;
        let stop = run.world.stop.clone();
        let mut engine = stop.or(begin(run, url, drivers)).await??;
        let mut probes = Probes::new(app, &run.clock, engine.samples())?;
        probes.apart = outside::apart(app, url);
        let asked = app.filter(|_| run.plan.deploy.statistics);
        let statistics = asked.map_or_else(Statistics::none, |app| Statistics::of(app, &run.clock));
        // The load's clock, and with it every interval, counts from here.
        let at_s = (run.clock.now() - engine.now()).as_secs_f64();
        run.record.append(&Entry::LoadStarted(LoadStarted { at_s }))?;
        for note in engine.take_notes() {
            run.note(note)?;
        }
        let ends_at_most = barograph_spec::estimate(&run.plan);
        // Where some response time is limited, users do things that are answered soon, beside all waiting on purpose.
        let waits = workload.longest_wait().filter(|_| profile.rules.iter().all(|rule| rule.limit.is_none()));
        let silence = waits.map_or(SILENCE, |wait| SILENCE.max(wait + AFTER_WAIT));
        let faults = Faults::new(&run.plan, app);
        let guests = Guests::new(app.map(Deployed::site));
        Ok(Drive {
            faults,
            guests,
            run,
            engine,
            probes,
            statistics,
            profile,
            trials: Vec::new(),
            app,
            names: workload.ops().iter().map(|op| op.name).collect(),
            silent_for: Nanos::ZERO,
            silence,
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
            window: Vec::new(),
        })
    }

    /// Begins a phase that should take `span`.
    pub(crate) fn phase(&mut self, phase: Phase, span: Nanos, about: &str) -> Result<(), HarnessError> {
        self.phase_span = (self.engine.now(), span);
        self.run.phase(phase, about)
    }

    /// Nobody asked for the end.
    pub(crate) fn goes_on(&self) -> bool {
        !self.ending
    }

    /// The next interval: recorded, shown, with samples beside it. Commands are done while it is waited for.
    pub(crate) async fn next(&mut self) -> Result<Interval, HarnessError> {
        let stop = self.run.world.stop.clone();
        let app = self.app;
        let next = loop {
            let now = (self.engine.now(), self.run.clock.clone());
            tokio::select! {
                biased;
                () = stop.wanted() => return Err(HarnessError::Interrupted),
                gone = gone(app) => return Err(gone),
                next = self.engine.next() => break next?,
                asked = asked(&mut self.control) => self.answer(asked).await?,
                (fault, began, done) = self.faults.next(now) => self.gone_wrong(&fault, began, done)?,
                told = self.guests.answer() => {
                    let (rows, silent) = self.guests.rows(told, self.run.clock.now());
                    self.keep_rows(&rows)?;
                    silent.map_or(Ok(()), |note| self.run.note(note))?;
                }
            }
        };
        // Before the drain the engine never ends by itself.
        let interval = next.ok_or(barograph_engine::EngineError::WorkerGone { worker: 0 })?;
        self.reached = interval.to;
        self.crowded = self.crowded || interval.late > 0;
        self.keep(&interval)?;
        self.listen(&interval)?;
        Ok(interval)
    }

    fn keep(&mut self, interval: &Interval) -> Result<(), HarnessError> {
        self.run.record.interval(interval, &self.names)?;
        for note in self.engine.take_notes() {
            self.run.note(note)?;
        }
        let rows = self.probes.sample(self.run.clock.now(), interval.users, self.engine.samples())?;
        self.keep_rows(&rows)?;
        self.guests.ask(self.run.clock.now());
        let (told, silent) = self.statistics.next();
        self.run.record.statistics(&told)?;
        for note in silent {
            self.run.note(note)?;
        }
        let (from, span) = self.phase_span;
        let done = if span.0 == 0 { 1.0 } else { (interval.to - from).as_secs_f64() / span.as_secs_f64() };
        let cores = |subject: &str| rows.iter().find(|r| r.subject == subject)?.cores();
        let live = Live {
            phase: self.run.phase,
            done: done.min(1.0),
            offered: self.run.plan.offered(self.engine.level()),
            remaining: Some(self.ends_at_most - interval.to),
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

    /// Something goes wrong, as the plan wants it. That it could not be done is told, and no reason to end.
    fn gone_wrong(
        &mut self,
        fault: &FaultPlan,
        began: Nanos,
        done: Result<Done, NotDone>,
    ) -> Result<(), HarnessError> {
        if let (FaultAct::Start, Ok(_), Some(app)) = (fault.act, &done, self.app)
            && let Some(part) = app.services().find(|part| part.name == fault.unit)
        {
            self.probes.started_again(&part.name, &part.running().accounts());
        }
        let kept = faults::kept(fault, (began, self.engine.now() - began), done);
        let outcome = kept.failed.as_ref().map_or_else(String::new, |why| format!(": not done, {why}"));
        self.run.say(&format!("fault: {} {}{outcome}", kept.act, kept.unit));
        Ok(self.run.record.append(&Entry::Fault(kept))?)
    }

    /// A target that answers nothing at all is not worth waiting for. An operation that timed out had no answer.
    fn listen(&mut self, interval: &Interval) -> Result<(), HarnessError> {
        let answered = |op: &OpStats| op.count() - op.outcomes[Outcome::TimedOut.index()];
        let length = interval.to - interval.from;
        let asked = interval.users > 0 && (interval.in_flight_s > 0.0 || interval.starts > 0);
        let waiting = asked && interval.ops.iter().map(answered).sum::<u64>() == 0;
        self.silent_for = if waiting { self.silent_for + length } else { Nanos::ZERO };
        if self.silent_for >= self.silence {
            let what = if self.app.is_some() { "application" } else { "target" };
            return Err(HarnessError::TargetSilent { what, seconds: self.silence.0 / 1_000_000_000 });
        }
        Ok(())
    }

    /// Begins a change of the load; gives the instant at which it will be complete.
    pub(crate) async fn ramp(&mut self, level: u32, over: Nanos) -> Result<Nanos, HarnessError> {
        let many = self.brings_many(level);
        self.level_at = self.engine.ramp(level, over).await?;
        if many {
            self.crowd_at = self.level_at;
        }
        Ok(self.level_at)
    }

    /// Would a step to `level` bring so many users that they are seen in the mix?
    pub(crate) fn brings_many(&self, level: u32) -> bool {
        let new = level.saturating_sub(self.engine.level());
        f64::from(new) > FEW_NEW * f64::from(level)
    }

    /// The load that changes now was too much: users who come out of a queue do the same things at the same time, too.
    pub(crate) fn came_out_of_a_queue(&mut self) {
        self.crowd_at = self.level_at;
    }

    /// Lets whole intervals pass until the load is at its level: an interval in which it still changed must not be
    /// measured. A trace has no level, and all of it is measured.
    pub(crate) async fn level_there(&mut self) -> Result<(), HarnessError> {
        if self.run.open.as_ref().is_some_and(|open| matches!(open.arrivals, Arrivals::Trace(_))) {
            return Ok(());
        }
        while self.goes_on() && self.reached < self.level_at {
            self.next().await?;
        }
        Ok(())
    }

    /// Lets time pass.
    pub(crate) async fn pass(&mut self, span: Nanos) -> Result<(), HarnessError> {
        let end = self.engine.now() + span;
        // An interval that ends within half its length of the asked instant is the last.
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        while self.goes_on() && self.reached + half < end {
            self.next().await?;
        }
        Ok(())
    }

    /// Collects a window: whole intervals from now on until their length is `span`, until the end is asked for, or until
    /// `enough` has seen what it needs.
    pub(crate) async fn collect(
        &mut self,
        span: Nanos,
        mut enough: impl FnMut(&Self, &Interval, &[Part]) -> bool,
    ) -> Result<(Interval, Vec<Part>), HarnessError> {
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let first = self.next().await?;
        self.window = self.engine.samples().to_vec();
        let mut parts = vec![Part::of(&first, &self.profile.rules)];
        let mut joined = first;
        while self.goes_on() && joined.to - joined.from + half < span {
            let interval = self.next().await?;
            fleet::follow(&mut self.window, self.engine.samples());
            parts.push(Part::of(&interval, &self.profile.rules));
            joined.append(&interval);
            if enough(self, &joined, &parts) {
                break;
            }
        }
        Ok((joined, parts))
    }

    /// No new starts; what is in flight may end.
    async fn drain(&mut self, span: Nanos) -> Result<(), HarnessError> {
        self.control = None;
        for (fault, why) in self.faults.missed() {
            self.gone_wrong(&fault, self.engine.now(), Err(why))?;
        }
        self.phase(Phase::Drain, span, "no new operations; those in flight may end")?;
        self.engine.stop(span).await;
        let stop = self.run.world.stop.clone();
        while let Some(interval) = stop.or(self.engine.next()).await?? {
            self.keep(&interval)?;
        }
        for note in self.engine.take_notes() {
            self.run.note(note)?;
        }
        self.run.done()
    }
}

/// Begins the load, in this process or in several others.
async fn begin(run: &Run<'_>, url: &str, drivers: &[DriverAt]) -> Result<Load, HarnessError> {
    let workload = run.world.workload.as_ref();
    if drivers.is_empty() {
        let settings =
            fleet::settings(workload, &run.plan, run.open.clone()).expect("the profile was checked");
        let load = workload.load(&LoadJob { url, plan: &run.plan, data: run.data.as_ref() })?;
        return Ok(Load::Own(load.start(&settings)?));
    }
    let job = FleetJob {
        workload,
        plan: &run.plan,
        url,
        data: run.data.as_ref(),
        open: run.open.as_ref(),
        files: workload.files()?,
        tool: &run.world.tool,
    };
    Ok(Load::Fleet(Box::new(Fleet::connect(drivers, &job).await?)))
}

/// Ends when a service of the application does; somebody else's are not watched, and drivers tell of themselves.
async fn gone(app: Option<&Deployed>) -> HarnessError {
    let Some(app) = app else { return std::future::pending().await };
    let (part, ended) = app.application_ends().await;
    let log = part.running().logs().map(|log| log.tail(TAIL)).unwrap_or_default();
    HarnessError::TargetGone { what: app.called(part), ended, log }
}

async fn asked(control: &mut Option<Listening>) -> control::Asked {
    match control {
        Some(control) => control.next().await,
        None => std::future::pending().await,
    }
}

/// The figures of an interval in a line.
fn figures(interval: &Interval, live: &Live) -> String {
    use barograph_model::LoadUnit;
    use barograph_model::words::{count, offered};
    let ended: u64 = interval.ops.iter().map(OpStats::count).sum();
    let failed: u64 = interval.ops.iter().map(OpStats::failed).sum();
    let over: u64 = interval.ops.iter().map(|op| op.over_limit).sum();
    let seconds = interval.seconds().max(1e-9);
    let load = match live.offered.unit {
        LoadUnit::Users => format!("{} users", interval.users),
        LoadUnit::PerSecond => format!("towards {}, {} users", offered(live.offered), interval.users),
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

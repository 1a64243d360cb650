//! The load: ramp, warm-up, measured windows, drain; every interval recorded as it comes.

use std::sync::Arc;

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{Arrivals, Nanos, Outcome, Phase, Profile, Strategy};
use barograph_platform::Running;
use barograph_record::{Entry, LoadStarted, Trial};
use barograph_stats::{Interval, OpStats, Part, search};

use crate::check::AFTER_WAIT;
use crate::control::{self, Listening};
use crate::probes::Probes;
use crate::run::Run;
use crate::{HarnessError, Live, LoadJob, Progress, hold};

mod commands;

/// With operations in progress and not one answered for this long, the target is as good as gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// How many log lines tell why the application ended.
const TAIL: usize = 20;

/// What the load came to.
pub(crate) struct Held {
    /// Every trial.
    pub(crate) trials: Vec<Trial>,
    /// The search's answer; absent for other strategies.
    pub(crate) answer: Option<search::Answer>,
}

/// Drives the whole load of the plan. `app` is the application, when it is one of our units.
pub(crate) async fn drive(
    run: &mut Run<'_>,
    app: Option<&dyn Running>,
    url: &str,
) -> Result<Held, HarnessError> {
    let plan = run.plan.clone();
    let folder = run.ledger.make_directory(&run.folder(control::FOLDER))?;
    let ledger = run.ledger.clone();
    let mut drive = Drive::start(run, app, url)?;
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
    Ok(Held { trials: drive.trials, answer })
}

/// A load in progress.
pub(crate) struct Drive<'r, 'w> {
    pub(crate) run: &'r mut Run<'w>,
    pub(crate) engine: EngineHandle,
    pub(crate) probes: Probes,
    pub(crate) profile: Profile,
    pub(crate) trials: Vec<Trial>,
    app: Option<&'r dyn Running>,
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
    /// Arrivals waited for users since the load was last empty: some may wait still.
    pub(crate) crowded: bool,
    /// When the latest change of the load by the plan is complete.
    level_at: Nanos,
    /// How often a command changed the load, and when the latest change is complete.
    pub(crate) changes: (u32, Nanos),
}

impl<'r, 'w> Drive<'r, 'w> {
    fn start(run: &'r mut Run<'w>, app: Option<&'r dyn Running>, url: &str) -> Result<Self, HarnessError> {
        let kind = Arc::clone(&run.world.kind);
        let profile = kind.profile(&run.plan.profile).expect("the profile was checked");
        let settings = Settings {
            workers: run.plan.driver.workers,
            seed: run.plan.seed,
            behaviours: Arc::new(kind.behaviours(&run.plan.profile).expect("the profile was checked")),
            limits: profile.rules.iter().map(|r| r.limit).collect(),
            interval: run.plan.driver.interval,
            timeout: run.plan.driver.timeout,
            open: run.open.clone(),
        };
        let load = kind.load(&LoadJob { url, plan: &run.plan, data: run.data.as_ref() })?;
        let probes = Probes::new(app.and_then(Running::pid), run.clock.now())?;
        let folder = run.folder(control::FOLDER);
        let control =
            Listening::start(&folder).map_err(|why| HarnessError::Listen { folder: folder.clone(), why })?;
        let engine = load.start(&settings)?;
        run.record.append(&Entry::LoadStarted(LoadStarted { at_s: run.clock.at_s() }))?;
        let ends_at_most = barograph_spec::estimate(&run.plan);
        // Where some response time is limited, users do things that are answered soon, beside all waiting on purpose.
        let waits = kind.longest_wait().filter(|_| profile.rules.iter().all(|rule| rule.limit.is_none()));
        let silence = waits.map_or(SILENCE, |wait| SILENCE.max(wait + AFTER_WAIT));
        Ok(Drive {
            run,
            engine,
            probes,
            profile,
            trials: Vec::new(),
            app,
            names: kind.ops().iter().map(|op| op.name).collect(),
            silent_for: Nanos::ZERO,
            silence,
            reached: Nanos::ZERO,
            ends_at_most,
            phase_span: (Nanos::ZERO, Nanos::ZERO),
            control: Some(control),
            status: control::Status::default(),
            ending: false,
            crowded: false,
            level_at: Nanos::ZERO,
            changes: (0, Nanos::ZERO),
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
            tokio::select! {
                biased;
                () = stop.wanted() => return Err(HarnessError::Interrupted),
                ended = ended(app) => {
                    let log = app.and_then(Running::logs).map(|l| l.tail(TAIL)).unwrap_or_default();
                    return Err(HarnessError::TargetGone { ended, log });
                }
                next = self.engine.next() => break next?,
                asked = asked(&mut self.control) => self.answer(asked).await?,
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
        let rows = self.probes.sample(self.run.clock.now(), interval.users)?;
        for row in &rows {
            self.run.record.probe(row)?;
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
        self.level_at = self.engine.ramp(level, over).await?;
        Ok(self.level_at)
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

    /// Collects a window: whole intervals from now on until their length is `span`, or until the end is asked for.
    pub(crate) async fn collect(&mut self, span: Nanos) -> Result<(Interval, Vec<Part>), HarnessError> {
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let first = self.next().await?;
        let mut parts = vec![Part::of(&first, &self.profile.rules)];
        let mut joined = first;
        while self.goes_on() && joined.to - joined.from + half < span {
            let interval = self.next().await?;
            parts.push(Part::of(&interval, &self.profile.rules));
            joined.append(&interval);
        }
        Ok((joined, parts))
    }

    /// No new starts; what is in flight may end.
    async fn drain(&mut self, span: Nanos) -> Result<(), HarnessError> {
        self.control = None;
        self.phase(Phase::Drain, span, "no new operations; those in flight may end")?;
        self.engine.stop(span).await;
        let stop = self.run.world.stop.clone();
        while let Some(interval) = stop.or(self.engine.next()).await?? {
            self.keep(&interval)?;
        }
        self.run.done()
    }
}

/// Ends when our own unit does; somebody else's is not watched.
async fn ended(app: Option<&dyn Running>) -> barograph_platform::Ended {
    match app {
        Some(app) => app.wait_exit().await,
        None => std::future::pending().await,
    }
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

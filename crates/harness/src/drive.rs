//! The load: ramp, warm-up, measured windows, drain; every interval recorded as it comes.

use std::net::SocketAddr;
use std::sync::Arc;

use barograph_engine::{EngineHandle, Settings};
use barograph_model::{Nanos, Outcome, Phase, Profile, Strategy};
use barograph_platform::Running;
use barograph_record::{Entry, LoadStarted, Resources, Trial};
use barograph_stats::{Interval, OpStats, Part, search};

use crate::probes::Probes;
use crate::run::Run;
use crate::{HarnessError, hold};

/// With users active and not one operation answered for this long, the application is as good as gone.
const SILENCE: Nanos = Nanos::from_secs(30);

/// How many log lines tell why the application ended.
const TAIL: usize = 20;

/// What the load came to.
pub(crate) struct Held {
    /// Every trial, with what was used during it.
    pub(crate) trials: Vec<(Trial, Resources)>,
    /// The search's answer; absent for a fixed load.
    pub(crate) answer: Option<search::Answer>,
}

/// Drives the whole load of the plan.
pub(crate) async fn drive(
    run: &mut Run<'_>,
    app: &dyn Running,
    target: SocketAddr,
) -> Result<Held, HarnessError> {
    let plan = run.plan.clone();
    let profile = run.world.kind.profile(&plan.profile).expect("the profile was checked");
    let mut drive = Drive::start(run, app, target, profile)?;
    let held = match plan.strategy {
        Strategy::Fixed { users, windows } => hold::fixed(&mut drive, users, windows).await?,
        Strategy::Search(bounds) => hold::search(&mut drive, bounds).await?,
    };
    drive.drain(plan.durations.drain).await?;
    Ok(held)
}

/// A load in progress.
pub(crate) struct Drive<'r, 'w> {
    pub(crate) run: &'r mut Run<'w>,
    pub(crate) engine: EngineHandle,
    pub(crate) probes: Probes,
    pub(crate) profile: Profile,
    pub(crate) trials: Vec<(Trial, Resources)>,
    app: &'r dyn Running,
    names: Vec<&'static str>,
    silent_for: Nanos,
    /// End of the latest interval. The load's own time: intervals may wait in a queue while the disk is slow.
    pub(crate) reached: Nanos,
    ends_at_most: Nanos,
    phase_span: (Nanos, Nanos),
}

impl<'r, 'w> Drive<'r, 'w> {
    fn start(
        run: &'r mut Run<'w>,
        app: &'r dyn Running,
        target: SocketAddr,
        profile: Profile,
    ) -> Result<Self, HarnessError> {
        let kind = run.world.kind;
        let workers = match run.plan.driver.workers {
            0 => (run.world.cores / 2).max(1),
            n => n,
        };
        let settings = Settings {
            workers,
            seed: run.plan.seed,
            behaviours: Arc::new(kind.behaviours(&run.plan.profile).expect("the profile was checked")),
            limits: profile.rules.iter().map(|r| r.limit).collect(),
            interval: run.plan.driver.interval,
            timeout: run.plan.driver.timeout,
        };
        let probes = Probes::new(app.pid(), run.clock.now())?;
        let engine = kind.load(target, &run.plan, &run.data).start(&settings)?;
        run.record.append(&Entry::LoadStarted(LoadStarted { at_s: run.clock.at_s() }))?;
        let ends_at_most = barograph_spec::estimate(&run.plan.strategy, &run.plan.durations);
        Ok(Drive {
            run,
            engine,
            probes,
            profile,
            trials: Vec::new(),
            app,
            names: kind.ops().iter().map(|op| op.name).collect(),
            silent_for: Nanos::ZERO,
            reached: Nanos::ZERO,
            ends_at_most,
            phase_span: (Nanos::ZERO, Nanos::ZERO),
        })
    }

    /// Begins a phase that should take `span`.
    pub(crate) fn phase(&mut self, phase: Phase, span: Nanos, about: &str) -> Result<(), HarnessError> {
        self.phase_span = (self.engine.now(), span);
        self.run.phase(phase, about)
    }

    /// The next interval: recorded, shown, with samples beside it.
    pub(crate) async fn next(&mut self) -> Result<Interval, HarnessError> {
        let stop = self.run.world.stop.clone();
        let app = self.app;
        let next = tokio::select! {
            biased;
            () = stop.wanted() => return Err(HarnessError::Interrupted),
            ended = app.wait_exit() => {
                let log = app.logs().map(|l| l.tail(TAIL)).unwrap_or_default();
                return Err(HarnessError::TargetGone { ended, log });
            }
            next = self.engine.next() => next?,
        };
        // Before the drain the engine never ends by itself.
        let interval = next.ok_or(barograph_engine::EngineError::WorkerGone { worker: 0 })?;
        self.reached = interval.to;
        self.keep(&interval)?;
        self.listen(&interval)?;
        Ok(interval)
    }

    fn keep(&mut self, interval: &Interval) -> Result<(), HarnessError> {
        self.run.record.interval(interval, &self.names)?;
        let rows = self.probes.sample(self.run.clock.now())?;
        for row in &rows {
            self.run.record.probe(row)?;
        }
        let (from, span) = self.phase_span;
        let done = if span.0 == 0 { 1.0 } else { (interval.to - from).as_secs_f64() / span.as_secs_f64() };
        let remaining = Some(self.ends_at_most - interval.to);
        let line = format!("{}  {}", figures(interval), Probes::rows_to_line(&rows));
        self.run.progress(done.min(1.0), remaining, line);
        Ok(())
    }

    /// A target that answers nothing at all is not worth waiting for. An operation that timed out had no answer.
    fn listen(&mut self, interval: &Interval) -> Result<(), HarnessError> {
        let answered = |op: &OpStats| op.count() - op.outcomes[Outcome::TimedOut.index()];
        let length = interval.to - interval.from;
        let waiting = interval.users > 0 && interval.ops.iter().map(answered).sum::<u64>() == 0;
        self.silent_for = if waiting { self.silent_for + length } else { Nanos::ZERO };
        if self.silent_for >= SILENCE {
            return Err(HarnessError::TargetSilent { seconds: SILENCE.0 / 1_000_000_000 });
        }
        Ok(())
    }

    /// Lets time pass.
    pub(crate) async fn pass(&mut self, span: Nanos) -> Result<(), HarnessError> {
        let end = self.engine.now() + span;
        // An interval that ends within half its length of the asked instant is the last.
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        while self.reached + half < end {
            self.next().await?;
        }
        Ok(())
    }

    /// Collects a window: whole intervals from now on until their length is `span`.
    pub(crate) async fn collect(&mut self, span: Nanos) -> Result<(Interval, Vec<Part>), HarnessError> {
        let half = Nanos(self.run.plan.driver.interval.0 / 2);
        let first = self.next().await?;
        let mut parts = vec![Part::of(&first, &self.profile.rules)];
        let mut joined = first;
        while joined.to - joined.from + half < span {
            let interval = self.next().await?;
            parts.push(Part::of(&interval, &self.profile.rules));
            joined.append(&interval);
        }
        Ok((joined, parts))
    }

    /// No new starts; what is in flight may end.
    async fn drain(&mut self, span: Nanos) -> Result<(), HarnessError> {
        self.phase(Phase::Drain, span, "no new operations; those in flight may end")?;
        self.engine.stop(span).await;
        let stop = self.run.world.stop.clone();
        while let Some(interval) = stop.or(self.engine.next()).await?? {
            self.keep(&interval)?;
        }
        self.run.done()
    }
}

/// The figures of an interval in a line.
fn figures(interval: &Interval) -> String {
    let ended: u64 = interval.ops.iter().map(OpStats::count).sum();
    let failed: u64 = interval.ops.iter().map(OpStats::failed).sum();
    let over: u64 = interval.ops.iter().map(|op| op.over_limit).sum();
    let seconds = interval.seconds().max(1e-9);
    format!(
        "{} users  {:.0} ops/s  {over} over limit  {failed} failed  lag p99 {:.1} ms",
        interval.users,
        ended as f64 / seconds,
        interval.lag.value_at_quantile(0.99) as f64 / 1e3
    )
}

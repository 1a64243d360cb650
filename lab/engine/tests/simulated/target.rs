//! A target in simulated time with known answers, and its users.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::sim::Simulation;
use barograph_engine::{OpContext, Settings, Timer, User, UserFactory};
use barograph_model::{
    Behaviour, BehaviourId, Behaviours, ChooserId, CounterId, Distribution, Nanos, NextOp, OpId, Outcome,
    Pace, UserId,
};
use barograph_stats::Histogram;

pub(crate) const WORK: OpId = OpId(0);
pub(crate) const OTHER: OpId = OpId(1);
pub(crate) const WATCH: OpId = OpId(2);

/// Incremented when an operation begins.
pub(crate) const ASKED: CounterId = CounterId(0);
/// Increased by the duration in milliseconds when the target has answered.
pub(crate) const WAITED_MS: CounterId = CounterId(7);

/// Duration and outcome of an operation, by its start.
pub(crate) type Script = Rc<dyn Fn(Nanos, OpId) -> (Nanos, Outcome)>;

/// User and operation of every start, in order.
pub(crate) type Log = Rc<RefCell<Vec<(u32, u8)>>>;

pub(crate) struct Target {
    timer: Timer,
    script: Script,
    log: Log,
}

pub(crate) struct TestUser {
    timer: Timer,
    script: Script,
    log: Log,
    sessions: Cell<u32>,
}

impl UserFactory for Target {
    type User = TestUser;
    fn user(&self, _: UserId) -> TestUser {
        let (timer, script, log) = (self.timer.clone(), Rc::clone(&self.script), Rc::clone(&self.log));
        TestUser { timer, script, log, sessions: Cell::new(0) }
    }
}

impl User for TestUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        self.log.borrow_mut().push((context.user.0, op.0));
        context.sent();
        context.add(ASKED, 1);
        let (delay, outcome) = (self.script)(self.timer.now(), op);
        self.timer.until(self.timer.now() + delay).await;
        context.add(WAITED_MS, delay.as_micros() / 1_000);
        if op == OTHER {
            context.start(BehaviourId(1), 7);
        }
        if outcome == Outcome::Expired {
            context.reset();
        }
        outcome
    }
    fn choose(&self, _: ChooserId, context: &mut OpContext) -> usize {
        context.user.0 as usize % 2
    }
    fn end_session(&self) {
        self.sessions.set(self.sessions.get() + 1);
    }
}

pub(crate) fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// One operation, repeated.
pub(crate) fn plain(pace: Pace) -> Vec<Behaviour> {
    vec![Behaviour { name: "main", first: WORK, next: vec![Some(NextOp::Op(WORK))], pace }]
}

pub(crate) fn settings(behaviours: Vec<Behaviour>, workers: usize) -> Settings {
    Settings {
        workers,
        seed: 42,
        behaviours: Arc::new(Behaviours::new(behaviours).unwrap()),
        limits: [Some(ms(500)), None, None].map(Into::into).to_vec(),
        interval: ms(1_000),
        timeout: ms(10_000),
        pause_after_failure: ms(1_000),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    }
}

/// A simulation with a script, and the log of operations started.
pub(crate) fn simulate(
    settings: &Settings,
    script: impl Fn(Nanos, OpId) -> (Nanos, Outcome) + 'static,
) -> (Simulation<Target>, Log) {
    let log = Log::default();
    let sim = Simulation::new(settings, target(script, &log));
    (sim, log)
}

/// Makes targets with a script that share a log.
pub(crate) fn target<S>(script: S, log: &Log) -> impl FnMut(Timer) -> Target + use<S>
where
    S: Fn(Nanos, OpId) -> (Nanos, Outcome) + 'static,
{
    let (script, log): (Script, Log) = (Rc::new(script), Rc::clone(log));
    move |timer| Target { timer, script: Rc::clone(&script), log: Rc::clone(&log) }
}

/// A quantile in milliseconds, with the precision of the histogram.
pub(crate) fn quantile_ms(h: &Histogram, q: f64) -> f64 {
    h.value_at_quantile(q) as f64 / 1e3
}

pub(crate) fn close_to(found: f64, expected: f64) {
    assert!((found - expected).abs() <= expected * 0.001 + 0.001, "found {found}, expected {expected}");
}

pub(crate) fn cycle(t: u64) -> Pace {
    Pace::Cycle(Distribution::Constant(ms(t)))
}

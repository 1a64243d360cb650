//! A service in simulated time and the users of a small scenario on it: servers with a queue, service times that scatter and
//! swing, and whatever is planted into them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::{Settings, Stream, Timer, Turn, User, UserFactory, stream};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, Distribution, Nanos, Next, OpId, OpSpec, OpenLoop, Outcome, Pace,
    Profile, QosRule, Share, UserId, Vector,
};
use rand::RngExt;
use rand_distr::{Distribution as _, StandardNormal};

/// The operations of the scenario.
pub(super) const OPS: [OpSpec; 4] = [
    OpSpec { name: "Home", about: "looks at the first page" },
    OpSpec { name: "Browse", about: "looks at a list" },
    OpSpec { name: "Item", about: "looks at one thing" },
    OpSpec { name: "Buy", about: "buys it" },
];

const LIMIT: Nanos = Nanos::from_millis(500);

/// What an operation takes in the middle, without waiting.
const SERVICE_S: f64 = 0.02;

/// Operations that are served at once.
const SERVERS: usize = 32;

/// Service times swing together by this part from one second to the next, as caches and collectors make them.
const SWING: f64 = 0.15;

/// How operation `op` that starts at an instant goes: by which factor it is slower, and how it ends. One that is slower
/// without bound never ends, and holds no server.
pub(super) type Script = fn(seconds: f64, op: OpId, rng: &mut Stream, size: f64) -> (f64, Outcome);

/// What is planted, and how much of it.
#[derive(Clone, Copy)]
pub(super) struct Plant {
    pub(super) script: Script,
    /// Which part of the users that would go on browsing buys instead, at an instant.
    pub(super) buyers: fn(seconds: f64, size: f64) -> f64,
    /// So much longer than its profile says a user waits between operations.
    pub(super) slower_pace: fn(size: f64) -> f64,
    pub(super) size: f64,
}

/// Nothing is planted.
pub(super) const CLEAN: Plant =
    Plant { script: |_, _, _, _| (1.0, Outcome::Good), buyers: |_, _| 0.2, slower_pace: |_| 1.0, size: 0.0 };

/// The service, shared by all users.
struct Service {
    rng: Stream,
    swing: Vec<f64>,
    free_at: [f64; SERVERS],
}

impl Service {
    /// When an operation begun now is done, if it takes `factor` times what it usually does.
    fn done_at(&mut self, now: f64, factor: f64) -> f64 {
        while self.swing.len() <= now as usize {
            let before = self.swing.last().copied().unwrap_or(0.0);
            let draw: f64 = StandardNormal.sample(&mut self.rng);
            self.swing.push(0.7 * before + 0.7 * SWING * draw);
        }
        let scatter: f64 = StandardNormal.sample(&mut self.rng);
        let takes = SERVICE_S * factor * (0.5 * scatter + self.swing[now as usize]).exp();
        let first = self.free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("there are servers");
        *first = first.max(now) + takes;
        *first
    }
}

pub(super) struct Shop {
    timer: Timer,
    service: Rc<RefCell<Service>>,
    plant: Plant,
}

impl Shop {
    pub(super) fn new(timer: Timer, seed: u64, plant: Plant) -> Self {
        let service = Service { rng: stream(seed, u32::MAX, 1), swing: Vec::new(), free_at: [0.0; SERVERS] };
        Shop { timer, service: Rc::new(RefCell::new(service)), plant }
    }
}

impl UserFactory for Shop {
    type User = Customer;
    fn user(&self, _: UserId) -> Customer {
        Customer { timer: self.timer.clone(), service: Rc::clone(&self.service), plant: self.plant }
    }
}

pub(super) struct Customer {
    timer: Timer,
    service: Rc<RefCell<Service>>,
    plant: Plant,
}

impl User for Customer {
    async fn act(&self, op: OpId, turn: &mut Turn) -> Outcome {
        turn.sent();
        let now = self.timer.now().as_secs_f64();
        let (factor, outcome) = (self.plant.script)(now, op, &mut turn.rng, self.plant.size);
        if factor.is_infinite() {
            return std::future::pending().await;
        }
        let done = self.service.borrow_mut().done_at(now, factor);
        self.timer.until(Nanos::from_secs_f64(done)).await;
        outcome
    }

    fn choose(&self, _: ChooserId, turn: &mut Turn) -> usize {
        let buys = (self.plant.buyers)(self.timer.now().as_secs_f64(), self.plant.size);
        usize::from(turn.rng.random::<f64>() < buys)
    }

    fn end_session(&self) {}
}

/// What users do, in sessions: home, then lists and things until they buy. `pace` is how long one takes from start to start,
/// times the usual.
pub(super) fn behaviours(pace: f64) -> Behaviours {
    let seconds = |s: f64| Nanos::from_secs_f64(s * pace);
    let cycle = Distribution::TruncatedNormal {
        mean: seconds(2.0),
        sd: seconds(0.5),
        min: seconds(1.0),
        max: seconds(3.0),
    };
    let p = Share::percent;
    let lists = Vector::new(vec![(OpId(1), p(30.0)), (OpId(2), p(70.0))]).expect("they sum to 1");
    let after_item =
        Next::Choose { chooser: ChooserId(0), branches: vec![Next::Op(OpId(1)), Next::Op(OpId(3))] };
    let next = vec![
        Some(Next::Op(OpId(1))),
        Some(Next::Vector(lists)),
        Some(after_item),
        Some(Next::EndSession { first: OpId(0) }),
    ];
    let main = Behaviour { name: "main", first: OpId(0), next, pace: Pace::Cycle(cycle) };
    Behaviours::new(vec![main]).expect("every operation has a successor")
}

pub(super) fn profile() -> Profile {
    let rule = |op| QosRule {
        op: OpId(op),
        quantile: Share::percent(99.0),
        limit: Some(LIMIT),
        judged: true,
        mix: Share::ZERO,
        mix_tolerance: Share::ZERO,
        failures: Share::percent(5.0),
    };
    let operations: Vec<QosRule> = (0..OPS.len() as u8).map(rule).collect();
    Profile::usual("shop", &operations, None)
}

pub(super) fn settings(seed: u64, pace: f64, open: Option<OpenLoop>) -> Settings {
    Settings {
        workers: 1,
        seed,
        behaviours: Arc::new(behaviours(pace)),
        limits: vec![Some(LIMIT).into(); OPS.len()],
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        open,
    }
}

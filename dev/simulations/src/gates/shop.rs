//! A service in simulated time and the users of a small scenario on it: servers with a queue, service times
//! that scatter and swing, and planted faults.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use barograph_engine::{OpContext, Settings, Stream, Timer, User, UserFactory, stream};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, Distribution, Nanos, NextOp, OpId, OpSpec, OpenLoop, Outcome, Pace,
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

/// Limit of response times.
const LIMIT: Nanos = Nanos::from_millis(500);

/// Median service time, without waiting.
const SERVICE_S: f64 = 0.02;

/// Operations served concurrently.
const SERVERS: usize = 32;

/// Common swing of service times from second to second, as a part, like that by caches and collectors.
const SWING: f64 = 0.15;

/// Effect on operation `op` that starts at an instant: the factor of its slowness, and its outcome. An
/// infinite factor makes it never end, without holding a server.
pub(super) type Script = fn(seconds: f64, op: OpId, rng: &mut Stream, size: f64) -> (f64, Outcome);

/// A planted fault and its size.
#[derive(Clone, Copy)]
pub(super) struct PlantedFault {
    pub(super) script: Script,
    /// Share of users that buy instead of browsing further, at an instant.
    pub(super) buyers: fn(seconds: f64, size: f64) -> f64,
    /// Additional wait of a user between operations, relative to its profile.
    pub(super) slower_pace: fn(size: f64) -> f64,
    pub(super) size: f64,
}

/// Without faults.
pub(super) const CLEAN: PlantedFault = PlantedFault {
    script: |_, _, _, _| (1.0, Outcome::Good),
    buyers: |_, _| 0.2,
    slower_pace: |_| 1.0,
    size: 0.0,
};

/// The service, shared by all users.
struct Service {
    rng: Stream,
    swing: Vec<f64>,
    free_at: [f64; SERVERS],
}

impl Service {
    /// End of an operation begun now that takes `factor` times its usual service time.
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
    plant: PlantedFault,
}

impl Shop {
    pub(super) fn new(timer: Timer, seed: u64, plant: PlantedFault) -> Self {
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
    plant: PlantedFault,
}

impl User for Customer {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let now = self.timer.now().as_secs_f64();
        let (factor, outcome) = (self.plant.script)(now, op, &mut context.rng, self.plant.size);
        if factor.is_infinite() {
            return std::future::pending().await;
        }
        let done = self.service.borrow_mut().done_at(now, factor);
        self.timer.until(Nanos::from_secs_f64(done)).await;
        outcome
    }

    fn choose(&self, _: ChooserId, context: &mut OpContext) -> usize {
        let buys = (self.plant.buyers)(self.timer.now().as_secs_f64(), self.plant.size);
        usize::from(context.rng.random::<f64>() < buys)
    }

    fn end_session(&self) {}
}

/// Behaviours of users, in sessions: home, then lists and things until they buy. `pace` is the time from
/// start to start, relative to the usual.
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
        NextOp::Choose { chooser: ChooserId(0), branches: vec![NextOp::Op(OpId(1)), NextOp::Op(OpId(3))] };
    let next = vec![
        Some(NextOp::Op(OpId(1))),
        Some(NextOp::Vector(lists)),
        Some(after_item),
        Some(NextOp::EndSession { first: OpId(0) }),
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
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open,
    }
}

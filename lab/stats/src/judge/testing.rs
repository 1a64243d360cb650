//! A made-up clean window for tests, into which faults are planted.

use barograph_model::{
    Behaviours, DerivedFigures, LoadUnit, MeasureSpec, Nanos, OfferedLoad, OpId, OpSpec, OpenLoop, Outcome,
    Profile, QosRule, Rule, Share, TrialResult, WindowVerdict,
};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::host::HostUse;
use super::{DriverLimits, WindowInput, judge_window};
use crate::IntervalSummary;
use crate::interval::Interval;

/// Sixty seconds of three operations: one with a limit of 2 s, a long poll, one that is not judged.
#[derive(Clone)]
pub(crate) struct Window {
    pub(crate) parts: Vec<Interval>,
    /// The usual rules, by operation index.
    pub(crate) qos: Vec<QosRule>,
    /// Further rules.
    pub(crate) rules: Vec<Rule>,
    pub(crate) derived: Option<DerivedFigures>,
    pub(crate) measures: &'static [MeasureSpec],
    pub(crate) offered: OfferedLoad,
    pub(crate) operations: Option<u64>,
    pub(crate) open: Option<OpenLoop>,
    pub(crate) behaviours: Option<Behaviours>,
    pub(crate) host: Option<HostUse>,
    pub(crate) level_changes: u32,
    pub(crate) spread_for: Option<Nanos>,
    pub(crate) driver: DriverLimits,
    pub(crate) clock_jump_s: f64,
}

pub(crate) const OPS: [OpSpec; 3] = [
    OpSpec { name: "Browse", about: "looks at a page" },
    OpSpec { name: "Wait", about: "waits for news" },
    OpSpec { name: "Extra", about: "is not judged" },
];

const SECONDS: u64 = 60;

impl Window {
    pub(crate) fn clean(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let parts = (0..SECONDS).map(|second| clean_second(second, &mut rng)).collect();
        let rule = |op, mix, limit| QosRule {
            op: OpId(op),
            quantile: Share::percent(99.0),
            limit,
            judged: mix > 0.0,
            mix: Share::percent(mix),
            mix_tolerance: Share::percent(10.0),
            failures: Share::percent(0.5),
        };
        let two_s = Some(Nanos::from_secs(2));
        let qos = vec![rule(0, 60.0, two_s), rule(1, 40.0, None), rule(2, 0.0, two_s)];
        Window {
            parts,
            qos,
            rules: Vec::new(),
            derived: None,
            measures: &[],
            offered: OfferedLoad { unit: LoadUnit::Users, level: 1_000.into() },
            operations: None,
            open: None,
            behaviours: None,
            host: None,
            level_changes: 0,
            spread_for: Some(Nanos::from_secs(60)),
            driver: DriverLimits::default(),
            clock_jump_s: 0.0,
        }
    }

    pub(crate) fn judge(&self) -> WindowVerdict {
        let joined = Interval::joined(&self.parts).expect("sixty parts");
        let mut profile = Profile::usual("test", &self.qos, self.derived);
        profile.rules.extend(&self.rules);
        let parts: Vec<IntervalSummary> =
            self.parts.iter().map(|part| IntervalSummary::of(part, &profile)).collect();
        judge_window(&WindowInput {
            joined: &joined,
            parts: &parts,
            profile: &profile,
            ops: &OPS,
            measures: self.measures,
            offered: self.offered,
            operations: self.operations,
            open: self.open.as_ref(),
            behaviours: self.behaviours.as_ref(),
            host: self.host.as_ref(),
            level_changes: self.level_changes,
            spread_for: self.spread_for,
            driver: self.driver,
            clock_jump_s: self.clock_jump_s,
        })
    }

    /// Names of the checks that do not hold.
    pub(crate) fn faults(&self) -> Vec<&'static str> {
        self.judge().checks.into_iter().filter(|c| !c.ok).map(|c| c.id.name()).collect()
    }

    pub(crate) fn result(&self) -> TrialResult {
        self.judge().result()
    }
}

fn clean_second(second: u64, rng: &mut Xoshiro256PlusPlus) -> Interval {
    let mut part = Interval::new(OPS.len());
    part.from = Nanos::from_secs(second);
    part.to = Nanos::from_secs(second + 1);
    part.users = 1000;
    part.worker_cpu_s = 0.5;
    part.busiest_worker_cpu_s = 0.3;
    for _ in 0..rng.random_range(55..=65) {
        add(&mut part, 0, 0.1 * (0.5 + rng.random::<f64>()));
    }
    for _ in 0..rng.random_range(36..=44) {
        add(&mut part, 1, 4.0 + 2.0 * rng.random::<f64>());
    }
    for _ in 0..3 {
        add(&mut part, 2, 0.01);
    }
    // In a steady state the time ended in a second equals, on average, the time in flight in it.
    part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    part
}

/// Records one good operation that took `seconds`, started on time; over the limit when longer than 2 s.
pub(crate) fn add(part: &mut Interval, op: usize, seconds: f64) {
    let micros = (seconds * 1e6) as u64;
    part.lag.record(1_000).expect("1 ms is within bounds");
    part.starts += 1;
    let stats = &mut part.ops[op];
    stats.response.record(micros.max(1)).expect("test times are within bounds");
    stats.service.record(micros.max(1)).expect("test times are within bounds");
    stats.outcomes[Outcome::Good.index()] += 1;
    stats.requests += 1;
    stats.response_sum_s += seconds;
    stats.service_sum_s += seconds;
    if op != 1 && seconds > 2.0 {
        stats.over_limit += 1;
    } else {
        stats.good_in_time += 1;
    }
}

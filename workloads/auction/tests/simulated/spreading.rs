//! Users who came with a step, and their effect on the mix over time.

use barograph_engine::sim::Simulation;
use barograph_model::{Nanos, QosRule};
use barograph_simulated_auction::{Application, InProcess};
use barograph_stats::Interval;
use barograph_workload_auction::{Auction, BidUpdates, ops, profile};

use crate::settings;

/// Enough users that chance is small against the tolerances.
const USERS: u32 = 4_000;

/// The window of a search.
const WINDOW: Nanos = Nanos::from_secs(20);

/// An operation, and its share as a part of the required one.
type ShareDeviations = Vec<(&'static str, f64)>;

/// The judged operations whose shares in a window are outside of `times` times the profile's tolerances.
fn off(got: &Interval, times: f64) -> ShareDeviations {
    let rules = profile::operations();
    let judged = || rules.iter().enumerate().filter(|(_, rule)| rule.judged);
    let all: u64 = judged().map(|(i, _)| got.ops[i].count()).sum();
    let part = |i: usize, rule: &QosRule| got.ops[i].count() as f64 / all as f64 / rule.mix.get();
    let parts = judged().map(|(i, rule)| (rule, (ops::ALL[i].name, part(i, rule))));
    parts
        .filter(|(rule, (_, part))| (part - 1.0).abs() > times * rule.mix_tolerance.get())
        .map(|(_, off)| off)
        .collect()
}

/// Deviations 10 s after a step from `before` users, and 53 s after it. For the second, chance is allowed as
/// much again as the tolerances: the auctions themselves move in step for a while, whenever users come.
fn after_a_step(before: u32) -> (ShareDeviations, ShareDeviations) {
    let mut app = None;
    let mut sim = Simulation::new(&settings(4, 1), |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, USERS, 4));
        Auction::new(InProcess::new(app.clone()), USERS).hearing(BidUpdates::Polled)
    });
    let s = Nanos::from_secs;
    sim.ramp(before, s(90));
    sim.run(s(500));
    sim.ramp(USERS, s(5));
    sim.run(s(5 + 10));
    let settled = off(&sim.run(WINDOW), 1.0);
    sim.run(s(53 - 10) - WINDOW);
    (settled, off(&sim.run(WINDOW), 2.0))
}

/// A search waits a third of ramp and warm-up, 53 s for `quick`, after a step that adds many users. Settling
/// alone ends at the moment at which all new users look for auctions and join them.
#[test]
fn users_of_a_step_have_spread_after_a_third_of_the_time_that_all_have() {
    for before in [USERS * 9 / 10, USERS * 3 / 4, USERS * 2 / 3] {
        let (settled, spread) = after_a_step(before);
        assert!(
            settled.iter().any(|(name, part)| *name == "JoinAuction" && *part > 1.2),
            "{before}: {settled:?}"
        );
        assert!(spread.is_empty(), "{before}: {spread:?}");
    }
}

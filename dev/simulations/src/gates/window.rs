//! Windows of simulated runs, second by second, in the harness's form for the judge.

use barograph_engine::sim::Simulation;
use barograph_engine::{Settings, UserFactory};
use barograph_model::{
    Arrivals, Behaviours, LoadUnit, Nanos, OfferedLoad, OpSpec, OpenLoop, Profile, Share, StartOf,
    WindowVerdict,
};
use barograph_simulated_auction::{Application, InProcess};
use barograph_stats::judge::host::HostUse;
use barograph_stats::judge::{DriverLimits, WindowInput, judge_window};
use barograph_stats::{Interval, IntervalSummary};
use barograph_workload_auction::{Auction, ops, profile};

use super::shop::{self, PlantedFault, Shop};

/// Users of the scenario, and operations per second of its open loop.
pub(super) const LEVEL: u32 = 400;

/// Users of the auction.
const AUCTION_USERS: u32 = 600;

/// Length of the ramp.
const RAMP: Nanos = Nanos::from_secs(90);

/// All facts about one window, to be altered before it is judged.
pub(super) struct Window {
    pub(super) intervals: Vec<Interval>,
    pub(super) host: HostUse,
    pub(super) clock_jump_s: f64,
    /// Control commands that changed the load in the window.
    pub(super) level_changes: u32,
    profile: Profile,
    behaviours: Behaviours,
    ops: &'static [OpSpec],
    offered: OfferedLoad,
    open: Option<OpenLoop>,
}

impl Window {
    pub(super) fn judge(&self) -> WindowVerdict {
        let joined = Interval::joined(&self.intervals).expect("a window has intervals");
        let parts: Vec<IntervalSummary> =
            self.intervals.iter().map(|i| IntervalSummary::of(i, &self.profile)).collect();
        judge_window(&WindowInput {
            joined: &joined,
            parts: &parts,
            profile: &self.profile,
            ops: self.ops,
            measures: &[],
            offered: self.offered,
            operations: None,
            open: self.open.as_ref(),
            behaviours: Some(&self.behaviours),
            host: Some(&self.host),
            level_changes: self.level_changes,
            spread_for: Some(joined.from - RAMP),
            driver: DriverLimits::default(),
            clock_jump_s: self.clock_jump_s,
        })
    }
}

/// A host of two cores used by the run alone, as busy as allowed.
fn own_host() -> HostUse {
    HostUse {
        cores: 2.0,
        steal: Share::percent(0.5),
        idle: Share::percent(10.0),
        outside_cores: Ok(0.03),
        outside_memory_wait: Ok(Share::ZERO),
        outside_io_wait: Ok(Share::percent(1.0)),
    }
}

fn seconds<W: UserFactory>(sim: &mut Simulation<W>, span: u32) -> Vec<Interval> {
    (0..span).map(|_| sim.run(Nanos::from_secs(1))).collect()
}

/// Load of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    Closed,
    /// An open loop with this many users at most.
    Open(u32),
}

/// The scenario's warm-up in seconds; windows begin after it.
pub(super) const WARM_UP: u32 = 60;

/// Successive windows of `span` seconds from one run of the scenario. `change` is called with the simulation
/// before the window, and may change the load.
pub(super) fn of_scenario(
    seed: u64,
    load: Load,
    plant: PlantedFault,
    (span, windows): (u32, u32),
    change: impl Fn(&mut Simulation<Shop>),
) -> Vec<Window> {
    let open = match load {
        Load::Closed => None,
        Load::Open(most_users) => Some(OpenLoop {
            arrivals: Arrivals::Constant,
            start_of: StartOf::Operation,
            most_users,
            most_waiting: most_users,
        }),
    };
    let pace = (plant.slower_pace)(plant.size);
    let settings: Settings = shop::settings(seed, pace, open.clone());
    let mut sim = Simulation::new(&settings, |timer| Shop::new(timer, seed, plant));
    sim.ramp(LEVEL, Nanos::from_secs(20));
    sim.run(Nanos::from_secs(WARM_UP.into()));
    (0..windows)
        .map(|_| {
            change(&mut sim);
            Window {
                intervals: seconds(&mut sim, span),
                host: own_host(),
                clock_jump_s: 0.0,
                level_changes: 0,
                profile: shop::profile(),
                // The expected behaviours; the actual ones may differ.
                behaviours: shop::behaviours(1.0),
                ops: &shop::OPS,
                offered: OfferedLoad {
                    unit: if open.is_some() { LoadUnit::PerSecond } else { LoadUnit::Users },
                    level: LEVEL.into(),
                },
                open: open.clone(),
            }
        })
        .collect()
}

/// Windows of one run of the auction on its own rules.
pub(super) fn of_auction(seed: u64, (span, windows): (u32, u32)) -> Vec<Window> {
    let profile = profile::profile("official2").expect("it is the default");
    let settings = Settings {
        workers: 1,
        seed,
        behaviours: std::sync::Arc::new(profile::behaviours()),
        limits: profile.time_limits(ops::ALL.len()),
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let mut app = None;
    let mut sim = Simulation::new(&settings, |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, AUCTION_USERS, seed));
        Auction::new(InProcess::new(app.clone()), AUCTION_USERS)
    });
    // The time before the first measurement of the quick plan.
    sim.ramp(AUCTION_USERS, RAMP);
    sim.run(Nanos::from_secs(160));
    (0..windows)
        .map(|_| Window {
            intervals: seconds(&mut sim, span),
            host: own_host(),
            clock_jump_s: 0.0,
            level_changes: 0,
            profile: profile.clone(),
            behaviours: profile::behaviours(),
            ops: &ops::ALL,
            offered: OfferedLoad { unit: LoadUnit::Users, level: AUCTION_USERS.into() },
            open: None,
        })
        .collect()
}

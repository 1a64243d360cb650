//! Mix and rate of users at a site that answers at once, in simulated time.

use std::sync::Arc;

use barograph_engine::sim::Simulation;
use barograph_engine::{OpContext, Settings, Timer, User, UserFactory};
use barograph_model::{Nanos, OpId, Outcome, TimeLimits, UserId};
use barograph_spec::{Catalogue, read};
use barograph_workload::WorkloadFactory as _;

use crate::Social;
use crate::operation::{Operation, stationary};

/// Concurrent users.
const USERS: u32 = 400;

/// Length of the window.
const WINDOW_S: f64 = 600.0;

/// Duration of an operation.
const ANSWER: Nanos = Nanos::from_millis(20);

struct Site(Timer);

struct Visitor(Timer);

impl UserFactory for Site {
    type User = Visitor;

    fn user(&self, _: UserId) -> Visitor {
        Visitor(self.0.clone())
    }
}

impl User for Visitor {
    async fn act(&self, _: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        self.0.until(self.0.now() + ANSWER).await;
        Outcome::Good
    }
}

/// Operations that ended in a window, by their index.
fn window(seed: u64) -> Vec<u64> {
    let users = format!("load.users={USERS}");
    let sets = ["load.strategy=fixed".to_owned(), users, format!("social.users={USERS}")];
    let plan = read(Catalogue::of(&[&Social]), "a plan", "workload = \"social\"\n", &sets).unwrap();
    let settings = Settings {
        workers: 2,
        seed,
        behaviours: Arc::new(Social.of_plan(&plan).unwrap().behaviours("classic").unwrap()),
        limits: vec![TimeLimits::default(); Operation::ALL.len()],
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(30),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    };
    let mut simulation = Simulation::new(&settings, Site);
    simulation.ramp(USERS, Nanos::from_secs(60));
    simulation.run(Nanos::from_secs(170));
    let window = simulation.run(Nanos::from_secs_f64(WINDOW_S));
    window.ops.iter().map(barograph_stats::OpStats::count).collect()
}

#[test]
fn four_hundred_users_have_the_published_mix_and_rate() {
    let windows: Vec<Vec<u64>> = (1..=8).map(window).collect();
    let all = |window: &[u64]| window.iter().sum::<u64>() as f64;
    for counts in &windows {
        let rate = all(counts) / WINDOW_S / f64::from(USERS);
        assert!((rate * 4.97 - 1.0).abs() < 0.02, "{rate} operations per user and second");
    }
    for (operation, expected) in Operation::ALL.into_iter().zip(stationary()) {
        let shares: Vec<f64> =
            windows.iter().map(|counts| counts[operation as usize] as f64 / all(counts)).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        assert!((mean - expected).abs() < 0.003, "{operation:?}: {mean} in the mean, {expected} expected");
        // Five standard errors of a window of 48,000 operations.
        let chance = 5.0 * (expected * (1.0 - expected) / 48_000.0).sqrt();
        assert!(shares.iter().all(|share| (share - expected).abs() < chance), "{operation:?}: {shares:?}");
    }
}

//! The workload in simulated time against the application's own auction rules: hours of load in seconds.

mod application;

use std::sync::Arc;

use barograph_engine::Settings;
use barograph_engine::sim::Simulation;
use barograph_model::{Nanos, Outcome, UserId};
use barograph_stats::Interval;
use barograph_workload_auction::{Auction, ops, profile};

use application::{Application, InProcess};

const USERS: u32 = 600;

fn settings(seed: u64, workers: usize) -> Settings {
    Settings {
        workers,
        seed,
        behaviours: Arc::new(profile::behaviours()),
        limits: profile::profile("official2").unwrap().rules.iter().map(|r| r.limit).collect(),
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(60),
        open: None,
    }
}

/// Half an hour of load, after the ramp and warm-up of the published phases.
fn measure(seed: u64, workers: usize) -> Interval {
    let mut app = None;
    let mut sim = Simulation::new(&settings(seed, workers), |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, USERS, seed));
        Auction::new(InProcess::new(app.clone()), USERS)
    });
    sim.ramp(USERS, Nanos::from_secs(240));
    sim.run(Nanos::from_secs(540));
    sim.run(Nanos::from_secs(1_800))
}

#[test]
fn the_measured_mix_is_the_required_one() {
    let got = measure(1, 1);
    let rules = profile::profile("official2").unwrap().rules;
    let judged = |i: usize| rules[i].judged;
    let all: u64 = got.ops.iter().enumerate().filter(|(i, _)| judged(*i)).map(|(_, op)| op.count()).sum();
    for (i, (op, rule)) in got.ops.iter().zip(&rules).enumerate() {
        let share = op.count() as f64 / all as f64;
        let (required, name) = (rule.mix.get(), ops::ALL[i].name);
        // Half of the tolerance a run is judged by: what is left is for a real application and short windows.
        let allowed = required * rule.mix_tolerance.get() / 2.0;
        assert!(
            (share - required).abs() <= allowed,
            "{name}: {:.3} % instead of {:.3} %",
            share * 100.0,
            required * 100.0
        );
        assert_eq!(op.failed(), 0, "{name} failed");
    }
}

#[test]
fn users_do_as_much_as_the_profile_is_derived_to() {
    let got = measure(2, 1);
    let derived = profile::profile("official2").unwrap().derived.unwrap();
    let ended: u64 = got.ops.iter().map(barograph_stats::OpStats::count).sum();
    let requests: u64 = got.ops.iter().map(|op| op.requests).sum();
    let rate = ended as f64 / f64::from(USERS) / got.seconds();
    assert!((rate / derived.ops_per_user_s - 1.0).abs() < 0.03, "{rate} operations per user and second");
    let per_op = requests as f64 / ended as f64;
    assert!((per_op / derived.requests_per_op - 1.0).abs() < 0.03, "{per_op} requests per operation");
    let sessions = got.ops[ops::LOGIN.index()].count() as f64;
    let session_s = f64::from(USERS) * got.seconds() / sessions;
    assert!((session_s / derived.session_s - 1.0).abs() < 0.05, "sessions of {session_s} s");
}

#[test]
fn a_seed_gives_the_same_users_on_one_worker_and_on_three() {
    let counts = |got: &Interval| got.ops.iter().map(|op| op.count()).collect::<Vec<_>>();
    assert_eq!(counts(&measure(3, 1)), counts(&measure(3, 1)));
    // Users of different workers meet in auctions, where the order of two bids at the same instant is the workers';
    // so what they do agrees in its rates, not to the last bid.
    let (one, three) = (measure(3, 1), measure(3, 3));
    for (a, b) in counts(&one).iter().zip(counts(&three)) {
        assert!(a.abs_diff(b) as f64 <= 0.05 * (*a as f64) + 50.0, "{a} and {b}");
    }
}

#[test]
fn a_poll_that_runs_out_starts_the_user_over_and_is_no_failure() {
    let mut app = None;
    let mut sim = Simulation::new(&settings(4, 1), |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, 30, 4).that_never_changes());
        Auction::new(InProcess::new(app.clone()), 30)
    });
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(Nanos::from_secs(120));
    let polls = &got.ops[ops::GET_NEXT_BID.index()];
    assert!(polls.outcomes[Outcome::Expired.index()] >= 1, "{:?}", polls.outcomes);
    for (i, op) in got.ops.iter().enumerate() {
        assert_eq!(op.failed(), 0, "{} failed: {:?}", ops::ALL[i].name, op.outcomes);
    }
    let logouts = got.ops[ops::LOGOUT.index()].count();
    assert!(
        got.ops[ops::HOME_PAGE.index()].count() > logouts + 1,
        "the user began again without signing out"
    );
}

#[test]
fn every_account_of_a_user_is_its_own() {
    let app_users = 30;
    let mut app = None;
    let mut sim = Simulation::new(&settings(5, 1), |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, app_users, 5));
        Auction::new(InProcess::new(app.clone()), app_users)
    });
    sim.ramp(app_users, Nanos::from_secs(10));
    sim.run(Nanos::from_secs(1_200));
    for (user, accounts) in app.unwrap().accounts_by_user() {
        let UserId(n) = user;
        assert!(
            accounts.iter().all(|a| (a - 1) % i64::from(app_users) == i64::from(n)),
            "user {n}: {accounts:?}"
        );
        assert!(accounts.len() > 1, "user {n} used one account only");
    }
}

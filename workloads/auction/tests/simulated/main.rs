//! The workload in simulated time against the application's own auction rules: hours of load in seconds.

mod following;
mod spreading;

use std::sync::Arc;

use barograph_engine::Settings;
use barograph_engine::sim::Simulation;
use barograph_model::{Nanos, Outcome, UserId};
use barograph_simulated_auction::{Application, InProcess};
use barograph_stats::Interval;
use barograph_workload_auction::{Auction, BidUpdates, ops, profile};

const USERS: u32 = 600;

/// The profiles with their sources of news.
const BOTH: [(&str, BidUpdates); 2] =
    [("official2", BidUpdates::Polled), ("official2-push", BidUpdates::Pushed)];

fn settings(seed: u64, workers: usize) -> Settings {
    Settings {
        workers,
        seed,
        behaviours: Arc::new(profile::behaviours()),
        limits: profile::profile("official2").unwrap().time_limits(ops::ALL.len()),
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::from_secs(1),
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: None,
    }
}

/// Half an hour of load, after the ramp and warm-up of the published phases.
fn measure(seed: u64, workers: usize, news: BidUpdates) -> Interval {
    let mut app = None;
    let mut sim = Simulation::new(&settings(seed, workers), |timer| {
        let app = app.get_or_insert_with(|| Application::new(timer, USERS, seed));
        Auction::new(InProcess::new(app.clone()), USERS).hearing(news)
    });
    sim.ramp(USERS, Nanos::from_secs(240));
    sim.run(Nanos::from_secs(540));
    sim.run(Nanos::from_secs(1_800))
}

#[test]
fn the_measured_mix_is_the_required_one() {
    for (_, news) in BOTH {
        let got = measure(1, 1, news);
        let rules = profile::operations();
        let judged = |i: usize| rules[i].judged;
        let all: u64 = got.ops.iter().enumerate().filter(|(i, _)| judged(*i)).map(|(_, op)| op.count()).sum();
        for (i, (op, rule)) in got.ops.iter().zip(&rules).enumerate() {
            let share = op.count() as f64 / all as f64;
            let (required, name) = (rule.mix.get(), ops::ALL[i].name);
            // Half of a run's tolerance: the rest is for a real application and short windows.
            let allowed = required * rule.mix_tolerance.get() / 2.0;
            assert!(
                (share - required).abs() <= allowed,
                "{news:?}: {name}: {:.3} % instead of {:.3} %",
                share * 100.0,
                required * 100.0
            );
            assert_eq!(op.failed(), 0, "{news:?}: {name} failed");
        }
    }
}

#[test]
fn users_do_as_much_as_the_profile_is_derived_to() {
    for (name, news) in BOTH {
        let got = measure(2, 1, news);
        let derived = profile::profile(name).unwrap().derived.unwrap();
        let ended: u64 = got.ops.iter().map(barograph_stats::OpStats::count).sum();
        let requests: u64 = got.ops.iter().map(|op| op.requests).sum();
        let rate = ended as f64 / f64::from(USERS) / got.seconds();
        assert!(
            (rate / derived.ops_per_user_s - 1.0).abs() < 0.03,
            "{name}: {rate} operations per user and second"
        );
        let per_op = requests as f64 / ended as f64;
        assert!(
            (per_op / derived.requests_per_op - 1.0).abs() < 0.03,
            "{name}: {per_op} requests per operation"
        );
        let sessions = got.ops[ops::LOGIN.index()].count() as f64;
        let session_s = f64::from(USERS) * got.seconds() / sessions;
        assert!((session_s / derived.session_s - 1.0).abs() < 0.05, "{name}: sessions of {session_s} s");
    }
}

/// Bids are nearly always further apart than the duration of a request, so half an hour of 600 users is equal
/// to the last operation; only the requests of the waits differ.
#[test]
fn both_profiles_do_the_same_from_the_same_seed() {
    let (polled, pushed) = (measure(1, 1, BidUpdates::Polled), measure(1, 1, BidUpdates::Pushed));
    let is_wait = |i: usize| i == ops::GET_NEXT_BID.index();
    for (i, (a, b)) in polled.ops.iter().zip(&pushed.ops).enumerate() {
        assert_eq!(a.outcomes, b.outcomes, "{}", ops::ALL[i].name);
        assert!(is_wait(i) || a.requests == b.requests, "{}", ops::ALL[i].name);
    }
    let (waits, joins) = (ops::GET_NEXT_BID.index(), ops::JOIN_AUCTION.index());
    assert_eq!(polled.ops[waits].requests, polled.ops[waits].outcomes.iter().sum::<u64>());
    assert_eq!(pushed.ops[waits].requests, pushed.ops[joins].count(), "one stream per join");
}

#[test]
fn a_seed_gives_the_same_users_on_one_worker_and_on_three() {
    let counts = |got: &Interval| got.ops.iter().map(|op| op.count()).collect::<Vec<_>>();
    assert_eq!(counts(&measure(3, 1, BidUpdates::Polled)), counts(&measure(3, 1, BidUpdates::Polled)));
    // Users of different workers meet in auctions, where the order of two simultaneous bids depends on the
    // workers; so rates agree, not every bit.
    let (one, three) = (measure(3, 1, BidUpdates::Polled), measure(3, 3, BidUpdates::Polled));
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

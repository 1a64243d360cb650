//! Several drivers: each with its share of the workers, together equal to one driver with all of them.

use std::collections::BTreeMap;

use barograph_engine::sim::Simulation;
use barograph_engine::{Settings, WorkerShare};
use barograph_model::{
    Arrivals, Behaviour, Distribution, Nanos, NextOp, OpId, OpenLoop, Outcome, Pace, Share, StartOf, Vector,
};
use barograph_stats::Interval;

use crate::closed::branching;
use crate::target::*;

/// Changes of the load: second, level, and duration.
type Changes<'c> = &'c [(u64, u32, Nanos)];

/// Operations of each user, in order, and the interval of every second.
type DriverLog = (BTreeMap<u32, Vec<u8>>, Vec<Interval>);

/// Answers of 0 to 40 ms, depending on the start time, some of them bad.
fn answer(now: Nanos, op: OpId) -> (Nanos, Outcome) {
    let word = (now.0 / 1_000_000).wrapping_mul(2_654_435_761) >> 7;
    let outcome = if word % 50 == u64::from(op.0) { Outcome::Refused } else { Outcome::Good };
    // Never at the instant of an arrival: the order of simultaneous events is open.
    (Nanos(word % 40_000 * 1_000 + 137), outcome)
}

/// A driver with a share of the workers. Every driver has a clock of its own that shows the same time.
fn driver(settings: &Settings, place: Option<WorkerShare>, changes: Changes<'_>, seconds: u64) -> DriverLog {
    let log: Log = Log::default();
    let mut sim = Simulation::of_driver(settings, place, target(answer, &log));
    let mut intervals = Vec::new();
    for second in 0..seconds {
        for (_, level, over) in changes.iter().filter(|change| change.0 == second) {
            sim.ramp(*level, *over);
        }
        intervals.push(sim.run(ms(1_000)));
    }
    let mut did: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for (user, op) in log.borrow().iter() {
        did.entry(*user).or_default().push(*op);
    }
    (did, intervals)
}

/// Four workers as `count` drivers, merged.
fn drivers(count: usize, settings: &Settings, changes: Changes<'_>, seconds: u64) -> DriverLog {
    let each = Settings { workers: settings.workers / count, ..settings.clone() };
    let (mut did, mut sums): (BTreeMap<u32, Vec<u8>>, Vec<Interval>) = (BTreeMap::new(), Vec::new());
    for nth in 0..count {
        let place = WorkerShare { first: nth * each.workers, total: settings.workers };
        let (users, intervals) = driver(&each, Some(place), changes, seconds);
        for (user, ops) in users {
            assert!(did.insert(user, ops).is_none(), "user {user} belongs to two drivers");
        }
        if sums.is_empty() {
            sums = intervals;
        } else {
            sums.iter_mut().zip(&intervals).for_each(|(sum, other)| sum.add_worker(other));
        }
    }
    (did, sums)
}

fn same(one: &Interval, other: &Interval) {
    let whole = |i: &Interval| (i.from, i.to, i.starts, i.late, i.dropped, i.skipped, i.users);
    assert_eq!(whole(one), whole(other));
    assert_eq!((one.lag.clone(), one.counters), (other.lag.clone(), other.counters));
    // Sums of the same numbers in another order.
    assert!((one.in_flight_s - other.in_flight_s).abs() < 1e-9);
    for (a, b) in one.ops.iter().zip(&other.ops) {
        assert_eq!((&a.response, &a.service), (&b.response, &b.service));
        assert_eq!((a.outcomes, a.requests), (b.outcomes, b.requests));
        assert_eq!((a.over_limit, a.good_in_time), (b.over_limit, b.good_in_time));
        assert!((a.response_sum_s - b.response_sum_s).abs() < 1e-9);
        assert!((a.service_sum_s - b.service_sum_s).abs() < 1e-9);
    }
}

fn alike(settings: &Settings, changes: Changes<'_>, seconds: u64) {
    let (did, intervals) = driver(settings, None, changes, seconds);
    let ended: u64 = intervals.iter().flat_map(|i| &i.ops).map(|op| op.count()).sum();
    assert!(did.len() > 8 && ended > 500, "{} users, {ended} operations", did.len());
    for count in [2, 4] {
        let (also, merged) = drivers(count, settings, changes, seconds);
        assert!(did == also, "choice by choice with {count} drivers");
        assert_eq!(intervals.len(), merged.len());
        intervals.iter().zip(&merged).for_each(|(one, other)| same(one, other));
    }
}

#[test]
fn drivers_share_users_that_make_the_choices_they_would_make_with_one() {
    let changes = [(0, 40, ms(3_000)), (12, 15, ms(1_000)), (18, 33, Nanos::ZERO)];
    let mut all = settings(branching(), 4);
    all.limits[0] = Some(ms(30)).into();
    alike(&all, &changes, 30);
}

#[test]
fn drivers_share_the_arrivals_of_an_open_loop() {
    let changes = [(0, 200, ms(2_000)), (8, 900, Nanos::ZERO), (12, 50, ms(500))];
    // Bursts of two hundred, each closer together than the one before.
    let burst = |n: u64| ms(n / 200 * 1_300) + Nanos(n % 200 * (6_000_000 - n / 200 * 350_000));
    let trace: Vec<Nanos> = (0..3_000).map(burst).collect();
    assert!(trace.is_sorted());
    for arrivals in [Arrivals::Constant, Arrivals::Poisson, Arrivals::Trace(trace.into())] {
        // Few users, so that some arrivals wait and some are dropped.
        let open = OpenLoop { arrivals, start_of: StartOf::Operation, most_users: 14, most_waiting: 9 };
        let mut all = settings(plain(Pace::AtOnce), 4);
        all.open = Some(open);
        alike(&all, &changes, 20);
    }
}

#[test]
fn drivers_share_sessions_that_arrive() {
    let pace = Pace::Think(Distribution::Exponential { mean: ms(20), max: ms(200) });
    let half = Share::percent(50.0);
    let vector = NextOp::Vector(Vector::new(vec![(WORK, half), (WATCH, half)]).unwrap());
    let next = vec![Some(vector), None, Some(NextOp::EndSession { first: WORK })];
    let main = Behaviour { name: "main", first: WORK, next, pace };
    let open =
        OpenLoop { arrivals: Arrivals::Poisson, start_of: StartOf::Session, most_users: 12, most_waiting: 5 };
    let mut all = settings(vec![main], 4);
    all.open = Some(open);
    alike(&all, &[(0, 100, Nanos::ZERO)], 20);
}

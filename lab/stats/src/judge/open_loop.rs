//! The checks of an open loop, and rules without shares or limits: silent on a clean window, loud on a planted fault.

use std::collections::BTreeMap;

use barograph_model::{
    Arrivals, Check, Level, LoadUnit, Nanos, OfferedLoad, OpenLoop, Outcome, Share, StartOf, TrialResult,
};
use rand::{RngExt, SeedableRng};

use super::testing::{Window, add};
use crate::OpStats;

fn open(arrivals: Arrivals) -> Option<OpenLoop> {
    Some(OpenLoop { arrivals, start_of: StartOf::Operation, most_users: 100, most_waiting: 10 })
}

/// A clean window in which exactly 100 operations start in each second, as asked.
fn clean(arrivals: Arrivals) -> Window {
    let mut window = Window::clean(21);
    window.offered = OfferedLoad { unit: LoadUnit::PerSecond, level: 100.into() };
    window.open = open(arrivals);
    for part in &mut window.parts {
        part.starts = 100;
        // Users come and go with the work in an open loop.
        part.users = part.ops[0].count() as u32;
    }
    window
}

fn starts(window: &mut Window, per_second: u64) {
    window.parts.iter_mut().for_each(|part| part.starts = per_second);
}

fn check(window: &Window, name: &str) -> Check {
    window.judge().checks.into_iter().find(|c| c.id.name() == name).unwrap()
}

/// Makes the first operation slow: by service time or, where that is short, by waiting in the driver.
fn slow(window: &mut Window, service_s: f64, response_s: f64) {
    for part in &mut window.parts {
        part.ops[0] = OpStats::default();
        for _ in 0..60 {
            add(part, 0, service_s);
        }
        let stats = &mut part.ops[0];
        stats.response.clear();
        stats.response.record_n((response_s * 1e6) as u64, 60).unwrap();
        stats.over_limit = if response_s > 2.0 { 60 } else { 0 };
        part.starts = 90;
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
}

#[test]
fn a_rate_that_was_offered_is_believed() {
    let window = clean(Arrivals::Constant);
    let verdict = window.judge();
    assert_eq!((window.faults(), verdict.result()), (vec![], TrialResult::Pass));
    assert_eq!((verdict.starts_s, verdict.late, verdict.dropped), (100.0, 0, 0));
    let rate = check(&window, "offered rate");
    assert_eq!((rate.found().as_str(), rate.allowed().as_str()), ("100.0 starts/s", "100 within 1.0 %"));
    assert!(!verdict.checks.iter().any(|c| c.id.name() == "users present"), "users are no load here");
}

#[test]
fn a_rate_that_was_not_offered_is_flagged() {
    for wrong in [98, 102] {
        let mut window = clean(Arrivals::Constant);
        starts(&mut window, wrong);
        assert_eq!(window.faults(), ["offered rate"], "{wrong} starts/s");
        starts(&mut window, 99 + u64::from(wrong > 100) * 2);
        assert_eq!(window.faults(), [""; 0], "one in a hundred is within the tolerance");
    }
}

#[test]
fn chance_has_its_room_where_arrivals_are_independent() {
    // 6,000 expected: 3.29 standard deviations and 2 starts are 4.3 %.
    let mut window = clean(Arrivals::Poisson);
    starts(&mut window, 104);
    assert_eq!(window.faults(), [""; 0]);
    assert_eq!(check(&window, "offered rate").allowed(), "100 within 4.3 %");
    starts(&mut window, 105);
    assert_eq!(window.faults(), ["offered rate"]);
}

/// A window with these starts in its seconds, each answered after 100 ms.
fn few(arrivals: Arrivals, rate: f64, starts: &[u64]) -> Window {
    let mut window = clean(arrivals);
    window.offered.level = Level::new(rate).unwrap();
    window.parts.truncate(starts.len());
    for (part, starts) in window.parts.iter_mut().zip(starts) {
        (part.starts, part.users) = (0, 1);
        part.ops.iter_mut().for_each(|op| *op = OpStats::default());
        (0..*starts).for_each(|_| add(part, 0, 0.1));
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    window
}

/// Starts at equal distances in each of some seconds, the first after a part of a distance.
fn evenly(rate: f64, seconds: usize, after: f64) -> Vec<u64> {
    let mut starts = vec![0; seconds];
    let instants = (0..).map(|n| (f64::from(n) + after) / rate).map(|at| at as usize);
    instants.take_while(|at| *at < seconds).for_each(|at| starts[at] += 1);
    starts
}

#[test]
fn a_rate_below_one_is_believed_wherever_its_starts_fall() {
    for rate in [0.05, 0.1, 0.3, 0.5, 0.9, 1.5, 2.5, 7.5] {
        for (seconds, after) in [(10, 0.0), (10, 0.7), (20, 0.3), (60, 0.0), (60, 0.999)] {
            let starts = evenly(rate, seconds, after);
            if starts.iter().sum::<u64>() == 0 {
                continue;
            }
            let window = few(Arrivals::Constant, rate, &starts);
            assert_eq!(window.faults(), Vec::<String>::new(), "{rate} starts/s, {starts:?}");
        }
    }
    let window = few(Arrivals::Constant, 0.5, &evenly(0.5, 10, 0.0));
    let rate = check(&window, "offered rate");
    assert_eq!([rate.found(), rate.allowed()], ["0.500 starts/s", "0.5 within 40.0 %"]);
    // Three starts fewer than five are not due to the edges.
    let wrong = few(Arrivals::Constant, 0.5, &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    assert!(!check(&wrong, "offered rate").ok, "{:?}", wrong.faults());
}

#[test]
fn few_independent_arrivals_are_believed_in_all_but_one_of_a_thousand_windows() {
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
    for rate in [0.01, 0.05, 0.1, 0.5, 2.0] {
        let mut windows: BTreeMap<u64, u32> = BTreeMap::new();
        for _ in 0..2_000 {
            let mut distance = || -rng.random::<f64>().ln() / rate;
            let arrivals = std::iter::successors(Some(distance()), |at| Some(at + distance()));
            *windows.entry(arrivals.take_while(|at| *at < 10.0).count() as u64).or_default() += 1;
        }
        let is_wrong = |starts: u64| {
            let mut seconds = [0; 10];
            seconds[3] = starts;
            !check(&few(Arrivals::Poisson, rate, &seconds), "offered rate").ok
        };
        let wrong: u32 = windows.iter().filter(|(starts, _)| is_wrong(**starts)).map(|(_, n)| n).sum();
        // 2 are expected at the most.
        assert!(wrong <= 6, "{wrong} of 2,000 at {rate} starts/s");
    }
}

#[test]
fn what_has_no_rate_is_not_held_against_one() {
    let mut trace = clean(Arrivals::Trace([Nanos::ZERO].into()));
    starts(&mut trace, 7);
    let mut sessions = clean(Arrivals::Constant);
    sessions.open = sessions.open.map(|open| OpenLoop { start_of: StartOf::Session, ..open });
    starts(&mut sessions, 700);
    for mut window in [trace, sessions] {
        assert_eq!(window.faults(), [""; 0]);
        window.parts[3].dropped = 1;
        assert_eq!(window.faults(), ["driver bound"]);
    }
}

#[test]
fn dropped_arrivals_are_flagged_and_late_ones_are_shown() {
    let mut window = clean(Arrivals::Constant);
    window.parts[7].late = 1_234;
    assert_eq!(window.faults(), [""; 0]);
    assert_eq!(check(&window, "offered rate").found(), "100.0 starts/s, 1,234 arrivals late");
    window.parts[8].dropped = 17;
    assert_eq!((window.faults(), window.result()), (vec!["driver bound"], TrialResult::Invalid));
    let bound = check(&window, "driver bound");
    assert_eq!(bound.found(), "17 arrivals dropped");
    assert_eq!(bound.allowed(), "none; raise load.most_users or load.most_waiting");
}

#[test]
fn a_target_too_slow_by_service_time_alone_fails_and_is_not_disbelieved() {
    let mut window = clean(Arrivals::Constant);
    slow(&mut window, 2.5, 9.0);
    window.parts[8].dropped = 17;
    assert_eq!((window.faults(), window.result()), (vec![], TrialResult::Fail));
    assert!(
        check(&window, "offered rate").found().ends_with("; by service time alone the target is too slow")
    );
    // The same response times from waiting in the driver say nothing about the target.
    slow(&mut window, 0.5, 9.0);
    assert_eq!(window.faults(), ["offered rate", "driver bound"]);
    assert_eq!(window.result(), TrialResult::Invalid);
}

#[test]
fn a_load_of_a_number_of_operations_has_no_steady_state_to_hold() {
    let mut window = clean(Arrivals::Constant);
    window.operations = Some(6_000);
    starts(&mut window, 7);
    window.parts[30..].iter_mut().for_each(|part| part.ops[0] = OpStats::default());
    window.parts.iter_mut().for_each(|part| {
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    });
    let names: Vec<&str> = window.judge().checks.iter().map(|check| check.id.name()).collect();
    assert_eq!(window.faults(), Vec::<String>::new());
    let of_the_driver = ["driver start lag", "busiest driver worker", "driver bound"];
    assert_eq!(names[..3], of_the_driver);
    assert_eq!(names[3..], ["driver's own failures", "Little's law", "clock"]);
}

#[test]
fn a_change_of_the_load_is_flagged() {
    let mut window = Window::clean(22);
    assert_eq!(window.faults(), [""; 0]);
    window.level_changes = 1;
    assert_eq!(window.faults(), ["constant load"]);
}

#[test]
fn without_limits_start_lag_is_held_against_response_times() {
    let mut window = Window::clean(23);
    window.qos.iter_mut().for_each(|rule| rule.limit = None);
    assert_eq!(window.faults(), [""; 0], "1 ms of lag is always allowed");
    window.parts.iter_mut().for_each(|part| part.lag.record_n(5_000, 2).unwrap());
    // The long poll takes up to 6 s, so a tenth of the p99 of all judged operations is far more than 5 ms.
    assert_eq!(window.faults(), [""; 0]);
    window.qos[1].judged = false;
    window.parts.iter_mut().for_each(|part| part.lag.record_n(50_000, 2).unwrap());
    assert_eq!(window.faults(), ["driver start lag"], "{:?}", check(&window, "driver start lag"));
    assert_eq!(
        check(&window, "driver start lag").allowed(),
        "at most 14.9 ms, as no response time is limited"
    );
}

#[test]
fn without_a_required_share_an_operation_may_be_absent() {
    let mut window = Window::clean(24);
    window.qos.iter_mut().for_each(|rule| rule.mix = Share::ZERO);
    for part in &mut window.parts {
        part.ops[1] = OpStats::default();
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    let verdict = window.judge();
    assert!(verdict.ops[1].passed() && verdict.ops[1].count == 0 && verdict.ops[1].judged);
    assert_eq!((window.faults(), verdict.result()), (vec![], TrialResult::Pass));
    // A window without judged operations passes nothing.
    for part in &mut window.parts {
        part.ops[0] = OpStats::default();
    }
    let verdict = window.judge();
    assert!(!verdict.ops[0].passed() && !verdict.ops[1].passed() && verdict.ops[2].passed());
}

#[test]
fn failures_are_judged_without_limits_and_shares() {
    let mut window = Window::clean(25);
    for rule in &mut window.qos {
        (rule.mix, rule.limit, rule.failures) = (Share::ZERO, None, Share::percent(1.0));
    }
    assert_eq!(window.result(), TrialResult::Pass);
    let outcomes = &mut window.parts[10].ops[0].outcomes;
    let turned = outcomes[Outcome::Good.index()];
    outcomes[Outcome::Good.index()] = 0;
    outcomes[Outcome::Refused.index()] = turned;
    assert_eq!(window.result(), TrialResult::Fail);
}

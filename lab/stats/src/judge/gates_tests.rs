//! Checks of users, failures and host: silent on a clean window, loud on a planted fault. `cargo xtask
//! simulate gates` measures them on windows made by the engine.

use barograph_model::{
    Arrivals, Behaviour, Behaviours, Distribution, LoadUnit, MissedBeats, Nanos, NextOp, OpId, OpenLoop,
    Outcome, Pace, Share, StartOf, TrialResult, Waits,
};

use super::testing::{Window, add};
use crate::OpStats;

/// The first operation is the main activity, the second goes on beside it.
fn behaviours(pace: Pace) -> Behaviours {
    let always = |op: u8| {
        let mut next = vec![None; 3];
        next[usize::from(op)] = Some(NextOp::Op(OpId(op)));
        next
    };
    let main = Behaviour { name: "main", first: OpId(0), next: always(0), pace };
    let beside = Behaviour { name: "waiting", first: OpId(1), next: always(1), pace: Pace::AtOnce };
    Behaviours::new(vec![main, beside]).unwrap()
}

/// Pace of a thousand users that begin 60 operations a second, each of which takes a tenth of a second.
fn every(seconds: f64) -> Distribution {
    Distribution::Constant(Nanos::from_secs_f64(seconds))
}

/// A wait before and a longer one after the operation of the main activity.
fn by_operation(seconds: f64) -> Pace {
    Pace::ByOperation(vec![Waits {
        before: Nanos::from_secs_f64(seconds / 4.0),
        after: every(seconds * 0.75),
    }])
}

#[test]
fn a_pace_is_kept_from_start_to_start_and_from_answer_to_start() {
    let cycle = 1_000.0 / 60.0;
    for (pace, kept) in [
        (Pace::Cycle(every(cycle)), true),
        (Pace::CycleByOperation(vec![every(cycle), every(1.0)]), true),
        (Pace::CycleByOperation(vec![every(cycle * 0.9), every(cycle)]), false),
        (Pace::Think(every(cycle - 0.1)), true),
        (Pace::Beat { every: Nanos::from_secs_f64(cycle), missed: MissedBeats::Skip }, true),
        (Pace::Beat { every: Nanos::from_secs_f64(cycle), missed: MissedBeats::Beside { most: 4 } }, true),
        (
            Pace::Beat { every: Nanos::from_secs_f64(cycle * 1.1), missed: MissedBeats::Beside { most: 4 } },
            false,
        ),
        (Pace::Cycle(every(cycle * 1.1)), false),
        (Pace::Cycle(every(cycle * 0.9)), false),
        (Pace::Think(every(cycle * 0.9)), false),
        (by_operation(cycle - 0.1), true),
        (by_operation(cycle * 0.9), false),
        (Pace::AtOnce, true),
    ] {
        let mut window = Window::clean(30);
        window.behaviours = Some(behaviours(pace.clone()));
        let expected: &[&str] = if kept { &[] } else { &["pacing"] };
        assert_eq!(window.faults(), expected, "{pace:?}");
    }
}

#[test]
fn a_slow_target_does_not_break_the_pace() {
    let mut window = Window::clean(31);
    for part in &mut window.parts {
        part.ops[0] = OpStats::default();
        // Users that start every 5 s, whose operations take 12 s: one every 12 s.
        for _ in 0..83 {
            add(part, 0, 12.0);
        }
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    window.behaviours = Some(behaviours(Pace::Cycle(every(5.0))));
    assert_eq!((window.faults(), window.result()), (vec![], TrialResult::Fail));
}

#[test]
fn a_rate_that_moves_through_the_window_is_flagged_though_its_mean_is_right() {
    let mut window = Window::clean(32);
    window.offered.unit = LoadUnit::PerSecond;
    window.offered.level = 100.into();
    window.open = Some(OpenLoop {
        arrivals: Arrivals::Constant,
        start_of: StartOf::Operation,
        most_users: 1_000,
        most_waiting: 1_000,
    });
    window.parts.iter_mut().for_each(|part| part.starts = 100);
    assert_eq!(window.faults(), [""; 0]);
    for (second, part) in window.parts.iter_mut().enumerate() {
        part.starts = if second < 30 { 95 } else { 105 };
    }
    assert_eq!(window.faults(), ["pacing"]);
}

#[test]
fn a_mix_that_changes_is_flagged_unless_the_window_fails_anyway() {
    let changed = |slow: bool| {
        let mut window = Window::clean(33);
        window.qos.iter_mut().for_each(|rule| rule.mix = Share::ZERO);
        for part in window.parts.iter_mut().skip(40) {
            let moved = 12;
            part.ops[1] = OpStats::default();
            for _ in 0..40 - moved {
                add(part, 1, 5.0);
            }
            for _ in 0..moved {
                add(part, 0, if slow { 3.0 } else { 0.1 });
            }
            part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
        }
        window
    };
    let faults = changed(false).faults();
    assert!(faults.contains(&"steady mix"), "{faults:?}");
    let verdict = changed(true).judge();
    let mix = verdict.checks.iter().find(|check| check.id.name() == "steady mix").unwrap();
    assert!(mix.ok && mix.found().ends_with("the window fails anyway"), "{mix:?}");
    assert!(mix.found().contains("in the last third"), "{mix:?}");
}

/// Turns `number` good operations of every second into failures.
fn fail(window: &mut Window, seconds: std::ops::Range<usize>, number: u64, outcome: Outcome) {
    for part in &mut window.parts[seconds] {
        let outcomes = &mut part.ops[0].outcomes;
        outcomes[Outcome::Good.index()] -= number;
        outcomes[outcome.index()] += number;
    }
}

#[test]
fn failures_that_change_their_kind_are_flagged() {
    let mut window = Window::clean(34);
    window.qos[0].failures = Share::percent(5.0);
    fail(&mut window, 0..40, 1, Outcome::Refused);
    fail(&mut window, 40..60, 1, Outcome::Broken);
    assert_eq!(window.faults(), ["error mix"]);
    let mut same = Window::clean(34);
    same.qos[0].failures = Share::percent(5.0);
    fail(&mut same, 0..60, 1, Outcome::Refused);
    fail(&mut same, 0..60, 1, Outcome::Broken);
    assert_eq!(same.faults(), [""; 0]);
    let mut hopeless = Window::clean(34);
    fail(&mut hopeless, 0..40, 5, Outcome::TimedOut);
    fail(&mut hopeless, 40..60, 5, Outcome::Refused);
    assert_eq!((hopeless.faults(), hopeless.result()), (vec![], TrialResult::Fail));
}

#[test]
fn one_failure_of_the_driver_is_one_too_many() {
    let mut window = Window::clean(35);
    fail(&mut window, 30..31, 1, Outcome::DriverFault);
    assert_eq!(window.faults(), ["driver's own failures"]);
    assert_eq!(window.judge().ops[0].failed, 1, "it is a failure all the same");
}

#[test]
fn long_operations_over_the_edges_of_a_short_window_keep_littles_law() {
    let mut window = Window::clean(36);
    for (second, part) in window.parts.iter_mut().enumerate() {
        part.ops.iter_mut().for_each(|op| *op = OpStats::default());
        // Three polls of 40 s are in flight all the time; four of them happen to end in this minute.
        part.in_flight_s = 3.0;
        part.aged_s = 3.0;
        if second % 15 == 7 {
            add(part, 1, 40.0);
            part.aged_s -= 40.0;
        }
    }
    let little = window.judge().checks.into_iter().find(|check| check.id.name() == "Little's law").unwrap();
    assert!(little.ok, "{little:?}");
    assert_eq!(
        little.found(),
        "3.00 in flight, throughput x service time 2.67, over the edges 0.33: 0.0 % apart"
    );
    // Without counting those over the edges, the check fails.
    window.parts.iter_mut().for_each(|part| part.aged_s = 0.0);
    assert_eq!(window.faults().iter().filter(|fault| **fault == "Little's law").count(), 1);
}

/// A window in which operations take `seconds` for a third of the time, and 0.1 s in the rest.
fn with_a_stretch_of(seconds: f64) -> Window {
    let mut window = Window::clean(37);
    for part in &mut window.parts[20..40] {
        part.ops[0] = OpStats::default();
        for _ in 0..60 {
            add(part, 0, seconds);
        }
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    window
}

/// Matters from 1 % of the limit of 2 s on, by which it moves the mean; both are more than 10 % of that.
#[test]
fn a_stretch_that_is_far_below_every_limit_is_left_alone() {
    assert_eq!(with_a_stretch_of(0.1 + 3.0 * 0.014).faults(), [""; 0]);
    assert_eq!(with_a_stretch_of(0.1 + 3.0 * 0.026).faults(), ["steady state"]);
}

#[test]
fn a_stretch_apart_is_no_steady_state() {
    let window = with_a_stretch_of(1.0);
    let verdict = window.judge();
    assert!(verdict.passed());
    assert_eq!(window.faults(), ["steady state"]);
    let check = verdict.checks.iter().find(|check| check.id.name() == "steady state").unwrap();
    assert!(check.found().starts_with("from 20 s to 40 s mean response time was "), "{}", check.found());
    assert!(check.found().ends_with(" % above that of the rest"), "{}", check.found());
    let allowed =
        "no stretch that moves the mean by more than 10 %, of response time by more than 20 ms besides";
    assert_eq!(check.allowed(), allowed);
}

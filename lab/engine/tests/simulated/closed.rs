//! Closed loops: users that wait for their answers.

use std::cell::RefCell;
use std::rc::Rc;

use barograph_engine::Settings;
use barograph_model::{
    Behaviour, ChooserId, Distribution, MissedBeats, Nanos, NextOp, OpId, Outcome, Pace, Share, TimeLimits,
    Vector, Waits,
};
use barograph_stats::Interval;

use crate::target::*;

#[test]
fn constant_delay_gives_that_delay_and_no_lag() {
    let (mut sim, _) = simulate(&settings(plain(cycle(100)), 1), |_, _| (ms(20), Outcome::Good));
    sim.ramp(10, Nanos::ZERO);
    let got = sim.run(ms(10_000));
    let op = &got.ops[0];
    // 10 users, a start every 100 ms from 0 to 10,000 inclusive; the 10 starts at 10,000 have not ended.
    assert_eq!(got.starts, 10 * 101);
    assert_eq!(op.count(), 10 * 100);
    assert!(op.response.equivalent(op.response.min(), op.response.max()), "every answer took the same time");
    assert_eq!(op.requests, 1_000);
    close_to(quantile_ms(&op.response, 0.5), 20.0);
    close_to(quantile_ms(&op.service, 0.99), 20.0);
    assert_eq!(got.lag.max(), 0);
    // Little's law, exactly: 10 users x 20 ms of every 100 ms.
    close_to(got.in_flight_s / got.seconds(), 2.0);
    close_to(op.service_sum_s, 20.0);
    close_to(op.response_sum_s, 20.0);
}

#[test]
fn one_stall_is_charged_to_every_operation_that_was_due_in_it() {
    // Operations begun between 2.0 s and 3.0 s are answered at 3.0 s; others after 1 ms.
    let stall = |now: Nanos, _| {
        let delay = if (ms(2_000)..ms(3_000)).contains(&now) { ms(3_000) - now } else { ms(1) };
        (delay, Outcome::Good)
    };
    let (mut sim, _) = simulate(&settings(plain(cycle(100)), 1), stall);
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(10_000));
    let op = &got.ops[0];
    // The operation due at 2.0 s is answered at 3.0 s: 1 s. A closed loop then starts the next at once, and
    // the cycle continues from there, so exactly one operation saw the stall.
    close_to(op.response.max() as f64 / 1e3, 1_000.0);
    assert_eq!(op.over_limit, 1);
    assert_eq!(op.count(), 91);
    assert_eq!(got.lag.max(), 0);
}

#[test]
fn counters_are_raised_when_an_operation_ends() {
    // Begun at 0, 2 s and so on; each takes 1.5 s and so ends in the second after its start.
    let (mut sim, _) = simulate(&settings(plain(cycle(2_000)), 1), |_, _| (ms(1_500), Outcome::Refused));
    sim.ramp(3, Nanos::ZERO);
    let seconds: Vec<Interval> = (0..4).map(|_| sim.run(ms(1_000))).collect();
    let counted = |counter| seconds.iter().map(|second| second.counters.get(counter)).collect::<Vec<_>>();
    assert_eq!((counted(ASKED), counted(WAITED_MS)), (vec![0, 3, 0, 3], vec![0, 4_500, 0, 4_500]));
    let all = Interval::joined(&seconds).unwrap();
    assert_eq!((all.counters.get(ASKED), all.counters.get(WAITED_MS)), (6, 9_000));
}

#[test]
fn what_a_timed_out_operation_counted_stays_counted() {
    let (mut sim, _) = simulate(&settings(plain(cycle(1_000)), 1), |_, _| (ms(20_000), Outcome::Good));
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(10_500));
    assert_eq!(got.ops[0].outcomes[Outcome::TimedOut.index()], 1);
    assert_eq!((got.counters.get(ASKED), got.counters.get(WAITED_MS)), (1, 0));
}

#[test]
fn slow_start_ends_where_it_ends() {
    let (mut sim, _) = simulate(&settings(plain(cycle(1_000)), 1), |now, _| {
        (if now < ms(5_000) { ms(600) } else { ms(10) }, Outcome::Good)
    });
    sim.ramp(4, Nanos::ZERO);
    let slow = sim.run(ms(4_999));
    let fast = sim.run(ms(5_000));
    assert_eq!((slow.ops[0].count(), slow.ops[0].over_limit, slow.ops[0].good_in_time), (4 * 5, 4 * 5, 0));
    assert_eq!((fast.ops[0].count(), fast.ops[0].over_limit), (4 * 5, 0));
    assert_eq!(fast.ops[0].good_in_time, 4 * 5);
}

#[test]
fn an_error_burst_is_counted_by_its_kind_and_nothing_else_changes() {
    let (mut sim, _) = simulate(&settings(plain(cycle(100)), 1), |now, _| {
        let burst = (ms(1_000)..ms(2_000)).contains(&now);
        (ms(5), if burst { Outcome::Refused } else { Outcome::Good })
    });
    sim.ramp(2, Nanos::ZERO);
    let got = sim.run(ms(3_050));
    let op = &got.ops[0];
    assert_eq!(op.outcomes[Outcome::Refused.index()], 2 * 10);
    assert_eq!(op.outcomes[Outcome::Good.index()], 2 * 21);
    assert_eq!(op.failed(), 20);
}

#[test]
fn a_late_answer_starts_the_next_cycle_at_once() {
    // Answers take 150 ms, the cycle is 100 ms: the user is never idle, 1 operation per 150 ms.
    let (mut sim, _) = simulate(&settings(plain(cycle(100)), 1), |_, _| (ms(150), Outcome::Good));
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(1_500));
    assert_eq!(got.ops[0].count(), 10);
    assert_eq!(got.lag.max(), 0);
}

#[test]
fn think_time_counts_from_the_answer() {
    let think = Pace::Think(Distribution::Constant(ms(80)));
    let (mut sim, _) = simulate(&settings(plain(think), 1), |_, _| (ms(20), Outcome::Good));
    sim.ramp(1, Nanos::ZERO);
    assert_eq!(sim.run(ms(999)).ops[0].count(), 10);
}

#[test]
fn waits_are_those_after_one_operation_and_before_the_next() {
    let waits = |before, after| Waits { before: ms(before), after: Distribution::Constant(ms(after)) };
    let pace = Pace::ByOperation(vec![waits(100, 20), waits(0, 0), waits(3, 50)]);
    let next = vec![Some(NextOp::Op(WATCH)), None, Some(NextOp::Op(WORK))];
    let main = Behaviour { name: "main", first: WORK, next, pace };
    let starts = Rc::<RefCell<Vec<u64>>>::default();
    let begun = Rc::clone(&starts);
    let (mut sim, _) = simulate(&settings(vec![main], 1), move |now, _| {
        begun.borrow_mut().push(now.0 / 1_000_000);
        (ms(10), Outcome::Good)
    });
    sim.ramp(1, Nanos::ZERO);
    sim.run(ms(400));
    // Answers take 10 ms; 20 + 3 are before the second operation, 50 + 100 before the first.
    assert_eq!(*starts.borrow(), [0, 33, 193, 226, 386]);
}

#[test]
fn a_cycle_by_operation_is_that_of_the_one_that_started_first() {
    let cycle = |time| Distribution::Constant(ms(time));
    let pace = Pace::CycleByOperation(vec![cycle(100), cycle(0), cycle(30)]);
    let next = vec![Some(NextOp::Op(WATCH)), None, Some(NextOp::Op(WORK))];
    let main = Behaviour { name: "main", first: WORK, next, pace };
    let starts = Rc::<RefCell<Vec<u64>>>::default();
    let begun = Rc::clone(&starts);
    let (mut sim, _) = simulate(&settings(vec![main], 1), move |now, op| {
        begun.borrow_mut().push(now.0 / 1_000_000);
        (ms(if op == WATCH { 50 } else { 10 }), Outcome::Good)
    });
    sim.ramp(1, Nanos::ZERO);
    sim.run(ms(420));
    // The answer of the second operation comes after its cycle: the next start is at once.
    assert_eq!(*starts.borrow(), [0, 100, 150, 250, 300, 400]);
}

#[test]
fn without_an_answer_an_operation_times_out_and_the_user_goes_on() {
    let (mut sim, _) = simulate(&settings(plain(cycle(1_000)), 1), |now, _| {
        (if now < ms(1) { Nanos::from_secs(3_600) } else { ms(5) }, Outcome::Good)
    });
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(12_500));
    let op = &got.ops[0];
    assert_eq!(op.outcomes[Outcome::TimedOut.index()], 1);
    close_to(op.response.max() as f64 / 1e3, 10_000.0);
    assert_eq!(op.outcomes[Outcome::Good.index()], 3);
}

#[test]
fn an_answer_after_its_time_is_late_and_what_hangs_is_given_up_soon() {
    let short = |timeout| Settings { timeout, ..settings(plain(cycle(1_000)), 1) };
    for (timeout, takes, outcome, most) in [
        (ms(100), ms(99), Outcome::Good, ms(99)),
        (ms(100), ms(105), Outcome::TimedOut, ms(105)),
        (ms(100), Nanos::from_secs(3_600), Outcome::TimedOut, ms(110)),
        (ms(1_500), ms(1_510), Outcome::TimedOut, ms(1_510)),
        (ms(20), Nanos::from_secs(3_600), Outcome::TimedOut, ms(25)),
    ] {
        let (mut sim, _) = simulate(&short(timeout), move |_, _| (takes, Outcome::Good));
        sim.ramp(1, Nanos::ZERO);
        let op = &sim.run(ms(8_900)).ops[0];
        assert_eq!(op.outcomes[outcome.index()], op.count(), "{takes:?} within {timeout:?}");
        assert!(op.count() > 0 && op.response.max() as f64 / 1e3 <= most.as_secs_f64() * 1_001.0);
    }
}

#[test]
fn the_pause_after_a_failure_is_a_setting() {
    for (pause, outcome, count) in [
        (ms(1_000), Outcome::Refused, 1),
        (ms(90), Outcome::Refused, 10),
        (Nanos::ZERO, Outcome::Refused, 100),
        (ms(1_000), Outcome::Good, 100),
    ] {
        let settings = Settings { pause_after_failure: pause, ..settings(plain(Pace::AtOnce), 1) };
        let (mut sim, _) = simulate(&settings, move |_, _| (ms(10), outcome));
        sim.ramp(1, Nanos::ZERO);
        assert_eq!(sim.run(ms(1_000)).ops[0].count(), count, "{outcome:?} and {pause:?}");
    }
}

/// A main behaviour that starts a follower, which watches repeatedly without pause.
fn with_follower() -> Vec<Behaviour> {
    let mut next = vec![Some(NextOp::Op(OTHER)), Some(NextOp::EndSession { first: WORK }), None];
    let main = Behaviour { name: "main", first: WORK, next: next.clone(), pace: cycle(1_000) };
    next[2] = Some(NextOp::Op(WATCH));
    vec![main, Behaviour { name: "follow", first: WATCH, next, pace: Pace::AtOnce }]
}

#[test]
fn a_follower_runs_beside_the_main_behaviour_until_the_user_stops() {
    let (mut sim, _) = simulate(&settings(with_follower(), 1), |_, op| {
        (if op == WATCH { ms(300) } else { ms(1) }, Outcome::Good)
    });
    sim.ramp(1, Nanos::ZERO);
    // The follower starts at 1.001 s: watches end at 1.301, 1.601, 1.901.
    let got = sim.run(ms(2_000));
    assert_eq!(got.ops[WATCH.index()].count(), 3);
    sim.ramp(0, Nanos::ZERO);
    let end = sim.run(ms(5_000));
    assert_eq!(end.ops[WATCH.index()].outcomes[Outcome::Cancelled.index()], 1);
    assert_eq!(end.ops[WATCH.index()].count(), 0);
    assert_eq!(sim.run(ms(5_000)).starts, 0);
}

#[test]
fn an_expired_wait_starts_the_user_over_at_once() {
    // Work, Other (starts the follower), Third, Work, ...; the follower's wait expires while the main
    // behaviour waits for Third.
    let third = OpId(3);
    let mut next = vec![Some(NextOp::Op(OTHER)), Some(NextOp::Op(third)), None, Some(NextOp::Op(WORK))];
    let main = Behaviour { name: "main", first: WORK, next: next.clone(), pace: cycle(1_000) };
    next[2] = Some(NextOp::Op(WATCH));
    let follow = Behaviour { name: "follow", first: WATCH, next, pace: Pace::AtOnce };
    let mut settings = settings(vec![main, follow], 1);
    settings.limits.push(TimeLimits::default());
    let (mut sim, log) =
        simulate(
            &settings,
            |_, op| {
                if op == WATCH { (ms(300), Outcome::Expired) } else { (ms(1), Outcome::Good) }
            },
        );
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(3_500));
    // The wait from 1.001 s to 1.301 s resets the user: at 2 s it begins again, without the step that was
    // next, and the follower that requested it is gone.
    let ops: Vec<u8> = log.borrow().iter().map(|(_, op)| *op).collect();
    assert_eq!(ops, [WORK.0, OTHER.0, WATCH.0, WORK.0, OTHER.0, WATCH.0]);
    assert_eq!(got.ops.iter().map(barograph_stats::OpStats::failed).sum::<u64>(), 0);
}

/// Vectors and choosers together.
pub(crate) fn branching() -> Vec<Behaviour> {
    let half = Share::percent(50.0);
    let vector = NextOp::Vector(Vector::new(vec![(WORK, half), (WATCH, half)]).unwrap());
    let choose = NextOp::Choose { chooser: ChooserId(0), branches: vec![NextOp::Op(WORK), vector.clone()] };
    let pace =
        Pace::Cycle(Distribution::TruncatedNormal { mean: ms(500), sd: ms(100), min: ms(250), max: ms(750) });
    vec![Behaviour { name: "main", first: WORK, next: vec![Some(choose), None, Some(vector)], pace }]
}

fn choices_by_user(workers: usize) -> Vec<Vec<u8>> {
    let (mut sim, log) = simulate(&settings(branching(), workers), |_, _| (ms(1), Outcome::Good));
    sim.ramp(20, ms(1_000));
    sim.run(ms(60_000));
    let mut users = vec![Vec::new(); 20];
    for (user, op) in log.borrow().iter() {
        users[*user as usize].push(*op);
    }
    users
}

#[test]
fn a_seed_repeats_every_choice_whatever_the_number_of_workers() {
    let one = choices_by_user(1);
    assert_eq!(one, choices_by_user(1));
    assert_eq!(one, choices_by_user(3));
    assert!(one[0].iter().all(|op| *op == WORK.0), "even users always take the first branch");
    assert!(one[1].contains(&WATCH.0) && one[1].contains(&WORK.0));
    assert_ne!(one[1], one[3]);
}

#[test]
fn ramps_go_up_and_down_and_may_be_replaced() {
    let (mut sim, _) = simulate(&settings(plain(cycle(100)), 2), |_, _| (ms(1), Outcome::Good));
    sim.ramp(100, ms(10_000));
    assert_eq!(sim.run(ms(5_050)).users, 51);
    sim.ramp(30, Nanos::ZERO);
    assert_eq!(sim.run(ms(100)).users, 30);
    sim.ramp(100, Nanos::ZERO);
    sim.run(ms(100));
    sim.ramp(50, ms(10_000));
    assert_eq!(sim.run(ms(1_000)).users, 94);
    sim.ramp(60, Nanos::ZERO);
    assert_eq!(sim.run(ms(100)).users, 60);
    sim.ramp(30, Nanos::ZERO);
    assert_eq!(sim.run(ms(100)).users, 30);
    sim.ramp(40, ms(1_000));
    assert_eq!(sim.run(ms(2_000)).users, 40);
    sim.ramp(0, ms(1_000));
    assert_eq!(sim.run(ms(2_000)).users, 0);
}

#[test]
fn parts_of_a_run_add_up_to_the_whole() {
    let make = || simulate(&settings(branching(), 2), |now, _| (Nanos(now.0 % 7_000_000), Outcome::Good)).0;
    let (mut whole, mut parts) = (make(), make());
    whole.ramp(5, Nanos::ZERO);
    parts.ramp(5, Nanos::ZERO);
    let all = whole.run(ms(30_000));
    let pieces: Vec<Interval> = (0..30).map(|_| parts.run(ms(1_000))).collect();
    let sum = Interval::joined(&pieces).unwrap();
    for (a, b) in all.ops.iter().zip(&sum.ops) {
        assert_eq!(a.outcomes, b.outcomes);
        assert_eq!(a.response, b.response);
    }
    assert!((all.in_flight_s - sum.in_flight_s).abs() < 1e-6);
}

/// Answers take up to three seconds, so that every piece has operations across both of its edges.
#[test]
fn littles_law_holds_in_every_piece_to_the_last_digit() {
    let answers = |now: Nanos, _| (Nanos(now.0 * 7 % 3_000_000_000), Outcome::Good);
    let (mut sim, _) = simulate(&settings(branching(), 2), answers);
    sim.ramp(20, Nanos::ZERO);
    let mut straddling = 0;
    for _ in 0..40 {
        let piece = sim.run(ms(700));
        let served: f64 = piece.ops.iter().map(|op| op.service_sum_s + op.cancelled_sum_s).sum();
        assert!((piece.in_flight_s - piece.aged_s - served).abs() < 1e-6, "{served} {}", piece.aged_s);
        straddling += u32::from(piece.aged_s.abs() > 1.0);
    }
    assert!(straddling > 10, "{straddling}");
}

/// A user that starts every 100 ms; the operation due at 1,000 ms takes 350 ms.
fn one_long_answer(now: Nanos, _: OpId) -> (Nanos, Outcome) {
    (if now == ms(1_000) { ms(350) } else { ms(10) }, Outcome::Good)
}

#[test]
fn beats_missed_are_made_up_for_and_counted_from_their_own_instant() {
    let pace = Pace::Beat { every: ms(100), missed: MissedBeats::CatchUp };
    let (mut sim, _) = simulate(&settings(plain(pace), 1), one_long_answer);
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(1_999));
    let op = &got.ops[0];
    // Twenty beats, all of them answered. Those of 1,100, 1,200 and 1,300 start late: 1,350, 1,360, 1,370.
    assert_eq!((op.count(), got.skipped), (20, 0));
    let mut slow: Vec<f64> =
        op.response.iter_recorded().map(|v| v.value_iterated_to() as f64 / 1e3).collect();
    slow.retain(|value| *value > 11.0);
    for (found, expected) in slow.iter().zip([80.0, 170.0, 260.0, 350.0]) {
        close_to(*found, expected);
    }
    assert_eq!(slow.len(), 4);
    close_to(op.service.value_at_quantile(0.95) as f64 / 1e3, 10.0);
    assert_eq!(got.lag.max(), 0, "the driver was not late: the user was busy");
}

#[test]
fn beats_missed_are_left_out_and_counted() {
    let pace = Pace::Beat { every: ms(100), missed: MissedBeats::Skip };
    let (mut sim, _) = simulate(&settings(plain(pace), 1), one_long_answer);
    sim.ramp(1, Nanos::ZERO);
    let got = sim.run(ms(1_999));
    assert_eq!((got.ops[0].count(), got.skipped), (17, 3));
    assert_eq!(got.ops[0].over_limit, 0);
}

/// The numbers of operations whose response time is one of these, in milliseconds.
fn answered(got: &Interval, expected: &[f64]) -> Vec<u64> {
    let at = |value: f64| {
        let recorded = got.ops[0].response.iter_recorded();
        let same =
            recorded.filter(|found| (found.value_iterated_to() as f64 / 1e3 / value - 1.0).abs() < 0.01);
        same.map(|found| u64::from(found.count_at_value())).sum()
    };
    expected.iter().map(|value| at(*value)).collect()
}

#[test]
fn beats_start_beside_an_operation_in_progress() {
    for (most, expected) in [(1, [16, 1, 0, 1, 1, 1]), (2, [19, 0, 0, 0, 0, 1])] {
        let pace = Pace::Beat { every: ms(100), missed: MissedBeats::Beside { most } };
        let (mut sim, _) = simulate(&settings(plain(pace), 1), one_long_answer);
        sim.ramp(1, Nanos::ZERO);
        let got = sim.run(ms(1_999));
        assert_eq!((got.ops[0].count(), got.skipped, got.lag.max()), (20, 0, 0), "{most}");
        assert_eq!(answered(&got, &[10.0, 80.0, 100.0, 170.0, 260.0, 350.0]), expected, "{most}");
    }
}

#[test]
fn the_rate_of_beats_is_exact_while_some_operations_in_flight_are_free() {
    let pace = Pace::Beat { every: ms(40), missed: MissedBeats::Beside { most: 4 } };
    let (mut sim, _) = simulate(&settings(plain(pace), 2), |_, _| (ms(150), Outcome::Good));
    sim.ramp(10, Nanos::ZERO);
    sim.run(ms(1_000));
    let got = sim.run(ms(10_000));
    assert_eq!((got.starts, got.skipped, got.lag.max()), (10 * 250, 0, 0));
    assert_eq!(answered(&got, &[150.0]), [2_500]);
    close_to(got.in_flight_s / got.seconds(), 10.0 * 150.0 / 40.0);
}

#[test]
fn an_overload_of_beats_waits_up_to_the_time_limit_of_an_operation() {
    let pace = Pace::Beat { every: ms(50), missed: MissedBeats::Beside { most: 2 } };
    let limited = Settings { timeout: ms(1_000), ..settings(plain(pace), 1) };
    let (mut sim, _) = simulate(&limited, |_, _| (ms(200), Outcome::Good));
    sim.ramp(1, Nanos::ZERO);
    sim.run(ms(20_000));
    let got = sim.run(ms(20_000));
    // Twenty beats a second, of which two operations in flight carry ten.
    assert!(
        got.starts.abs_diff(200) <= 1 && got.skipped.abs_diff(200) <= 2,
        "{} {}",
        got.starts,
        got.skipped
    );
    let latest = got.ops[0].response.max() as f64 / 1e3;
    assert!((1_150.0..=1_215.0).contains(&latest), "{latest}");
    sim.ramp(0, Nanos::ZERO);
    sim.run(ms(1_000));
    assert_eq!(sim.run(ms(1_000)).starts, 0);
}

//! Every rule and every check: silent on a clean window, loud on a planted fault.

use barograph_model::{
    Amount, BetterWhen, Bound, CounterId, DerivedFigures, Formula, MeasureSpec, Nanos, OpId, Outcome, Rule,
    Share, Subject, TrialResult,
};

use super::host::HostUse;
use super::testing::{Window, add};
use crate::OpStats;

#[test]
fn a_clean_window_is_valid_and_passes() {
    let silent = (0..50).filter(|seed| Window::clean(*seed).result() == TrialResult::Pass).count();
    assert!(silent >= 49, "{silent} of 50 clean windows pass");
    let verdict = Window::clean(1).judge();
    assert_eq!(verdict.checks.len(), 10);
    assert!((95.0..110.0).contains(&verdict.throughput) && verdict.goodput == verdict.throughput);
    assert_eq!(verdict.to_s, 60.0);
    assert_eq!(verdict.ops[0].limit_ms, Some(2000.0));
    assert!(
        (verdict.ops[0].mix + verdict.ops[1].mix - 1.0).abs() < 1e-12,
        "shares are over judged operations only"
    );
    assert!(verdict.ops[2].passed() && !verdict.ops[2].judged && verdict.ops[2].mix == 0.0);
}

#[test]
fn the_quantile_is_counted_to_the_operation() {
    let mut window = Window::clean(2);
    let count = window.judge().ops[0].count;
    // As many slow ones as 1 % of all allows, then one more.
    let allowed = count / 99;
    for i in 0..allowed {
        add(&mut window.parts[(i % 60) as usize], 0, 2.001);
    }
    assert!(window.judge().ops[0].time_ok);
    for part in window.parts.iter_mut().take(2) {
        add(part, 0, 2.001);
    }
    let verdict = window.judge();
    assert!(!verdict.ops[0].time_ok && !verdict.passed());
    assert!(verdict.ops[0].over_limit > 0.01 && verdict.ops[0].judged_ms > 1000.0);
}

/// Twenty operations of 1.9 to 20.9 ms that waited 5 ms before they began, over seconds in which nothing else ended.
#[test]
fn means_are_exact_and_quantiles_are_of_all_that_ended() {
    let mut window = Window::clean(3);
    let stats = |n: u64| {
        let mut stats = OpStats::new();
        stats.response.record((n + 5) * 1_000 + 900).unwrap();
        stats.service.record(n * 1_000 + 900).unwrap();
        (stats.response_sum_s, stats.service_sum_s) = ((n + 5) as f64 / 1e3 + 9e-4, n as f64 / 1e3 + 9e-4);
        stats.outcomes[Outcome::Good.index()] += 1;
        stats
    };
    for part in &mut window.parts {
        part.ops[0] = OpStats::new();
    }
    for n in 1..=20 {
        window.parts[n as usize].ops[0] = stats(n);
    }
    let op = window.judge().ops.remove(0);
    let near = |found: f64, expected: f64| (found - expected).abs() <= expected * 1e-3;
    assert!((op.mean_ms - 16.4).abs() < 1e-9 && (op.service_mean_ms - 11.4).abs() < 1e-9, "{op:?}");
    assert!(near(op.p95_ms, 24.9) && near(op.service_p95_ms, 19.9), "{op:?}");
    assert!(near(op.p90_ms, 23.9) && near(op.p99_ms, 25.9), "{op:?}");
    window.parts.iter_mut().for_each(|part| part.ops[0] = OpStats::new());
    assert_eq!(window.judge().ops[0].mean_ms, 0.0, "nothing ended");
}

#[test]
fn the_long_poll_has_no_limit() {
    let mut window = Window::clean(3);
    window.parts[30].ops[1].response.record(44_000_000).unwrap();
    assert!(window.judge().ops[1].time_ok);
    assert_eq!(window.judge().ops[1].limit_ms, None);
}

#[test]
fn failures_beyond_their_share_fail() {
    let mut window = Window::clean(4);
    let count = window.judge().ops[0].count as f64;
    let turn = |window: &mut Window, number: u64| {
        let outcomes = &mut window.parts[10].ops[0].outcomes;
        outcomes[Outcome::Good.index()] -= number;
        outcomes[Outcome::Refused.index()] += number;
    };
    let allowed = (count * 0.005) as u64;
    turn(&mut window, allowed);
    assert!(window.judge().ops[0].failures_ok);
    turn(&mut window, 1);
    let verdict = window.judge();
    assert!(!verdict.ops[0].failures_ok && verdict.result() == TrialResult::Fail, "{:?}", verdict.ops[0]);
}

#[test]
fn nothing_but_failures_never_passes() {
    let mut window = Window::clean(4);
    // No rule is stated, or all may fail.
    window.qos.iter_mut().for_each(|rule| rule.failures = Share::ONE);
    let mut bare = window.clone();
    bare.qos.clear();
    for mut window in [window, bare] {
        assert!(window.judge().passed());
        let stats = window.parts.iter_mut().flat_map(|part| &mut part.ops);
        for op in stats {
            let ended = op.outcomes.iter().sum();
            op.outcomes = Default::default();
            op.outcomes[Outcome::Refused.index()] = ended;
        }
        assert!(!window.judge().passed());
        window.parts[0].ops[0].outcomes[Outcome::Good.index()] = 1;
        assert!(window.judge().passed());
    }
}

#[test]
fn a_wrong_mix_fails() {
    let mut window = Window::clean(5);
    window.qos[0].mix = Share::percent(50.0);
    window.qos[1].mix = Share::percent(50.0);
    let verdict = window.judge();
    assert!(!verdict.ops[0].mix_ok && !verdict.ops[1].mix_ok && !verdict.passed());
}

/// Operations of users who have just started are not results. Later, or in a window that is too slow in any
/// case, they are.
#[test]
fn a_wrong_mix_is_disbelieved_within_a_session_of_a_step() {
    let mut window = Window::clean(5);
    window.derived = Some(DerivedFigures { ops_per_user_s: 0.1, requests_per_op: 1.0, session_s: 61.0 });
    assert!(window.faults().is_empty(), "the mix is kept");
    window.qos[0].mix = Share::percent(50.0);
    window.qos[1].mix = Share::percent(50.0);
    assert_eq!((window.faults(), window.result()), (vec!["mix after a step"], TrialResult::Invalid));
    let check = window.judge().checks.into_iter().find(|check| !check.ok).unwrap();
    let words = check.found();
    let (found, others) = words.split_once(" was ").unwrap();
    assert!(["Browse", "Wait"].contains(&found), "{check:?}");
    assert!(
        others.ends_with(" % of the mix instead of 50.00 %, 60 s after many users came or had waited"),
        "{check:?}"
    );
    assert!(check.allowed().ends_with("(61 s)"), "{check:?}");

    let mut later = window.clone();
    later.spread_for = Some(Nanos::from_secs(61));
    assert_eq!((later.faults(), later.result()), (vec![], TrialResult::Fail));
    let mut failing = window.clone();
    let outcomes = &mut failing.parts[10].ops[0].outcomes;
    outcomes[Outcome::Good.index()] -= 25;
    outcomes[Outcome::Refused.index()] += 25;
    assert_eq!((failing.faults(), failing.result()), (vec![], TrialResult::Fail));
    let mut fixed = window.clone();
    fixed.spread_for = None;
    assert_eq!(fixed.result(), TrialResult::Fail, "it is not made again");
    let mut unknown = window;
    unknown.derived = None;
    assert_eq!(unknown.result(), TrialResult::Fail);
}

#[test]
fn what_did_not_happen_cannot_pass() {
    let mut window = Window::clean(6);
    for part in &mut window.parts {
        part.ops[0] = OpStats::default();
    }
    window.qos[0].mix = Share::percent(1.0);
    let verdict = window.judge();
    assert!(!verdict.ops[0].passed() && verdict.ops[0].mix == 0.0);
    // One in a hundred thousand is not expected among 2,400.
    window.qos[0].mix = Share::percent(0.001);
    let verdict = window.judge();
    let rare = &verdict.ops[0];
    assert!(rare.passed() && rare.mix_chance > rare.mix_required, "{rare:?}");
}

#[test]
fn a_late_driver_is_flagged() {
    let mut window = Window::clean(7);
    for part in &mut window.parts {
        part.lag.record_n(150_000, 5).unwrap();
    }
    assert_eq!(window.faults(), ["driver start lag"]);
    assert_eq!(window.result(), TrialResult::Invalid);
    // The allowance follows the tightest limit.
    window.qos[0].limit = Some(Nanos::from_secs(4));
    assert!(window.faults().is_empty());
}

#[test]
fn a_busy_worker_is_flagged() {
    let mut window = Window::clean(8);
    for part in &mut window.parts {
        part.busiest_worker_cpu_s = 0.97;
    }
    assert_eq!(window.faults(), ["busiest driver worker"]);
    // Without limit for the busiest worker, as where it does the operations itself, there is no such check.
    window.driver.busiest_worker = None;
    let checks = window.judge().checks;
    assert!(checks.iter().all(|check| check.ok && check.id.name() != "busiest driver worker"), "{checks:?}");
}

#[test]
fn lost_operations_break_littles_law() {
    let mut window = Window::clean(9);
    for part in &mut window.parts {
        part.in_flight_s *= 1.02;
    }
    assert_eq!(window.faults(), ["Little's law"]);
    let mut empty = Window::clean(9);
    for part in &mut empty.parts {
        part.ops.iter_mut().for_each(|op| *op = OpStats::default());
    }
    assert!(empty.faults().contains(&"Little's law"));
}

#[test]
fn a_growing_queue_is_too_slow_and_not_disbelieved() {
    let mut window = Window::clean(10);
    for (second, part) in window.parts.iter_mut().enumerate() {
        part.ops[0] = OpStats::default();
        for _ in 0..60 {
            add(part, 0, 2.0 + second as f64 * 0.1);
        }
        // Operations in flight in a second end later when waiting grows.
        let later = 60.0 * (2.0 + (second as f64 + 5.0) * 0.1);
        part.aged_s = later - part.ops[0].service_sum_s;
        part.in_flight_s = later + part.ops[1].service_sum_s + part.ops[2].service_sum_s;
    }
    let verdict = window.judge();
    assert_eq!(verdict.result(), TrialResult::Fail, "{:?}", verdict.checks);
    let steady = verdict.checks.iter().find(|c| c.id.name() == "steady response time").unwrap();
    assert!(steady.found().contains("fails anyway"), "{}", steady.found());
}

#[test]
fn a_trend_in_a_passing_window_is_flagged() {
    let mut rising = Window::clean(11);
    for (second, part) in rising.parts.iter_mut().enumerate() {
        for _ in 0..second / 2 {
            add(part, 0, 0.1);
            add(part, 1, 0.1);
        }
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    rising.qos[0].mix = Share::percent(57.0);
    rising.qos[1].mix = Share::percent(43.0);
    assert!(rising.judge().passed());
    assert_eq!(rising.faults(), ["steady throughput"]);

    let mut slower = Window::clean(11);
    for (second, part) in slower.parts.iter_mut().enumerate() {
        part.ops[0] = OpStats::default();
        for _ in 0..60 {
            add(part, 0, 0.1 + second as f64 * 0.02);
        }
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    assert!(slower.judge().passed());
    assert_eq!(slower.faults(), ["steady response time"]);
}

#[test]
fn a_window_that_begins_too_early_is_not_a_failure() {
    let mut window = Window::clean(12);
    for (second, part) in window.parts.iter_mut().enumerate() {
        part.ops[0] = OpStats::default();
        for _ in 0..60 {
            add(part, 0, 5.0 - second as f64 * 0.08);
        }
        part.in_flight_s = part.ops.iter().map(|op| op.service_sum_s).sum();
    }
    let verdict = window.judge();
    assert!(!verdict.passed());
    assert_eq!(verdict.result(), TrialResult::Invalid);
}

#[test]
fn a_clock_jump_and_missing_users_are_flagged() {
    let mut window = Window::clean(13);
    window.clock_jump_s = -0.2;
    assert_eq!(window.faults(), ["clock"]);
    window.clock_jump_s = 0.05;
    assert!(window.faults().is_empty());
    window.parts[20].users = 980;
    assert_eq!(window.faults(), ["users present"]);
}

#[test]
fn a_window_too_short_to_tell_is_not_valid() {
    let mut window = Window::clean(14);
    window.parts.truncate(3);
    assert_eq!(window.faults(), ["steady throughput", "steady response time"]);
}

#[test]
fn every_subject_has_its_value_and_its_bound() {
    const HITS: MeasureSpec = MeasureSpec {
        id: "hit_share",
        title: "hit share",
        unit: "%",
        better: BetterWhen::Higher,
        formula: Formula::percent(Amount::Counter(CounterId(0)), Amount::Counter(CounterId(1))),
    };
    let mut window = Window::clean(15);
    window.measures = &[HITS];
    // One operation that ended well after 100 ms, having waited 50 ms of them, in each second.
    for part in &mut window.parts {
        part.ops[0] = OpStats::new();
        add(part, 0, 0.1);
        part.ops[0].service.clear();
        part.ops[0].service.record(50_000).unwrap();
    }
    let (op, quantile) = (OpId(0), Share::percent(90.0));
    let found = |window: &Window, subject, bound| {
        let mut window = window.clone();
        window.rules = vec![Rule { subject, bound }];
        let verdict = window.judge();
        let rule = verdict.rules.last().unwrap();
        let of_op = verdict.ops.iter().all(|op| op.further_ok);
        assert!(rule.holds || rule.op.is_none() || !of_op, "{rule:?}");
        (rule.value.map(|value| (value * 10.0).round() / 10.0), rule.holds)
    };
    assert_eq!(found(&window, Subject::HostCpu, Bound::AtMost(1.0)), (None, false), "no host");
    window.host = Some(HostUse {
        cores: 2.0,
        steal: Share::ZERO,
        idle: Share::percent(20.0),
        outside_cores: Ok(0.0),
        outside_memory_wait: Ok(Share::ZERO),
        outside_io_wait: Ok(Share::ZERO),
    });
    let cases = [
        (Subject::HostCpu, Bound::AtMost(0.8), Some(0.8), true),
        (Subject::HostCpu, Bound::AtMost(0.79), Some(0.8), false),
        (Subject::Response { op, quantile }, Bound::AtLeast(99.0), Some(100.0), true),
        (Subject::Service { op, quantile }, Bound::AtLeast(51.0), Some(50.0), false),
        (Subject::MeanResponse(op), Bound::AtMost(100.0), Some(100.0), true),
        (Subject::MeanResponse(op), Bound::AtMost(99.9), Some(100.0), false),
        (Subject::Rate(Some(op)), Bound::AtLeast(1.0), Some(1.0), true),
        (Subject::Rate(Some(op)), Bound::Within { value: 1.2, tolerance: quantile }, Some(1.0), true),
        (Subject::Failures(op), Bound::AtMost(0.0), Some(0.0), true),
        (Subject::Measure("hit_share"), Bound::AtLeast(0.0), None, false),
    ];
    for (subject, bound, value, holds) in cases {
        assert_eq!(found(&window, subject, bound), (value, holds), "{subject:?} {bound:?}");
    }
    for part in &mut window.parts {
        part.counters.raise(CounterId(0), 19);
        part.counters.raise(CounterId(1), 20);
    }
    assert_eq!(found(&window, Subject::Measure("hit_share"), Bound::AtLeast(95.0)), (Some(95.0), true));
    assert_eq!(found(&window, Subject::Measure("hit_share"), Bound::AtLeast(95.1)), (Some(95.0), false));
}

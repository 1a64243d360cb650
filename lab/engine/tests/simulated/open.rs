//! Open loops: starts come from outside, independent of answers.

use barograph_model::{
    Arrivals, Behaviour, Distribution, Nanos, NextOp, OpenLoop, Outcome, Pace, Share, StartOf, Vector,
};
use barograph_stats::Interval;

use crate::target::*;

fn open(most_users: u32, most_waiting: u32) -> OpenLoop {
    OpenLoop { arrivals: Arrivals::Constant, start_of: StartOf::Operation, most_users, most_waiting }
}

fn opened(open: OpenLoop, workers: usize) -> barograph_engine::Settings {
    let mut all = settings(plain(Pace::AtOnce), workers);
    all.open = Some(open);
    all
}

/// Exact quantile that an interval should record: the smallest value not exceeded by a share `q`.
fn exact(sorted: &[f64], q: f64) -> f64 {
    let rank = (sorted.len() as f64 * q).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[test]
fn a_constant_rate_starts_exactly_so_many_and_keeps_littles_law() {
    let (mut sim, _) = simulate(&opened(open(1_000, 0), 1), |_, _| (ms(20), Outcome::Good));
    sim.ramp(1_000, Nanos::ZERO);
    let got = sim.run(ms(10_000));
    assert_eq!((got.starts, got.late, got.dropped), (10_001, 0, 0));
    assert_eq!(got.lag.max(), 0);
    // Twenty in flight on average; the user of a millisecond is free again twenty milliseconds later.
    close_to(got.in_flight_s / got.seconds(), 20.0);
    assert!((20..=21).contains(&got.users), "{} users became active", got.users);
    close_to(quantile_ms(&got.ops[0].response, 0.999), 20.0);
}

/// Answers take 10 ms; an answer due in the first second of every five is sent at its end.
fn stalled(start: f64) -> f64 {
    let due = start + 10.0;
    let phase = due % 5_000.0;
    if phase < 1_000.0 { due - phase + 1_000.0 } else { due }
}

#[test]
fn every_arrival_in_a_stall_is_charged_with_what_it_waited() {
    let (mut sim, _) = simulate(&opened(open(3_000, 0), 1), |now, _| {
        let start = now.as_secs_f64() * 1e3;
        (Nanos::from_secs_f64((stalled(start) - start) / 1e3), Outcome::Good)
    });
    sim.ramp(2_000, Nanos::ZERO);
    // From the end of the first stall to the end of the fifth period.
    sim.run(ms(1_200));
    let got = sim.run(ms(20_000));
    let mut all: Vec<f64> = (0..40_000u32)
        .map(|k| 1_200.0 - 10.0 + f64::from(k) * 0.5)
        .map(|start| stalled(start) - start)
        .collect();
    all.sort_by(f64::total_cmp);
    for q in [0.5, 0.75, 0.9, 0.95, 0.99, 0.999] {
        let (found, expected) = (quantile_ms(&got.ops[0].response, q), exact(&all, q));
        assert!((found / expected - 1.0).abs() < 0.005, "p{}: {found} is not {expected}", q * 100.0);
        let service = quantile_ms(&got.ops[0].service, q);
        assert!((service / expected - 1.0).abs() < 0.005, "nobody waited for a user");
    }
    assert_eq!(got.late, 0);
}

#[test]
fn a_bound_on_users_moves_the_wait_from_service_to_response_and_loses_nothing() {
    // 40 users against a stall of a second at 2,000/s: nearly all arrivals of the stall wait for a user.
    let script = |now: Nanos, _| {
        let start = now.as_secs_f64() * 1e3;
        (Nanos::from_secs_f64((stalled(start) - start) / 1e3), Outcome::Good)
    };
    let (mut sim, _) = simulate(&opened(open(40, 100_000), 1), script);
    sim.ramp(2_000, Nanos::ZERO);
    // Not on the grid of the arrivals, so that no operation ends at that instant.
    let got = sim.run(Nanos(24_999_700_000));
    // The same queue by hand: each arrival goes to the user that is free first.
    let mut free = vec![0.0f64; 40];
    let mut responses = Vec::new();
    let mut services = Vec::new();
    for k in 0..=50_000u32 {
        let arrival = f64::from(k) * 0.5;
        let first = (0..40).min_by(|a, b| free[*a].total_cmp(&free[*b])).expect("forty users");
        let start = free[first].max(arrival);
        free[first] = stalled(start);
        if free[first] <= 24_999.7 {
            responses.push(free[first] - arrival);
            services.push(free[first] - start);
        }
    }
    responses.sort_by(f64::total_cmp);
    services.sort_by(f64::total_cmp);
    assert_eq!(got.ops[0].count(), responses.len() as u64);
    for q in [0.5, 0.9, 0.99, 0.999] {
        close_to(quantile_ms(&got.ops[0].response, q), exact(&responses, q));
        close_to(quantile_ms(&got.ops[0].service, q), exact(&services, q));
    }
    close_to(got.ops[0].response_sum_s, responses.iter().sum::<f64>() / 1e3);
    close_to(got.ops[0].service_sum_s, services.iter().sum::<f64>() / 1e3);
    assert!(got.late > 9_000 && got.dropped == 0, "late {} dropped {}", got.late, got.dropped);
    assert!(quantile_ms(&got.ops[0].response, 0.9) > 4.0 * quantile_ms(&got.ops[0].service, 0.9));
    assert_eq!(got.lag.max(), 0, "the driver itself was never late");
}

#[test]
fn beyond_its_bounds_an_open_loop_drops_and_counts() {
    // Two users busy for a second each, ten arrivals a second, room for three to wait.
    let (mut sim, _) = simulate(&opened(open(2, 3), 1), |_, _| (ms(1_000), Outcome::Good));
    sim.ramp(10, Nanos::ZERO);
    let got = sim.run(ms(999));
    assert_eq!((got.starts, got.late, got.dropped), (2, 3, 5));
    let later = sim.run(ms(1_000));
    // Both users take waiting arrivals; two more arrivals find room to wait.
    assert_eq!((later.starts, later.late, later.dropped), (2, 2, 8));
    close_to(later.ops[0].response.max() as f64 / 1e3, 1_000.0);
}

#[test]
fn a_session_is_begun_by_an_arrival_and_goes_on_at_its_own_pace() {
    // A session of two operations, 100 ms apart; three sessions a second.
    let mut next = vec![None; 3];
    next[WORK.index()] = Some(NextOp::Op(OTHER));
    next[OTHER.index()] = Some(NextOp::EndSession { first: WORK });
    let pace = Pace::Think(Distribution::Constant(ms(100)));
    let follow = vec![None, None, Some(NextOp::Vector(Vector::new(vec![(WATCH, Share::ONE)]).unwrap()))];
    let slow = Pace::Think(Distribution::Constant(ms(60_000)));
    let main = Behaviour { name: "main", first: WORK, next, pace };
    let other = Behaviour { name: "follow", first: WATCH, next: follow, pace: slow };
    let mut all = settings(vec![main, other], 1);
    all.open = Some(OpenLoop { start_of: StartOf::Session, ..open(10, 10) });
    let (mut sim, _) = simulate(&all, |_, _| (ms(10), Outcome::Good));
    sim.ramp(3, Nanos::ZERO);
    let got = sim.run(ms(9_900));
    assert_eq!((got.ops[WORK.index()].count(), got.ops[OTHER.index()].count()), (30, 30));
    assert_eq!(got.users, 1, "one user is free again before the next session comes");
}

#[test]
fn a_rate_follows_its_ramp_and_a_change_on_the_way() {
    let (mut sim, _) = simulate(&opened(open(100, 0), 1), |_, _| (ms(1), Outcome::Good));
    sim.ramp(100, ms(4_000));
    assert_eq!(sim.run(ms(4_000)).starts, 201);
    sim.ramp(0, Nanos::ZERO);
    assert_eq!(sim.run(ms(2_000)).starts, 0);
    sim.ramp(50, Nanos::ZERO);
    // The rest of the threshold at the end of the ramp was a whole arrival: the first comes after 20 ms.
    assert_eq!(sim.run(ms(1_999)).starts, 99);
}

#[test]
fn the_number_of_workers_does_not_change_the_arrivals() {
    let run = |workers: usize| -> Interval {
        let poisson = OpenLoop { arrivals: Arrivals::Poisson, ..open(300, 0) };
        let (mut sim, _) = simulate(&opened(poisson, workers), |_, _| (ms(50), Outcome::Good));
        sim.ramp(500, Nanos::ZERO);
        sim.run(ms(20_000))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.starts, three.starts);
    // Ten thousand, plus or minus four times their square root.
    assert!(one.starts.abs_diff(10_000) < 400, "{}", one.starts);
    close_to(one.in_flight_s, three.in_flight_s);
}

#[test]
fn a_trace_is_replayed_to_the_instant() {
    let instants = [5, 5, 40, 1_000].map(ms);
    let trace = OpenLoop { arrivals: Arrivals::Trace(instants.into()), ..open(10, 0) };
    let (mut sim, log) = simulate(&opened(trace, 1), |_, _| (ms(1), Outcome::Good));
    sim.ramp(1, Nanos::ZERO);
    assert_eq!(sim.run(ms(39)).starts, 2);
    assert_eq!(sim.run(ms(5_000)).starts, 2);
    assert_eq!(log.borrow().len(), 4);
}

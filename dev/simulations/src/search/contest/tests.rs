//! A small version of the tables in `docs/reference/search.md`, so that they cannot rot.

use super::*;
use barograph_stats::compare::{Direction, Finding, IntervalEstimate, compare_believed};

const SEARCHES: u32 = 40;

const OURS: Contender = Contender::Ramped { trials: 30, prior: Prior::Even };

/// Edges, their softness, the share of spurious failures, and the largest median width of intervals.
const EDGES: [(Edge, f64, f64, f64); 9] = [
    (Edge::Logistic, 0.01, 0.00, 0.060),
    (Edge::Logistic, 0.01, 0.10, 0.080),
    (Edge::Logistic, 0.03, 0.05, 0.145),
    (Edge::Normal, 0.01, 0.00, 0.040),
    (Edge::Normal, 0.01, 0.10, 0.065),
    (Edge::Normal, 0.03, 0.05, 0.110),
    (Edge::Gompertz, 0.01, 0.00, 0.045),
    (Edge::Gompertz, 0.01, 0.10, 0.070),
    (Edge::Gompertz, 0.03, 0.05, 0.115),
];

fn target(edge: Edge, softness: f64, spurious: f64) -> Target {
    Target { edge, softness, spurious, neighbours: Neighbours::None }
}

/// With 30 trials and up to 10 % spurious failures hardly any search is off by more than a tenth, and the
/// intervals have their stated coverage, for any shape of the edge.
#[test]
fn thirty_trials_find_every_edge_and_their_intervals_hold() {
    let (mut gross, mut held, mut drifted) = (0.0, 0.0, 0.0);
    for ((edge, softness, spurious, widest), number) in EDGES.into_iter().zip(0..) {
        let cell = Cell { contender: OURS, target: target(edge, softness, spurious), number };
        let found = simulate(&cell, SEARCHES);
        let (coverage, width) = (found.coverage.unwrap(), found.width.unwrap());
        assert!(found.gross <= 0.025 && coverage >= 0.85, "{edge:?} {softness} {spurious}: {found:?}");
        assert!(found.trials <= 30.0 && width <= widest, "{edge:?} {softness} {spurious}: {found:?}");
        gross += found.gross / EDGES.len() as f64;
        held += coverage / EDGES.len() as f64;
        drifted += found.drifted / EDGES.len() as f64;
    }
    assert!(gross <= 0.01 && held >= 0.93, "gross {gross} held {held}");
    assert!(drifted <= 0.03, "{drifted} of the searches tell a change that never was");
}

/// Pairs of searches on targets with a known ratio of capacities: the interval of their ratio has its stated
/// coverage, equal targets are hardly ever found different, and different ones mostly are.
#[test]
fn the_ratio_of_two_searches_lies_in_its_interval() {
    const PAIRS: u32 = 20;
    const MORE: f64 = 1.25;
    let (mut held, mut apart, mut told) = (0, 0, 0);
    for ((edge, softness, spurious, _), number) in EDGES.into_iter().zip(100..) {
        for pair in 0..PAIRS {
            let ratio = if pair % 2 == 0 { 1.0 } else { MORE };
            let believed = |search: u32, truth: Option<f64>| {
                let mut draws = Trials::new(target(edge, softness, spurious), number, search);
                let drawn = draws.log_uniform(CAPACITIES.0, CAPACITIES.1);
                let truth = truth.unwrap_or(drawn);
                let found = look(OURS, truth, &mut draws);
                let (low, high) = found.interval.unwrap();
                (truth, IntervalEstimate::new(found.capacity, low, high).unwrap())
            };
            let (truth, baseline) = believed(2 * pair, None);
            let (_, candidate) = believed(2 * pair + 1, Some(truth * ratio));
            let found = compare_believed(baseline, candidate, Direction::Higher, 0.01);
            held += u32::from(found.low <= ratio && ratio <= found.high);
            let decided = matches!(found.finding, Finding::Better | Finding::Worse);
            apart += u32::from(ratio == 1.0 && decided);
            told += u32::from(ratio > 1.0 && found.finding == Finding::Better);
        }
    }
    let all = f64::from(PAIRS * EDGES.len() as u32);
    let (held, apart, told) =
        (f64::from(held) / all, 2.0 * f64::from(apart) / all, 2.0 * f64::from(told) / all);
    assert!(held >= 0.93 && apart <= 0.05 && told >= 0.9, "held {held} apart {apart} told {told}");
}

#[test]
fn with_a_gate_bad_neighbours_do_no_harm() {
    let gated = Target { neighbours: Neighbours::Gated, ..target(Edge::Logistic, 0.01, 0.0) };
    let found = simulate(&Cell { contender: OURS, target: gated, number: 0 }, SEARCHES);
    // One of these 40 may lose most of its trials to one long stretch.
    assert!(found.gross <= 0.025 && found.coverage.unwrap() >= 0.85, "{found:?}");
}

/// The other methods on the same targets: without spurious failures they are exact, with them they are not.
#[test]
fn searches_that_try_each_level_once_are_led_astray() {
    let (calm, unlucky) = (target(Edge::Logistic, 0.01, 0.0), target(Edge::Logistic, 0.01, 0.1));
    let gross = |contender, target| simulate(&Cell { contender, target, number: 0 }, 200).gross;
    assert_eq!(gross(Contender::Bisection, calm), 0.0);
    let (bisection, voting) = (gross(Contender::Bisection, unlucky), gross(Contender::TwoOfThree, unlucky));
    assert!((0.25..0.75).contains(&bisection) && voting < bisection / 2.0, "{bisection} {voting}");
    assert!(gross(Contender::FindMax, unlucky) > 0.25);
}

/// All of them repeat invalid trials, and count them.
#[test]
fn with_a_gate_the_others_take_more_trials_and_find_the_same() {
    let gated = Target { neighbours: Neighbours::Gated, ..target(Edge::Logistic, 0.01, 0.0) };
    for contender in [Contender::Bisection, Contender::FindMax] {
        let of = |target| simulate(&Cell { contender, target, number: 0 }, 100);
        let (calm, spoilt) = (of(target(Edge::Logistic, 0.01, 0.0)), of(gated));
        assert!(spoilt.gross <= 0.02 && spoilt.trials > calm.trials * 1.1, "{spoilt:?} {calm:?}");
    }
}

#[test]
fn the_same_cell_gives_the_same_outcome_and_another_number_another() {
    let target = target(Edge::Gompertz, 0.03, 0.05);
    let contenders = [
        Contender::Posterior { trials: 12 },
        Contender::Ramped { trials: 12, prior: Prior::Even },
        Contender::Ramped { trials: 12, prior: Prior::Soft },
    ];
    for contender in contenders {
        let of = |number| simulate(&Cell { contender, target, number }, 5);
        assert_eq!(of(0), of(0));
        assert!(of(0) != of(1), "{contender:?}");
    }
}

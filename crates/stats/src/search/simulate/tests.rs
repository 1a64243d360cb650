//! A small version of the tables in `docs/reference/search.md`, so that they cannot rot.

use super::*;

const SEARCHES: u32 = 40;

const EDGES: [Edge; 3] = [Edge::Logistic, Edge::Normal, Edge::Gompertz];

fn target(edge: Edge, softness: f64, spurious: f64) -> Target {
    Target { edge, softness, spurious, neighbours: Neighbours::None }
}

/// With 30 trials and up to 10 % spurious failures hardly any search is off by more than a tenth, and the intervals hold
/// what they say, whatever the shape of the edge.
#[test]
fn thirty_trials_find_every_edge_and_their_intervals_hold() {
    let (mut gross, mut held, mut cells) = (0.0, 0.0, 0.0);
    for edge in EDGES {
        for (softness, spurious) in [(0.01, 0.0), (0.01, 0.1), (0.03, 0.05)] {
            let found =
                simulate(Contender::Posterior { trials: 30 }, &target(edge, softness, spurious), SEARCHES);
            let coverage = found.coverage.unwrap();
            assert!(found.gross <= 0.025 && coverage >= 0.85, "{edge:?} {softness} {spurious}: {found:?}");
            assert!(
                found.trials <= 30.0 && found.width.unwrap() < 0.15,
                "{edge:?} {softness} {spurious}: {found:?}"
            );
            gross += found.gross;
            held += coverage;
            cells += 1.0;
        }
    }
    assert!(gross / cells <= 0.01 && held / cells >= 0.93, "gross {} held {}", gross / cells, held / cells);
}

#[test]
fn with_a_gate_bad_neighbours_do_no_harm() {
    let gated = Target { neighbours: Neighbours::Gated, ..target(Edge::Logistic, 0.01, 0.0) };
    let found = simulate(Contender::Posterior { trials: 30 }, &gated, SEARCHES);
    // One of these 40 loses most of its trials to one long stretch.
    assert!(found.gross <= 0.025 && found.coverage.unwrap() >= 0.85, "{found:?}");
}

/// What the others make of the same targets: without spurious failures they are exact, with them they are not.
#[test]
fn searches_that_try_each_level_once_are_led_astray() {
    let (calm, unlucky) = (target(Edge::Logistic, 0.01, 0.0), target(Edge::Logistic, 0.01, 0.1));
    let gross = |contender, target: &Target| simulate(contender, target, 200).gross;
    assert_eq!(gross(Contender::Bisection, &calm), 0.0);
    let (bisection, voting) = (gross(Contender::Bisection, &unlucky), gross(Contender::TwoOfThree, &unlucky));
    assert!((0.25..0.75).contains(&bisection) && voting < bisection / 2.0, "{bisection} {voting}");
    assert!(gross(Contender::FindMax, &unlucky) > 0.25);
}

#[test]
fn the_same_seeds_give_the_same_outcome() {
    let target = target(Edge::Gompertz, 0.03, 0.05);
    let again = || simulate(Contender::Posterior { trials: 12 }, &target, 5);
    assert_eq!(again(), again());
}

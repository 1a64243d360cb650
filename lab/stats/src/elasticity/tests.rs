//! Metrics against examples computed by hand, a simulated scaler, and properties.

use barograph_model::{CapacityEnd, DemandCurve, NodesHold};
use proptest::prelude::*;

use super::*;

/// Asserts equality to four digits.
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 5e-5 * expected.abs().max(1.0), "{found}, expected {expected}");
}

fn steps(first: u32, later: &[(f64, u32)]) -> Steps {
    let mut steps = Steps::new(first);
    later.iter().for_each(|(at, value)| steps.set(*at, *value));
    steps
}

/// Demand of 1, 3 and 2 nodes for 20, 40 and 40 s.
fn demand() -> Steps {
    steps(1, &[(20.0, 3), (60.0, 2)])
}

const SPAN: (f64, f64) = (0.0, 100.0);

/// A supply that follows 5 s late upwards and 10 s late downwards.
///
/// Too few for 5 s: 2 of 3 are missing, 10/3 node-parts. Too many for 10 s: 1 beside 2, 5 node-parts. Of 100 looks the four
/// at 20, 25, 60 and 70 s see one of both change.
#[test]
fn metrics_are_those_computed_by_hand() {
    let supply = steps(1, &[(25.0, 3), (70.0, 2)]);
    let found = Elasticity::of(&demand(), &supply, SPAN, 1.0).unwrap();
    for (found, expected) in [
        (found.under_accuracy, 3.3333),
        (found.over_accuracy, 5.0),
        (found.under_time, 5.0),
        (found.over_time, 10.0),
        (found.instability, 4.0),
        (found.jitter_per_min, 0.0),
        // (3.3333^4 + 5^4 + 5^4 + 10^4)^(1/4)
        (found.deviation(), 10.3270),
        (supply.integral(SPAN), 25.0 + 135.0 + 60.0),
        (demand().integral(SPAN), 20.0 + 120.0 + 80.0),
    ] {
        close(found, expected);
    }
    assert_eq!((found.demand_changes, found.supply_changes), (2, 2));
}

/// One node throughout: 2 of 3 are missing for 40 s and 1 of 2 for 40 s.
#[test]
fn a_supply_that_never_changes_is_the_baseline() {
    let found = Elasticity::of(&demand(), &Steps::new(1), SPAN, 1.0).unwrap();
    close(found.under_accuracy, 46.6667);
    close(found.under_time, 80.0);
    close(found.deviation(), 82.2215);
    close(found.instability, 2.0);
    close(found.jitter_per_min, -1.2);
    assert_eq!((found.over_accuracy, found.over_time), (0.0, 0.0));
    assert_eq!(found.speed_up_over(&found), None, "a ratio of nothing to nothing");
}

/// Against a supply that is 10 s late both ways: (10/5 * 10/5)^(1/4) * (6.6667/3.3333 * 10/10)^(1/4) ...
#[test]
fn a_speed_up_is_the_mean_of_ratios() {
    let late = |up: f64, down: f64| steps(1, &[(20.0 + up, 3), (60.0 + down, 2)]);
    let of = |supply: &Steps| Elasticity::of(&demand(), supply, SPAN, 1.0).unwrap();
    // Under-provisioning halves in both metrics, over-provisioning stays: (2 * 2 * 1 * 1)^(1/4).
    close(of(&late(5.0, 10.0)).speed_up_over(&of(&late(10.0, 10.0))).unwrap(), std::f64::consts::SQRT_2);
    close(of(&late(5.0, 10.0)).speed_up_over(&of(&late(5.0, 10.0))).unwrap(), 1.0);
}

/// A supply that goes up and down while demand stays: nervous, and apart at each of its changes.
#[test]
fn a_nervous_supply_jitters() {
    let supply = steps(2, &[(10.0, 3), (20.0, 2), (30.0, 3), (40.0, 2)]);
    let found = Elasticity::of(&Steps::new(2), &supply, (0.0, 120.0), 2.0).unwrap();
    close(found.jitter_per_min, 2.0);
    // 4 of 60 looks.
    close(found.instability, 6.6667);
    // 20 s of 120 with one beside two.
    close(found.over_accuracy, 8.3333);
    close(found.over_time, 16.6667);
    assert_eq!((found.under_time, found.supply_changes), (0.0, 4));
}

#[test]
fn there_are_no_metrics_of_no_time() {
    for (span, every) in [((5.0, 5.0), 1.0), ((6.0, 5.0), 1.0), ((0.0, f64::NAN), 1.0), ((0.0, 1.0), 0.0)] {
        assert_eq!(Elasticity::of(&demand(), &demand(), span, every), None, "{span:?}");
    }
    let brief = Elasticity::of(&demand(), &demand(), (0.0, 0.5), 1.0).unwrap();
    assert_eq!((brief.instability, brief.under_time), (0.0, 0.0));
}

fn curve() -> DemandCurve {
    let hold = |nodes: u32| {
        let load = 100.0 * f64::from(nodes);
        NodesHold { nodes, load, within: Some((load * 0.9, load * 1.1)) }
    };
    DemandCurve::new((1..=4).map(hold).collect()).unwrap()
}

fn changes(steps: &Steps) -> Vec<(f64, u32)> {
    steps.instants().map(|at| (at, steps.at(at))).collect()
}

/// Up to 250 in 50 s, so 100 after 20 s and 200 after 40 s; down to 150 at once, and to none in 30 s.
#[test]
fn the_demand_changes_where_the_load_crosses_the_curve() {
    let mut course = LoadCourse::new();
    course.change(0.0, 250.0, 50.0);
    course.change(80.0, 150.0, 0.0);
    course.change(90.0, 0.0, 30.0);
    for (at, level) in
        [(-1.0, 0.0), (20.0, 100.0), (60.0, 250.0), (80.0, 150.0), (100.0, 100.0), (200.0, 0.0)]
    {
        close(course.level(at), level);
    }
    let demanded = course.demand(&curve(), CapacityEnd::Estimate);
    assert_eq!(changes(&demanded), [(20.0, 2), (40.0, 3), (80.0, 2), (100.0, 1)]);
    // Nodes that hold a tenth less are needed earlier, and longer.
    let demanded = course.demand(&curve(), CapacityEnd::Low);
    assert_eq!(changes(&demanded), [(18.0, 2), (36.0, 3), (80.0, 2), (102.0, 1)]);
}

#[test]
fn a_change_in_progress_ends_where_another_begins() {
    let mut course = LoadCourse::new();
    course.change(0.0, 1_000.0, 100.0);
    course.change(45.0, 450.0, 0.0);
    course.change(50.0, 50.0, 40.0);
    let demanded = course.demand(&curve(), CapacityEnd::Estimate);
    // More than the curve knows is one more node than its most. Downwards a tenth of 400 a second.
    assert_eq!(
        changes(&demanded),
        [(10.0, 2), (20.0, 3), (30.0, 4), (40.0, 5), (55.0, 4), (65.0, 3), (75.0, 2), (85.0, 1)]
    );
    course.change(0.0, 10.0, 0.0);
    course.change(0.0, 350.0, 0.0);
    assert_eq!(changes(&course.demand(&curve(), CapacityEnd::Estimate)), [(0.0, 4)]);
}

fn rule() -> TargetRule {
    TargetRule { target: 0.5, tolerance: 0.1, least: 1, most: 4, settle_s: 30.0 }
}

#[test]
fn a_rule_wishes_for_as_many_nodes_as_bring_the_value_to_its_target() {
    for (running, value, nodes) in [
        (1, 0.5, 1),
        (2, 0.549, 2),
        (2, 0.56, 3),
        (2, 0.45, 2),
        (4, 0.25, 4),
        (1, 9.0, 4),
        (2, f64::NAN, 2),
        (1, 0.0, 1),
    ] {
        assert_eq!(Scaler::new(rule(), running).nodes(10.0, running, value), nodes, "{running} at {value}");
    }
}

#[test]
fn nodes_go_when_none_was_wished_for_in_the_time_to_settle() {
    let mut scaler = Scaler::new(rule(), 4);
    let found: Vec<u32> = (0..10).map(|look| scaler.nodes(f64::from(look) * 5.0, 4, 0.2)).collect();
    assert_eq!(found, [4, 4, 4, 4, 4, 4, 4, 2, 2, 2], "35 s after the start");
    assert_eq!(scaler.nodes(50.0, 2, 1.0), 4, "more come at once");
    assert_eq!(scaler.nodes(55.0, 4, 0.1), 4);
}

/// A scaler in simulated time: it looks every 5 s at the load for each node that runs, and its nodes are ready 7 s after they
/// were asked for. The load steps from 90 to 290 at 23 s and to 90 at 83 s, with a target of 100 for each node.
///
/// Demand: 1, 3 from 23 s, 1 from 83 s. Asked at 25 s for 3, ready at 32 s. The wish for 1 comes at 85 s; that of 80 s for 3
/// is forgotten after 30 s, so at 115 s: supply 1 from 115 s.
/// Under: 2/3 for 9 s = 6; over: 2/1 for 32 s = 64; of 150 s.
#[test]
fn a_simulated_scaler_of_known_delay_has_the_metrics_computed_by_hand() {
    const READY_AFTER_S: f64 = 7.0;
    let mut course = LoadCourse::new();
    for (at, level) in [(0.0, 90.0), (23.0, 290.0), (83.0, 90.0)] {
        course.change(at, level, 0.0);
    }
    let rule = TargetRule { target: 100.0, ..rule() };
    let (mut scaler, mut supply, mut asked_until) = (Scaler::new(rule, 1), Steps::new(1), 0.0);
    for look in 0..30 {
        let at = f64::from(look) * 5.0;
        let running = supply.at(at);
        if at < asked_until {
            continue;
        }
        let nodes = scaler.nodes(at, running, course.level(at) / f64::from(running));
        if nodes != running {
            let ready = if nodes > running { at + READY_AFTER_S } else { at };
            supply.set(ready, nodes);
            asked_until = ready;
        }
    }
    assert_eq!(changes(&supply), [(32.0, 3), (115.0, 1)]);
    let demanded = course.demand(&curve(), CapacityEnd::Estimate);
    assert_eq!(changes(&demanded), [(23.0, 3), (83.0, 1)]);
    let found = Elasticity::of(&demanded, &supply, (0.0, 150.0), 1.0).unwrap();
    for (found, expected) in [
        (found.under_accuracy, 4.0),
        (found.over_accuracy, 42.6667),
        (found.under_time, 6.0),
        (found.over_time, 21.3333),
        (found.instability, 2.6667),
        (found.jitter_per_min, 0.0),
        // (4^4 + 42.6667^4 + 6^4 + 21.3333^4)^(1/4)
        (found.deviation(), 43.3230),
        (supply.integral((0.0, 150.0)), 32.0 + 249.0 + 35.0),
    ] {
        close(found, expected);
    }
}

/// Up to eight changes within 100 s.
fn any_steps() -> impl Strategy<Value = Steps> {
    (1u32..6, proptest::collection::vec((0.0..100.0f64, 1u32..6), 0..8)).prop_map(|(first, mut later)| {
        later.sort_by(|a, b| a.0.total_cmp(&b.0));
        steps(first, &later)
    })
}

proptest! {
    #[test]
    fn a_supply_that_equals_the_demand_is_ideal(demand in any_steps(), every in 0.1..20.0f64) {
        let found = Elasticity::of(&demand, &demand, SPAN, every).unwrap();
        prop_assert_eq!(found.provisioning(), [0.0; 4]);
        prop_assert_eq!((found.instability, found.jitter_per_min, found.deviation()), (0.0, 0.0, 0.0));
    }

    #[test]
    fn metrics_stay_within_their_bounds(demand in any_steps(), supply in any_steps(), every in 0.1..20.0f64) {
        let found = Elasticity::of(&demand, &supply, SPAN, every).unwrap();
        prop_assert!(found.under_accuracy <= found.under_time + 1e-9, "no more than all nodes are missing");
        prop_assert!(found.under_time + found.over_time <= 100.0 + 1e-9);
        prop_assert!((0.0..=100.0).contains(&found.instability));
        let largest = found.provisioning().into_iter().fold(0.0, f64::max);
        prop_assert!(found.deviation() >= largest - 1e-9 && found.deviation() <= largest * 4f64.powf(0.25) + 1e-9);
    }

    /// Both are counted in the same nodes: what is supplied less what is demanded is the surplus less what is missing.
    #[test]
    fn node_seconds_add_up(demand in any_steps(), supply in any_steps()) {
        let parts = pieces(&demand, &supply, SPAN).into_iter().map(|(a, b)| {
            (b - a) * (f64::from(supply.at(a)) - f64::from(demand.at(a)))
        });
        let surplus: f64 = parts.sum();
        prop_assert!((supply.integral(SPAN) - demand.integral(SPAN) - surplus).abs() < 1e-6);
    }

    #[test]
    fn a_time_in_two_parts_is_the_mean_of_both(demand in any_steps(), supply in any_steps(), cut in 1.0..99.0f64) {
        let of = |span| Elasticity::of(&demand, &supply, span, 1.0).unwrap();
        let (whole, first, second) = (of(SPAN), of((0.0, cut)), of((cut, 100.0)));
        let all = whole.provisioning().into_iter().zip(first.provisioning()).zip(second.provisioning());
        for ((whole, first), second) in all {
            prop_assert!((whole - (first * cut + second * (100.0 - cut)) / 100.0).abs() < 1e-6);
        }
    }

    /// By level: more load never needs fewer nodes, and nodes that hold less are needed no later.
    #[test]
    fn a_demand_follows_the_level(
        changes in proptest::collection::vec((0.0..100.0f64, 0.0..500.0f64, 0.0..20.0f64), 1..6),
        at in 0.0..150.0f64,
    ) {
        let mut course = LoadCourse::new();
        let mut changes = changes;
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        changes.iter().for_each(|(at, level, over)| course.change(*at, *level, *over));
        let curve = curve();
        let level = course.level(at);
        // Within rounding of a threshold either side is right.
        prop_assume!((1..=4).all(|n| (level - 100.0 * f64::from(n)).abs() > 1e-6));
        let demanded = |end| course.demand(&curve, end).at(at);
        prop_assert_eq!(demanded(CapacityEnd::Estimate), curve.nodes_for(level, CapacityEnd::Estimate));
        prop_assert!(demanded(CapacityEnd::Low) >= demanded(CapacityEnd::Estimate));
        prop_assert!(demanded(CapacityEnd::High) <= demanded(CapacityEnd::Estimate));
    }
}

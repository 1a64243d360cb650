//! Planted truths, and properties.

use proptest::prelude::*;

use super::*;

/// Pairs with these ratios, around a drifting figure.
fn pairs(ratios: &[f64]) -> Vec<Pair> {
    ratios
        .iter()
        .enumerate()
        .map(|(i, ratio)| (100.0 + (i * 31 % 17) as f64, *ratio))
        .map(|(b, r)| Pair::new(b, b * r))
        .collect()
}

/// `n` ratios that scatter symmetrically by up to `part` around `ratio`, none equal to another.
fn scattered(n: u32, ratio: f64, part: f64) -> Vec<Pair> {
    let at = |i: u32| (f64::from(2 * i) - f64::from(n - 1)) / f64::from(n);
    pairs(&(0..n).map(|i| ratio * (at(i) * part).exp()).collect::<Vec<_>>())
}

#[test]
fn four_findings() {
    let found = |ratio, part, direction| compare(&scattered(10, ratio, part), direction, 0.02).finding;
    assert_eq!(found(1.10, 0.03, Direction::Higher), Finding::Better);
    assert_eq!(found(1.10, 0.03, Direction::Lower), Finding::Worse);
    assert_eq!(found(0.90, 0.03, Direction::Higher), Finding::Worse);
    assert_eq!(found(0.90, 0.03, Direction::Lower), Finding::Better);
    assert_eq!(found(1.001, 0.01, Direction::Higher), Finding::Equivalent);
    assert_eq!(found(1.03, 0.20, Direction::Higher), Finding::Undecided);
    // Surely different, and not surely by more than the margin.
    let close = compare(&scattered(10, 1.025, 0.02), Direction::Higher, 0.02);
    assert!(close.p < 0.01 && close.finding == Finding::Undecided, "{close:?}");
}

#[test]
fn a_planted_ratio_is_read() {
    let found = compare(&scattered(20, 1.07, 0.1), Direction::Higher, 0.01);
    assert!((found.ratio - 1.07).abs() < 1e-9 && (found.median_ratio - 1.07).abs() < 1e-9, "{found:?}");
    assert!(found.low < 1.07 && 1.07 < found.high && found.low < found.low_90 && found.high_90 < found.high);
    assert_eq!((found.pairs, found.excluded, found.p_holm), (20, 0, found.p));
}

#[test]
fn too_few_pairs_say_so() {
    let none = compare(&[], Direction::Higher, 0.01);
    assert!(none.ratio.is_nan() && none.low.is_nan() && none.p == 1.0);
    assert_eq!((none.finding, none.pairs_needed), (Finding::Undecided, None));
    let five = compare(&scattered(5, 2.0, 0.01), Direction::Higher, 0.01);
    assert!(five.low.is_nan() && five.low_90 > 1.9 && five.pairs_needed == Some(6), "{five:?}");
    assert_eq!(five.finding, Finding::Undecided);
    let alike = compare(&scattered(5, 1.0, 0.001), Direction::Higher, 0.01);
    assert!(alike.low_90 > 0.99 && alike.high_90 < 1.01, "{alike:?}");
    assert_eq!((alike.finding, alike.pairs_needed), (Finding::Undecided, Some(6)));
    assert_eq!(compare(&scattered(6, 1.0, 0.001), Direction::Higher, 0.01).finding, Finding::Equivalent);
    assert_eq!(compare(&scattered(6, 2.0, 0.01), Direction::Higher, 0.01).finding, Finding::Better);
}

#[test]
fn figures_that_cannot_be_used_are_counted() {
    let mut all = scattered(8, 1.5, 0.1);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        all.push(Pair::new(bad, 1.0));
        all.push(Pair::new(1.0, bad));
    }
    let found = compare(&all, Direction::Higher, 0.01);
    assert_eq!((found.pairs, found.excluded), (8, 6));
    assert_eq!(found.ratio, compare(&scattered(8, 1.5, 0.1), Direction::Higher, 0.01).ratio);
}

/// Nothing done against 100 done: the largest possible difference, and no missing figure.
#[test]
fn zero_is_a_figure() {
    let found = |baseline: f64, candidate: f64, pairs: usize| {
        compare(&vec![Pair::new(baseline, candidate); pairs], Direction::Higher, 0.01)
    };
    let fallen = found(100.0, 0.0, 7);
    assert_eq!((fallen.pairs, fallen.excluded, fallen.finding), (7, 0, Finding::Worse));
    assert_eq!((fallen.ratio, fallen.median_ratio, fallen.low, fallen.high), (0.0, 0.0, 0.0, 0.0));
    assert!((fallen.p - 2.0 / 128.0).abs() < 1e-12, "as surely as with any other size: {fallen:?}");
    let risen = found(0.0, 100.0, 7);
    assert_eq!((risen.finding, risen.ratio, risen.low), (Finding::Better, f64::INFINITY, f64::INFINITY));
    assert_eq!((found(0.0, 0.0, 7).finding, found(0.0, 0.0, 7).ratio), (Finding::Equivalent, 1.0));
    assert_eq!(found(100.0, 0.0, 5).finding, Finding::Undecided, "five pairs have no interval");
}

/// Up by everything and down by everything cancel out, and a few pairs with zero do not carry those without.
#[test]
fn zeros_on_both_sides_and_among_other_figures() {
    let mut all = vec![Pair::new(0.0, 1.0), Pair::new(1.0, 0.0)];
    let torn = compare(&all, Direction::Higher, 0.01);
    assert_eq!((torn.pairs, torn.ratio, torn.median_ratio, torn.p), (2, 1.0, 1.0, 1.0));
    all.truncate(1);
    all.extend(scattered(20, 1.05, 0.02));
    let found = compare(&all, Direction::Higher, 0.01);
    assert!((found.ratio - 1.05).abs() < 0.01 && found.high < 1.1, "{found:?}");
    assert_eq!((found.pairs, found.pairs_needed), (21, None));
}

/// Holm by hand: 0.01, 0.02, 0.03, 0.5 become 0.04, 0.06, 0.06, 0.5.
#[test]
fn holm_as_in_the_book() {
    let with = |p| {
        (
            Direction::Higher,
            Comparison { p, p_holm: p, ..compare(&scattered(10, 1.1, 0.03), Direction::Higher, 0.01) },
        )
    };
    let mut family = [with(0.03), with(0.5), with(0.01), with(0.02)];
    judge(&mut family);
    let corrected: Vec<f64> = family.iter().map(|(_, c)| (c.p_holm * 1e6).round() / 1e6).collect();
    assert_eq!(corrected, [0.06, 0.5, 0.04, 0.06]);
    let found: Vec<Finding> = family.iter().map(|(_, c)| c.finding).collect();
    assert_eq!(found, [Finding::Undecided, Finding::Undecided, Finding::Better, Finding::Undecided]);
    // Metrics whose finding was withdrawn have a number of pairs that would restore it.
    assert!(family[0].1.pairs_needed.is_some() && family[2].1.pairs_needed.is_none());
}

/// Four metrics and six pairs: the smallest p of 1/32 becomes 1/8, so no difference can be found, however
/// large it is.
#[test]
fn so_few_pairs_of_so_many_metrics_decide_nothing() {
    assert_eq!([1, 2, 4, 8, 100].map(fewest_to_decide), [6, 7, 8, 9, 12]);
    for metrics in [1, 2, 3, 4, 7, 20, 100] {
        let least = fewest_to_decide(metrics);
        let found = |pairs: usize| {
            let one = compare(&scattered(pairs as u32, 3.0, 0.01), Direction::Higher, 0.01);
            let mut family = vec![(Direction::Higher, one); metrics];
            judge(&mut family);
            family[0].1
        };
        assert_eq!(found(least).finding, Finding::Better, "{metrics} metrics, {least} pairs");
        if least > FEWEST_PAIRS {
            let few = found(least - 1);
            assert_eq!(few.finding, Finding::Undecided, "{metrics} metrics, {least} pairs");
            assert_eq!(few.pairs_needed, Some(least as u32), "{metrics} metrics");
        }
    }
}

/// A ratio beyond the margin is planned for at 5 % over the number of metrics; one within it tends to
/// "equivalent", which is judged for each metric alone.
#[test]
fn more_metrics_need_more_pairs_to_differ_and_no_more_to_be_equivalent() {
    let needed = |ratio: f64, metrics: usize| {
        let one = compare(&scattered(12, ratio, 0.4), Direction::Higher, 0.05);
        let mut family = vec![(Direction::Higher, one); metrics];
        judge(&mut family);
        (family[0].1.finding, family[0].1.pairs_needed.unwrap())
    };
    let ((one, alone), (many, among)) = (needed(1.15, 1), needed(1.15, 10));
    assert_eq!((one, many), (Finding::Undecided, Finding::Undecided));
    // 2.807 standard errors instead of 1.960, and 0.84 for the power: 13.3 over 7.84.
    assert!((f64::from(among) / f64::from(alone) - 13.3 / 7.84).abs() < 0.05, "{among} {alone}");
    assert_eq!(needed(1.0, 1), needed(1.0, 10));
}

#[test]
fn metrics_without_pairs_do_not_weigh_on_the_others() {
    let one = compare(&scattered(10, 1.1, 0.03), Direction::Higher, 0.01);
    let mut family = [(Direction::Higher, one), (Direction::Higher, compare(&[], Direction::Higher, 0.01))];
    judge(&mut family);
    assert_eq!(family[0].1.p_holm, one.p);
}

/// 7.84 s^2 / d^2: scatter 0.1, a ratio of one and a margin of 5 % need about 33 pairs.
#[test]
fn pairs_that_would_decide() {
    let flat = scattered(12, 1.0, 0.1 * 12.0 / (143.0f64 / 3.0).sqrt() * (11.0f64 / 12.0).sqrt());
    let found = compare(&flat, Direction::Higher, 0.05);
    let expected = (7.84 * 0.01 / 1.05f64.ln().powi(2)).ceil() as u32;
    assert_eq!((found.finding, found.pairs_needed), (Finding::Undecided, Some(expected)), "{found:?}");
}

#[test]
fn the_noise_floor_is_the_further_end_of_the_controls_interval() {
    for ratio in [1.02, 1.0 / 1.02] {
        let control = scattered(10, ratio, 0.1);
        let found = compare(&control, Direction::Higher, 0.0);
        let further = found.high.max(1.0 / found.low);
        assert!((1.0 + noise_floor(&control) - further).abs() < 1e-9, "{found:?}");
        assert!(noise_floor(&control[..5]).is_nan());
    }
}

/// Ten pairs with a ratio of 1.10, 1.08 to 1.12: a floor of 20 % hides it, and no floor makes anything
/// equivalent.
#[test]
fn noise_hides_differences_and_makes_nothing_alike() {
    let found = |ratio: f64, part: f64, floor: f64| {
        let one = compare(&scattered(10, ratio, part), Direction::Higher, 0.01);
        let mut family = [(Direction::Higher, Comparison { floor, ..one })];
        judge(&mut family);
        family[0].1
    };
    assert_eq!(found(1.10, 0.03, 0.0).finding, Finding::Better);
    let hidden = found(1.10, 0.03, 0.2);
    assert_eq!(hidden.finding, Finding::Undecided);
    // Interval and floor are to shrink to the ratio: ten times ((ln 1.2 + half an interval) / ln 1.1)
    // squared.
    let reach = 1.2f64.ln() + (hidden.high / hidden.low).ln() / 2.0;
    let expected = (10.0 * (reach / 1.1f64.ln()).powi(2)).ceil() as u32;
    assert_eq!(hidden.pairs_needed, Some(expected));
    assert_eq!(found(1.0, 0.005, 0.2).finding, Finding::Equivalent);
    assert_eq!(
        found(1.0, 0.1, 0.2).finding,
        Finding::Undecided,
        "well within the floor, and not shown to be the same"
    );
}

fn pairs_of(figure: impl Strategy<Value = f64> + Clone) -> impl Strategy<Value = Vec<Pair>> {
    prop::collection::vec((figure.clone(), figure).prop_map(|(b, c)| Pair::new(b, c)), 0..45)
}

fn any_pairs() -> impl Strategy<Value = Vec<Pair>> {
    pairs_of(prop_oneof![9 => 0.5f64..2.0, 1 => Just(0.0)])
}

fn near(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || a == b || (a - b).abs() <= 1e-9 * b.abs()
}

proptest! {
    #[test]
    fn exchanging_the_sides_inverts_the_ratio(pairs in any_pairs(), margin in 0.0f64..0.2) {
        let turned: Vec<Pair> = pairs.iter().map(|p| Pair::new(p.candidate, p.baseline)).collect();
        let here = compare(&pairs, Direction::Lower, margin);
        let there = compare(&turned, Direction::Lower, margin);
        prop_assert!(near(here.ratio, 1.0 / there.ratio));
        prop_assert!(near(here.low, 1.0 / there.high) && near(here.high_90, 1.0 / there.low_90));
        prop_assert_eq!(here.p, there.p);
        prop_assert_eq!(here.finding, there.finding.turned());
    }

    #[test]
    fn units_and_order_do_not_matter(pairs in any_pairs(), unit in 1e-6f64..1e6, turn in 0usize..45) {
        let mut other: Vec<Pair> = pairs.iter().map(|p| Pair::new(p.baseline * unit, p.candidate * unit)).collect();
        let turn = turn % other.len().max(1);
        other.rotate_left(turn);
        let (here, there) = (compare(&pairs, Direction::Higher, 0.01), compare(&other, Direction::Higher, 0.01));
        prop_assert!(near(here.ratio, there.ratio) && near(here.low, there.low) && near(here.high, there.high));
        prop_assert!(near(here.p, there.p));
        prop_assert_eq!(here.finding, there.finding);
    }

    #[test]
    fn a_candidate_with_larger_figures_has_a_larger_ratio(pairs in pairs_of(0.5f64..2.0), factor in 1.0f64..2.0) {
        let more: Vec<Pair> = pairs.iter().map(|p| Pair::new(p.baseline, p.candidate * factor)).collect();
        let (here, there) = (compare(&pairs, Direction::Higher, 0.01), compare(&more, Direction::Higher, 0.01));
        prop_assert!(pairs.is_empty() || near(there.ratio, here.ratio * factor));
        prop_assert!(here.low.is_nan() || near(there.low, here.low * factor));
    }

    #[test]
    fn one_wild_pair_does_not_carry_the_ratio(wild in 1e-6f64..1e6) {
        let mut pairs = scattered(20, 1.05, 0.02);
        pairs[7].candidate *= wild;
        let found = compare(&pairs, Direction::Higher, 0.01);
        prop_assert!((found.ratio - 1.05).abs() < 0.01 && found.low > 1.03 && found.high < 1.07, "{:?}", found);
    }

    #[test]
    fn holm_never_helps_and_keeps_the_order(ps in prop::collection::vec(0.0f64..1.0, 1..12)) {
        let one = compare(&scattered(10, 1.1, 0.03), Direction::Higher, 0.01);
        let mut family: Vec<_> = ps.iter().map(|p| (Direction::Higher, Comparison { p: *p, ..one })).collect();
        judge(&mut family);
        for (_, c) in &family {
            prop_assert!(c.p_holm >= c.p && c.p_holm <= 1.0);
            for (_, d) in &family {
                prop_assert!(c.p >= d.p || c.p_holm <= d.p_holm);
            }
        }
    }
}

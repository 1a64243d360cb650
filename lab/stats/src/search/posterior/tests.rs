//! Rules of the search, one by one, and properties of every sequence of results.

use barograph_model::{SearchBounds, SearchMethod, Share, TrialResult};
use proptest::prelude::*;

use crate::search::{Answer, BoundedBy, PassPoint, Purpose, RampEnd, Search, Step, Trial, TrialObservation};
use TrialResult::{Fail, Invalid, Pass};

fn bounds(max_trials: u32) -> SearchBounds {
    SearchBounds {
        min: 100,
        max: 30_000,
        resolution: Share::percent(5.0),
        max_trials,
        method: SearchMethod::Posterior,
    }
}

/// Runs a search; `result` gives the result of each trial from its level and its number, from 0.
fn run(
    mut search: Search,
    mut result: impl FnMut(u32, usize) -> TrialResult,
) -> (Vec<(u32, Purpose)>, Answer) {
    let mut tried = Vec::new();
    loop {
        match search.next() {
            Step::Done(_) => return (tried, search.answer()),
            Step::Trial { level, purpose } => {
                let result = result(level, tried.len());
                tried.push((level, purpose));
                search.tell(level, result);
            }
        }
    }
}

fn sharp(capacity: u32) -> impl Fn(u32, usize) -> TrialResult {
    move |level, _| if level <= capacity { Pass } else { Fail }
}

#[test]
fn without_a_ramp_levels_are_doubled_until_one_fails_twice() {
    let (tried, answer) = run(Search::new(bounds(30)), sharp(5_000));
    let ramp: Vec<u32> = tried.iter().filter(|t| t.1 == Purpose::Ramp).map(|t| t.0).collect();
    assert_eq!(ramp, [100, 200, 400, 800, 1_600, 3_200, 6_400, 6_400]);
    let estimate = answer.estimate.unwrap();
    assert!(estimate.low <= 5_000.0 && 5_000.0 <= estimate.high, "{estimate:?}");
    assert!(answer.confirmed && answer.bounded_by == BoundedBy::Fail, "{tried:?}");
    let confirmation = estimate.confirmation.unwrap();
    assert!(confirmation.complete && confirmation.at_least > 0.6, "{confirmation:?}");
    let above = estimate.above.unwrap();
    assert!(above.complete && above.below < 0.8 && f64::from(above.level) >= estimate.capacity, "{above:?}");
}

#[test]
fn a_failure_of_the_doubling_is_tried_again() {
    // The third trial fails spuriously.
    let (tried, answer) =
        run(Search::new(bounds(30)), |level, n| if level <= 5_000 && n != 2 { Pass } else { Fail });
    let levels: Vec<u32> = tried.iter().take(5).map(|t| t.0).collect();
    assert_eq!(levels, [100, 200, 400, 400, 800]);
    assert!((f64::from(answer.capacity.unwrap()) / 5_000.0 - 1.0).abs() < 0.05, "{answer:?}");
}

#[test]
fn bad_minutes_do_not_end_the_doubling() {
    // The fourth and the fifth trial are not valid: the search goes back to a level that can be valid, and
    // then on.
    let show = |level: u32, n: usize| if matches!(n, 3 | 4) { Invalid } else { sharp(5_000)(level, n) };
    let (tried, answer) = run(Search::new(bounds(30)), show);
    let levels: Vec<u32> = tried.iter().take(11).map(|t| t.0).collect();
    assert_eq!(levels, [100, 200, 400, 800, 800, 720, 800, 1_600, 3_200, 6_400, 6_400]);
    assert!((f64::from(answer.capacity.unwrap()) / 5_000.0 - 1.0).abs() < 0.05, "{answer:?}");
}

#[test]
fn a_ramp_that_failed_says_where_to_begin_and_closes_nothing() {
    let begun = |capacity| {
        let mut search = Search::new(bounds(25));
        search.ramp_ended(10_000, RampEnd::GaveWay);
        run(search, sharp(capacity))
    };
    let (tried, answer) = begun(9_000);
    assert!((7_000..=10_000).contains(&tried[0].0), "{tried:?}");
    assert!(
        (f64::from(answer.capacity.unwrap()) / 9_000.0 - 1.0).abs() < 0.03 && answer.trials <= 25,
        "{answer:?}"
    );
    // The ramp was wrong by far.
    for capacity in [1_000, 28_000] {
        let (_, answer) = begun(capacity);
        let off = f64::from(answer.capacity.unwrap()) / f64::from(capacity) - 1.0;
        assert!(off.abs() < 0.05, "{capacity}: {answer:?}");
    }
}

#[test]
fn at_the_highest_level_six_passes_confirm_and_more_is_not_known() {
    let mut search = Search::new(bounds(9));
    search.ramp_ended(30_000, RampEnd::Reached);
    let (tried, answer) = run(search, sharp(50_000));
    assert!(tried.iter().all(|t| t.0 == 30_000) && tried.len() == 6, "{tried:?}");
    assert_eq!(
        (answer.capacity, answer.bounded_by, answer.confirmed),
        (Some(30_000), BoundedBy::Maximum, true)
    );
    let estimate = answer.estimate.unwrap();
    assert!(estimate.beyond > 0.9 && estimate.confirmation.unwrap().trials == 6, "{estimate:?}");
}

#[test]
fn failing_at_the_minimum_ends_without_a_capacity() {
    let mut search = Search::new(bounds(30));
    search.ramp_ended(1_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, sharp(0));
    assert_eq!((answer.capacity, answer.bounded_by, answer.confirmed), (None, BoundedBy::Minimum, false));
    assert!(tried.len() < 20, "{tried:?}");
}

#[test]
fn a_small_budget_has_a_wide_interval_and_says_that_nothing_is_confirmed() {
    for trials in [2, 4, 8] {
        let mut search = Search::new(bounds(trials));
        search.ramp_ended(11_000, RampEnd::GaveWay);
        let (tried, answer) = run(search, sharp(9_700));
        let estimate = answer.estimate.unwrap();
        assert!(tried.len() <= trials as usize && !answer.confirmed, "{tried:?}");
        assert!(estimate.low < 9_700.0 && 9_700.0 < estimate.high, "{estimate:?}");
        assert!(estimate.confirmation.is_none_or(|c| !c.complete), "{estimate:?}");
    }
}

#[test]
fn what_is_not_valid_is_made_again_and_teaches_nothing() {
    let mut search = Search::new(bounds(20));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let (first, before) = (search.next(), search.answer().estimate.unwrap());
    let Step::Trial { level, .. } = first.clone() else { panic!("no trial") };
    search.tell(level, Invalid);
    let after = search.answer().estimate.unwrap();
    assert_eq!((search.next(), after.invalid, after.valid), (first, 1, 0));
    assert_eq!((after.low, after.high), (before.low, before.high));
}

#[test]
fn levels_that_are_never_believed_bound_the_answer() {
    let mut search = Search::new(bounds(25));
    search.ramp_ended(30_000, RampEnd::Reached);
    // From 20,000 on the driver is the limit.
    let (tried, answer) = run(search, |level, _| if level < 20_000 { Pass } else { Invalid });
    assert_eq!(answer.bounded_by, BoundedBy::Disbelief, "{tried:?}");
    assert!(answer.capacity.is_some_and(|level| level < 20_000), "{answer:?}");
    let invalid = answer.estimate.unwrap().invalid;
    assert!((4..=16).contains(&invalid), "{invalid} of {tried:?}");
}

#[test]
fn levels_between_a_pass_and_a_failure_that_are_never_believed_widen_the_interval() {
    let mut search = Search::new(bounds(15));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let result = |level, _| match level {
        ..6_000 => Pass,
        6_000..8_000 => Invalid,
        _ => Fail,
    };
    let (tried, answer) = run(search, result);
    let estimate = answer.estimate.as_ref().unwrap();
    assert!(estimate.invalid >= 4, "{tried:?}");
    assert_eq!(answer.bounded_by, BoundedBy::Budget, "{tried:?}");
    assert!(answer.capacity > answer.highest_pass, "{answer:?}");
    assert!(estimate.low < 6_500.0 && estimate.high > 8_000.0, "{estimate:?}");
}

#[test]
fn when_nothing_is_believed_nothing_is_known() {
    let mut search = Search::new(bounds(10));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, |_, _| Invalid);
    assert_eq!((tried.len(), answer.capacity, answer.bounded_by), (10, None, BoundedBy::Disbelief));
}

/// With as many trials as `standard` and `full` have, a target that loses half of its capacity when the
/// confirmation begins, or earlier, is found.
#[test]
fn a_target_that_changes_is_told_as_a_drift() {
    for (trials, change) in [(19, 10), (19, 14), (30, 15), (30, 22)] {
        let found = |left: u32| {
            let mut search = Search::new(SearchBounds { resolution: Share::ZERO, ..bounds(trials) });
            search.ramp_ended(10_000, RampEnd::GaveWay);
            let capacity = |n: usize| if n < change { 9_000 } else { left };
            run(search, |level, n| if level <= capacity(n) { Pass } else { Fail })
        };
        let (tried, changed) = found(4_500);
        let repeats = changed.estimate.unwrap().repeats.unwrap();
        assert!(repeats.drifted && repeats.p < 0.01, "{trials} {change}: {repeats:?} of {tried:?}");
        assert!(tried.iter().any(|t| t.1 == Purpose::Repeat), "{tried:?}");
        let steady = found(9_000).1.estimate.unwrap().repeats.unwrap();
        assert!(!steady.drifted && steady.p > 0.5, "{trials}: {steady:?}");
        assert!(steady.trials >= 3, "confirmations count: {steady:?}");
    }
}

#[test]
fn response_times_are_a_second_opinion() {
    let mut search = Search::new(bounds(20));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    while let Step::Trial { level, .. } = search.next() {
        let margin = 8.0 * (f64::from(level) / 9_000.0).ln();
        let result = if margin <= 0.0 { Pass } else { Fail };
        search.tell(level, TrialObservation { margin: Some(margin), ..result.into() });
    }
    let found = search.answer().estimate.unwrap().cross_check.unwrap();
    assert!((found.capacity - 9_000.0).abs() < 1.0 && !found.disagrees, "{found:?}");
}

#[test]
fn few_levels_are_told_apart_as_far_as_they_can_be() {
    let few = SearchBounds { min: 1, max: 8, ..bounds(20) };
    for capacity in 1..8 {
        let mut search = Search::new(few);
        search.ramp_ended(8, RampEnd::GaveWay);
        let (tried, answer) = run(search, sharp(capacity));
        assert_eq!(answer.capacity, Some(capacity), "{tried:?} {answer:?}");
    }
}

#[test]
fn strange_bounds_still_end() {
    let strange = SearchBounds { min: 0, max: 0, resolution: Share::ZERO, ..bounds(50) };
    let (_, answer) = run(Search::new(strange), sharp(7));
    assert_eq!(answer.capacity, Some(1));
    let none = SearchBounds { max_trials: 0, ..strange };
    let (tried, answer) = run(Search::new(none), sharp(7));
    assert!(tried.is_empty() && answer.capacity.is_none());
}

/// Whether the sequential test of a level has ended, with all its trials.
fn ended(trials: &[Trial], level: u32) -> bool {
    let mut evidence = 0.0f64;
    trials.iter().filter(|trial| trial.level == level).any(|trial| {
        evidence += match trial.result {
            Pass => (0.9f64 / 0.5).ln(),
            Fail => (0.1f64 / 0.5).ln(),
            Invalid => 0.0,
        };
        evidence.abs() >= (0.95f64 / 0.05).ln() - 1e-9
    })
}

/// Two failures reject a level for any purpose; a test from zero would leave them out.
#[test]
fn a_level_that_was_rejected_is_not_confirmed_from_zero() {
    let mut search = Search::new(bounds(30));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let mut unlucky = 4;
    while let Step::Trial { level, purpose } = search.next() {
        assert!(purpose != Purpose::Confirm || !ended(search.trials(), level), "{level}");
        let fails = purpose == Purpose::Confirm && unlucky > 0;
        unlucky -= u32::from(fails);
        search.tell(level, if level <= 9_000 && !fails { Pass } else { Fail });
    }
    assert_eq!(unlucky, 0);
    let estimate = search.answer().estimate.unwrap();
    let confirmed = estimate.confirmation.unwrap();
    let seen = search.trials().iter().filter(|trial| trial.level == confirmed.level);
    let passed = seen.clone().filter(|trial| trial.result == Pass).count() as u32;
    assert_eq!((confirmed.passed, confirmed.trials), (passed, seen.count() as u32), "{estimate:?}");
}

fn falls(curve: &[PassPoint]) -> bool {
    curve.windows(2).all(|pair| pair[0].pass + 1e-9 >= pair[1].pass && pair[0].level < pair[1].level)
}

#[test]
fn the_curve_falls_where_half_of_all_probability_is_reached_exactly() {
    // Half of the prior has at most 5 % of spurious failures, so far below the edge the median is the end of a step.
    let mut search = Search::new(SearchBounds { min: 4_168, max: 50_029, ..bounds(1) });
    search.ramp_ended(50_029, RampEnd::GaveWay);
    let (_, answer) = run(search, |_, _| Invalid);
    let curve = answer.estimate.unwrap().curve;
    assert!(falls(&curve), "{curve:?}");
}

fn any_result() -> impl Strategy<Value = TrialResult> {
    prop_oneof![4 => Just(Pass), 4 => Just(Fail), 1 => Just(Invalid)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_results_end_in_time_and_within_the_bounds(
        results in prop::collection::vec(any_result(), 20),
        (min, extra, max_trials) in (1u32..5_000, 0u32..50_000, 1u32..20),
        (resolution, ramp, ramped) in (0.001f64..0.2, 0u32..60_000, 0..3),
    ) {
        let (max, resolution) = (min + extra, Share::new(resolution).unwrap());
        let mut search = Search::new(SearchBounds { min, max, resolution, ..bounds(max_trials) });
        match ramped {
            0 => {}
            1 => search.ramp_ended(ramp, RampEnd::GaveWay),
            _ => search.ramp_ended(max, RampEnd::Reached),
        }
        let mut twin = search.clone();
        let (tried, answer) = run(search, |_, n| results[n % results.len()]);
        prop_assert!(tried.len() <= max_trials as usize);
        prop_assert!(tried.iter().all(|t| (min..=max).contains(&t.0)), "{tried:?} outside {min} to {max}");
        for (n, (level, purpose)) in tried.iter().enumerate() {
            prop_assert_eq!(twin.next(), Step::Trial { level: *level, purpose: *purpose });
            prop_assert!(*purpose != Purpose::Confirm || !ended(twin.trials(), *level), "{level} of {tried:?}");
            twin.tell(*level, results[n % results.len()]);
        }
        let passed = (0..tried.len()).any(|n| results[n % results.len()] == Pass);
        prop_assert_eq!(answer.capacity.is_some(), passed);
        prop_assert!(answer.capacity.is_none_or(|level| (min..=max).contains(&level)));
        let estimate = answer.estimate.unwrap();
        prop_assert!(estimate.low <= estimate.capacity && estimate.capacity <= estimate.high);
        prop_assert!((min..=max).contains(&estimate.safe) && (0.0..=1.0 + 1e-9).contains(&estimate.beyond));
        prop_assert_eq!(estimate.valid + estimate.invalid, answer.trials);
        let counted = |level: u32, result: TrialResult| {
            twin.trials().iter().filter(|t| t.level == level && t.result == result).count() as u32
        };
        if let Some(c) = estimate.confirmation {
            let (passed, failed) = (counted(c.level, Pass), counted(c.level, Fail));
            prop_assert_eq!((c.passed, c.trials), (passed, passed + failed), "a failure is left out");
            prop_assert!(c.at_least <= f64::from(c.passed) / f64::from(c.trials));
        }
        if let Some(a) = estimate.above {
            let (passed, failed) = (counted(a.level, Pass), counted(a.level, Fail));
            prop_assert_eq!((a.failed, a.trials), (failed, passed + failed), "a pass is left out");
            prop_assert!(a.below >= 1.0 - f64::from(a.failed) / f64::from(a.trials));
        }
        prop_assert!(!estimate.curve.is_empty());
        prop_assert!(falls(&estimate.curve), "{:?}", estimate.curve);
    }
}

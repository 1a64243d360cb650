//! Rules of the search, one by one, and properties of every sequence of results.

use barograph_model::{SearchBounds, SearchMethod, Share, TrialResult};
use proptest::prelude::*;

use crate::search::{Answer, BoundedBy, Purpose, RampEnd, Search, Step};
use TrialResult::{Fail, Invalid, Pass};

fn bounds(max_trials: u32) -> SearchBounds {
    SearchBounds {
        min: 100,
        max: 30_000,
        resolution: Share::percent(3.0),
        max_trials,
        method: SearchMethod::Bisect,
    }
}

/// Runs a search against a target that passes up to `capacity`; returns the levels tried and the answer.
fn run(mut search: Search, capacity: u32) -> (Vec<u32>, Answer) {
    let mut tried = Vec::new();
    loop {
        match search.next() {
            Step::Done(answer) => return (tried, answer),
            Step::Trial { level, .. } => {
                tried.push(level);
                search.tell(level, if level <= capacity { Pass } else { Fail });
            }
        }
    }
}

fn wants(search: &Search) -> (u32, Purpose) {
    match search.next() {
        Step::Trial { level, purpose } => (level, purpose),
        Step::Done(answer) => panic!("done too early: {answer:?}"),
    }
}

#[test]
fn a_ramp_that_failed_begins_a_tenth_below_and_brackets() {
    let mut search = Search::new(bounds(10));
    search.ramp_ended(20_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, 21_100);
    assert_eq!(tried, [18_000, 19_800, 23_800, 21_800, 20_800, 21_400, 20_800]);
    assert_eq!(
        answer,
        Answer {
            capacity: Some(20_800),
            highest_pass: Some(20_800),
            lowest_fail: Some(21_400),
            bounded_by: BoundedBy::Fail,
            trials: 7,
            confirmed: true,
            estimate: None,
        }
    );
}

#[test]
fn a_ramp_that_reached_the_highest_level_begins_there() {
    let mut search = Search::new(bounds(6));
    search.ramp_ended(30_000, RampEnd::Reached);
    let (tried, answer) = run(search, 40_000);
    assert_eq!(tried, [30_000, 30_000]);
    assert_eq!(
        (answer.capacity, answer.bounded_by, answer.confirmed),
        (Some(30_000), BoundedBy::Maximum, true)
    );
}

#[test]
fn failing_at_the_minimum_ends_without_a_capacity() {
    let mut search = Search::new(bounds(30));
    search.ramp_ended(1_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, 0);
    assert_eq!(tried.last(), Some(&100));
    assert_eq!((answer.capacity, answer.bounded_by, answer.confirmed), (None, BoundedBy::Minimum, false));
}

#[test]
fn a_small_budget_keeps_its_last_trial_to_confirm() {
    let mut search = Search::new(bounds(3));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, 20_000);
    assert_eq!(tried, [9_000, 9_900, 9_900]);
    assert_eq!(
        (answer.capacity, answer.bounded_by, answer.confirmed),
        (Some(9_900), BoundedBy::Budget, true)
    );
    let one = Search::new(bounds(1));
    assert_eq!(wants(&one), (30_000, Purpose::Confirm));
}

#[test]
fn a_failed_confirmation_steps_down_and_confirms_again() {
    let mut search = Search::new(bounds(5));
    search.ramp_ended(30_000, RampEnd::Reached);
    search.tell(30_000, Pass);
    assert_eq!(wants(&search), (30_000, Purpose::Confirm));
    search.tell(30_000, Fail);
    assert_eq!(wants(&search), (29_200, Purpose::Confirm));
    search.tell(29_200, Fail);
    assert_eq!(wants(&search), (27_400, Purpose::Confirm));
    search.tell(27_400, Pass);
    // A trial is left and the bracket is open again: the search continues from the confirmed level.
    assert_eq!(wants(&search), (28_400, Purpose::Confirm));
    search.tell(28_400, Fail);
    let Step::Done(answer) = search.next() else { panic!("not done") };
    // 27,400 passed the only window it had.
    assert_eq!(
        (answer.capacity, answer.bounded_by, answer.confirmed),
        (Some(27_400), BoundedBy::Fail, false)
    );
    assert_eq!(answer.lowest_fail, Some(28_400));
}

#[test]
fn a_budget_of_four_confirms_and_goes_on() {
    let mut search = Search::new(bounds(4));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, 10_500);
    assert_eq!(tried, [9_000, 9_900, 9_900, 10_900]);
    assert_eq!(
        (answer.capacity, answer.bounded_by, answer.confirmed),
        (Some(9_900), BoundedBy::Budget, true)
    );
}

#[test]
fn a_level_that_passed_once_is_not_confirmed_even_above_one_that_passed_twice() {
    let mut search = Search::new(bounds(4));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    let (tried, answer) = run(search, 20_000);
    assert_eq!(tried, [9_000, 9_900, 9_900, 10_900]);
    assert_eq!((answer.capacity, answer.confirmed), (Some(10_900), false));
}

#[test]
fn a_level_repeated_because_it_was_not_believed_goes_down_one_step_only() {
    let mut search = Search::new(bounds(8));
    search.ramp_ended(20_000, RampEnd::GaveWay);
    search.tell(18_000, Invalid);
    search.tell(18_000, Invalid);
    assert_eq!(wants(&search), (15_300, Purpose::Search));
    search.tell(15_300, Fail);
    // The second level missed: twice the step.
    assert_eq!(wants(&search), (10_700, Purpose::Search));
}

#[test]
fn without_trials_left_the_next_lower_pass_stands_unconfirmed() {
    let mut search = Search::new(bounds(3));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    search.tell(9_000, Pass);
    search.tell(9_900, Pass);
    search.tell(9_900, Fail);
    let Step::Done(answer) = search.next() else { panic!("not done") };
    assert_eq!((answer.capacity, answer.confirmed), (Some(9_000), false));
    assert_eq!(answer.bounded_by, BoundedBy::Fail);
}

#[test]
fn an_invalid_trial_is_repeated_once_and_then_bounds() {
    let mut search = Search::new(bounds(8));
    search.ramp_ended(10_000, RampEnd::GaveWay);
    search.tell(9_000, Pass);
    search.tell(9_900, Invalid);
    assert_eq!(wants(&search), (9_900, Purpose::Search));
    search.tell(9_900, Invalid);
    assert_eq!(wants(&search), (9_450, Purpose::Search));
    search.tell(9_450, Pass);
    search.tell(9_700, Pass);
    assert_eq!(wants(&search), (9_700, Purpose::Confirm));
    search.tell(9_700, Pass);
    let Step::Done(answer) = search.next() else { panic!("not done") };
    assert_eq!((answer.capacity, answer.bounded_by), (Some(9_700), BoundedBy::Disbelief));
    assert_eq!(answer.lowest_fail, None);
}

#[test]
fn a_confirmation_that_cannot_be_believed_leaves_the_capacity_unconfirmed() {
    let mut search = Search::new(bounds(2));
    search.ramp_ended(30_000, RampEnd::Reached);
    search.tell(30_000, Pass);
    search.tell(30_000, Invalid);
    let Step::Done(answer) = search.next() else { panic!("not done") };
    assert_eq!((answer.capacity, answer.confirmed), (Some(30_000), false));
}

#[test]
fn strange_bounds_still_end() {
    let strange = SearchBounds { min: 0, max: 0, resolution: Share::ZERO, ..bounds(50) };
    let (tried, answer) = run(Search::new(strange), 7);
    assert_eq!((tried, answer.capacity), (vec![1, 1], Some(1)));
    let none = SearchBounds { max_trials: 0, ..strange };
    assert_eq!(run(Search::new(none), 7).1.bounded_by, BoundedBy::Budget);
}

fn any_result() -> impl Strategy<Value = TrialResult> {
    prop_oneof![4 => Just(Pass), 4 => Just(Fail), 1 => Just(Invalid)]
}

proptest! {
    #[test]
    fn any_results_keep_the_bracket_and_end_in_time(
        results in prop::collection::vec(any_result(), 40),
        (min, extra, max_trials) in (1u32..5_000, 0u32..50_000, 1u32..40),
        (resolution, ramp, ramp_failed) in (0.001f64..0.2, 0u32..60_000, any::<bool>()),
    ) {
        let (max, resolution) = (min + extra, Share::new(resolution).unwrap());
        let mut search = Search::new(SearchBounds { min, max, resolution, max_trials, method: SearchMethod::Bisect });
        let how = if ramp_failed { RampEnd::GaveWay } else { RampEnd::Reached };
        search.ramp_ended(ramp, how);
        let mut twin = search.clone();
        let mut used = 0;
        let answer = loop {
            prop_assert_eq!(search.next(), twin.next(), "the same results lead to the same steps");
            let (level, purpose) = match search.next() {
                Step::Done(answer) => break answer,
                Step::Trial { level, purpose } => (level, purpose),
            };
            prop_assert!((min..=max).contains(&level), "{level} is outside {min} to {max}");
            let before = search.answer();
            let repeats = search.trials().last().is_some_and(|t| t.result == Invalid && t.level == level);
            if let Some(fail) = before.lowest_fail {
                prop_assert!(level < fail, "{level} was tried, {fail} had failed");
            }
            if purpose == Purpose::Search && !repeats {
                prop_assert!(before.highest_pass.is_none_or(|pass| level > pass), "{level} is below a pass");
            }
            prop_assert!(purpose == Purpose::Confirm || used + 1 < max_trials, "the last trial confirms");
            let result = results[used as usize % results.len()];
            search.tell(level, result);
            twin.tell(level, result);
            used += 1;
            prop_assert!(used <= max_trials);
        };
        prop_assert_eq!(answer.trials, used);
        if let Some(capacity) = answer.capacity {
            let passed = search.trials().iter().filter(|t| t.level == capacity && t.result == Pass).count();
            prop_assert_eq!(answer.confirmed, passed >= 2);
            prop_assert!((min..=max).contains(&capacity));
            prop_assert!(answer.lowest_fail.is_none_or(|fail| capacity < fail));
            prop_assert!(search.trials().iter().any(|t| t.level == capacity && t.result == Pass));
        } else {
            prop_assert!(!answer.confirmed);
        }
        if answer.bounded_by == BoundedBy::Maximum {
            prop_assert_eq!(answer.capacity, Some(max));
        }
    }

    #[test]
    fn a_sharp_edge_is_found_within_the_resolution(capacity in 500u32..29_000, ramp in 400u32..30_000) {
        let mut search = Search::new(bounds(40));
        search.ramp_ended(ramp, RampEnd::GaveWay);
        let (_, answer) = run(search, capacity);
        let found = f64::from(answer.capacity.unwrap());
        prop_assert!(answer.confirmed && found <= f64::from(capacity));
        prop_assert!(found >= f64::from(capacity) * 0.965, "{found} of {capacity}");
    }
}

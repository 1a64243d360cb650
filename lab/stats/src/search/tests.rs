//! The methods kept for comparison with published results.

use barograph_model::{SearchBounds, SearchMethod, Share, Stair, TrialResult};

use super::{Answer, BoundedBy, Purpose, Search, Step, TrialObservation};
use TrialResult::{Fail, Invalid, Pass};

fn bounds(method: SearchMethod) -> SearchBounds {
    SearchBounds { min: 60, max: 30_000, resolution: Share::percent(1.0), max_trials: 60, method }
}

fn run(mut search: Search, mut show: impl FnMut(u32) -> TrialObservation) -> (Vec<(u32, Purpose)>, Answer) {
    let mut tried = Vec::new();
    loop {
        match search.next() {
            Step::Done(answer) => return (tried, answer),
            Step::Trial { level, purpose } => {
                tried.push((level, purpose));
                search.tell(level, show(level));
            }
        }
    }
}

fn sharp(capacity: u32) -> impl Fn(u32) -> TrialObservation {
    move |level| if level <= capacity { Pass.into() } else { Fail.into() }
}

fn levels(tried: &[(u32, Purpose)], purpose: Purpose) -> Vec<u32> {
    tried.iter().filter(|t| t.1 == purpose).map(|t| t.0).collect()
}

#[test]
fn findmax_follows_its_rules() {
    let (tried, answer) = run(Search::new(bounds(SearchMethod::FindMax { step: 1_000 })), sharp(4_300));
    assert_eq!(levels(&tried, Purpose::Ramp), [1_000, 2_000, 3_000, 4_000, 5_000]);
    // 4,500 fails; 500 down; half the gap up; three quarters of it down, and so on until it is below 1 %.
    assert_eq!(levels(&tried, Purpose::Search)[..5], [4_500, 4_000, 4_250, 4_375, 4_281]);
    let (pass, fail) = (answer.capacity.unwrap(), answer.lowest_fail.unwrap());
    assert!(pass <= 4_300 && fail > 4_300 && f64::from(fail - pass) < f64::from(fail) * 0.01, "{answer:?}");
    assert_eq!((answer.bounded_by, answer.confirmed), (BoundedBy::Fail, false));
}

#[test]
fn three_passes_and_two_failures_in_a_row_make_findmax_step_farther() {
    let search = || Search::new(bounds(SearchMethod::FindMax { step: 1_000 }));
    // The ramp saw 99.9 % in time up to 4,000 only.
    let show = |in_time_to: u32, capacity: u32| {
        move |level: u32| {
            let in_time = Some(if level <= in_time_to { 1.0 } else { 0.99 });
            TrialObservation { in_time, ..sharp(capacity)(level) }
        }
    };
    let (tried, answer) = run(search(), show(4_000, 30_000));
    let up = levels(&tried, Purpose::Search);
    assert_eq!(up[..5], [4_500, 5_000, 5_500, 6_125, 6_906]);
    assert_eq!((answer.capacity, answer.bounded_by), (Some(30_000), BoundedBy::Maximum));
    let (tried, answer) = run(search(), show(4_000, 0));
    assert_eq!(levels(&tried, Purpose::Search)[..3], [4_500, 4_000, 3_250]);
    assert_eq!((answer.capacity, answer.bounded_by), (None, BoundedBy::Minimum));
    // The first interval always passes.
    let (tried, _) = run(search(), show(0, 900));
    assert_eq!(levels(&tried, Purpose::Ramp), [1_000, 2_000]);
}

#[test]
fn findmax_gives_up_on_what_it_cannot_believe() {
    let (_, answer) = run(Search::new(bounds(SearchMethod::FindMax { step: 1_000 })), |_| Invalid.into());
    assert_eq!((answer.capacity, answer.bounded_by), (None, BoundedBy::Disbelief));
}

fn stairs(least_gain: f64, most_cpu: f64) -> Search {
    let stair = Stair { step: 2, least_gain: Share::percent(least_gain), most_cpu: Share::percent(most_cpu) };
    Search::new(SearchBounds { min: 1, max: 20, ..bounds(SearchMethod::Staircase(stair)) })
}

#[test]
fn a_staircase_ends_at_the_first_level_that_fails() {
    let (tried, answer) = run(stairs(1.0, 100.0), sharp(6));
    assert_eq!(tried.iter().map(|t| t.0).collect::<Vec<_>>(), [1, 3, 5, 7]);
    assert_eq!((answer.capacity, answer.lowest_fail, answer.bounded_by), (Some(5), Some(7), BoundedBy::Fail));
    assert_eq!(run(stairs(1.0, 100.0), sharp(0)).1.bounded_by, BoundedBy::Minimum);
    let (_, all) = run(stairs(1.0, 100.0), sharp(30));
    assert_eq!((all.capacity, all.bounded_by), (Some(20), BoundedBy::Maximum));
    let (tried, unknown) = run(stairs(1.0, 100.0), |_| Invalid.into());
    assert_eq!((tried.len(), unknown.capacity, unknown.bounded_by), (2, None, BoundedBy::Disbelief));
}

#[test]
fn a_staircase_ends_where_more_brings_nothing_and_where_the_host_is_used_up() {
    // 100 per level up to 7, and no more beyond.
    let saturating =
        |level: u32| TrialObservation { throughput: Some(f64::from(level.min(7)) * 100.0), ..Pass.into() };
    let (tried, answer) = run(stairs(2.0, 100.0), saturating);
    assert_eq!(tried.last().unwrap().0, 9);
    assert_eq!((answer.capacity, answer.bounded_by), (Some(7), BoundedBy::Gain));
    let (_, answer) = run(stairs(0.0, 100.0), saturating);
    assert_eq!((answer.capacity, answer.bounded_by), (Some(20), BoundedBy::Maximum));
    let busy = |level: u32| TrialObservation { cpu: Some(f64::from(level) * 0.1), ..Pass.into() };
    let (_, answer) = run(stairs(2.0, 85.0), busy);
    assert_eq!((answer.capacity, answer.bounded_by), (Some(9), BoundedBy::Cpu));
}

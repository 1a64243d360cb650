//! Loads that end after a number of operations: exactly this number starts and ends.

use std::rc::Rc;

use barograph_engine::sim::{Time, runnable};
use barograph_engine::{EngineHandle, Groups, Runnable, Settings};
use barograph_model::{Arrivals, Distribution, MissedBeats, Nanos, OpenLoop, Outcome, Pace, StartOf};
use barograph_stats::Interval;
use proptest::prelude::*;

use crate::groups::TargetGroups;
use crate::handle::block_on;
use crate::target::*;

/// Users that are tasks, or in groups of a size.
type Size = Option<usize>;

/// Users whose answers take `delay`.
fn users(delay: Nanos, size: Size) -> Box<dyn Runnable> {
    let answers = move |_, _| (delay, Outcome::Good);
    match size {
        None => runnable(&Time::default(), move |timer| target(answers, &Log::default())(timer)),
        Some(size) => runnable(&Time::default(), move |timer| {
            Groups::new(TargetGroups { timer, script: Rc::new(answers), log: Log::default(), size })
        }),
    }
}

/// A load that has ended, with the first start and the last end.
struct CompletedLoad {
    all: Interval,
    first: Nanos,
    last: Nanos,
}

async fn rest(load: &mut EngineHandle) -> CompletedLoad {
    let mut all = Interval::new(3);
    while let Some(next) = load.next().await.unwrap() {
        all.append(&next);
    }
    CompletedLoad { all, first: load.first_start().unwrap(), last: load.last_end().unwrap() }
}

/// Begins `operations` at a level, and runs to their end.
fn whole(settings: &Settings, (level, operations): (u32, u64), users: Box<dyn Runnable>) -> CompletedLoad {
    let mut found = None;
    block_on(async {
        let mut load = users.start(settings).unwrap();
        load.limit(operations).unwrap();
        load.ramp(level, Nanos::ZERO).await.unwrap();
        assert_eq!((load.first_start(), load.last_end()), (None, None));
        found = Some(rest(&mut load).await);
    });
    found.unwrap()
}

fn ended(whole: &CompletedLoad) -> (u64, u64) {
    (whole.all.starts, whole.all.ops.iter().map(barograph_stats::OpStats::count).sum())
}

fn opened(open: (u32, u32), workers: usize) -> Settings {
    let mut all = settings(plain(Pace::AtOnce), workers);
    let (most_users, most_waiting) = open;
    let (arrivals, start_of) = (Arrivals::Constant, StartOf::Operation);
    all.open = Some(OpenLoop { arrivals, start_of, most_users, most_waiting });
    all
}

#[test]
fn ten_operations_of_three_users_take_four_rounds() {
    for size in [None, Some(2), Some(8)] {
        let found = whole(&settings(plain(Pace::AtOnce), 1), (3, 10), users(ms(100), size));
        assert_eq!(ended(&found), (10, 10), "{size:?}");
        // From 2 ms on, when every worker knows of the load.
        assert_eq!((found.first, found.last), (ms(2), ms(402)), "{size:?}");
        assert_eq!((found.all.from, found.all.to, found.all.users), (ms(2), ms(402), 0));
    }
}

#[test]
fn the_end_does_not_wait_for_a_pause() {
    let pause = Pace::Think(Distribution::Constant(ms(60_000)));
    for size in [None, Some(4)] {
        let found = whole(&settings(plain(pause.clone()), 2), (4, 6), users(ms(50), size));
        assert_eq!((ended(&found), found.last), ((6, 6), ms(60_102)), "{size:?}");
        assert_eq!(found.all.to, found.last);
    }
}

#[test]
fn an_interval_that_closes_soon_after_the_last_end_is_cut_off_there() {
    for (size, workers) in [(None, 1), (None, 2), (Some(4), 2)] {
        let mut ends = Vec::new();
        block_on(async {
            // Two rounds from 2 ms on end 4 ms before the interval does.
            let mut load = users(ms(497), size).start(&settings(plain(Pace::AtOnce), workers)).unwrap();
            load.limit(8).unwrap();
            load.ramp(4, Nanos::ZERO).await.unwrap();
            while let Some(next) = load.next().await.unwrap() {
                ends.push((next.to, next.ops.iter().map(barograph_stats::OpStats::count).sum::<u64>()));
            }
            assert_eq!(load.last_end(), Some(ms(996)));
        });
        assert_eq!(ends[0], (ms(996), 8), "{size:?} {workers}: {ends:?}");
    }
}

#[test]
fn arrivals_of_an_open_loop_are_counted() {
    for size in [None, Some(4)] {
        let found = whole(&opened((50, 10), 2), (10, 5), users(ms(250), size));
        assert_eq!(ended(&found), (5, 5));
        assert_eq!((found.first, found.last), (ms(2), ms(652)), "{size:?}");
        // Two users, one on each worker, for answers of 250 ms: arrivals wait, and none is lost.
        let found = whole(&opened((2, 10), 2), (10, 7), users(ms(250), size));
        assert_eq!((ended(&found), found.all.dropped), ((7, 7), 0));
        assert!(found.all.late > 0);
        let found = whole(&opened((1, 0), 1), (10, 3), users(ms(250), size));
        assert_eq!((ended(&found), found.all.dropped, found.last), ((3, 3), 4, ms(852)), "{size:?}");
    }
}

#[test]
fn what_came_before_is_not_counted() {
    block_on(async {
        let mut load = users(ms(30), None).start(&settings(plain(Pace::AtOnce), 2)).unwrap();
        load.ramp(4, Nanos::ZERO).await.unwrap();
        let before = load.next().await.unwrap().unwrap();
        load.ramp(0, Nanos::ZERO).await.unwrap();
        let still = load.next().await.unwrap().unwrap();
        assert_eq!((before.starts > 100, still.users), (true, 0));
        load.limit(9).unwrap();
        load.ramp(4, Nanos::ZERO).await.unwrap();
        let found = rest(&mut load).await;
        assert_eq!((ended(&found), found.last - found.first), ((9, 9), ms(90)));
    });
}

#[test]
fn operations_that_time_out_have_ended() {
    let mut short = settings(plain(Pace::AtOnce), 1);
    (short.timeout, short.pause_after_failure) = (ms(200), Nanos::ZERO);
    for size in [None, Some(2)] {
        let found = whole(&short, (2, 6), users(ms(60_000), size));
        assert_eq!(ended(&found), (6, 6), "{size:?}");
        assert_eq!(found.all.ops[0].outcomes[Outcome::TimedOut.index()], 6);
    }
}

#[test]
fn a_load_can_be_stopped_before_its_end() {
    block_on(async {
        let mut load = users(ms(100), None).start(&settings(plain(Pace::AtOnce), 1)).unwrap();
        load.limit(1_000_000).unwrap();
        load.ramp(2, Nanos::ZERO).await.unwrap();
        let first = load.next().await.unwrap().unwrap();
        load.stop(ms(500)).await;
        let last = load.next().await.unwrap().unwrap();
        assert_eq!((first.starts, last.ops[0].count() + first.ops[0].count()), (20, 20));
        assert!(load.next().await.unwrap().is_none() && load.last_end().is_none());
    });
}

proptest! {
    #[test]
    fn exactly_the_number_starts_and_ends(
        operations in 1u64..400,
        level in 1u32..40,
        workers in 1usize..6,
        size in prop::option::of(1usize..9),
        pace in 0usize..4,
        delay in 0u64..30,
    ) {
        let uniform = Distribution::Uniform { min: ms(1), max: ms(40) };
        let pace = match pace {
            0 => Pace::AtOnce,
            1 => Pace::Think(uniform),
            2 => Pace::Cycle(uniform),
            _ => Pace::Beat { every: ms(20), missed: MissedBeats::Skip },
        };
        // Without any delay a simulated user would never let time advance.
        let delay = ms(delay + u64::from(matches!(pace, Pace::AtOnce)));
        let closed = whole(&settings(plain(pace), workers), (level, operations), users(delay, size));
        prop_assert_eq!(ended(&closed), (operations, operations));
        let rate = level * 10;
        let open = whole(&opened((level.max(workers as u32), 1), workers), (rate, operations), users(delay, size));
        prop_assert_eq!(ended(&open), (operations, operations));
    }
}

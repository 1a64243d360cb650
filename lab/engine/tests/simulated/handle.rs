//! The handle of a load in simulated time.

use std::pin::pin;

use barograph_engine::EngineHandle;
use barograph_engine::sim::{Time, runnable};
use barograph_model::{Nanos, Outcome};

use crate::target::*;

/// Not by `futures`, which refuses the executor of a simulation inside one of its own.
pub(crate) fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test);
}

/// Users that start every 100 ms, and a target that takes `delay` for each answer.
fn load(time: &Time, delay: Nanos) -> EngineHandle {
    let make = move |timer| target(move |_, _| (delay, Outcome::Good), &Log::default())(timer);
    runnable(time, make).start(&settings(plain(cycle(100)), 1)).unwrap()
}

#[test]
fn intervals_lie_on_the_grid_and_the_last_ends_with_the_last_answer() {
    block_on(async {
        let time = Time::default();
        let mut load = load(&time, ms(20));
        assert_eq!(load.ramp(10, Nanos::ZERO).await.unwrap(), ms(2));
        let first = load.next().await.unwrap().unwrap();
        // From 2 ms on, ten times each.
        assert_eq!((first.from, first.to, first.starts, first.ops[0].count()), (ms(0), ms(1_000), 100, 100));
        assert_eq!(load.ramp(20, ms(500)).await.unwrap(), ms(1_520));
        let second = load.next().await.unwrap().unwrap();
        assert_eq!((second.from, second.to, second.users), (ms(1_000), ms(2_000), 20));
        load.stop(ms(500)).await;
        let last = load.next().await.unwrap().unwrap();
        assert_eq!((last.from, last.to, last.users), (ms(2_000), ms(2_010), 0));
        assert!(load.next().await.unwrap().is_none());
    });
}

#[test]
fn what_is_not_answered_is_left_after_the_drain() {
    block_on(async {
        let mut load = load(&Time::default(), ms(9_000));
        load.ramp(10, Nanos::ZERO).await.unwrap();
        let first = load.next().await.unwrap().unwrap();
        load.stop(ms(500)).await;
        let last = load.next().await.unwrap().unwrap();
        assert_eq!((last.from, last.to), (ms(1_000), ms(1_500)));
        assert_eq!((first.starts + last.starts, last.ops[0].count()), (10, 0));
        assert!(load.next().await.unwrap().is_none());
    });
}

#[test]
fn time_goes_on_with_the_load_and_stands_still_while_it_is_held() {
    block_on(async {
        let time = Time::default();
        let mut load = load(&time, ms(20));
        let beside = async {
            time.until(ms(300)).await;
            (time.now(), time.hold())
        };
        let mut next = pin!(load.next());
        let mut beside = pin!(beside);
        let still = loop {
            assert!(futures::poll!(&mut next).is_pending());
            if let std::task::Poll::Ready((at, still)) = futures::poll!(&mut beside) {
                assert_eq!(at, ms(300));
                break still;
            }
        };
        for _ in 0..3 {
            assert!(futures::poll!(&mut next).is_pending());
        }
        assert_eq!(time.now(), ms(300));
        drop(still);
        assert_eq!(next.await.unwrap().unwrap().to, ms(1_000));
    });
}

//! Users that never wait: the worker still closes its intervals, receives commands and ends.

mod instant;

use barograph_engine::runnable;
use barograph_model::{Arrivals, Nanos, OpenLoop, StartOf};
use barograph_testkit::one_of;
use instant::{InstantUser, settings};

/// Largest number of loads: if the machine takes the processor away during both intervals, there is nothing
/// to count.
const TRIES: usize = 10;

/// Makes loads until one has had many operations; every load must close its intervals and end.
fn busy(open: Option<&OpenLoop>, level: u32) {
    one_of(TRIES, || {
        let (operations, intervals) = load(open, level);
        assert!(intervals >= 3, "{operations} operations in {intervals} intervals");
        if operations > 1_000 { Ok(()) } else { Err(format!("{operations} operations, not more than 1,000")) }
    });
}

/// Operations and intervals of a load until it has two intervals and has been stopped.
fn load(open: Option<&OpenLoop>, level: u32) -> (u64, usize) {
    let settings = settings(Nanos::from_millis(100), Nanos::ZERO, open.cloned());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut engine = runnable(|| InstantUser).start(&settings).unwrap();
        engine.ramp(level, Nanos::ZERO).await.unwrap();
        let (mut operations, mut intervals) = (0, 0);
        for _ in 0..2 {
            operations += engine.next().await.unwrap().unwrap().ops[0].count();
            intervals += 1;
        }
        engine.stop(Nanos::ZERO).await;
        while let Some(interval) = engine.next().await.unwrap() {
            operations += interval.ops[0].count();
            intervals += 1;
        }
        (operations, intervals)
    })
}

#[test]
fn closed_loop_users_that_are_answered_at_once() {
    busy(None, 3);
}

#[test]
fn more_arrivals_than_a_worker_can_begin() {
    let open = OpenLoop {
        arrivals: Arrivals::Constant,
        start_of: StartOf::Operation,
        most_users: 10,
        most_waiting: 100,
    };
    busy(Some(&open), 1_000_000_000);
}

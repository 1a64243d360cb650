//! Response times against a lock: an open loop at a fixed rate, a session that holds the lock at known moments, and the exact
//! values from both.
//!
//! A second load without a lock has the same schedule: its response times are those of the machine.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use barograph_database_engines::rows;
use barograph_engine::{EngineHandle, Settings};
use barograph_model::{Arrivals, Nanos, OpenLoop, StartOf};
use barograph_spec::Plan;
use barograph_stats::Interval;
use barograph_test_services::{or_skip, postgres};
use barograph_testkit::{exact, one_of_async};
use barograph_workload::{LoadJob, Workload, WorkloadFactory as _};

use super::super::running::{block, fill, plan};
use crate::Statements;
use crate::seam::NAME;

/// Starts per second: few, so that the release of a lock wakes few sessions at once.
const RATE: u32 = 40;

/// More than the starts under a lock.
const USERS: u32 = 80;

/// Locks one after the other.
const LOCKS: usize = 2;

/// A lock that is held for 1 s in every 5 s. Returns the time of day before and after it is taken, and before and after it is
/// released, in microseconds.
const LOCK: &str = "
    SELECT pg_sleep(2);
    BEGIN;
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    LOCK TABLE pgbench_accounts IN ACCESS EXCLUSIVE MODE;
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    SELECT pg_sleep(1);
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    COMMIT;
    SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    SELECT pg_sleep(2);
";

/// The moments of a lock since the beginning of a load.
#[derive(Debug)]
struct Moments {
    taking: Nanos,
    taken: Nanos,
    releasing: Nanos,
    released: Nanos,
}

fn time_of_day() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64
}

/// The time of day at which a load began, in microseconds, read without an interruption.
fn beginning(load: &EngineHandle) -> i64 {
    loop {
        let (before, now, after) = (time_of_day(), load.now(), time_of_day());
        if (0..100).contains(&(after - before)) {
            return before - (now.0 / 1_000) as i64;
        }
    }
}

/// Takes and releases the lock in a session of its own. Blocks.
fn lock(url: &str, beginning: i64) -> Vec<Moments> {
    let mut all = Vec::new();
    rows(url, &LOCK.repeat(LOCKS), &mut |row| {
        // A sleep returns an empty text.
        all.extend(row[0].and_then(|text| text.parse::<i64>().ok()).map(|at| at - beginning));
    })
    .unwrap();
    let nanos = |micros: i64| Nanos(micros.unsigned_abs() * 1_000);
    let moments = |at: &[i64]| Moments {
        taking: nanos(at[0]),
        taken: nanos(at[1]),
        releasing: nanos(at[2]),
        released: nanos(at[3]),
    };
    all.chunks_exact(4).map(moments).collect()
}

/// A load without a start, on a database that is filled and copied anew.
async fn open_loop(workload: &dyn Workload, plan: &Plan) -> EngineHandle {
    fill(workload, plan).await.unwrap();
    let profile = workload.profile(NAME).unwrap();
    let settings = Settings {
        workers: 1,
        seed: plan.seed,
        behaviours: Arc::new(workload.behaviours(NAME).unwrap()),
        limits: profile.time_limits(workload.ops().len()),
        interval: Nanos::from_secs(1),
        timeout: Nanos::from_secs(60),
        pause_after_failure: Nanos::ZERO,
        realtime: false,
        cores: Vec::new(),
        poll: Nanos::ZERO,
        open: Some(OpenLoop {
            arrivals: Arrivals::Constant,
            start_of: StartOf::Operation,
            most_users: USERS,
            most_waiting: 100_000,
        }),
    };
    let job = LoadJob { url: plan.target.url.as_deref().unwrap(), plan, data: None };
    workload.load(&job).unwrap().start(&settings).unwrap()
}

/// All operations of a load, which ends.
async fn ended(mut load: EngineHandle) -> Interval {
    load.stop(Nanos::from_secs(60)).await;
    let mut all = load.next().await.unwrap().unwrap();
    while let Some(next) = load.next().await.unwrap() {
        all.append(&next);
    }
    assert_eq!((all.ops[0].failed(), all.dropped), (0, 0));
    all
}

/// The exact quantile of response times of operations that take no time but for the lock.
fn expected(starts: impl Iterator<Item = Nanos>, locks: &[(Nanos, Nanos)], quantile: f64) -> f64 {
    let response = |start: Nanos| {
        let waits =
            locks.iter().filter(|(from, _)| *from <= start).map(|(_, to)| to.0.saturating_sub(start.0));
        Duration::from_nanos(waits.max().unwrap_or(0))
    };
    exact(starts.map(response), quantile).unwrap().as_secs_f64() * 1e3
}

#[test]
fn response_times_against_a_lock_are_exact() {
    let Some(server) = or_skip(postgres()) else { return };
    let url = |name: &str| format!("postgres://postgres@127.0.0.1:{}/{name}", server.port());
    let plans = ["locked", "free"].map(|name| plan(&url(name), "pgbench-select", &[]));
    block(one_of_async(3, async || {
        let [locked, free] = plans.each_ref().map(|plan| Statements.of_plan(plan).unwrap());
        let (mut locked, mut free) =
            (open_loop(locked.as_ref(), &plans[0]).await, open_loop(free.as_ref(), &plans[1]).await);
        let begun = beginning(&locked);
        free.ramp(RATE, Nanos::ZERO).await.unwrap();
        let first = locked.ramp(RATE, Nanos::ZERO).await.unwrap();
        let copy = url("locked_run");
        let locks = tokio::task::spawn_blocking(move || lock(&copy, begun)).await.unwrap();
        let drift = beginning(&locked) - begun;
        let (locked, free) = (ended(locked).await, ended(free).await);
        assert_eq!(locks.len(), LOCKS);
        if drift.abs() > 500 {
            return Err(format!("the time of day was set by {drift} us"));
        }

        let lag = Nanos(free.ops[0].response.value_at_quantile(0.99) * 1_000);
        let lag_ms = lag.as_secs_f64() * 1e3;
        let starts =
            || (0..locked.ops[0].count()).map(|n| first + Nanos(n * 1_000_000_000 / u64::from(RATE)));
        let shortest: Vec<_> = locks.iter().map(|lock| (lock.taken, lock.releasing)).collect();
        // A start just before the lock may reach the server after it.
        let longest: Vec<_> =
            locks.iter().map(|lock| (Nanos(lock.taking.0.saturating_sub(lag.0)), lock.released)).collect();
        let mut above = Vec::new();
        for quantile in [0.5, 0.85, 0.9, 0.95, 0.99] {
            let found = locked.ops[0].response.value_at_quantile(quantile) as f64 / 1e3;
            let least = expected(starts(), &shortest, quantile);
            let most = expected(starts(), &longest, quantile);
            let words = format!(
                "p{}: {found} ms, exactly {least} to {most} ms, with a lag of {lag_ms} ms",
                quantile * 100.0
            );
            // Nothing makes a wait shorter.
            assert!(found >= least * 0.99 - 1.0, "{words}: {locks:?}");
            if found > most * 1.01 + 1.0 + lag_ms {
                above.push(words);
            }
        }
        if above.is_empty() { Ok(()) } else { Err(above.join("; ")) }
    }));
}

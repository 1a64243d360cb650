//! Workers that poll before each start instead of sleeping.

mod instant;

use barograph_engine::runnable;
use barograph_model::{Arrivals, Nanos, OpenLoop, StartOf};
use barograph_testkit::one_of;
use instant::{InstantUser, settings};
use rustix::time::{ClockId, clock_gettime};

fn cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

/// Operations, CPU seconds of the worker in the record, and those of the process, of 100 starts per second.
fn load(poll: Nanos) -> (u64, f64, f64) {
    let open = OpenLoop {
        arrivals: Arrivals::Constant,
        start_of: StartOf::Operation,
        most_users: 10,
        most_waiting: 100,
    };
    let settings = settings(Nanos::from_millis(200), poll, Some(open));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let before = cpu_s();
        let mut engine = runnable(|| InstantUser).start(&settings).unwrap();
        engine.ramp(100, Nanos::ZERO).await.unwrap();
        let (mut operations, mut worker_s) = (0, 0.0);
        for _ in 0..3 {
            let interval = engine.next().await.unwrap().unwrap();
            operations += interval.ops[0].count();
            worker_s += interval.worker_cpu_s;
        }
        let process_s = cpu_s() - before;
        engine.stop(Nanos::ZERO).await;
        while engine.next().await.unwrap().is_some() {}
        (operations, worker_s, process_s)
    })
}

#[test]
fn a_worker_that_polls_is_awake_and_its_polling_is_not_its_work() {
    one_of(5, || {
        let (operations, worker_s, process_s) = load(Nanos::from_millis(20));
        assert!(operations > 0 && worker_s <= process_s, "{worker_s} s of {process_s} s");
        // Polls take many times the worker's own time, on a busy machine too.
        if process_s > 20.0 * worker_s {
            Ok(())
        } else {
            Err(format!("{operations} operations, {worker_s} s of {process_s} s"))
        }
    });
}

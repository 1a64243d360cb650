//! A target that stands still for a second of five, and the quantiles of what was due meanwhile.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};

use barograph_model::{Arrivals, Nanos, OpenLoop, StartOf};
use barograph_testkit::one_of;

use super::broken::peer;
use super::rig::{Load, RunResult};

/// Requests due in a second.
const RATE: u32 = 1_000;

/// Requests before the stall: those of two seconds.
const BEFORE: u32 = 2 * RATE;

/// Intervals of a tenth of a second until the end of the stall.
const STALL_ENDS: u32 = 30;

/// Intervals of the load.
const LOAD_ENDS: u32 = 50;

/// Seconds of the stall.
const LASTS_S: f64 = 1.0;

/// Opened by the test when the stall ends.
type Gate = Arc<(Mutex<bool>, Condvar)>;

/// Answers requests of a byte. One of them has to wait for the gate, and all others with it.
fn answer(mut stream: TcpStream, (is_open, opened): &(Mutex<bool>, Condvar)) {
    let mut byte = [0];
    stream.set_nodelay(true).unwrap();
    for number in 0.. {
        if number == BEFORE {
            drop(opened.wait_while(is_open.lock().unwrap(), |is_open| !*is_open).unwrap());
        }
        if stream.read_exact(&mut byte).is_err() || stream.write_all(&byte).is_err() {
            return;
        }
    }
}

/// Requests at equal distances on one connection, with one stall.
fn requests() -> RunResult {
    let gate = Gate::default();
    let of_peer = Arc::clone(&gate);
    let address = peer(move |stream| answer(stream, &of_peer), None);
    let mut load = Load::at(address, "net.pattern = \"request\"\n");
    (load.users, load.timeout) = (RATE, Nanos::from_secs(60));
    let open = OpenLoop {
        arrivals: Arrivals::Constant,
        start_of: StartOf::Operation,
        most_users: 1,
        most_waiting: 10_000,
    };
    let intervals = Cell::new(0);
    load.paced(Some(open), |_| {
        intervals.set(intervals.get() + 1);
        if intervals.get() == STALL_ENDS {
            *gate.0.lock().unwrap() = true;
            gate.1.notify_all();
        }
        intervals.get() == LOAD_ENDS
    })
}

/// A quantile in ms of what `count` requests wait: those due `t` before the end of the stall wait for `t`.
fn computed_ms(quantile: f64, count: u64) -> f64 {
    1e3 * (LASTS_S - (1.0 - quantile) * count as f64 / f64::from(RATE))
}

#[test]
fn requests_due_in_a_stall_are_charged_with_what_they_wait() {
    one_of(5, || {
        let ended = requests();
        let requests = &ended.sum.ops[0];
        assert_eq!(requests.failed(), 0, "{:?}", ended.reasons);
        assert!(requests.count() > u64::from(BEFORE), "{}", requests.count());
        for quantile in [0.95, 0.99] {
            let found = requests.response.value_at_quantile(quantile) as f64 / 1e3;
            let expected = computed_ms(quantile, requests.count());
            if (found / expected - 1.0).abs() > 0.05 {
                return Err(format!("p{}: {found} ms instead of {expected}", quantile * 100.0));
            }
        }
        // Only the request that the target held back took longer than usual.
        let service = requests.service.value_at_quantile(0.99) as f64 / 1e3;
        if service < 50.0 { Ok(()) } else { Err(format!("a p99 of {service} ms without the wait")) }
    });
}

#[test]
fn a_fifth_of_the_requests_waits_up_to_a_second() {
    for (quantile, ms) in [(0.9, 500.0), (0.95, 750.0), (0.99, 950.0), (1.0, 1_000.0)] {
        assert!((computed_ms(quantile, 5 * u64::from(RATE)) - ms).abs() < 1e-6, "{quantile}");
    }
}

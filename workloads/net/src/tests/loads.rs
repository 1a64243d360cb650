//! Loads against a responder of this program.

use std::cell::Cell;
use std::io::Read as _;
use std::net::TcpStream;
use std::sync::{Condvar, Mutex};

use barograph_model::{Arrivals, OpenLoop, StartOf};
use barograph_testkit::ClosedPort;

use super::rig::{Load, responder};
use crate::measures::{BYTES, CPU, DRIVER_CPU, PACKETS, RECEIVED, SENT};
use crate::pattern::Pattern;

/// Keys of a load of a pattern with small and odd sizes.
fn keys(pattern: Pattern, more: &str) -> String {
    let sizes = if pattern.is_stream() {
        "net.message_bytes = 4099\n"
    } else {
        "net.request_bytes = 17\nnet.answer_bytes = 70001\n"
    };
    format!("load.users = 4\nnet.pattern = {:?}\n{sizes}{more}", pattern.name())
}

#[test]
fn both_ends_count_the_same_bytes_in_every_pattern() {
    let responder = responder();
    for pattern in Pattern::ALL {
        let ended = Load::at(responder.address(), &keys(pattern, "net.verify = true\n")).until_done(500);
        ended.assert_clean();
        let (sent, received) = (ended.counter(SENT), ended.counter(RECEIVED));
        let done = |name: &str| ended.outcome(name, barograph_model::Outcome::Good);
        let expected = match pattern {
            Pattern::To => (done("Send") * 4_099, 0),
            Pattern::From => (0, done("Receive") * 4_099),
            Pattern::Both => (done("Send") * 4_099, done("Receive") * 4_099),
            Pattern::Request => (done("Request") * 17, done("Request") * 70_001),
            Pattern::Connect => (done("Connect") * 17, done("Connect") * 70_001),
        };
        assert_eq!((sent, received), expected, "{pattern:?}");
        assert_eq!(ended.counter(BYTES), sent + received);
    }
}

#[test]
fn bytes_are_discarded_where_the_plan_says_so() {
    let responder = responder();
    for pattern in Pattern::ALL {
        let ended =
            Load::at(responder.address(), &keys(pattern, "net.receive = \"discard\"\n")).until_done(200);
        ended.assert_clean();
    }
}

#[test]
fn small_buffers_and_reads_carry_large_messages() {
    let responder = responder();
    let more = "net.send_buffer_bytes = 8192\nnet.receive_buffer_bytes = 8192\nnet.read_bytes = 100\n\
                net.nodelay = false\nnet.verify = true\n";
    for pattern in [Pattern::To, Pattern::Both, Pattern::Request] {
        Load::at(responder.address(), &keys(pattern, more)).until_done(40).assert_clean();
    }
}

#[test]
fn ends_are_sampled_while_the_load_goes_on() {
    let responder = responder();
    let load = Load::at(responder.address(), &keys(Pattern::Request, ""));
    let ended = load.until(|ended| ended.counter(DRIVER_CPU) > 0 && ended.counter(PACKETS) > 0);
    ended.assert_clean();
    assert!(ended.counter(CPU) >= ended.counter(DRIVER_CPU));
}

#[test]
fn a_target_where_nothing_listens_is_named() {
    let closed = ClosedPort::new().unwrap();
    let why = barograph_model::words::in_one_line(&Load::at(closed.addr(), "").refused());
    assert!(why.contains(&closed.addr().to_string()) && why.contains("is it started"), "{why}");
}

/// Whether a peer that stands still may read on.
static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Takes five messages, and the others once the gate is open.
fn stand_still(mut stream: TcpStream) {
    rustix::net::sockopt::set_socket_recv_buffer_size(&stream, 65_536).unwrap();
    let _ = stream.read_exact(&mut vec![0; 5 * MIB]);
    drop(GATE.1.wait_while(GATE.0.lock().unwrap(), |is_open| !*is_open).unwrap());
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

const MIB: usize = 1 << 20;

#[test]
fn a_target_that_stands_still_is_charged_from_the_intended_starts() {
    let plan = "net.message_bytes = 1048576\nnet.send_buffer_bytes = 65536\n";
    let mut load = Load::at(super::broken::peer(stand_still, None), plan);
    // Starts per second, and intervals of the stall: a second.
    (load.users, load.timeout) = (50, barograph_model::Nanos::from_secs(60));
    let open = OpenLoop {
        arrivals: Arrivals::Constant,
        start_of: StartOf::Operation,
        most_users: 1,
        most_waiting: 10_000,
    };
    let stalled = Cell::new(0);
    let ended = load.paced(Some(open), |ended| {
        stalled.set(stalled.get() + u32::from(ended.count() >= 5));
        if stalled.get() == 10 {
            *GATE.0.lock().unwrap() = true;
            GATE.1.notify_all();
        }
        stalled.get() > 10 && ended.count() >= 40
    });
    let send = &ended.sum.ops[0];
    // Half of the messages were due in the stall, and waited up to a second for its end.
    let median_us = send.response.value_at_quantile(0.5);
    assert!(median_us >= 250_000, "{median_us} us");
    assert_eq!(send.failed(), 0, "{:?}", ended.reasons);
}

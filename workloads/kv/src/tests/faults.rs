//! Outcomes for users when stores refuse, lie, stall or disappear.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

use barograph_model::{Nanos, Outcome};

use super::rig::{Load, embedded};

/// A store that answers every read of its connections with these bytes, and closes them after `reads`.
fn answering(bytes: &'static [u8], reads: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                for _ in 0..reads {
                    let mut room = [0; 1024];
                    match stream.read(&mut room) {
                        Ok(n) if n > 0 && stream.write_all(bytes).is_ok() => {}
                        _ => return,
                    }
                }
            });
        }
    });
    address
}

fn gets(address: SocketAddr) -> Load {
    let mut load = Load::at(&format!("redis://{address}"), "[kv]\nmix.GET = 1\nverify = true\nfill = 0.0\n");
    load.users = 1;
    load
}

/// The outcome of the first failures and their reason.
fn failure(load: &Load, outcome: Outcome) -> String {
    let ended = load.until(|ended| ended.outcome("GET", outcome) > 0);
    ended.reasons[0].to_string()
}

#[test]
fn a_refusal_is_counted_under_its_name_with_its_text() {
    let address = answering(b"-MOVED 3999 127.0.0.1:6381\r\n", usize::MAX);
    let why = failure(&gets(address), Outcome::Refused);
    assert!(why.contains("(MOVED)") && why.contains("MOVED 3999 127.0.0.1:6381"), "{why}");
}

#[test]
fn a_value_that_was_not_written_is_a_wrong_answer() {
    let why = failure(&gets(answering(b"$3\r\nabc\r\n", usize::MAX)), Outcome::WrongAnswer);
    assert!(why.contains("a value that was not written to this key"), "{why}");
}

#[test]
fn bytes_that_are_no_reply_are_a_wrong_answer() {
    let why = failure(&gets(answering(b"HTTP/1.1 400 Bad Request\r\n", usize::MAX)), Outcome::WrongAnswer);
    assert!(why.contains("no reply of RESP"), "{why}");
}

#[test]
fn a_connection_that_is_closed_is_made_again() {
    let address = answering(b"$-1\r\n", 3);
    let ended = gets(address).until(|ended| ended.outcome("GET", Outcome::Broken) >= 2);
    assert!(ended.outcome("GET", Outcome::Good) >= 3, "after a pause it goes on");
    // The system reports one of the two, depending on the bytes read before the close.
    let why = ended.reasons[0].to_string();
    assert!(why.contains("closed the connection") || why.contains("reset the connection"), "{why}");
}

#[test]
fn a_store_that_stalls_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut load = gets(listener.local_addr().unwrap());
    load.timeout = Nanos::from_millis(200);
    let ended = load.until(|ended| ended.outcome("GET", Outcome::TimedOut) >= 2);
    assert_eq!(ended.outcome("GET", Outcome::Good), 0);
}

#[test]
fn a_full_store_refuses_writes() {
    let address = embedded(100);
    let mut load = Load::at(&format!("redis://{address}"), "[kv]\nmix.SET = 1\nfill = 0.0\n");
    load.users = 1;
    let ended = load.until(|ended| ended.outcome("SET", Outcome::Refused) > 0);
    assert!(ended.reasons[0].to_string().contains("(OOM)"), "{:?}", ended.reasons);
    let load = Load::at(&format!("redis://{address}"), "");
    let why = barograph_model::words::in_one_line(&load.fill().unwrap_err());
    assert!(why.contains("OOM"), "{why}");
}

#[test]
fn a_target_where_nothing_listens_is_named() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let why = barograph_model::words::in_one_line(&gets(address).refused());
    assert!(why.contains(&address.to_string()) && why.contains("is it started"), "{why}");
}

#[test]
fn a_stop_ends_a_fill() {
    let load = Load::at(&format!("redis://{}", embedded(1 << 40)), "[kv]\nkeys = 1000000000\n");
    load.stopped_fill();
}

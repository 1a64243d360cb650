//! Peers that break the protocol: each ends as a named outcome, and never as a hang.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use barograph_model::Outcome;
use barograph_model::words::in_one_line;
use rustix::net::sockopt;

use super::rig::Load;
use crate::ledger::Totals;
use crate::wire::{self, Answer, CONTROL, NUMBERS, QUESTION, Question, RunPlace};

/// Behaviour of a peer on a connection with traffic, after the greeting.
type Behave = fn(TcpStream);

/// A peer with right answers to questions, and its own behaviour on connections with traffic.
pub(super) fn peer(
    behave: impl Fn(TcpStream) + Clone + Send + 'static,
    totals: Option<Totals>,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let behave = behave.clone();
            std::thread::spawn(move || {
                let mut begin = [0; 8];
                if stream.read_exact(&mut begin).is_err() {
                    return;
                }
                if begin == CONTROL {
                    return questions(stream, totals);
                }
                if stream.read_exact(&mut [0; 8]).is_ok() {
                    behave(stream);
                }
            });
        }
    });
    address
}

fn questions(mut stream: TcpStream, totals: Option<Totals>) {
    let mut bytes = [0; QUESTION];
    while stream.read_exact(&mut bytes).is_ok() {
        let answer: Answer = match Question::read(&bytes) {
            Some(Question::Begin(_)) => wire::run_answer(RunPlace { token: 1, port: 0 }),
            Some(Question::Totals { .. }) => wire::totals_answer(totals.map(|totals| (totals, true))),
            _ => [0; NUMBERS],
        };
        if stream.write_all(&wire::answer_bytes(&answer)).is_err() {
            return;
        }
    }
}

/// Reads this many bytes; the peer may have closed.
fn take(stream: &mut TcpStream, bytes: usize) {
    let _ = stream.read_exact(&mut vec![0; bytes]);
}

/// Reads up to the end.
fn take_all(mut stream: &TcpStream) {
    let mut room = [0; 4096];
    while stream.read(&mut room).is_ok_and(|bytes| bytes > 0) {}
}

fn reset(stream: TcpStream) {
    let _ = sockopt::set_socket_linger(&stream, Some(Duration::ZERO));
    drop(stream);
}

/// Keeps a connection open without a word for as long as the test.
fn keep(stream: TcpStream) {
    std::mem::forget(stream);
}

const TO: &str = "net.message_bytes = 1000000\n";
const FROM: &str = "net.pattern = \"from\"\nnet.message_bytes = 1000\nnet.verify = true\n";
const BOTH: &str = "load.users = 2\nnet.pattern = \"both\"\nnet.message_bytes = 1000\n";
const REQUEST: &str = "net.pattern = \"request\"\nnet.request_bytes = 100\nnet.answer_bytes = 1000\n";
const CONNECT: &str = "net.pattern = \"connect\"\nnet.request_bytes = 100\nnet.answer_bytes = 1000\n";

/// Broken peers: a name, a plan, an operation with its outcome, and the behaviour.
const PEERS: [(&str, &str, (&str, Outcome), Behave); 20] = [
    ("closes a stream at once", TO, ("Send", Outcome::Broken), drop),
    ("closes a stream in the middle", TO, ("Send", Outcome::Broken), |mut s| take(&mut s, 1_500_000)),
    ("resets a stream at once", TO, ("Send", Outcome::Broken), reset),
    ("resets a stream in the middle", TO, ("Send", Outcome::Broken), |mut s| {
        take(&mut s, 1_500_000);
        reset(s);
    }),
    ("never reads", TO, ("Send", Outcome::TimedOut), keep),
    ("stops to read", TO, ("Send", Outcome::TimedOut), |mut s| {
        take(&mut s, 1_500_000);
        keep(s);
    }),
    ("sends nothing and closes", FROM, ("Receive", Outcome::Broken), drop),
    ("sends nothing and resets", FROM, ("Receive", Outcome::Broken), reset),
    ("sends nothing", FROM, ("Receive", Outcome::TimedOut), keep),
    ("sends half a message and closes", FROM, ("Receive", Outcome::Broken), |mut s| {
        let _ = s.write_all(crate::content::Content::new(500).at(0, 500));
    }),
    ("sends half a message and no more", FROM, ("Receive", Outcome::TimedOut), |mut s| {
        let _ = s.write_all(crate::content::Content::new(500).at(0, 500));
        keep(s);
    }),
    ("sends other bytes", FROM, ("Receive", Outcome::WrongAnswer), |mut s| {
        let _ = s.write_all(&[7; 1_000]);
        take_all(&s);
    }),
    ("closes its direction alone", BOTH, ("Receive", Outcome::Broken), |s| {
        let _ = s.shutdown(Shutdown::Write);
        take_all(&s);
    }),
    ("answers nothing", REQUEST, ("Request", Outcome::TimedOut), keep),
    ("closes after a request", REQUEST, ("Request", Outcome::Broken), |mut s| take(&mut s, 100)),
    ("closes in the middle of a request", REQUEST, ("Request", Outcome::Broken), |mut s| take(&mut s, 50)),
    ("answers by half and closes", REQUEST, ("Request", Outcome::Broken), |mut s| {
        take(&mut s, 100);
        let _ = s.write_all(&[0; 500]);
    }),
    ("answers by half and waits", REQUEST, ("Request", Outcome::TimedOut), |mut s| {
        take(&mut s, 100);
        let _ = s.write_all(&[0; 500]);
        keep(s);
    }),
    ("answers too much", REQUEST, ("Request", Outcome::WrongAnswer), |mut s| {
        take(&mut s, 100);
        let _ = s.write_all(&[0; 1_001]);
        take_all(&s);
    }),
    ("resets each connection", CONNECT, ("Connect", Outcome::Broken), reset),
];

#[test]
fn broken_peers_end_as_named_outcomes() {
    for (what, plan, (operation, outcome), behave) in PEERS {
        let mut load = Load::at(peer(behave, None), plan);
        load.users = 2;
        load.timeout = barograph_model::Nanos::from_millis(200);
        let ended = load.until(|ended| ended.outcome(operation, outcome) > 0);
        assert!(ended.outcome(operation, outcome) > 0, "{what}: {:?}", ended.reasons);
        // The peer knows no run, and the check says so.
        assert!(ended.verified.unwrap_err().contains("does not know the run"), "{what}");
    }
}

#[test]
fn a_stream_without_an_end_is_not_awaited_for_ever() {
    let endless = |mut stream: TcpStream| while stream.write_all(&[0; 65_536]).is_ok() {};
    let plan = "net.pattern = \"from\"\nnet.message_bytes = 1000\n";
    let mut load = Load::at(peer(endless, Some(Totals::default())), plan);
    load.users = 1;
    let ended = load.until_done(10);
    assert!(ended.count() >= 10);
    let verified = ended.verified.unwrap();
    assert!(verified.ok && verified.findings[1].contains("1 connections broke"), "{:?}", verified.findings);
}

#[test]
fn a_difference_of_bytes_is_found() {
    let totals = Totals { closed: 1, received: 4_999, ..Totals::default() };
    let mut load = Load::at(peer(|s| take_all(&s), Some(totals)), "net.message_bytes = 1000\n");
    load.users = 1;
    let verified = load.until_done(5).verified.unwrap();
    assert!(!verified.ok, "{:?}", verified.findings);
    assert!(verified.findings[0].contains("received by the target"), "{:?}", verified.findings);
}

/// What a load says of a peer that does this with the first connection for questions.
fn refusal(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // The first look closes without a word.
            if stream.read_exact(&mut [0; 8]).is_ok() {
                answer(stream);
            }
        }
    });
    in_one_line(&Load::at(address, "").refused())
}

#[test]
fn what_is_no_responder_is_refused_before_the_load() {
    let closes = |_| {};
    let others = |mut stream: TcpStream| {
        let _ = stream.write_all(&[b'x'; 100]);
        keep(stream);
    };
    let half = |mut stream: TcpStream| {
        take(&mut stream, QUESTION);
        let _ = stream.write_all(&[0; 10]);
    };
    for (answer, what) in
        [(closes as fn(TcpStream), "closes"), (reset, "resets"), (others, "speaks otherwise"), (half, "half")]
    {
        let why = refusal(answer);
        assert!(why.contains("does not answer as a responder"), "{what}: {why}");
    }
    let full = |mut stream: TcpStream| {
        take(&mut stream, QUESTION);
        let _ = stream.write_all(&wire::answer_bytes(&wire::run_answer(RunPlace::default())));
        keep(stream);
    };
    assert!(refusal(full).contains("too many runs"));
}

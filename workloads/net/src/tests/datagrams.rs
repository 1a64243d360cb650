//! Loads of datagrams: both ends, and a relay between them that loses some and changes their order.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

use barograph_model::{Nanos, Outcome};

use super::rig::{Load, RunResult, responder};
use crate::datagram::{Head, LARGEST, LAST};
use crate::measures::{ARRIVED, DATAGRAMS, JITTER, LOST, RECEIVED, REORDERED, SENT};
use crate::wire::{NUMBERS, QUESTION};

const TO: &str = "net.protocol = \"udp\"\nnet.message_bytes = 100\n";
const REQUEST: &str =
    "net.protocol = \"udp\"\nnet.pattern = \"request\"\nnet.request_bytes = 100\nnet.answer_bytes = 1000\n";

fn assert_good(ended: &RunResult, name: &str) {
    let good = ended.outcome(name, Outcome::Good);
    assert!(good > 0 && ended.sum.ops[0].failed() == 0, "{good} good: {:?}", ended.reasons);
    assert!(ended.verified.as_ref().unwrap().ok, "{:?}", ended.verified.as_ref().unwrap().findings);
}

#[test]
fn a_stream_of_datagrams_is_counted_at_its_end() {
    let responder = responder();
    let ended = Load::at(responder.address(), TO).until(|ended| ended.counter(ARRIVED) > 1_000);
    assert_good(&ended, "Send");
    assert_eq!(ended.counter(SENT), ended.outcome("Send", Outcome::Good) * 100);
    assert_eq!(ended.counter(DATAGRAMS), ended.counter(ARRIVED) + ended.counter(LOST));
    assert_eq!(ended.counter(REORDERED), 0, "over loopback the order stays");
    let findings = &ended.verified.as_ref().unwrap().findings;
    assert!(findings[0].contains("sent by the driver"), "{findings:?}");
}

#[test]
fn requests_in_datagrams_are_answered() {
    let responder = responder();
    let ended = Load::at(responder.address(), REQUEST).until_done(500);
    assert_good(&ended, "Request");
    assert_eq!(ended.counter(RECEIVED), ended.outcome("Request", Outcome::Good) * 1_000);
}

#[test]
fn what_a_path_does_to_datagrams_is_seen() {
    let responder = responder();
    let relay = relay(responder.address());
    let mut load = Load::at(relay, TO);
    load.users = 1;
    let ended = load.until(|ended| ended.counter(LOST) > 100 && ended.counter(REORDERED) > 20);
    assert_good(&ended, "Send");
    let (all, arrived) = (ended.counter(DATAGRAMS), ended.counter(ARRIVED));
    assert_eq!(all, arrived + ended.counter(LOST));
    // One of ten is dropped and two change places. More are lost where a socket is full.
    assert!(
        ended.counter(LOST) * 11 + 2_000 >= all && ended.counter(REORDERED) * 8 <= arrived,
        "{all} {arrived}"
    );
    assert!(ended.counter(JITTER) > 0);
    let findings = &ended.verified.as_ref().unwrap().findings;
    assert!(findings[0].contains("% were lost") && !findings[0].contains(" 0.000 %"), "{findings:?}");
}

#[test]
fn a_request_that_is_lost_ends_at_its_time_limit() {
    let responder = responder();
    let relay = relay(responder.address());
    let mut load = Load::at(relay, REQUEST);
    (load.users, load.timeout) = (1, Nanos::from_millis(20));
    let ended = load.until(|ended| {
        ended.outcome("Request", Outcome::TimedOut) >= 3 && ended.outcome("Request", Outcome::Good) >= 20
    });
    let others = [Outcome::Broken, Outcome::WrongAnswer].map(|outcome| ended.outcome("Request", outcome));
    assert_eq!(others, [0, 0], "{:?}", ended.reasons);
}

#[test]
fn a_target_that_takes_no_datagrams_is_named() {
    let peer = super::broken::peer(drop, None);
    let ended = Load::at(peer, TO).until(|ended| ended.outcome("Send", Outcome::Broken) > 0);
    assert!(
        ended.reasons.iter().any(|reason| reason.why.contains("takes no datagrams")),
        "{:?}",
        ended.reasons
    );
}

/// A relay to a responder: lines for questions as they are, and datagrams with defects.
fn relay(responder: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for line in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || questions(line, responder));
        }
    });
    address
}

/// Passes questions on. The answer to the first of a run names the port of the relay.
fn questions(mut driver: TcpStream, responder: SocketAddr) {
    let mut target = TcpStream::connect(responder).unwrap();
    let (mut begin, mut question, mut answer) = ([0; 8], [0; QUESTION], [0; NUMBERS * 8]);
    if driver.read_exact(&mut begin).is_err() {
        return;
    }
    target.write_all(&begin).unwrap();
    while driver.read_exact(&mut question).is_ok() {
        target.write_all(&question).unwrap();
        target.read_exact(&mut answer).unwrap();
        if question[0] == b'B' {
            let port = u16::from_le_bytes([answer[16], answer[17]]);
            let own = datagrams((responder.ip(), port).into());
            answer[16..18].copy_from_slice(&own.to_le_bytes());
        }
        if driver.write_all(&answer).is_err() {
            return;
        }
    }
}

/// Passes the datagrams of one driver on, from a port of its own. Of ten, the fourth is lost, and the sixth comes after the
/// seventh.
fn datagrams(target: SocketAddr) -> u16 {
    let (near, far) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    far.connect(target).unwrap();
    let port = near.local_addr().unwrap().port();
    let (back_near, back_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
    std::thread::spawn(move || {
        let (mut room, mut held) = (vec![0; LARGEST as usize], Vec::new());
        let mut is_open = false;
        while let Ok((bytes, driver)) = near.recv_from(&mut room) {
            if !std::mem::replace(&mut is_open, true) {
                near.connect(driver).unwrap();
            }
            let datagram = &room[..bytes];
            let number = Head::read(datagram).unwrap().number;
            match number % 10 {
                _ if number & LAST != 0 => drop(far.send(datagram)),
                3 => {}
                5 => held = datagram.to_vec(),
                6 => {
                    let _ = far.send(datagram);
                    let _ = far.send(&std::mem::take(&mut held));
                }
                _ => drop(far.send(datagram)),
            }
        }
    });
    std::thread::spawn(move || {
        let mut room = vec![0; LARGEST as usize];
        while let Ok(bytes) = back_far.recv(&mut room) {
            let _ = back_near.send(&room[..bytes]);
        }
    });
    port
}

//! The timed server against plain sockets: never early, in a known sequence, silent in a stall.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use barograph_testkit::{Delay, Delays, Stalls, TimedServer, Timing, exact, one_of};

const ASK: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 Known\r\ncontent-length: 2\r\n\r\nok";
/// Longest read; a longer one shows an unintended stall.
const PATIENCE: Duration = Duration::from_secs(20);
/// Lateness allowed for half of the answers, on a machine that compiles and tests meanwhile. Early answers
/// are never allowed.
const LATE: Duration = Duration::from_millis(20);
/// Number of measurements of lateness: a machine that takes the processor away spoils some of them, a slow
/// server all.
const TRIES: usize = 5;

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn connect(server: &TimedServer) -> TcpStream {
    let stream = TcpStream::connect(server.addr()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn read_ok(stream: &mut TcpStream) {
    let mut bytes = [0; OK.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, OK);
}

/// Sends a hundred requests; returns the median lateness of the answers.
fn asked(delay: Delay) -> Duration {
    let delays = Delays::new(delay, 5);
    let server = TimedServer::start(Timing::of(delay, 5)).unwrap();
    let mut stream = connect(&server);
    for n in 0..100 {
        let begin = Instant::now();
        stream.write_all(ASK).unwrap();
        read_ok(&mut stream);
        assert!(begin.elapsed() >= delays.nth(n), "answer {n} of {delay:?} is early");
        assert_eq!(server.response_at(n, begin), delays.nth(n));
    }
    assert_eq!((server.arrived(), server.answered(), server.connections()), (100, 100, 1));
    for q in [0.5, 0.9, 0.99, 1.0] {
        assert_eq!(server.exact(q), delays.exact(100, q), "{q} of {delay:?}");
    }
    let answers = server.answers();
    assert!(answers.iter().all(|g| g.due - g.arrived == delays.nth(g.n) && g.sent >= g.due));
    server.lateness(0.5).unwrap()
}

#[test]
fn delays_follow_the_sequence_and_no_answer_is_early() {
    for delay in [
        Delay::Constant(ms(3)),
        Delay::Bimodal { quick: ms(1), slow: ms(10), slow_share: 0.2 },
        Delay::Pareto { least: ms(1), most: ms(50), shape: 1.2 },
    ] {
        one_of(TRIES, || {
            let late = asked(delay);
            if late < LATE {
                Ok(())
            } else {
                Err(format!("half of the answers of {delay:?} are {late:?} late"))
            }
        });
    }
}

/// Rounds of twenty requests, until some have met a stall; returns the median excess of their duration.
fn rounds_over_stalls() -> Duration {
    let stalls = Stalls { every: ms(100), lasts: ms(40) };
    let server = TimedServer::start(Timing::constant(ms(2)).stalling(stalls)).unwrap();
    let mut streams: Vec<TcpStream> = (0..20).map(|_| connect(&server)).collect();
    let (mut excess, mut waited) = (Vec::new(), 0);
    let mut rounds = 0;
    // Round follows round without a pause, so they meet each of the three stalls; it takes longer only if the
    // machine takes the processor away.
    let passed = || server.origin().elapsed();
    while passed() < ms(350) || (waited == 0 && passed() < PATIENCE) {
        rounds += 1;
        let begin = Instant::now();
        for stream in &mut streams {
            stream.write_all(ASK).unwrap();
        }
        let wanted = server.response_at(0, begin);
        waited += u32::from(wanted > ms(2));
        for stream in &mut streams {
            read_ok(stream);
        }
        let response = begin.elapsed();
        assert!(response >= wanted, "{response:?} for a start whose answer takes {wanted:?}");
        excess.push(response - wanted);
    }
    let answers = server.answers();
    assert_eq!(answers.len(), rounds * 20);
    for given in answers {
        let phase = Duration::from_nanos((given.due.as_nanos() % 100_000_000) as u64);
        assert!(phase < ms(60), "due {phase:?} into a period");
        assert!(given.sent >= given.due && given.due == stalls.leaves_at(given.arrived + ms(2)));
    }
    assert!(waited > 0, "no round met a stall");
    assert_eq!(server.exact(1.0), Some(ms(2)), "delays are told without stalls");
    exact(excess, 0.5).unwrap()
}

#[test]
fn no_answer_leaves_in_a_stall_and_response_times_are_those_of_the_pattern() {
    one_of(TRIES, || {
        let late = rounds_over_stalls();
        if late < LATE { Ok(()) } else { Err(format!("half of the rounds take {late:?} too long or more")) }
    });
}

#[test]
fn thousands_of_connections_wait_at_once() {
    let server = TimedServer::start(Timing::constant(ms(300))).unwrap();
    let mut streams: Vec<TcpStream> = (0..3000).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        stream.write_all(ASK).unwrap();
    }
    for stream in &mut streams {
        read_ok(stream);
    }
    assert_eq!((server.answered(), server.connections()), (3000, 3000));
    assert!(server.answers().iter().all(|g| g.sent - g.arrived >= ms(300)));
}

#[test]
fn requests_behind_each_other_large_bodies_heads_and_closes() {
    let body = vec![b'x'; 8 << 20];
    let server = TimedServer::start(Timing::constant(Duration::ZERO).with_body(body.clone())).unwrap();
    let mut stream = connect(&server);
    // Both at once; the first answer is larger than the kernel's buffers.
    stream.write_all(ASK).unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcHEAD / HTTP/1.1\r\n").unwrap();
    stream.write_all(b"\r\nGET / HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let head = format!("HTTP/1.1 200 Known\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    let wanted = [&head[..], &body, &head, &body, &head, &head, &body].concat();
    assert!(bytes == wanted, "{} bytes instead of {}", bytes.len(), wanted.len());
    assert_eq!(server.answered(), 4);
}

/// Answers given when one client reads to the end, one disconnects before its answer and one sends garbage.
fn answered_beside_others(delay: Duration) -> u64 {
    let server = TimedServer::start(Timing::constant(delay)).unwrap();
    let mut stays = connect(&server);
    let mut leaves = connect(&server);
    leaves.write_all(ASK).unwrap();
    drop(leaves);
    let mut babbles = connect(&server);
    babbles.write_all(b"EHLO\r\n\r\n").unwrap();
    assert_eq!(babbles.read(&mut [0; 9]).unwrap_or(0), 0, "it is closed");
    stays.write_all(ASK).unwrap();
    read_ok(&mut stays);
    let answered = server.answered();
    let addr = server.addr();
    drop(server);
    assert!(TcpStream::connect(addr).is_err(), "nobody listens after the end");
    answered
}

#[test]
fn clients_that_leave_or_babble_do_not_disturb_others() {
    // A client that disconnects, or is seen to, only after its answer was due is rightly answered. The longer
    // the delay, the longer the machine would have to take the processor away for that.
    let answered = [30, 300, 3_000].map(ms).into_iter().map(answered_beside_others).find(|n| *n == 1);
    assert_eq!(answered, Some(1), "who leaves is answered");
}

//! Connections in the clear: destinations, sources, and failures.

use std::cell::Cell;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::rc::Rc;

use barograph_model::{Nanos, Outcome};
use barograph_net::{Counters, Dialer, Endpoint, Fault, Policy, Routes, Watch};
use barograph_testkit::ClosedPort;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::peer::{self, serve};
use super::{connected, echo, failed, in_words, on_worker};

#[test]
fn bytes_go_both_ways_and_are_counted() {
    let (address, peer) = serve(1, |stream| peer::echo(stream).unwrap());
    on_worker(async {
        let (dialer, mut stream) = connected(address).await;
        let large: Vec<u8> = (0..300_000).map(|n| n as u8).collect();
        echo(&mut stream, b"hello").await;
        assert!(stream.is_quiet());
        let open = Counters { opened: 1, bytes_in: 5, bytes_out: 5, ..Counters::default() };
        assert_eq!(dialer.counters(), open);
        // The same in the form for libraries.
        stream.write_all(b"again").await.unwrap();
        let mut read = [0; 5];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"again");
        // More than any buffer on the way holds at once, so it arrives in pieces.
        let (mut from, mut to) = tokio::io::split(stream);
        let (mut all, mut sent) = (Vec::new(), &large[..]);
        let sending = async {
            to.write_all_buf(&mut sent).await.unwrap();
            to.shutdown().await.unwrap();
        };
        let receiving = from.read_to_end(&mut all);
        tokio::join!(sending, async { receiving.await.unwrap() });
        assert!(all == large);
        drop((from, to));
        let closed = Counters { closed: 1, bytes_in: 300_010, bytes_out: 300_010, ..open };
        assert_eq!(dialer.counters(), closed);
    });
    peer.join().unwrap();
}

#[test]
fn connecting_is_timed_by_a_watch_once_for_each_connection() {
    let (address, peer) = serve(2, |stream| drop(peer::echo(stream)));
    on_worker(async {
        // Each look at it is a millisecond later.
        let looks = Rc::new(Cell::new(0));
        let seen = Rc::clone(&looks);
        let watch: Watch = Rc::new(move || Nanos::from_millis(seen.replace(seen.get() + 1)));
        let dialer = Dialer::new(&Routes::at(address));
        drop(dialer.connect(0).await.unwrap());
        assert_eq!(dialer.counters().connecting, Nanos::ZERO, "no watch");
        dialer.time_by(&watch);
        let mut stream = dialer.connect(0).await.unwrap();
        for _ in 0..3 {
            echo(&mut stream, b"hello").await;
        }
        let counters = dialer.counters();
        assert_eq!((counters.connecting, counters.securing), (Nanos::from_millis(1), Nanos::ZERO));
        assert_eq!(looks.get(), 2, "a kept connection costs no look");
    });
    peer.join().unwrap();
}

#[test]
fn a_socket_in_the_file_system_is_a_way_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let peer = std::thread::spawn(move || peer::echo(listener.accept().unwrap().0).unwrap());
    on_worker(async {
        let dialer = Dialer::new(&Endpoint::Unix(path.clone()).resolve(&[]).unwrap());
        echo(&mut dialer.connect(0).await.unwrap(), b"hello").await;
        let missing = Endpoint::Unix(folder.path().join("missing")).resolve(&[]).unwrap();
        let fault = failed(Dialer::new(&missing).connect(0).await);
        let text = format!("connect to {}: No such file", folder.path().join("missing").display());
        assert!(in_words(&fault).starts_with(&text), "{fault:?}");
    });
    peer.join().unwrap();
}

#[test]
fn source_addresses_take_turns() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap();
    let endpoint = Endpoint::Host { host: to.ip().to_string(), port: to.port() };
    let sources = ["127.0.0.5".parse().unwrap(), "127.0.0.6".parse().unwrap(), "::1".parse().unwrap()];
    let from = |sources: &[_], number| {
        on_worker(async {
            let dialer = Dialer::new(&endpoint.resolve(sources).unwrap());
            let _stream = dialer.connect(number).await.unwrap();
            listener.accept().unwrap().1.ip().to_string()
        })
    };
    let seen: Vec<String> = (0..4).map(|number| from(&sources, number)).collect();
    assert_eq!(seen, ["127.0.0.5", "127.0.0.6", "127.0.0.5", "127.0.0.6"]);
    // On the loopback network this is the default.
    assert_eq!([from(&[], 0), from(&[], 249), from(&[], 250)], ["127.0.1.1", "127.0.1.250", "127.0.1.1"]);
}

#[test]
fn a_users_own_connections_go_one_way_and_others_take_turns() {
    let (address, peer) = serve(2, drop);
    on_worker(async {
        let dialer = Dialer::new(&Routes::at(address));
        let next = |policy| dialer.number(policy, 7);
        for opened in 0..2 {
            assert_eq!(
                [next(Policy::PerUser(2)), next(Policy::Shared(2)), next(Policy::New)],
                [7, opened, opened]
            );
            dialer.connect(opened).await.unwrap();
        }
    });
    peer.join().unwrap();
}

#[test]
fn a_refusal_is_the_targets_and_a_lack_is_the_drivers() {
    let held = ClosedPort::new().unwrap();
    let to = held.addr();
    let endpoint = Endpoint::Host { host: to.ip().to_string(), port: to.port() };
    let fault = |sources: &[_]| {
        on_worker(async { failed(Dialer::new(&endpoint.resolve(sources).unwrap()).connect(0).await) })
    };
    let refused = fault(&[]);
    assert!(matches!(refused, Fault::Connect { .. }), "{refused:?}");
    assert!(in_words(&refused).starts_with(&format!("connect to {to}: Connection refused")), "{refused:?}");
    assert_eq!(refused.outcome(), Outcome::Broken);
    // Not an address of this machine.
    let lacking = fault(&["192.0.2.1".parse().unwrap()]);
    assert_eq!(lacking.outcome(), Outcome::DriverFault, "{lacking:?}");
}

//! TLS on a connection that began in the clear.

use std::cell::Cell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::rc::Rc;
use std::sync::Arc;

use barograph_model::Nanos;
use barograph_net::{Alpn, Dialer, Fault, Routes, Stream, Tls, TlsConfig, TlsFault, Watch};
use barograph_testkit::Authority;

use super::peer::{self, secured, serve};
use super::{echo, expect, failed, on_worker};

const GREETING: &[u8] = b"220 ready\r\n";
const COMMAND: &[u8] = b"STARTTLS\r\n";
const GO_AHEAD: &[u8] = b"220 go ahead\r\n";

/// The peer's side of the exchange in the clear.
fn greet(stream: &mut TcpStream) {
    stream.write_all(GREETING).unwrap();
    let mut command = [0; COMMAND.len()];
    stream.read_exact(&mut command).unwrap();
    assert_eq!(command, COMMAND);
    stream.write_all(GO_AHEAD).unwrap();
}

/// This side of it.
async fn greeted(dialer: &Dialer) -> Stream {
    let mut stream = dialer.connect(0).await.unwrap();
    expect(&mut stream, GREETING).await;
    stream.write_all(COMMAND).await.unwrap();
    expect(&mut stream, GO_AHEAD).await;
    stream
}

#[test]
fn tls_begins_after_lines_in_the_clear() {
    let authority = Authority::new().unwrap();
    let config = Arc::new(authority.server().unwrap().config(&[]).unwrap());
    let (address, peer) = serve(1, move |mut stream| {
        greet(&mut stream);
        drop(peer::echo(secured(&config, stream)));
    });
    let tls = Tls { authorities: Some(authority.ca_pem().as_bytes().into()), ..Tls::default() };
    let tls = TlsConfig::new(&tls, "127.0.0.1", Alpn::NONE).unwrap();
    on_worker(async {
        let dialer = Dialer::new(&Routes::at(address));
        // Each look at it is a millisecond later.
        let looks = Cell::new(0);
        dialer.time_by(&(Rc::new(move || Nanos::from_millis(looks.replace(looks.get() + 1))) as Watch));
        let stream = greeted(&dialer).await;
        let mut stream = dialer.secure(stream, 0, &tls).await.unwrap();
        let (counters, once) = (dialer.counters(), Nanos::from_millis(1));
        assert_eq!((counters.connecting, counters.securing), (once, once));
        echo(&mut stream, b"EHLO there\r\n").await;
        // A second call changes nothing.
        let mut stream = dialer.secure(stream, 0, &tls).await.unwrap();
        echo(&mut stream, b"NOOP\r\n").await;
        let counters = dialer.counters();
        assert_eq!((counters.opened, counters.handshakes, counters.closed), (1, 1, 0));
        let clear = (GREETING.len() + GO_AHEAD.len()) as u64;
        assert_eq!((counters.bytes_in, counters.bytes_out), (clear + 18, COMMAND.len() as u64 + 18));
    });
    peer.join().unwrap();
}

#[test]
fn a_connection_is_closed_when_tls_does_not_begin() {
    let (address, peer) = serve(1, |mut stream| greet(&mut stream));
    let tls = TlsConfig::new(&Tls::default(), "127.0.0.1", Alpn::NONE).unwrap();
    on_worker(async {
        let dialer = Dialer::new(&Routes::at(address));
        let stream = greeted(&dialer).await;
        let fault = failed(dialer.secure(stream, 0, &tls).await);
        assert!(
            matches!(&fault, Fault::Tls { to, why: TlsFault::Closed | TlsFault::Other(_) } if *to == barograph_net::Peer::Tcp(address)),
            "{fault:?}"
        );
        let counters = dialer.counters();
        assert_eq!((counters.opened, counters.handshakes, counters.closed), (1, 0, 1));
    });
    peer.join().unwrap();
}

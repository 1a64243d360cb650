//! Brokers that die, refuse, or stay silent.

use std::error::Error;
use std::time::Duration;

use crate::common::{EventKind, Node, in_time, text};
use barograph_auction_bus::{
    BusEvent, BusUrl, ConnectError, NodeName, Recipient, SendError, Settings, connect,
};
use barograph_testkit::{ClosedPort, one_of_async};
use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Part of the error of a broker that did not answer within an attempt to connect.
pub(crate) const TOO_LATE: &str = "within 5 s";

pub(crate) fn url(text: &str) -> BusUrl {
    text.parse().expect("an address")
}

#[tokio::test]
async fn a_closed_port_is_an_error() {
    let closed = ClosedPort::new().expect("a port");
    for scheme in ["amqp", "nats"] {
        let error = refused(&url(&format!("{scheme}://{}", closed.addr()))).await;
        assert!(error.contains("failed to talk to the broker"), "{error}");
    }
}

#[tokio::test]
async fn names_are_checked_first() {
    for place in [NodeName { namespace: "a.b", node: "n" }, NodeName { namespace: "a", node: "" }] {
        let refused = connect(&url("in-process"), place, &Settings::default()).await;
        assert!(matches!(refused.map(|_| ()), Err(ConnectError::Name(_))), "{place:?}");
    }
}

/// The runtime's clock jumps to the next timer as soon as nothing else can happen.
#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_given_up() {
    let (listener, port) = listener().await;
    for scheme in ["amqp", "nats"] {
        let error = refused(&url(&format!("{scheme}://127.0.0.1:{port}"))).await;
        assert!(error.contains(TOO_LATE), "{error}");
    }
    drop(listener);
}

/// The real server drops the link after ten seconds without reading; here only its message matters.
#[tokio::test]
async fn nats_that_finds_us_slow_is_lost_and_found() {
    let (listener, port) = listener().await;
    let server = async {
        let mut first = greet(&listener).await;
        first.write_all(b"MSG slow.all 1 3\r\none\r\n-ERR 'Slow Consumer'\r\n").await.expect("open");
        let mut second = greet(&listener).await;
        second.write_all(b"MSG slow.all 1 3\r\ntwo\r\n").await.expect("open");
        // Held until the other side goes.
        let _ = second.read_line(&mut String::new()).await;
        second
    };
    let client = async {
        let url = url(&format!("nats://127.0.0.1:{port}"));
        let mut node =
            Node::connect(&url, NodeName { namespace: "slow", node: "a" }, &Settings::default()).await;
        assert_eq!(node.message().await.1, text("one"));
        let Some(BusEvent::Lost { why }) = in_time(node.heard.recv()).await else {
            panic!("the link was lost")
        };
        assert!(why.contains("Slow Consumer"), "{why}");
        assert_eq!(node.next().await, EventKind::Connected);
        assert_eq!(node.message().await.1, text("two"));
        assert!(node.bus.describe().starts_with("NATS 9.9 at 127.0.0.1:"), "{}", node.bus.describe());
    };
    let _ = tokio::join!(server, client);
}

/// Number of measurements: one of them shows an attempt at once, even on a busy machine.
const TRIES: usize = 10;

/// Age of a link at which the waits start anew; times stretched beyond it are meaningless.
const STEADY: Duration = Duration::from_secs(5);

/// The first attempt is made at once, the one after the next loss half a second later.
#[tokio::test]
async fn a_server_that_throws_us_out_is_not_asked_in_a_tight_loop() {
    one_of_async(TRIES, async || {
        let waits = waits_between_links().await;
        if waits[0] + waits[1] >= STEADY {
            return Err(format!("waits that were stretched say nothing: {waits:?}"));
        }
        assert!(waits[1].as_millis() >= 500, "{waits:?}");
        if waits[0] >= waits[1] {
            return Err(format!("the first attempt was not made at once: {waits:?}"));
        }
        Ok(())
    })
    .await;
}

/// The times between three links, each ended as soon as it is up.
async fn waits_between_links() -> [Duration; 2] {
    let (listener, port) = listener().await;
    let server = async {
        let mut times = Vec::new();
        for _ in 0..3 {
            drop(greet(&listener).await);
            times.push(tokio::time::Instant::now());
        }
        times
    };
    let url = url(&format!("nats://127.0.0.1:{port}"));
    let (place, settings) = (NodeName { namespace: "thrown", node: "a" }, Settings::default());
    let (times, node) = tokio::join!(server, Node::connect(&url, place, &settings));
    drop(node);
    [times[1] - times[0], times[2] - times[1]]
}

/// A server that goes silent without closing, as after a power failure of its machine.
#[tokio::test]
async fn a_silent_link_is_lost() {
    let (listener, port) = listener().await;
    let url = url(&format!("nats://127.0.0.1:{port}"));
    let settings = Settings::default();
    let (mut node, server) = tokio::join!(
        Node::connect(&url, NodeName { namespace: "silent", node: "a" }, &settings),
        greet(&listener),
    );
    // From here on only timers are left.
    tokio::time::pause();
    let Some(BusEvent::Lost { why }) = node.heard.recv().await else { panic!("the link was lost") };
    assert!(why.contains("within 20 s"), "{why}");
    assert_eq!(node.bus.send(Recipient::All, Bytes::new()), Err(SendError::Down));
    drop(server);
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("bound").port();
    (listener, port)
}

/// Plays NATS until the subscriptions are made.
async fn greet(listener: &TcpListener) -> BufReader<TcpStream> {
    let (stream, _) = listener.accept().await.expect("a connection");
    let mut stream = BufReader::new(stream);
    stream.write_all(b"INFO {\"version\":\"9.9\",\"max_payload\":1048576}\r\n").await.expect("open");
    let mut line = String::new();
    while !line.starts_with("PING") {
        line.clear();
        stream.read_line(&mut line).await.expect("open");
    }
    stream.write_all(b"PONG\r\n").await.expect("open");
    stream
}

/// The error of a first attempt, with its causes.
pub(crate) async fn refused(url: &BusUrl) -> String {
    let place = NodeName { namespace: "refused", node: "a" };
    match connect(url, place, &Settings::default()).await {
        Ok(_) => panic!("it was let in"),
        Err(error) => {
            let cause =
                error.source().map(|cause: &(dyn Error + 'static)| cause.to_string()).unwrap_or_default();
            format!("{error}: {cause}")
        }
    }
}

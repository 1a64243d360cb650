//! Connections to peers of this test, over real sockets.

mod connecting;
mod names;
mod peer;
mod pools;
mod securing;
mod tls;

use barograph_net::{Dialer, Fault, Routes, Stream};

/// Runs `work` on a loop like a worker's.
fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}

/// A connection in the clear, and its dialer.
async fn connected(address: std::net::SocketAddr) -> (Dialer, Stream) {
    let dialer = Dialer::new(&Routes::at(address));
    let stream = dialer.connect(0).await.unwrap();
    (dialer, stream)
}

/// Reads as many bytes as `text` has, and compares them with it.
async fn expect(stream: &mut Stream, text: &[u8]) {
    let mut read = Vec::new();
    while read.len() < text.len() {
        read.reserve_exact(text.len() - read.len());
        assert!(stream.read_into(&mut read).await.unwrap() > 0, "ended after {read:?}");
    }
    assert_eq!(read, text);
}

/// Sends `text`, and expects it back.
async fn echo(stream: &mut Stream, text: &[u8]) {
    stream.write_all(text).await.unwrap();
    expect(stream, text).await;
}

/// The fault of a failed connection.
fn failed<T>(end: Result<T, Fault>) -> Fault {
    match end {
        Ok(_) => panic!("a connection was made"),
        Err(fault) => fault,
    }
}

/// A fault and its causes, in words.
fn in_words(fault: &Fault) -> String {
    let cause = std::error::Error::source(fault).map_or_else(String::new, |why| format!(": {why}"));
    format!("{fault}{cause}")
}

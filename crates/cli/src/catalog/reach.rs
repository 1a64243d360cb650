//! One connection to a target before any load: whoever typed a wrong port learns it at once, and not from ten seconds of
//! failures.

use std::error::Error;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::Duration;

use barograph_http::{Client, Fault, Method, Request, Resolved};
use barograph_reactor::Peer;

/// Why there is nobody to talk to.
type Why = Box<dyn Error + Send + Sync>;

/// Nothing that is reachable takes longer.
const LONGEST: Duration = Duration::from_secs(10);

/// Connects once. In the clear nothing is sent; over TLS a HEAD request goes along, since the handshake is what may fail.
pub(super) fn once(target: &Resolved, timeout: Duration) -> Result<(), Why> {
    let timeout = timeout.min(LONGEST);
    let mut last: Why = "its name has no address".into();
    for peer in target.peers() {
        match connect(peer, timeout) {
            Ok(()) if target.target().is_tls() => return handshake(target, timeout),
            Ok(()) => return Ok(()),
            Err(why) => last = why,
        }
    }
    Err(last)
}

fn connect(peer: &Peer, timeout: Duration) -> Result<(), Why> {
    let connected = match peer {
        Peer::Tcp(address) => TcpStream::connect_timeout(address, timeout).map(drop),
        Peer::Unix(path) => UnixStream::connect(path).map(drop),
    };
    connected
        .map_err(|why| format!("connect to {peer}: {why}; is it started, and is this its address?").into())
}

fn handshake(target: &Resolved, timeout: Duration) -> Result<(), Why> {
    let (answer, asked) = mpsc::sync_channel(1);
    let target = target.clone();
    // The client knows no clock: its thread is left behind when it takes too long.
    std::thread::spawn(move || {
        let ended = barograph_reactor::block_on(async {
            let path = target.target().path();
            let request =
                Request { method: Method::HEAD, path: format_args!("{path}"), headers: &[], body: None };
            Client::new(&target).user(0).send(&request).await.map(drop)
        });
        // Nobody waits any more when the time is over.
        let _ = answer.send(ended);
    });
    match asked.recv_timeout(timeout) {
        Ok(Ok(Err(why @ (Fault::Tls { .. } | Fault::Connect { .. })))) => Err(why.into()),
        // That it answered, however, is all that is asked here.
        Ok(Ok(_)) => Ok(()),
        Ok(Err(why)) => Err(why.into()),
        Err(_) => {
            Err(format!("no TLS session within {} s; is this the right port?", timeout.as_secs_f64()).into())
        }
    }
}

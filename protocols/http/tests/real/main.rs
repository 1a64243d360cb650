//! The client against real servers with known answers, over real sockets.

mod exchanges;
mod handshakes;
mod http2;
mod policies;
mod proxies;
mod requests;
mod resets;
mod routes;
mod sse;
mod trust;
mod uploads;
mod ways;
mod websockets;

use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;

use barograph_http::{Answer, Client, Connections, Fault, Method, Options, Request, Target};
use barograph_testkit::{Address, Site};

/// Runs `work` on a loop like a worker's.
fn on_worker<T>(work: impl Future<Output = T>) -> T {
    barograph_reactor::block_on(work).unwrap()
}

/// The first user's connections to this address.
fn user(url: &str, options: &Options) -> Connections {
    Client::new(&Target::parse(url, options).unwrap().resolve().unwrap()).user(0)
}

/// Options that reach a site where it listens.
fn reaching(site: &Site) -> Options {
    let unix_socket: Option<PathBuf> = match site.address() {
        Address::Unix(path) => Some(path.clone()),
        Address::Tcp(_) => None,
    };
    Options { unix_socket, ..Options::default() }
}

async fn get(connections: &Connections, path: &str) -> Result<Answer, Fault> {
    ask(connections, Method::GET, path).await
}

async fn ask(connections: &Connections, method: Method<'_>, path: &str) -> Result<Answer, Fault> {
    connections.send(&Request { method, path: format_args!("{path}"), headers: &[], body: None }).await
}

/// A path whose answer waits for a publication by [`let_go`].
const HELD: &str = "/poll/60000?after=0";

/// Publishes once the site has had `requests` requests: the held ones were then all in progress at once.
async fn let_go(site: &Site, requests: u64) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    poll_fn(|cx| {
        if site.requests() >= requests {
            return Poll::Ready(());
        }
        let came = site.requests();
        assert!(std::time::Instant::now() < deadline, "{came} of {requests} requests came within a minute");
        // Other tasks run before this one is polled again.
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    site.publish("go");
}

/// The fault of a failed request.
fn failed<T>(end: Result<T, Fault>) -> Fault {
    match end {
        Ok(_) => panic!("an answer came"),
        Err(fault) => fault,
    }
}

/// A fault and its causes, in words.
fn in_words(fault: &Fault) -> String {
    let cause = std::error::Error::source(fault).map_or_else(String::new, |why| format!(": {why}"));
    format!("{fault}{cause}")
}

//! A site that follows its protocols well: HTTP/1.1, HTTP/2, events, long polls, WebSockets.

mod bodies;
mod connection;
mod feed;
mod routes;
mod websocket;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use tokio::sync::Notify;
use tokio::task::{JoinSet, LocalSet};

use crate::listener::{Address, ListenOptions, TargetListener};
use crate::thread::{self, TargetThread};
use feed::Feed;

/// Protocols of a site. It refuses the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteProtocols {
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; in the clear by prior knowledge.
    Http2,
    /// Chosen by the client.
    Either,
}

/// A running site; dropping it stops it.
///
/// | route | answer |
/// |---|---|
/// | `/hello` | `hello` |
/// | `/bytes/N` | [`Site::bytes`] with their length |
/// | `/chunks/N/SIZE` | the same in pieces of SIZE, without a length |
/// | `/slow/N/SIZE/MS` | the same with MS ms between pieces |
/// | `/status/N` | status N of 200 to 599, body `status N` unless 204 or 304 |
/// | `/echo` | the body; `x-method` and `x-version` say what came; honours `expect: 100-continue` |
/// | `/headers` | the request's headers, one `name: value` per line |
/// | `/trailers` | `with trailers` in two pieces and the trailer `x-end: yes` (HTTP/1.1: when asked with `te: trailers`) |
/// | `/close` | `goodbye`, then the connection ends |
/// | `/abort` | 10 of 100 promised bytes, then a break |
/// | `/delay/MS` | `hello` after MS ms |
/// | `/never` | nothing, ever |
/// | `/redirect` | 302 to `/hello` |
/// | `/cookie` | sets `session=K`, a new K each time; `/me` answers K, or 401 |
/// | `/events/N/MS` | a comment and N Server-Sent Events `tick`, MS ms apart, then the end |
/// | `/feed` | Server-Sent Events of what is published from now on, or after number N with `?after=N` |
/// | `/poll/MS` | the next published text, as `{"n":..,"text":".."}`, or 204 after MS ms; `?after=N` as above |
/// | `/ws` | WebSocket echo; `!ping` makes it ping and say `ponged`, `!close` close with 1001 `bye`, `!cut` cut |
/// | `/ws/events/N/MS` | N texts `{"n":0}`, ..., MS ms apart, then a close with 1000 |
/// | `/ws/feed` | what is published, as texts; `?after=N` as above |
pub struct Site {
    address: Address,
    origin: String,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by all connections of a site.
struct State {
    feed: Arc<Feed>,
    sessions: AtomicU64,
    connections: AtomicU64,
    requests: AtomicU64,
    at_once: AtomicU64,
    most_at_once: AtomicU64,
    stop: Notify,
}

impl Site {
    /// Listens at this door.
    pub fn start(door: ListenOptions, speaks: SiteProtocols) -> io::Result<Self> {
        let state = Arc::new(State {
            feed: Arc::new(Feed::new()),
            sessions: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            at_once: AtomicU64::new(0),
            most_at_once: AtomicU64::new(0),
            stop: Notify::new(),
        });
        let used = state.clone();
        let TargetThread { address, origin, thread } =
            thread::start("testkit-site", door, async move |listening| {
                // Tasks that stay in this thread: a connection's future need not be `Send`.
                LocalSet::new().run_until(listen(listening, speaks, used)).await;
            })?;
        Ok(Site { address, origin, state, thread: Some(thread) })
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The URL of this path, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// Connections accepted so far, including failed TLS handshakes.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Requests received so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// The most requests that waited for the head of their answer at one time.
    #[must_use]
    pub fn most_at_once(&self) -> u64 {
        self.state.most_at_once.load(Ordering::SeqCst)
    }

    /// Publishes a text to all waiting clients; returns its number, from 1.
    pub fn publish(&self, text: &str) -> usize {
        self.state.feed.publish(text)
    }

    /// The first `count` bytes of its known text.
    #[must_use]
    pub fn bytes(count: usize) -> Vec<u8> {
        bodies::known_bytes(count)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.state.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // The thread has reported a panic of a task already.
            let _ = thread.join();
        }
    }
}

impl State {
    /// Counts a request in progress, until the guard is dropped.
    fn in_work(self: &Arc<Self>) -> RequestGuard {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        RequestGuard(self.clone())
    }
}

struct RequestGuard(Arc<State>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Accepts connections until the site is to stop; then listener, connections and their tasks are dropped.
async fn listen(listening: TargetListener, speaks: SiteProtocols, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = state.stop.notified() => return,
            taken = listening.accept() => match taken {
                Ok(arrived) => {
                    state.connections.fetch_add(1, Ordering::SeqCst);
                    connections.spawn_local(connection::serve(arrived, speaks, state.clone()));
                }
                // A client that disconnected before it was accepted; others may come.
                Err(_) => tokio::task::yield_now().await,
            },
            // Ended connections are removed, so that a long test does not collect them.
            Some(_) = connections.join_next() => {}
        }
    }
}

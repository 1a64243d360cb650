//! A server that answers at known times: known delays, known stalls, and a log.

mod delay;
mod exact;
mod link;
mod log;
mod run;
mod stall;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub use delay::{Delay, Delays};
pub use exact::exact;
pub use log::AnswerTimes;
pub use stall::Stalls;

use log::Log;
use run::Loop;

/// Connections that may wait to be accepted; the kernel reduces it to its own limit. Otherwise a client that
/// opens thousands at once would lose some to a retry after a second.
const BACKLOG: i32 = 1 << 16;

/// Times and contents of a server's answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The delay of each request, by its number in order of arrival over all connections.
    pub delays: Delays,
    /// Its stalls.
    pub stalls: Option<Stalls>,
    /// Body of every answer.
    pub body: Vec<u8>,
}

impl Timing {
    /// Delays of this distribution and seed, no stalls, the body `ok`.
    #[must_use]
    pub fn of(delay: Delay, seed: u64) -> Self {
        Timing { delays: Delays::new(delay, seed), stalls: None, body: b"ok".to_vec() }
    }

    /// The same delay for every request.
    #[must_use]
    pub fn constant(delay: Duration) -> Self {
        Timing::of(Delay::Constant(delay), 0)
    }

    /// Adds stalls.
    #[must_use]
    pub fn stalling(self, stalls: Stalls) -> Self {
        Timing { stalls: Some(stalls), ..self }
    }

    /// Sets another body.
    #[must_use]
    pub fn with_body(self, body: impl Into<Vec<u8>>) -> Self {
        Timing { body: body.into(), ..self }
    }

    /// The due time of the answer to request `n` that arrived at `arrived`; both since the origin.
    #[must_use]
    pub fn due(&self, n: u64, arrived: Duration) -> Duration {
        let due = arrived + self.delays.nth(n);
        self.stalls.map_or(due, |stalls| stalls.leaves_at(due))
    }
}

/// A running server on a free port of 127.0.0.1; dropping it stops it, and panics if it broke down.
///
/// An answer is late by the writes before it if many are due at once, and by the time the machine takes from
/// its thread. [`TimedServer::lateness`] gives the amount.
#[derive(Debug)]
pub struct TimedServer {
    addr: SocketAddr,
    origin: Instant,
    timing: Timing,
    log: Arc<Log>,
    stop: OwnedFd,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl TimedServer {
    /// Starts a server; its time counts from now.
    pub fn start(timing: Timing) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        let addr = listener.local_addr()?;
        let stop = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
        let (log, origin) = (Arc::new(Log::default()), Instant::now());
        let setup =
            Loop { listener, stop: stop.try_clone()?, timing: timing.clone(), origin, log: log.clone() };
        let thread =
            std::thread::Builder::new().name("testkit-timed".to_owned()).spawn(move || setup.run())?;
        Ok(TimedServer { addr, origin, timing, log, stop, thread: Some(thread) })
    }

    /// Its address.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its URL for people; every path gets the same answer.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// The origin of its times: the first period of stalls begins there.
    #[must_use]
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Requests read so far.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.log.arrived.load(Ordering::SeqCst)
    }

    /// Answers given so far, including every answer seen by a client.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.log.list().answered
    }

    /// Connections accepted so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// The exact response time of request `n` with this intended start, if nothing but this server takes
    /// time. With a constant delay `n` does not matter. An instant before the origin counts as the origin.
    #[must_use]
    pub fn response_at(&self, n: u64, intended_start: Instant) -> Duration {
        let start = intended_start.saturating_duration_since(self.origin);
        self.timing.due(n, start) - start
    }

    /// The exact quantile of the delays (without stalls) of the answers given so far.
    ///
    /// `None` without answers, or with more than the log keeps (2^20).
    #[must_use]
    pub fn exact(&self, q: f64) -> Option<Duration> {
        let list = self.log.list();
        let delays = list.first.iter().map(|g| self.timing.delays.nth(g.n));
        if list.is_complete() { exact(delays, q) } else { None }
    }

    /// The first 2^20 answers in the order they were given.
    #[must_use]
    pub fn answers(&self) -> Vec<AnswerTimes> {
        self.log.list().first.clone()
    }

    /// The quantile of the lateness of its kept answers: the error of the server itself.
    #[must_use]
    pub fn lateness(&self, q: f64) -> Option<Duration> {
        exact(self.answers().iter().map(|g| g.sent - g.due), q)
    }
}

impl Drop for TimedServer {
    fn drop(&mut self) {
        // Adding one to a counter of zero can neither block nor fail while it is held.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
        match self.thread.take().map(JoinHandle::join) {
            // A second panic would hide the first.
            _ if std::thread::panicking() => {}
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            Some(Ok(Err(error))) => panic!("the timed server broke down: {error}"),
            Some(Ok(Ok(()))) | None => {}
        }
    }
}

//! The live page of a run, or of one run after the other: figures as they come, in a browser, served on loopback while they
//! go on.
//!
//! The harness tells a [`Page`] what happens, which takes no longer than adding histograms. A thread of its own answers
//! browsers: one page without outside resources, and an event stream (`server`) that carries the whole `view` each
//! time, so that a browser that comes late or comes again needs nothing else. Nobody looks, nothing is written.

mod moment;
mod server;
mod view;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::{Nanos, Offered, Phase};
use barograph_record::{Entry, Follower, ProbeRow};
use barograph_stats::Interval;
use barograph_stats::search::SoFar;

use moment::Moment;
use server::{Server, Shared};

/// At the end browsers get so long to take the last figures.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The page could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// The page has no sign-in, so it is for this machine only.
    #[error(
        "serve the live page on {address}: only loopback is allowed, as in 127.0.0.1:8090; from elsewhere use \
         `ssh -L 8090:127.0.0.1:8090 HOST`"
    )]
    NotLoopback {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The address is taken, or not of this machine.
    #[error("serve the live page on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        #[source]
        why: std::io::Error,
    },
}

/// Which run of several is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// In words, as in `run 3 of 12`.
    pub words: String,
    /// How long the runs after it take.
    pub after: Nanos,
}

/// The live page of a run, or of several that come one after the other at one address.
#[derive(Debug)]
pub struct Page {
    shared: Arc<Shared>,
    address: SocketAddr,
    server: Mutex<Option<Server>>,
}

impl Page {
    /// Serves the page on `address`, whose port may be 0 for a free one. `title` says what is loaded.
    pub fn serve(address: SocketAddr, title: &str) -> Result<Page, LiveError> {
        if !address.ip().is_loopback() {
            return Err(LiveError::NotLoopback { address });
        }
        let shared = Arc::new(Shared::new(Moment::new(title)));
        let server = Server::start(address, Arc::clone(&shared));
        let server = server.map_err(|why| LiveError::Listen { address, why })?;
        Ok(Page { shared, address: server.address(), server: Mutex::new(Some(server)) })
    }

    /// Where it is served.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Another run begins, which `title` names. Whoever looks on stays, and sees nothing more of the run before but its lines.
    pub fn next(&self, title: &str, turn: Turn) {
        self.shared.change(|moment| moment.next(title, turn));
    }

    /// A phase begins.
    pub fn phase(&self, phase: Phase, about: &str) {
        self.shared.change(|moment| moment.begin(phase, about));
    }

    /// How far the phase is, 0 to 1, and the longest time that the run may still take.
    pub fn progress(&self, done: f64, remaining: Option<Nanos>) {
        self.shared.change(|moment| moment.progress(done, remaining));
    }

    /// The load that is asked for.
    pub fn load(&self, offered: Offered) {
        self.shared.change(|moment| moment.offered = offered);
    }

    /// What a search knows by now.
    pub fn so_far(&self, so_far: &SoFar) {
        self.shared.change(|moment| moment.so_far = Some(*so_far));
    }

    /// A line that stays.
    pub fn say(&self, line: &str) {
        self.shared.change(|moment| moment.say(line));
    }

    /// The run has ended, the last one if there are several; `words` say how, and where its report is. Waits a moment until
    /// browsers know.
    pub fn end(&self, words: &[String]) {
        self.shared.change(|moment| moment.ended = Some(words.to_vec()));
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(server) = server {
            server.leave();
        }
    }
}

impl Follower for Page {
    fn entry(&self, entry: &Entry) {
        self.shared.change(|moment| moment.entry(entry));
    }

    fn interval(&self, interval: &Interval, names: &[&str]) {
        self.shared.change(|moment| moment.interval(interval, names));
    }

    fn probe(&self, row: &ProbeRow) {
        self.shared.change(|moment| moment.probe(row));
    }
}

//! The live page of a run, or of several runs one after another: current figures in a browser, served on
//! loopback.
//!
//! The harness reports to a [`Page`], which takes no longer than adding histograms. A thread of its own
//! answers browsers: a page without outside resources, and an event stream (`server`) with the whole `view`
//! in every event, so that a browser that connects late or again needs nothing else. Without viewers nothing
//! is written.

mod moment;
mod server;
mod view;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_model::{Nanos, OfferedLoad, Phase};
use barograph_record::{Entry, Follower, ProbeRow};
use barograph_stats::Interval;
use barograph_stats::search::SearchProgress;

use moment::PageContent;
use server::{PageState, Server};

/// Time in which browsers must take the last figures.
const LEAVE_WITHIN: Duration = Duration::from_secs(2);

/// The page could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LiveError {
    /// An address that is not loopback: the page has no sign-in, so it is for this machine only.
    #[error(
        "serve the live page on {address}: only loopback is allowed, as in 127.0.0.1:8090; from elsewhere use \
         `ssh -L 8090:127.0.0.1:8090 HOST`"
    )]
    NotLoopback {
        /// Requested address.
        address: SocketAddr,
    },
    /// The address is in use, or not of this machine.
    #[error("serve the live page on {address}")]
    Listen {
        /// Requested address.
        address: SocketAddr,
        /// The cause.
        #[source]
        why: std::io::Error,
    },
}

/// Position of the shown run among several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyPosition {
    /// In words, as in `run 3 of 12`.
    pub words: String,
    /// Duration of the runs after it.
    pub after: Nanos,
}

/// The live page of a run, or of several runs in turn at one address.
#[derive(Debug)]
pub struct Page {
    shared: Arc<PageState>,
    address: SocketAddr,
    server: Mutex<Option<Server>>,
}

impl Page {
    /// Serves the page on `address`, whose port may be 0 for a free one. `title` names the load.
    pub fn serve(address: SocketAddr, title: &str) -> Result<Page, LiveError> {
        if !address.ip().is_loopback() {
            return Err(LiveError::NotLoopback { address });
        }
        let shared = Arc::new(PageState::new(PageContent::new(title)));
        let server = Server::start(address, Arc::clone(&shared));
        let server = server.map_err(|why| LiveError::Listen { address, why })?;
        Ok(Page { shared, address: server.address(), server: Mutex::new(Some(server)) })
    }

    /// Returns the URL of the page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Begins another run with this title. Viewers stay connected; only the lines of the previous run stay.
    pub fn next(&self, title: &str, turn: StudyPosition) {
        self.shared.change(|moment| moment.next(title, turn));
    }

    /// Begins a phase.
    pub fn phase(&self, phase: Phase, about: &str) {
        self.shared.change(|moment| moment.begin(phase, about));
    }

    /// Sets the completed share of the phase, 0 to 1, and the longest time that the run may still take.
    pub fn progress(&self, done: f64, remaining: Option<Nanos>) {
        self.shared.change(|moment| moment.progress(done, remaining));
    }

    /// Sets the load asked for.
    pub fn load(&self, offered: OfferedLoad) {
        self.shared.change(|moment| moment.offered = offered);
    }

    /// Sets the state of a search.
    pub fn so_far(&self, so_far: &SearchProgress) {
        self.shared.change(|moment| moment.so_far = Some(*so_far));
    }

    /// Adds a line that stays.
    pub fn say(&self, line: &str) {
        self.shared.change(|moment| moment.say(line));
    }

    /// Ends the run, or the last of several; `words` describe its end and name its report. Waits a moment for
    /// browsers to receive them.
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

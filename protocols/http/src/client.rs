//! State shared by all users of a worker: the target, buffers, counters, and the pool if there is one.

use std::cell::Cell;
use std::rc::Rc;

use barograph_net::{Buffers, Counters, Dialer, Pools, Watch};

use crate::connect::HttpVersion;
use crate::connections::Connections;
use crate::lane::Lane;
use crate::options::Protocol;
use crate::request::RequestTemplate;
use crate::target::{ResolvedTarget, Target};

/// Initial size of an answer's buffer: most answers fit.
const ANSWER_CAPACITY: usize = 8 * 1024;

/// A worker's client of one target.
pub struct Client {
    resolved: ResolvedTarget,
    pub(crate) blank: Rc<RequestTemplate>,
    pub(crate) answers: Rc<Buffers>,
    pub(crate) dialer: Dialer,
    repeated: Cell<u64>,
    /// The HTTP version of the target, once known.
    pub(crate) speaks: Cell<Option<HttpVersion>>,
    lanes: Pools<Lane>,
}

impl Client {
    /// A client of this target for the calling thread. Opens no connection yet.
    #[must_use]
    pub fn new(resolved: &ResolvedTarget) -> Rc<Self> {
        let target = resolved.target();
        let speaks = match (target.options().protocol, target.is_tls()) {
            (Protocol::Http1, _) | (Protocol::Auto, false) => Some(HttpVersion::Http1),
            (Protocol::Http2, _) => Some(HttpVersion::Http2),
            (Protocol::Auto, true) => None,
        };
        Rc::new(Client {
            blank: RequestTemplate::new(target),
            answers: Rc::new(Buffers::new(ANSWER_CAPACITY)),
            dialer: Dialer::new(resolved.routes()),
            repeated: Cell::new(0),
            speaks: Cell::new(speaks),
            lanes: Pools::new(target.options().policy),
            resolved: resolved.clone(),
        })
    }

    /// The connections of one user. The number spreads users over the target's addresses and over source
    /// addresses.
    #[must_use]
    pub fn user(self: &Rc<Self>, user: u32) -> Connections {
        let options = self.target().options();
        let lane = self.lanes.user(|| Lane::new(options.policy, options.streams, self.speaks.get()));
        Connections::new(self, user, lane)
    }

    /// Counts from now on how long connecting and TLS handshakes take. The first watch stays.
    pub fn time_by(&self, watch: &Watch) {
        self.dialer.time_by(watch);
    }

    /// What its connections have done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.dialer.counters()
    }

    /// Requests repeated because a kept connection had been closed before the first byte of an answer.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.repeated.get()
    }

    pub(crate) fn count_repeated(&self) {
        self.repeated.set(self.repeated.get() + 1);
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &Target {
        self.resolved.target()
    }
}

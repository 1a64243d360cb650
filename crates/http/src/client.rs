//! What all users of a worker share: the target, buffers, counters, and the pool where there is one.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use crate::buffers::Buffers;
use crate::connect::Speaks;
use crate::connections::Connections;
use crate::lane::Lane;
use crate::options::{Policy, Protocol};
use crate::request::Blank;
use crate::stream::{Counters, Tally};
use crate::target::{Resolved, Target};

/// First size of a buffer for answers: most fit.
const ANSWER_CAPACITY: usize = 8 * 1024;

/// Requests that one user has going at once where each has a connection of its own: none is known to need more.
const MOST_NEW: u32 = 256;

/// A worker's client of one target.
pub struct Client {
    pub(crate) resolved: Resolved,
    pub(crate) blank: Rc<Blank>,
    pub(crate) answers: Rc<Buffers>,
    pub(crate) tally: Rc<Tally>,
    /// What the target speaks, once it is known.
    pub(crate) speaks: Cell<Option<Speaks>>,
    shared: OnceCell<Rc<Lane>>,
}

impl Client {
    /// A client of this target, for the thread that makes it. No connection is made yet.
    #[must_use]
    pub fn new(resolved: &Resolved) -> Rc<Self> {
        let target = resolved.target();
        let speaks = match (target.options().protocol, target.is_tls()) {
            (Protocol::Http1, _) | (Protocol::Auto, false) => Some(Speaks::Http1),
            (Protocol::Http2, _) => Some(Speaks::Http2),
            (Protocol::Auto, true) => None,
        };
        Rc::new(Client {
            resolved: resolved.clone(),
            blank: Blank::new(target),
            answers: Rc::new(Buffers::new(ANSWER_CAPACITY)),
            tally: Rc::default(),
            speaks: Cell::new(speaks),
            shared: OnceCell::new(),
        })
    }

    /// The connections of one user. The number spreads users over the target's addresses and over source addresses.
    #[must_use]
    pub fn user(self: &Rc<Self>, user: u32) -> Connections {
        let lane = |most| Lane::new(most, self.target().options().streams.max(1), self.speaks.get());
        let lane = match self.target().options().policy {
            Policy::PerUser(most) => Rc::new(lane(most.max(1))),
            Policy::Shared(most) => Rc::clone(self.shared.get_or_init(|| Rc::new(lane(most.max(1))))),
            Policy::New => Rc::new(lane(MOST_NEW)),
        };
        Connections::new(self, user, lane)
    }

    /// What its connections have done so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.tally.now()
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> &Target {
        self.resolved.target()
    }

    /// The number that decides where the next connection of this user goes and where it comes from.
    pub(crate) fn number(&self, user: u32) -> u32 {
        match self.target().options().policy {
            Policy::PerUser(_) => user,
            // Connections are nobody's own: they take turns.
            Policy::Shared(_) | Policy::New => self.tally.now().opened as u32,
        }
    }
}

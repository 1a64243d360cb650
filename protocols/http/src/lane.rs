//! A pool of connections with its HTTP version: a user's own, or a worker's.

use std::cell::{Cell, OnceCell};

use barograph_net::{Policy, Pool};

use crate::carriers::Carriers;
use crate::connect::HttpVersion;

/// Connections and their HTTP version.
pub(crate) struct Lane {
    pub(crate) pool: Pool,
    /// The HTTP version, once known.
    speaks: Cell<Option<HttpVersion>>,
    carriers: OnceCell<Carriers>,
    streams: u32,
}

impl Lane {
    /// A pool with this policy, with at most `streams` concurrent requests on each HTTP/2 connection.
    pub(crate) fn new(policy: Policy, streams: u32, speaks: Option<HttpVersion>) -> Self {
        let lane = Lane {
            pool: Pool::new(policy),
            speaks: Cell::new(None),
            carriers: OnceCell::new(),
            streams: streams.max(1),
        };
        lane.learn(speaks);
        lane
    }

    pub(crate) fn speaks(&self) -> Option<HttpVersion> {
        self.speaks.get()
    }

    /// Records the HTTP version.
    pub(crate) fn learn(&self, speaks: Option<HttpVersion>) {
        if self.speaks.get().is_none() && speaks == Some(HttpVersion::Http2) {
            self.pool.multiplex(self.streams);
        }
        self.speaks.set(self.speaks.get().or(speaks));
    }

    /// The HTTP/2 connections.
    pub(crate) fn carriers(&self) -> Carriers {
        self.carriers.get_or_init(|| Carriers::new(self.pool.most(), self.streams)).clone()
    }

    pub(crate) fn close_idle(&self) {
        self.pool.close_idle();
        if let Some(carriers) = self.carriers.get() {
            carriers.close_idle();
        }
    }
}

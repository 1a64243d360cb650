//! The auction's keys of plans: the parts of its application, the depth of its data, and trust in a target
//! over TLS.
//!
//! `deploy.like` gives the other keys of `[deploy]` their defaults, so that a plan names only the differences
//! from a usual topology.

mod checked;
mod explained;

use std::sync::Arc;

use barograph_spec::{Plan, SettingsReader, TlsPlan, WorkloadKeys, WorkloadSettings};

use crate::seam::{Auctions, NAME};

/// Tiers of the application, in the order of a request's way.
const TIERS: [&str; 8] = ["balancer", "web", "application", "bids", "bus", "relational", "events", "files"];

/// Most instances of one tier: addresses and names of a site are limited.
const MOST_NODES: u64 = 32;

/// The auction's settings in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuctionPlan {
    /// The parts of the application.
    pub(crate) deploy: Parts,
    /// Depth of history, future and attendance relative to the published ratios; 0 stands for the default of
    /// the size.
    pub(crate) history: f64,
    /// Bytes of pictures relative to the published ones; 0 stands for the default of the size.
    pub(crate) images: f64,
    /// Threads of a node; 0 stands for one per core.
    pub(crate) threads: usize,
    /// Trust in a target over TLS.
    pub(crate) tls: TlsPlan,
}

/// The parts of an application.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts {
    /// The topology that gives the defaults.
    pub(crate) like: &'static str,
    /// Store of users, auctions and items: `embedded`, `postgres` or `mariadb`.
    pub(crate) relational: &'static str,
    /// Whether PostgreSQL has a synchronous standby.
    pub(crate) standby: bool,
    /// Durability of commits in PostgreSQL: `full` (survives the machine) or `off` (waits for nothing).
    pub(crate) sql_durability: &'static str,
    /// Store of bids and attendance: `same` (as the relational store), `postgres` (a separate server) or
    /// `ferretdb`.
    pub(crate) events: &'static str,
    /// Servers over which that store is spread; 0 without one of its own.
    pub(crate) event_nodes: u32,
    /// Store of pictures: `files`, `events` (in the event store) or `nfs` (on a file server).
    pub(crate) images: &'static str,
    /// Bus between nodes: `none`, `nats` or `rabbitmq`.
    pub(crate) bus: &'static str,
    /// Number of its servers; 0 without a bus.
    pub(crate) bus_nodes: u32,
    /// Nodes of the application. They also take bids unless there are bid nodes.
    pub(crate) application_nodes: u32,
    /// Separate nodes that own auctions and take bids.
    pub(crate) bid_nodes: u32,
    /// Web servers in front of the nodes: `none`, `nginx` or `httpd`.
    pub(crate) web: &'static str,
    /// Number of web servers; 0 without a web tier.
    pub(crate) web_nodes: u32,
    /// Whether clients use TLS to the web tier.
    pub(crate) tls: bool,
    /// Balancers in front of the web servers, or of the nodes: `none` or `haproxy`.
    pub(crate) balancer: &'static str,
    /// Number of balancers; 0 without any.
    pub(crate) balancer_nodes: u32,
    /// Addresses that move between the balancers, by Keepalived.
    pub(crate) virtual_addresses: u32,
}

impl Parts {
    /// Whether the application is one process with embedded stores.
    pub(crate) fn is_embedded(&self) -> bool {
        self.relational == "embedded"
    }

    /// Number of nodes of both tiers.
    pub(crate) fn nodes(&self) -> u32 {
        self.application_nodes + self.bid_nodes
    }
}

impl AuctionPlan {
    /// The auction's settings in a plan.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of the auction is read with the keys of the auction")
    }

    /// The settings of an empty plan.
    pub(crate) const DEFAULT: AuctionPlan = AuctionPlan {
        deploy: EMBEDDED,
        history: 0.0,
        images: 0.0,
        threads: 0,
        tls: TlsPlan { verify: true, authorities: None, server_name: None },
    };
}

/// The parts of `like = "embedded"`.
const EMBEDDED: Parts = Parts {
    like: "embedded",
    relational: "embedded",
    standby: false,
    sql_durability: "full",
    events: "same",
    event_nodes: 0,
    images: "files",
    bus: "none",
    bus_nodes: 0,
    application_nodes: 1,
    bid_nodes: 0,
    web: "none",
    web_nodes: 0,
    tls: false,
    balancer: "none",
    balancer_nodes: 0,
    virtual_addresses: 0,
};

/// The parts of `like = "minimal"`.
const MINIMAL: Parts = Parts { like: "minimal", relational: "postgres", ..EMBEDDED };

/// The parts of `like = "full"`.
const FULL: Parts = Parts {
    like: "full",
    events: "ferretdb",
    bus: "rabbitmq",
    application_nodes: 2,
    bid_nodes: 1,
    web: "nginx",
    web_nodes: 2,
    balancer: "haproxy",
    balancer_nodes: 1,
    ..MINIMAL
};

/// The parts of `like = "full-ha"`.
const FULL_HA: Parts = Parts {
    like: "full-ha",
    standby: true,
    bus: "nats",
    bid_nodes: 2,
    balancer_nodes: 2,
    virtual_addresses: 1,
    ..FULL
};

/// All values of `like`, with their parts.
const LIKE: [Parts; 4] = [EMBEDDED, MINIMAL, FULL, FULL_HA];

impl WorkloadKeys for Auctions {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let deploy = parts(g);
        let history = g.fraction("data.history", 0.0..=1.0, 0.0);
        let images = g.fraction("data.images", 0.0..=1.0, 0.0);
        let threads = g.number("target.threads", 0..=1_024, 0);
        let tls = TlsPlan::read(g);
        Some(Arc::new(AuctionPlan {
            deploy: deploy?,
            history: history?,
            images: images?,
            threads: threads? as usize,
            tls: tls?,
        }))
    }
}

fn parts(g: &mut SettingsReader) -> Option<Parts> {
    let like = g.choice("deploy.like", &LIKE.map(|usual| usual.like), EMBEDDED.like);
    let usual = LIKE.into_iter().find(|usual| Some(usual.like) == like).unwrap_or(EMBEDDED);
    let relational = g.choice("deploy.relational", &["embedded", "postgres", "mariadb"], usual.relational);
    let usual = if relational == Some("embedded") { EMBEDDED } else { usual };
    let standby = g.flag("deploy.standby", usual.standby);
    let sql_durability = g.choice("deploy.sql_durability", &["full", "off"], usual.sql_durability);
    let events = g.choice("deploy.events", &["same", "postgres", "ferretdb"], usual.events);
    let event_nodes = nodes(g, "deploy.event_nodes", 1, usual.event_nodes.max(1));
    let images = g.choice("deploy.images", &["files", "events", "nfs"], usual.images);
    let bus = g.choice("deploy.bus", &["none", "nats", "rabbitmq"], usual.bus);
    let bus_nodes = nodes(g, "deploy.bus_nodes", 1, usual.bus_nodes.max(1));
    let application_nodes = nodes(g, "deploy.application_nodes", 1, usual.application_nodes);
    let bid_nodes = nodes(g, "deploy.bid_nodes", 0, usual.bid_nodes);
    let web = g.choice("deploy.web", &["none", "nginx", "httpd"], usual.web);
    let web_nodes = nodes(g, "deploy.web_nodes", 1, usual.web_nodes.max(1));
    let tls = g.flag("deploy.tls", usual.tls);
    let balancer = g.choice("deploy.balancer", &["none", "haproxy"], usual.balancer);
    let balancer_nodes = nodes(g, "deploy.balancer_nodes", 1, usual.balancer_nodes.max(1));
    let virtual_addresses = g.number("deploy.virtual_addresses", 0..=1, usual.virtual_addresses.into());
    let of = |tier: &'static str, count: u32| if matches!(tier, "none" | "same") { 0 } else { count };
    Some(Parts {
        like: like?,
        relational: relational?,
        standby: standby?,
        sql_durability: sql_durability?,
        events: events?,
        event_nodes: of(events?, event_nodes?),
        images: images?,
        bus: bus?,
        bus_nodes: of(bus?, bus_nodes?),
        application_nodes: application_nodes?,
        bid_nodes: bid_nodes?,
        web: web?,
        web_nodes: of(web?, web_nodes?),
        tls: tls?,
        balancer: balancer?,
        balancer_nodes: of(balancer?, balancer_nodes?),
        virtual_addresses: virtual_addresses? as u32,
    })
}

fn nodes(g: &mut SettingsReader, key: &str, least: u64, usual: u32) -> Option<u32> {
    Some(g.number(key, least..=MOST_NODES, usual.into())? as u32)
}

#[cfg(test)]
mod tests;

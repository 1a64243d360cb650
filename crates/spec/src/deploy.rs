//! The keys of `[deploy]`: of which parts the application is made, how many of each, and on which kind of platform.
//!
//! `deploy.like` gives every other key its default, so that a plan says only where it differs from a usual topology.

use barograph_model::Nanos;

use crate::cores::Cores;
use crate::given::Given;

/// Platforms whose hosts hang on a switch, so that links can have limits, delays and losses, and be cut.
pub const LINKED: [&str; 3] = ["namespace", "vm", "container-in-vm"];

/// Platforms whose hosts are virtual machines: the cores of a part are those that its machine runs on.
pub const GUESTS: [&str; 2] = ["vm", "container-in-vm"];

/// Most MiB of a part, of memory or of disk: 16 TiB.
pub(crate) const MOST_MIB: u64 = 16_777_216;

/// Most instances of one tier: addresses and names of a site end somewhere.
const MOST_NODES: u64 = 32;

/// A smaller file system is hardly one.
const LEAST_DISK_MIB: u64 = 32;

/// Size in MiB of the file system of a part that a fault fills, where the plan does not say: a database server with a
/// small data set fits.
const USUAL_DISK_MIB: u64 = 1_024;

/// The platforms, as plans name them.
pub const PLATFORMS: [&str; 5] = ["process", "namespace", "container", "vm", "container-in-vm"];

/// Tiers that can be given limits, in the order of a request's way.
pub const TIERS: [&str; 8] =
    ["balancer", "web", "application", "bids", "bus", "relational", "events", "driver"];

/// The parts an application is deployed in.
#[derive(Clone, Debug, PartialEq)]
pub struct DeployPlan {
    /// The kind of platform; one of [`PLATFORMS`].
    pub platform: String,
    /// The topology that gives the defaults.
    pub like: String,
    /// Users, auctions, items: `embedded`, `postgres` or `mariadb`.
    pub relational: String,
    /// PostgreSQL has a second server that follows synchronously.
    pub standby: bool,
    /// What a commit survives in PostgreSQL: `full` (the end of the machine) or `off` (nothing is waited for).
    pub sql_durability: String,
    /// Bids and attendance: `same` (as the relational store), `postgres` (a server of its own) or `ferretdb`.
    pub events: String,
    /// Pictures: `files` or `events` (in the store of the events).
    pub images: String,
    /// Between nodes: `none`, `nats` or `rabbitmq`.
    pub bus: String,
    /// Nodes of the application. They also take bids unless there are bid nodes.
    pub application_nodes: u32,
    /// Nodes that own auctions and take bids, apart from the rest.
    pub bid_nodes: u32,
    /// In front of the nodes: `none`, `nginx` or `httpd`.
    pub web: String,
    /// How many of them; 0 without a web tier.
    pub web_nodes: u32,
    /// Clients speak TLS to the web tier.
    pub tls: bool,
    /// In front of the web servers, or of the nodes: `none` or `haproxy`.
    pub balancer: String,
    /// How many of them; 0 without any.
    pub balancer_nodes: u32,
    /// Addresses that move between the balancers, by Keepalived.
    pub virtual_addresses: u32,
    /// Settings of the services: `vanilla` or `tuned`.
    pub flavour: String,
    /// `apart`: every instance has a host of its own. `together`: all are on one.
    pub hosts: String,
    /// What each tier's instances may use: CPU time, cores, memory and disk.
    pub limits: Vec<TierLimits>,
    /// The way between hosts.
    pub link: Link,
    /// Services are asked for their statistics while the load is on.
    pub statistics: bool,
    /// How containers hang on the network: `bridge` or `host`.
    pub container_network: String,
    /// Where a container engine of this machine answers, as `unix:///run/podman/podman.sock`; without it one is looked for at
    /// the usual places, or started.
    pub container_engine: Option<String>,
    /// How guests get their processor: `kvm`, emulated (`tcg`), or what works here (`auto`).
    pub vm_accel: String,
}

/// What each instance of a tier may use.
#[derive(Clone, Debug, PartialEq)]
pub struct TierLimits {
    /// The tier.
    pub tier: &'static str,
    /// CPU time, in cores; 0 is no limit.
    pub cpus: f64,
    /// The cores it may run on.
    pub cores: Cores,
    /// Memory in MiB; 0 is no limit.
    pub memory_mib: u64,
    /// Size in MiB of a file system of its own for its files; 0 is none, unless a fault fills it.
    pub disk_mib: u64,
}

/// The way between a host and the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Most megabits per second, each way; 0 is as quick as it can.
    pub mbit: u64,
    /// How much longer a packet takes, each way.
    pub delay: Nanos,
    /// Part of the packets that get lost, each way.
    pub loss: f64,
}

impl Link {
    /// How much longer a packet takes in milliseconds, as plans say it.
    pub(crate) fn delay_ms(&self) -> f64 {
        self.delay.0 as f64 / 1e6
    }
}

impl DeployPlan {
    /// Everything is one process of the application, with its stores in itself.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.relational == "embedded"
    }

    /// Its hosts are virtual machines.
    #[must_use]
    pub fn has_guests(&self) -> bool {
        GUESTS.contains(&self.platform.as_str())
    }

    /// Limits of a tier.
    #[must_use]
    pub fn limits_of(&self, tier: &str) -> Option<&TierLimits> {
        self.limits.iter().find(|limits| limits.tier == tier)
    }

    /// Size in MiB of the file system of its own that a part of this tier has; `None` when it has none. `filled`: a
    /// fault fills it.
    #[must_use]
    pub fn disk_mib(&self, tier: &str, filled: bool) -> Option<u64> {
        let given = self.limits_of(tier).map(|limits| limits.disk_mib).filter(|mib| *mib > 0);
        given.or(filled.then_some(USUAL_DISK_MIB))
    }
}

/// What a topology has unless the plan says otherwise.
struct Usual {
    relational: &'static str,
    standby: bool,
    events: &'static str,
    bus: &'static str,
    application_nodes: u64,
    bid_nodes: u64,
    web: &'static str,
    web_nodes: u64,
    balancer: &'static str,
    balancer_nodes: u64,
    virtual_addresses: u64,
}

const EMBEDDED: Usual = Usual {
    relational: "embedded",
    standby: false,
    events: "same",
    bus: "none",
    application_nodes: 1,
    bid_nodes: 0,
    web: "none",
    web_nodes: 1,
    balancer: "none",
    balancer_nodes: 1,
    virtual_addresses: 0,
};

const MINIMAL: Usual = Usual { relational: "postgres", ..EMBEDDED };

const FULL: Usual = Usual {
    events: "ferretdb",
    bus: "rabbitmq",
    application_nodes: 2,
    bid_nodes: 1,
    web: "nginx",
    web_nodes: 2,
    balancer: "haproxy",
    ..MINIMAL
};

const FULL_HA: Usual =
    Usual { standby: true, bus: "nats", bid_nodes: 2, balancer_nodes: 2, virtual_addresses: 1, ..FULL };

const LIKE: [&str; 4] = ["embedded", "minimal", "full", "full-ha"];

fn usual(like: &str) -> Usual {
    match like {
        "minimal" => MINIMAL,
        "full" => FULL,
        "full-ha" => FULL_HA,
        _ => EMBEDDED,
    }
}

pub(crate) fn deploy(g: &mut Given) -> Option<DeployPlan> {
    let platform = g.word("platform", &PLATFORMS, "process");
    let like = g.word("deploy.like", &LIKE, "embedded");
    let usual = usual(like.as_deref().unwrap_or("embedded"));
    let relational = g.word("deploy.relational", &["embedded", "postgres", "mariadb"], usual.relational);
    let served = relational.as_deref() != Some("embedded");
    let usual = if served { usual } else { EMBEDDED };
    let standby = g.flag("deploy.standby", usual.standby);
    let sql_durability = g.word("deploy.sql_durability", &["full", "off"], "full");
    let events = g.word("deploy.events", &["same", "postgres", "ferretdb"], usual.events);
    let images = g.word("deploy.images", &["files", "events"], "files");
    let bus = g.word("deploy.bus", &["none", "nats", "rabbitmq"], usual.bus);
    let application_nodes = g.number("deploy.application_nodes", 1..=MOST_NODES, usual.application_nodes);
    let bid_nodes = g.number("deploy.bid_nodes", 0..=MOST_NODES, usual.bid_nodes);
    let web = g.word("deploy.web", &["none", "nginx", "httpd"], usual.web);
    let web_nodes = g.number("deploy.web_nodes", 1..=MOST_NODES, usual.web_nodes);
    let tls = g.flag("deploy.tls", false);
    let balancer = g.word("deploy.balancer", &["none", "haproxy"], usual.balancer);
    let balancer_nodes = g.number("deploy.balancer_nodes", 1..=MOST_NODES, usual.balancer_nodes);
    let virtual_addresses = g.number("deploy.virtual_addresses", 0..=1, usual.virtual_addresses);
    let flavour = g.word("deploy.flavour", &["vanilla", "tuned"], "tuned");
    let hosts = g.word("deploy.hosts", &["apart", "together"], "apart");
    let container_network = g.word("deploy.container_network", &["bridge", "host"], "bridge");
    let container_engine = engine(g);
    let vm_accel = g.word("deploy.vm_accel", &["auto", "kvm", "tcg"], "auto");
    let statistics = g.flag("deploy.statistics", true);
    let limits = limits(g);
    let link = link(g);
    let (web, balancer) = (web?, balancer?);
    let plan = DeployPlan {
        platform: platform?,
        like: like?,
        relational: relational?,
        standby: standby?,
        sql_durability: sql_durability?,
        events: events?,
        images: images?,
        bus: bus?,
        application_nodes: application_nodes? as u32,
        bid_nodes: bid_nodes? as u32,
        web_nodes: if web == "none" { 0 } else { web_nodes? as u32 },
        web,
        tls: tls?,
        balancer_nodes: if balancer == "none" { 0 } else { balancer_nodes? as u32 },
        balancer,
        virtual_addresses: virtual_addresses? as u32,
        flavour: flavour?,
        hosts: hosts?,
        limits: limits?,
        link: link?,
        statistics: statistics?,
        container_network: container_network?,
        container_engine: container_engine?,
        vm_accel: vm_accel?,
    };
    goes_together(g, &plan);
    Some(plan)
}

fn engine(g: &mut Given) -> Option<Option<String>> {
    let (key, allowed) = ("deploy.container_engine", "a socket, as in \"unix:///run/podman/podman.sock\"");
    let engine = g.optional_word(key, allowed)?;
    if let Some(other) = engine.as_ref().filter(|engine| !engine.starts_with("unix:///")) {
        g.refuse(key, format!("{other:?}"), allowed, "name the socket of an engine on this machine");
    }
    Some(engine)
}

fn limits(g: &mut Given) -> Option<Vec<TierLimits>> {
    let of = |tier: &'static str| {
        let cpus = g.fraction(&format!("deploy.{tier}_cpus"), 0.0..=1_024.0, 0.0);
        let cores = g.cores(&format!("deploy.{tier}_cores"));
        let memory = g.number(&format!("deploy.{tier}_memory_mib"), 0..=MOST_MIB, 0);
        let disk = disk(g, tier);
        Some(TierLimits { tier, cpus: cpus?, cores: cores?, memory_mib: memory?, disk_mib: disk? })
    };
    // All are asked for before one of them ends it, so that every refusal is heard of.
    TIERS.map(of).into_iter().collect()
}

fn disk(g: &mut Given, tier: &str) -> Option<u64> {
    let key = format!("deploy.{tier}_disk_mib");
    let size = g.number(&key, 0..=MOST_MIB, 0);
    if let Some(small) = size.filter(|size| (1..LEAST_DISK_MIB).contains(size)) {
        let allowed = format!("0 for none, or at least {LEAST_DISK_MIB}");
        g.refuse(&key, small, &allowed, "give it more: a file system needs room for itself");
    }
    size
}

fn link(g: &mut Given) -> Option<Link> {
    let mbit = g.number("deploy.link_mbit", 0..=1_000_000, 0);
    let delay = g.fraction("deploy.link_delay_ms", 0.0..=10_000.0, 0.0);
    let loss = g.fraction("deploy.link_loss", 0.0..=0.9, 0.0);
    Some(Link { mbit: mbit?, delay: Nanos::from_secs_f64(delay? / 1e3), loss: loss? })
}

/// Refuses parts that do not go together.
fn goes_together(g: &mut Given, plan: &DeployPlan) {
    let nodes = plan.application_nodes + plan.bid_nodes;
    if plan.is_embedded() {
        let parts = [
            ("deploy.bus", plan.bus.as_str(), "none"),
            ("deploy.events", plan.events.as_str(), "same"),
            ("deploy.images", plan.images.as_str(), "files"),
        ];
        for (key, value, allowed) in parts.into_iter().filter(|(_, value, allowed)| value != allowed) {
            let allowed = format!("\"{allowed}\" with deploy.relational = \"embedded\"");
            g.refuse(key, format!("{value:?}"), &allowed, "choose a database server as deploy.relational");
        }
        if nodes > 1 {
            let (key, value) = match plan.bid_nodes {
                0 => ("deploy.application_nodes", plan.application_nodes),
                bids => ("deploy.bid_nodes", bids),
            };
            let remedy = "choose a database server as deploy.relational, which nodes can share";
            g.refuse(key, value, "one node with deploy.relational = \"embedded\"", remedy);
        }
    } else {
        if plan.relational == "mariadb" && plan.events == "same" {
            let allowed = "\"postgres\" or \"ferretdb\" with deploy.relational = \"mariadb\"";
            g.refuse("deploy.events", "\"same\"", allowed, "name a store for bids and attendance");
        }
        if nodes > 1 && plan.bus == "none" {
            let allowed = format!("\"nats\" or \"rabbitmq\" for {nodes} nodes");
            g.refuse("deploy.bus", "\"none\"", &allowed, "nodes tell each other of bids over a bus");
        }
    }
    if plan.sql_durability == "off" && plan.relational != "postgres" {
        let allowed = "\"full\", unless deploy.relational = \"postgres\"";
        let remedy = "leave it out, or choose deploy.relational = \"postgres\"";
        g.refuse("deploy.sql_durability", "\"off\"", allowed, remedy);
    }
    if plan.standby && plan.relational != "postgres" {
        let remedy = "set deploy.standby = false, or choose deploy.relational = \"postgres\"";
        g.refuse("deploy.standby", true, "only with deploy.relational = \"postgres\"", remedy);
    }
    in_front(g, plan, nodes);
    on_the_platform(g, plan);
}

/// Refuses what the hosts of the platform do not have.
fn on_the_platform(g: &mut Given, plan: &DeployPlan) {
    if plan.link != Link::default() && !LINKED.contains(&plan.platform.as_str()) {
        let (key, value) = match plan.link {
            Link { mbit: 1.., .. } => ("deploy.link_mbit", plan.link.mbit.to_string()),
            Link { delay: Nanos(1..), .. } => ("deploy.link_delay_ms", plan.link.delay_ms().to_string()),
            Link { .. } => ("deploy.link_loss", plan.link.loss.to_string()),
        };
        let allowed = "0, unless platform = \"namespace\", \"vm\" or \"container-in-vm\"";
        let remedy = "choose one of these platforms: only their hosts have links that can be limited, delayed and lossy";
        g.refuse(key, value, allowed, remedy);
    }
    if plan.has_guests() && plan.hosts == "together" {
        let allowed = format!(
            "left out with platform = {:?} and deploy.hosts = \"together\": all parts are in one virtual machine, \
             which runs on its cores as a whole",
            plan.platform
        );
        // Drivers have hosts of their own in any case.
        for limits in plan.limits.iter().filter(|limits| limits.tier != "driver" && !limits.cores.is_all()) {
            let (key, value) = (format!("deploy.{}_cores", limits.tier), limits.cores.to_string());
            g.refuse(&key, format!("{value:?}"), &allowed, "leave it out, or set deploy.hosts = \"apart\"");
        }
    }
}

/// Whoever asks must find all nodes at one address.
fn in_front(g: &mut Given, plan: &DeployPlan, nodes: u32) {
    if plan.bid_nodes > 0 && plan.web == "none" {
        let remedy = "choose deploy.web = \"nginx\", which tells bids from the rest, or no bid nodes";
        g.refuse("deploy.bid_nodes", plan.bid_nodes, "0 without a web tier", remedy);
    }
    if plan.web_nodes > 1 && plan.balancer == "none" {
        let remedy = "choose deploy.balancer = \"haproxy\", or one web server";
        g.refuse("deploy.web_nodes", plan.web_nodes, "1 without a balancer", remedy);
    }
    if nodes > 1 && plan.web == "none" && plan.balancer == "none" {
        let remedy = "choose deploy.web = \"nginx\" or deploy.balancer = \"haproxy\"";
        g.refuse("deploy.application_nodes", plan.application_nodes, "1 with nothing in front", remedy);
    }
    if plan.balancer_nodes > 1 && plan.virtual_addresses == 0 {
        let remedy = "set deploy.virtual_addresses = 1, or one balancer";
        g.refuse("deploy.balancer_nodes", plan.balancer_nodes, "1 without a virtual address", remedy);
    }
    if plan.virtual_addresses > 0 {
        if plan.balancer == "none" {
            let remedy = "choose deploy.balancer = \"haproxy\"";
            g.refuse("deploy.virtual_addresses", plan.virtual_addresses, "0 without balancers", remedy);
        }
        if plan.platform != "namespace" || plan.hosts != "apart" {
            let allowed = "0, unless platform = \"namespace\" and deploy.hosts = \"apart\"";
            let remedy = "an address moves between hosts that have networks of their own";
            g.refuse("deploy.virtual_addresses", plan.virtual_addresses, allowed, remedy);
        }
    }
    if plan.tls && plan.web == "none" {
        g.refuse("deploy.tls", true, "false without a web tier", "choose deploy.web = \"nginx\"");
    }
}

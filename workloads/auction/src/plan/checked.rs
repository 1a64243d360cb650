//! Refusals of conflicting parts, and of keys without effect, which would be taken for measured.

use barograph_spec::{Ability, Plan, SettingsReader, TlsPlan};

use super::{AuctionPlan, Parts, TIERS};

/// Refuses conflicts, and keys without effect in this plan.
pub(super) fn check(own: &AuctionPlan, plan: &Plan, g: &mut SettingsReader) {
    let parts = &own.deploy;
    stores(g, parts);
    in_front(g, parts);
    virtual_address(g, parts, plan);
    if plan.target.url.is_some() {
        let allowed = "left out with target.url, where the target is there already";
        g.refuse_asked("target.threads", allowed, "leave it out; it is for an application of the run");
    } else {
        without_their_tier(g, parts);
        of_the_front(g, parts);
    }
}

/// Refuses conflicts of stores and buses.
fn stores(g: &mut SettingsReader, parts: &Parts) {
    let nodes = parts.nodes();
    if parts.is_embedded() {
        let of_servers = [
            ("deploy.bus", parts.bus, "none"),
            ("deploy.events", parts.events, "same"),
            ("deploy.images", parts.images, "files"),
        ];
        for (key, value, allowed) in of_servers.into_iter().filter(|(_, value, allowed)| value != allowed) {
            let allowed = format!("\"{allowed}\" with deploy.relational = \"embedded\"");
            g.refuse(key, format!("{value:?}"), &allowed, "choose a database server as deploy.relational");
        }
        if nodes > 1 {
            let (key, value) = match parts.bid_nodes {
                0 => ("deploy.application_nodes", parts.application_nodes),
                bids => ("deploy.bid_nodes", bids),
            };
            let remedy = "choose a database server as deploy.relational, which nodes can share";
            g.refuse(key, value, "one node with deploy.relational = \"embedded\"", remedy);
        }
    } else {
        if parts.relational == "mariadb" && parts.events == "same" {
            let allowed = "\"postgres\" or \"ferretdb\" with deploy.relational = \"mariadb\"";
            g.refuse("deploy.events", "\"same\"", allowed, "name a store for bids and attendance");
        }
        if nodes > 1 && parts.bus == "none" {
            let allowed = format!("\"nats\" or \"rabbitmq\" for {nodes} nodes");
            g.refuse("deploy.bus", "\"none\"", &allowed, "nodes tell each other of bids over a bus");
        }
    }
    if parts.sql_durability == "off" && parts.relational != "postgres" {
        let allowed = "\"full\", unless deploy.relational = \"postgres\"";
        let remedy = "leave it out, or choose deploy.relational = \"postgres\"";
        g.refuse("deploy.sql_durability", "\"off\"", allowed, remedy);
    }
    if parts.standby && parts.relational != "postgres" {
        let remedy = "set deploy.standby = false, or choose deploy.relational = \"postgres\"";
        g.refuse("deploy.standby", true, "only with deploy.relational = \"postgres\"", remedy);
    }
}

/// Refuses several nodes without a common address.
fn in_front(g: &mut SettingsReader, parts: &Parts) {
    if parts.bid_nodes > 0 && parts.web == "none" {
        let remedy = "choose deploy.web = \"nginx\", which tells bids from the rest, or no bid nodes";
        g.refuse("deploy.bid_nodes", parts.bid_nodes, "0 without a web tier", remedy);
    }
    if parts.web_nodes > 1 && parts.balancer == "none" {
        let remedy = "choose deploy.balancer = \"haproxy\", or one web server";
        g.refuse("deploy.web_nodes", parts.web_nodes, "1 without a balancer", remedy);
    }
    if parts.nodes() > 1 && parts.web == "none" && parts.balancer == "none" {
        let remedy = "choose deploy.web = \"nginx\" or deploy.balancer = \"haproxy\"";
        g.refuse("deploy.application_nodes", parts.application_nodes, "1 with nothing in front", remedy);
    }
    if parts.tls && parts.web == "none" {
        g.refuse("deploy.tls", true, "false without a web tier", "choose deploy.web = \"nginx\"");
    }
}

fn virtual_address(g: &mut SettingsReader, parts: &Parts, plan: &Plan) {
    if parts.virtual_addresses == 0 {
        return;
    }
    if parts.balancer == "none" {
        let remedy = "choose deploy.balancer = \"haproxy\"";
        g.refuse("deploy.virtual_addresses", parts.virtual_addresses, "0 without balancers", remedy);
    }
    if !plan.deploy.has(Ability::VirtualAddresses) || plan.deploy.hosts != "apart" {
        let able = Ability::VirtualAddresses.words();
        let allowed = format!("0, unless deploy.hosts = \"apart\" on a platform {able}");
        let remedy = "`barograph list platforms` shows what each can do";
        g.refuse("deploy.virtual_addresses", parts.virtual_addresses, &allowed, remedy);
    }
}

/// Refuses counts and limits of tiers without a part.
fn without_their_tier(g: &mut SettingsReader, parts: &Parts) {
    for (nodes, count, tier, none) in [
        ("deploy.web_nodes", parts.web_nodes, "deploy.web", "none"),
        ("deploy.balancer_nodes", parts.balancer_nodes, "deploy.balancer", "none"),
        ("deploy.event_nodes", parts.event_nodes, "deploy.events", "same"),
        ("deploy.bus_nodes", parts.bus_nodes, "deploy.bus", "none"),
    ] {
        if count == 0 {
            let allowed = format!("left out with {tier} = \"{none}\"");
            g.refuse_asked(nodes, &allowed, &format!("leave it out, or name a service as {tier}"));
        }
    }
    let own_events = !parts.is_embedded() && parts.events != "same";
    for tier in TIERS {
        let (has_parts, because, remedy) = match tier {
            "balancer" => (parts.balancer_nodes > 0, "deploy.balancer = \"none\"", "choose deploy.balancer"),
            "web" => (parts.web_nodes > 0, "deploy.web = \"none\"", "choose deploy.web"),
            "bids" => (parts.bid_nodes > 0, "deploy.bid_nodes = 0", "set deploy.bid_nodes"),
            "bus" => (parts.bus != "none", "deploy.bus = \"none\"", "choose deploy.bus"),
            "events" => (own_events, "deploy.events = \"same\"", "choose deploy.events"),
            "files" => (parts.images == "nfs", "no deploy.images = \"nfs\"", "set deploy.images = \"nfs\""),
            "relational" => (
                !parts.is_embedded(),
                "deploy.relational = \"embedded\"",
                "choose a database server as deploy.relational",
            ),
            _ => continue,
        };
        if !has_parts {
            g.refuse_limits(tier, &format!("left out with {because}"), &format!("leave it out, or {remedy}"));
        }
    }
    if parts.is_embedded() && parts.web_nodes == 0 && parts.balancer_nodes == 0 {
        let remedy = "leave it out, or add a server, as with deploy.relational";
        let allowed = "left out without any server: a node alone has one flavour";
        g.refuse_asked("deploy.flavour", allowed, remedy);
    }
}

/// Refuses keys of the users' address without effect.
fn of_the_front(g: &mut SettingsReader, parts: &Parts) {
    if parts.virtual_addresses > 0 {
        let allowed = "left out with deploy.virtual_addresses = 1: the address has all ports for itself";
        g.refuse_asked("target.port", allowed, "leave it out, or set deploy.virtual_addresses = 0");
    }
    for key in TlsPlan::KEYS {
        let (allowed, remedy) = if parts.tls {
            ("left out with deploy.tls = true: the run makes the certificate and trusts it", "leave it out")
        } else {
            ("only with target.url", "leave it out, or say in target.url where the target answers")
        };
        g.refuse_asked(key, allowed, remedy);
    }
}

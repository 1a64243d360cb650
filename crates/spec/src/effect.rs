//! Keys that ask for something this plan can never have are refused, so that nobody believes to have measured it.
//!
//! A key whose effect depends only on the platform is let pass: a study changes `platform` and nothing else. Whoever
//! checks the plan on a machine notes those that have none there. A value that is the default asks for nothing: the
//! resolved plan of a record names every key.

use crate::deploy::{DeployPlan, TIERS};
use crate::given::Given;
use crate::plan::{DriverPlan, TargetPlan};

/// Keys that concern hosts, and so drivers too where these are units.
const OF_HOSTS: [&str; 7] = [
    "deploy.hosts",
    "deploy.link_mbit",
    "deploy.link_delay_ms",
    "deploy.link_loss",
    "deploy.container_network",
    "deploy.container_engine",
    "deploy.vm_accel",
];

/// Where every value was taken already.
pub(crate) fn effects(
    g: &mut Given,
    workload: &str,
    deploy: &DeployPlan,
    target: &TargetPlan,
    driver: &DriverPlan,
) {
    let there = if workload == "scenario" {
        Some("with workload = \"scenario\", whose target is there already")
    } else {
        target.url.as_ref().map(|_| "with target.url, where the target is there already")
    };
    match there {
        Some(there) => nothing_is_deployed(g, there, driver),
        None => {
            without_their_tier(g, deploy);
            of_the_front(g, deploy);
            of_drivers(g, driver);
        }
    }
}

/// Refuses `key` if it asks for something.
fn refuse(g: &mut Given, key: &str, allowed: &str, remedy: &str) {
    if let Some(value) = g.asked(key) {
        g.refuse(key, value, allowed, remedy);
    }
}

fn nothing_is_deployed(g: &mut Given, there: &str, driver: &DriverPlan) {
    let has_units = driver.count > 1 || driver.place == "unit";
    let of_drivers = |key: &str| key.starts_with("deploy.driver_") || OF_HOSTS.contains(&key);
    let deployed = g.known().keys().filter(|key| key.starts_with("deploy."));
    let keys: Vec<String> = deployed.filter(|key| !(has_units && of_drivers(key))).cloned().collect();
    for key in keys {
        let (allowed, remedy) = if of_drivers(&key) {
            let allowed = format!("left out {there}, unless drivers are units");
            (allowed, "leave it out, or set driver.place = \"unit\"")
        } else {
            (format!("left out {there}"), "leave it out, or let the run deploy the application")
        };
        refuse(g, &key, &allowed, remedy);
    }
    for key in ["target.port", "target.threads"] {
        refuse(g, key, &format!("left out {there}"), "leave it out; it is for an application of the run");
    }
}

/// Counts and limits of tiers without a part.
fn without_their_tier(g: &mut Given, deploy: &DeployPlan) {
    for (tier, none) in [("web", deploy.web_nodes == 0), ("balancer", deploy.balancer_nodes == 0)] {
        if none {
            let allowed = format!("left out with deploy.{tier} = \"none\"");
            let remedy = format!("leave it out, or name a service as deploy.{tier}");
            refuse(g, &format!("deploy.{tier}_nodes"), &allowed, &remedy);
        }
    }
    let own_events = !deploy.is_embedded() && deploy.events != "same";
    for tier in TIERS {
        let (has_parts, because, remedy) = match tier {
            "balancer" => (deploy.balancer_nodes > 0, "deploy.balancer = \"none\"", "choose deploy.balancer"),
            "web" => (deploy.web_nodes > 0, "deploy.web = \"none\"", "choose deploy.web"),
            "bids" => (deploy.bid_nodes > 0, "deploy.bid_nodes = 0", "set deploy.bid_nodes"),
            "bus" => (deploy.bus != "none", "deploy.bus = \"none\"", "choose deploy.bus"),
            "events" => (own_events, "deploy.events = \"same\"", "choose deploy.events"),
            "relational" => (
                !deploy.is_embedded(),
                "deploy.relational = \"embedded\"",
                "choose a database server as deploy.relational",
            ),
            _ => continue,
        };
        if !has_parts {
            limits(g, tier, &format!("left out with {because}"), &format!("leave it out, or {remedy}"));
        }
    }
    if deploy.is_embedded() && deploy.web_nodes == 0 && deploy.balancer_nodes == 0 {
        let remedy = "leave it out, or add a server, as with deploy.relational";
        refuse(g, "deploy.flavour", "left out without any server: a node alone has one flavour", remedy);
    }
}

fn limits(g: &mut Given, tier: &str, allowed: &str, remedy: &str) {
    for what in ["cpus", "cores", "memory_mib", "disk_mib"] {
        refuse(g, &format!("deploy.{tier}_{what}"), allowed, remedy);
    }
}

fn of_the_front(g: &mut Given, deploy: &DeployPlan) {
    if deploy.virtual_addresses > 0 {
        let allowed = "left out with deploy.virtual_addresses = 1: the address has all ports for itself";
        refuse(g, "target.port", allowed, "leave it out, or set deploy.virtual_addresses = 0");
    }
    for key in ["target.tls.verify", "target.tls.authorities", "target.tls.server_name"] {
        let (allowed, remedy) = if deploy.tls {
            ("left out with deploy.tls = true: the run makes the certificate and trusts it", "leave it out")
        } else {
            ("only with target.url", "leave it out, or say in target.url where the target answers")
        };
        refuse(g, key, allowed, remedy);
    }
}

/// With `auto` it depends on the platform whether drivers are units.
fn of_drivers(g: &mut Given, driver: &DriverPlan) {
    if driver.place == "own" {
        let allowed = "left out with driver.place = \"own\": this process drives, and is not limited";
        limits(g, "driver", allowed, "leave it out, or set driver.place = \"unit\"");
    }
}

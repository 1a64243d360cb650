//! Refusal of keys without effect in a plan, so that no user takes them for measured.
//!
//! A key whose effect depends only on the platform is accepted: a study changes `platform` and nothing else.
//! The check on a machine notes those without effect there. A default value requests nothing: the resolved
//! plan of a record names every key.

use crate::deploy::{DRIVER, LIMITS};
use crate::plan::Plan;
use crate::settings_reader::SettingsReader;

/// Cores of drivers, which those in this process have, too.
pub(crate) const CORES_OF_DRIVERS: &str = "deploy.driver_cores";

/// Keys that concern hosts, and so drivers too if these are units.
const OF_HOSTS: [&str; 20] = [
    "deploy.hosts",
    "deploy.link_mbit",
    "deploy.link_delay_ms",
    "deploy.link_loss",
    "deploy.container_network",
    "deploy.container_engine",
    "deploy.kubernetes_access",
    "deploy.kubernetes_context",
    "deploy.kubernetes_namespace",
    "deploy.kubernetes_image",
    "deploy.kubernetes_files",
    "deploy.kubernetes_nodes",
    "deploy.kubernetes_requests",
    "deploy.kubernetes_pending_s",
    "deploy.kubernetes_storage_class",
    "deploy.kubernetes_lost_node",
    "deploy.kubernetes_driver_nodes",
    "deploy.kubernetes_drivers_apart",
    "deploy.vm_accel",
    "deploy.vm_manager",
];

/// What a workload does with an application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApplicationUse {
    /// It can deploy it.
    pub(crate) deploys: bool,
    /// It asks one that is there already for its statistics.
    pub(crate) asks: bool,
}

/// Refuses keys without effect in this plan, after every value was taken.
pub(crate) fn effects(g: &mut SettingsReader, plan: &Plan, ApplicationUse { deploys, asks }: ApplicationUse) {
    let there = if deploys {
        plan.target.url.as_ref().map(|_| "with target.url, where the target is there already".to_owned())
    } else {
        Some(format!("with workload = {:?}, whose target is there already", plan.workload))
    };
    match there {
        Some(there) => nothing_is_deployed(g, &there, (plan, asks)),
        None => of_drivers(g, plan),
    }
}

fn nothing_is_deployed(g: &mut SettingsReader, there: &str, (plan, asks): (&Plan, bool)) {
    let has_units = plan.driver.count > 1 || plan.driver.place == "unit";
    let of_drivers = |key: &str| key.starts_with("deploy.driver_") || OF_HOSTS.contains(&key);
    let deployed = g.known().keys().filter(|key| key.starts_with("deploy."));
    let has_effect = |key: &str| {
        has_units && of_drivers(key) || key == CORES_OF_DRIVERS || asks && key == "deploy.statistics"
    };
    let keys: Vec<String> = deployed.filter(|key| !has_effect(key)).cloned().collect();
    for key in keys {
        let (allowed, remedy) = if of_drivers(&key) {
            let allowed = format!("left out {there}, unless drivers are units");
            (allowed, "leave it out, or set driver.place = \"unit\"")
        } else {
            (format!("left out {there}"), "leave it out, or let the run deploy the application")
        };
        g.refuse_asked(&key, &allowed, remedy);
    }
    let remedy = "leave it out; it is for an application of the run";
    g.refuse_asked("target.port", &format!("left out {there}"), remedy);
}

/// Refuses keys of drivers. With `auto` the platform decides whether drivers are units.
fn of_drivers(g: &mut SettingsReader, plan: &Plan) {
    if plan.driver.place == "own" {
        let allowed =
            "left out with driver.place = \"own\": this process drives, and only its cores are limited";
        for what in LIMITS.into_iter().filter(|what| *what != "cores") {
            g.refuse_asked(
                &format!("deploy.{DRIVER}_{what}"),
                allowed,
                "leave it out, or set driver.place = \"unit\"",
            );
        }
    }
}

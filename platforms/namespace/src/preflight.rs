//! Checks that a site of namespaces could be created, without creating anything.

use std::collections::BTreeSet;

use barograph_platform::{Facts, HERE, MissingRequirement, SiteSpec};
use barograph_platform_process::Local;
use barograph_virtual_network::{facts, lacking};

use crate::{hosts, is_delayed};

/// Fact of the process platform about a site on this machine, which differs here.
const ISOLATION: &str = "isolation";

/// Largest number of hosts: their addresses end in 2 to 254, and two are needed to measure a delay.
const MOST_HOSTS: usize = 251;

pub(crate) fn of_site(spec: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let mut missing = lacking(hosts(spec).any(is_delayed), false);
    missing.extend(unfit(spec));
    let local = match Local::look(spec) {
        Ok(facts) => facts,
        Err(more) => {
            missing.extend(more);
            Facts::new()
        }
    };
    if !missing.is_empty() {
        return Err(missing);
    }
    let isolation = "the network: units share cores, memory and disk with the driver, up to their limits";
    let mut all = vec![
        ("platform".to_owned(), "namespace".to_owned()),
        (ISOLATION.to_owned(), isolation.to_owned()),
        ("hosts".to_owned(), hosts(spec).count().to_string()),
    ];
    all.extend(facts());
    all.extend(local.into_iter().filter(|(name, _)| name != ISOLATION));
    Ok(all)
}

/// Requirements of the plan that no switch can meet.
fn unfit(spec: &SiteSpec) -> Vec<MissingRequirement> {
    let mut missing = Vec::new();
    let mut lacks =
        |what: String, hint: &str| missing.push(MissingRequirement { what, hint: hint.to_owned() });
    let mut seen = BTreeSet::new();
    for host in &spec.hosts {
        if !seen.insert(&host.name) {
            lacks(format!("two hosts are named `{}`", host.name), "give each host a name of its own");
        }
        if host.name == HERE && !host.link.is_plain() {
            lacks(
                format!("the link of host `{HERE}` cannot be shaped: it is this machine"),
                "shape the links of the others",
            );
        }
        if !(0.0..=1.0).contains(&host.link.loss) {
            lacks(
                format!("the link of host `{}` cannot lose {} of its packets", host.name, host.link.loss),
                "give a part from 0 to 1",
            );
        }
        if host.link.bits_per_second == Some(0) {
            lacks(
                format!("the link of host `{}` carries nothing", host.name),
                "give more than 0 bits per second, or cut it off by a partition",
            );
        }
    }
    if hosts(spec).count() > MOST_HOSTS {
        lacks(format!("a switch has no more than {MOST_HOSTS} hosts"), "ask for fewer hosts");
    }
    missing
}

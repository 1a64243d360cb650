//! The parts of the stores: the plan's `[deploy]` as parts that need and use each other.

use std::path::PathBuf;

use barograph_services::{Flavour, Service};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::plan::{KvPlan, Parts, TIERS};

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Default memory of a virtual machine for one service.
const MACHINE_MIB: u64 = 1_024;

/// The parts for a plan.
pub(crate) fn topology(plan: &Plan, own: &KvPlan) -> Topology {
    let Parts { store, stores, proxies, balancer, append_only, .. } = own.deploy;
    let mut making = TopologyBuilder { plan, parts: Vec::new() };
    let of_store = match store {
        "embedded" => vec![("supervised", text("yes"))],
        _ => vec![("durability", text(append_only))],
    };
    let service = if store == "embedded" { "kv" } else { store };
    let all: Vec<String> =
        (1..=stores).map(|number| making.add(("store", number), service, of_store.clone(), &[])).collect();
    let behind: Vec<String> = (1..=proxies)
        .map(|number| {
            // With more than one connection to a store, commands of one client could overtake each other.
            let values = vec![("servers", addresses(&all)), ("server_connections", text("1"))];
            making.add(("proxy", number), "twemproxy", values, &all)
        })
        .collect();
    let behind = if behind.is_empty() { all } else { behind };
    let fronts = match balancer {
        "none" => behind,
        service => {
            let values =
                vec![("servers", addresses(&behind)), ("mode", text("tcp")), ("check", text("connect"))];
            vec![making.add(("balancer", 1), service, values, &behind)]
        }
    };
    making.parts.sort_by_key(|part| TIERS.iter().position(|tier| *tier == part.tier));
    let shared = making.shared();
    Topology {
        parts: making.parts,
        fronts,
        floating: None,
        scheme: "redis",
        shared,
        files: Vec::new(),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        stored: None,
    }
}

struct TopologyBuilder<'p> {
    plan: &'p Plan,
    parts: Vec<Part>,
}

impl TopologyBuilder<'_> {
    /// Adds a part, on a host of its own or on the common one, in front of others. Returns its name.
    fn add(
        &mut self,
        (tier, number): (&'static str, u32),
        service: &str,
        values: Vec<(&'static str, Value)>,
        behind: &[String],
    ) -> String {
        let name = format!("{tier}-{number}");
        let deploy = &self.plan.deploy;
        let mut limits = limits_of(deploy.limits_of(tier));
        // A separate machine has a known size, for which services are tuned.
        if deploy.has(Ability::Machines) {
            limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
        }
        let host = if deploy.hosts == "together" { TOGETHER.to_owned() } else { name.clone() };
        self.parts.push(Part {
            name: name.clone(),
            tier,
            host,
            node: false,
            work: PartWork::Service(service_of(service)),
            needs: behind.to_vec(),
            uses: behind.to_vec(),
            values,
            limits,
        });
        name
    }

    /// Programs in unusual places, and this one.
    fn shared(&self) -> Vec<PathBuf> {
        let own = std::env::current_exe().ok();
        let programs = self.parts.iter().flat_map(|part| match part.work {
            PartWork::Service(service) => service.own_programs(),
            PartWork::Job => Vec::new(),
        });
        let mut all: Vec<PathBuf> = programs.chain(own).collect();
        all.sort();
        all.dedup();
        all
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Addresses of the parts, as `NAME=ADDRESS:PORT` separated by spaces.
fn addresses(parts: &[String]) -> Value {
    Value::Each { of: parts.to_vec(), pattern: "{name}={address}:{port}", between: " " }
}

/// A service named in a plan: plans and services use the same names.
fn service_of(name: &str) -> &'static Service {
    barograph_services::find(name).expect("every word of the plan is a service, as a test holds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn of(text: &str) -> Topology {
        let plan = testing::plan(text);
        topology(&plan, KvPlan::of(&plan))
    }

    /// Names of the parts with those that they use.
    fn parts(topology: &Topology) -> Vec<String> {
        topology.parts.iter().map(|part| format!("{} > {}", part.name, part.uses.join(" "))).collect()
    }

    #[test]
    fn every_word_of_a_plan_is_a_service() {
        for store in ["embedded", "redis"] {
            let topology = of(&format!("[deploy]\nstore = {store:?}\n"));
            assert_eq!(
                (parts(&topology), &topology.fronts[..]),
                (vec!["store-1 > ".to_owned()], &["store-1".to_owned()][..])
            );
        }
    }

    #[test]
    fn stores_without_proxies_are_all_fronts() {
        let topology = of("[deploy]\nstores = 3\nhosts = \"together\"\n");
        assert_eq!(topology.fronts, ["store-1", "store-2", "store-3"]);
        assert!(topology.parts.iter().all(|part| part.host == TOGETHER));
    }

    #[test]
    fn a_chain_goes_from_the_users_to_the_stores() {
        let topology = of(
            "[deploy]\nstore = \"redis\"\nstores = 2\nproxy = \"twemproxy\"\nproxies = 2\nbalancer = \"haproxy\"\n",
        );
        assert_eq!(topology.fronts, ["balancer-1"]);
        assert_eq!(
            parts(&topology),
            [
                "balancer-1 > proxy-1 proxy-2",
                "proxy-1 > store-1 store-2",
                "proxy-2 > store-1 store-2",
                "store-1 > ",
                "store-2 > ",
            ]
        );
    }
}

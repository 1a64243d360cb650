//! Topologies of services: each on a host of its own, or all on a common one.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};

use super::{Part, PartWork, Topology, Value, limits_of, services};

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine where the plan does not state it.
const MACHINE_MIB: u64 = 1_024;

/// The parts of a plan, added one after the other.
#[derive(Debug)]
pub struct TopologyBuilder<'p> {
    plan: &'p Plan,
    parts: Vec<Part>,
}

impl<'p> TopologyBuilder<'p> {
    /// Starts without parts.
    #[must_use]
    pub fn new(plan: &'p Plan) -> Self {
        TopologyBuilder { plan, parts: Vec::new() }
    }

    /// Adds a service, which needs the parts `behind` it, and returns the name of its part.
    ///
    /// # Panics
    /// If there is no service of this name.
    pub fn add(
        &mut self,
        (tier, number): (&'static str, u32),
        service: &str,
        values: Vec<(&'static str, Value)>,
        behind: &[String],
    ) -> String {
        let name = format!("{tier}-{number}");
        let service = find(service).expect("every word of a plan is a service, as tests hold");
        let deploy = &self.plan.deploy;
        let mut limits = limits_of(deploy.limits_of(tier));
        // A separate machine has a known size, for which services are tuned.
        if deploy.has(Ability::Machines) {
            limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
        }
        self.parts.push(Part {
            name: name.clone(),
            tier,
            host: if deploy.hosts == "together" { TOGETHER.to_owned() } else { name.clone() },
            node: false,
            work: PartWork::Service(service),
            needs: behind.to_vec(),
            uses: behind.to_vec(),
            values,
            limits,
        });
        name
    }

    /// Returns the topology with these addresses for the load. Its parts are in the order of their `tiers`.
    #[must_use]
    pub fn finish(mut self, tiers: &[&str], (scheme, fronts): (&'static str, Vec<String>)) -> Topology {
        self.parts.sort_by_key(|part| tiers.iter().position(|tier| *tier == part.tier));
        // Programs in unusual places.
        let services = services(self.parts.iter());
        let mut shared: Vec<_> = services.iter().flat_map(|service| service.own_programs()).collect();
        shared.sort();
        shared.dedup();
        let flavour = if self.plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned };
        Topology { parts: self.parts, fronts, scheme, shared, flavour, ..Topology::empty() }
    }
}

//! The parts of a database server that a run deploys.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

/// The tier of the server.
pub const TIER: &str = "database";

/// The host of everything, when all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine, where the plan does not say.
const MACHINE_MIB: u64 = 1_024;

/// The server as a service with values for its words. `scheme` is that of its addresses.
pub(crate) fn of(
    plan: &Plan,
    (service, scheme): (&str, &'static str),
    values: Vec<(&'static str, Value)>,
) -> Topology {
    let service = find(service).expect("every engine of a plan is a service, as a test holds");
    let name = format!("{TIER}-1");
    let mut limits = limits_of(plan.deploy.limits_of(TIER));
    // A machine of its own has some size, and services are tuned for it.
    if plan.deploy.has(Ability::Machines) {
        limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
    }
    let part = Part {
        name: name.clone(),
        tier: TIER,
        host: if plan.deploy.hosts == "together" { TOGETHER.to_owned() } else { name.clone() },
        node: false,
        work: PartWork::Service(service),
        needs: Vec::new(),
        uses: Vec::new(),
        values,
        limits,
    };
    Topology {
        parts: vec![part],
        fronts: vec![name],
        scheme,
        shared: service.own_programs(),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

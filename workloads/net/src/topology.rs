//! The parts of a deployment: one responder.

use barograph_services::{Flavour, Service};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::plan::TIERS;

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Name of the part.
const RESPONDER: &str = "responder-1";

/// Default memory of a virtual machine for a responder.
const MACHINE_MIB: u64 = 512;

/// The parts for a plan.
pub(crate) fn topology(plan: &Plan) -> Topology {
    let [tier] = TIERS;
    let deploy = &plan.deploy;
    let mut limits = limits_of(deploy.limits_of(tier));
    if deploy.has(Ability::Machines) {
        limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
    }
    let host = if deploy.hosts == "together" { TOGETHER } else { RESPONDER };
    let responder = Part {
        name: RESPONDER.to_owned(),
        tier,
        host: host.to_owned(),
        node: false,
        work: PartWork::Service(service()),
        needs: Vec::new(),
        uses: Vec::new(),
        values: vec![("supervised", Value::Text("yes".to_owned()))],
        limits,
    };
    Topology {
        parts: vec![responder],
        fronts: vec![RESPONDER.to_owned()],
        scheme: "net",
        shared: std::env::current_exe().ok().into_iter().collect(),
        flavour: if deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

fn service() -> &'static Service {
    barograph_services::find("net").expect("the responder is a service, as a test holds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::plan;

    #[test]
    fn a_responder_receives_the_load() {
        let of = topology(&plan(""));
        assert_eq!((of.fronts.len(), of.parts[0].name.as_str(), of.scheme), (1, RESPONDER, "net"));
        assert_eq!(topology(&plan("deploy.hosts = \"together\"\n")).parts[0].host, TOGETHER);
    }
}

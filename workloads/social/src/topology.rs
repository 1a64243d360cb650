//! The parts that a run deploys: the site, and its geocoder.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

/// The tier of the site.
pub(crate) const SITE: &str = "site";

/// The tier of the geocoder.
pub(crate) const GEOCODER: &str = "geocoder";

/// All tiers, from the users on.
pub(crate) const TIERS: [&str; 2] = [SITE, GEOCODER];

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine where the plan does not state it.
const MACHINE_MIB: u64 = 1_024;

/// The parts for a plan.
pub(crate) fn topology(plan: &Plan) -> Topology {
    let supervised = ("supervised", Value::Text("yes".to_owned()));
    let geocoder = part(plan, (GEOCODER, "geocoder"), vec![supervised.clone()]);
    let at = Value::Each { of: vec![geocoder.name.clone()], pattern: "{address}:{port}", between: "" };
    let behind = vec![geocoder.name.clone()];
    let site = part(plan, (SITE, "social"), vec![supervised, ("geocoder", at)]);
    let site = Part { node: true, needs: behind.clone(), uses: behind, ..site };
    Topology {
        fronts: vec![site.name.clone()],
        parts: vec![site, geocoder],
        shared: std::env::current_exe().into_iter().collect(),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

fn part(plan: &Plan, (tier, service): (&'static str, &str), values: Vec<(&'static str, Value)>) -> Part {
    let service = find(service).expect("both are services of this program, as a test holds");
    let name = format!("{tier}-1");
    let mut limits = limits_of(plan.deploy.limits_of(tier));
    // A separate machine has a known size, for which services are tuned.
    if plan.deploy.has(Ability::Machines) {
        limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
    }
    Part {
        host: if plan.deploy.hosts == "together" { TOGETHER.to_owned() } else { name.clone() },
        name,
        tier,
        node: false,
        work: PartWork::Service(service),
        needs: Vec::new(),
        uses: Vec::new(),
        values,
        limits,
    }
}

#[cfg(test)]
mod tests {
    use barograph_spec::Catalogue;

    use super::*;
    use crate::Social;

    #[test]
    fn the_site_asks_its_geocoder() {
        let plan = barograph_spec::read(Catalogue::of(&[&Social]), "a plan", "workload = \"social\"\n", &[])
            .unwrap();
        let Topology { parts, fronts, .. } = topology(&plan);
        let parts: Vec<_> = parts.iter().map(|part| (part.tier, part.needs.join(" "))).collect();
        assert_eq!(parts, [(SITE, "geocoder-1".to_owned()), (GEOCODER, String::new())]);
        assert_eq!(fronts, ["site-1"]);
    }
}

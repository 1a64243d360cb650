//! The servers that a run deploys, and the job that writes their sets before they start.

use barograph_platform::{HERE, Limits};
use barograph_services::{Flavour, Service, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::plan::FarmPlan;

/// The tier of the servers.
pub(crate) const TIER: &str = "server";

/// Part and tier of the job that writes the sets.
pub(crate) const SETS: &str = "sets";

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine where the plan does not state it.
const MACHINE_MIB: u64 = 256;

/// The parts for a plan. Every server receives its part of the load.
pub(crate) fn topology(plan: &Plan, own: &FarmPlan) -> Topology {
    let service = service_of(own.server);
    let servers = (1..=own.servers).map(|number| server(plan, service, number));
    let sets = Part {
        name: SETS.to_owned(),
        tier: SETS,
        host: HERE.to_owned(),
        node: false,
        work: PartWork::Job,
        needs: Vec::new(),
        uses: Vec::new(),
        values: vec![(SETS, Value::SiteFile(SETS))],
        limits: Limits::default(),
    };
    let parts: Vec<Part> = servers.chain([sets]).collect();
    let own_program = std::env::current_exe().ok().filter(|_| own.server == "embedded");
    Topology {
        fronts: parts.iter().filter(|part| part.tier == TIER).map(|part| part.name.clone()).collect(),
        parts,
        shared: service.own_programs().into_iter().chain(own_program).collect(),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

fn server(plan: &Plan, service: &'static Service, number: u32) -> Part {
    let name = format!("{TIER}-{number}");
    let mut limits = limits_of(plan.deploy.limits_of(TIER));
    if plan.deploy.has(Ability::Machines) {
        limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
    }
    let mut values = vec![(SETS, Value::SiteFile(SETS)), ("number", Value::Text(number.to_string()))];
    if service.name() == "farm" {
        // It ends with this program, even if this is killed.
        values.push(("supervised", Value::Text("yes".to_owned())));
    }
    Part {
        host: if plan.deploy.hosts == "together" { TOGETHER.to_owned() } else { name.clone() },
        name,
        tier: TIER,
        node: true,
        work: PartWork::Service(service),
        needs: vec![SETS.to_owned()],
        uses: Vec::new(),
        values,
        limits,
    }
}

/// The service for a server of a plan.
fn service_of(server: &str) -> &'static Service {
    let name = match server {
        "nginx" => "nginx_static",
        "httpd" => "httpd_static",
        _ => "farm",
    };
    find(name).expect("every server of a plan is a service, as a test holds")
}

//! The server that a run deploys.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::plan::MailPlan;

/// The tier of the server.
pub(crate) const TIER: &str = "server";

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine where the plan does not state it.
const MACHINE_MIB: u64 = 1_024;

/// The server for a plan. It receives the load at two ports: for submission, and for IMAP.
pub(crate) fn topology(plan: &Plan, own: &MailPlan) -> Topology {
    let is_embedded = own.server == "embedded";
    let service = find(if is_embedded { "mail" } else { own.server });
    let service = service.expect("every server of a plan is a service, as a test holds");
    let text = |text: &str| Value::Text(text.to_owned());
    let mut values = vec![("password", text(&own.password))];
    match own.server {
        "embedded" => values.extend([
            ("supervised", text("yes")),
            ("durability", text(own.durability)),
            ("domain", text(own.domain())),
        ]),
        _ => {
            values.push(("connections", Value::Text((plan.most_users() + 50).to_string())));
            if own.durability != "full" {
                values.push(("not_durable", text("yes")));
            }
        }
    }
    let name = format!("{TIER}-1");
    let mut limits = limits_of(plan.deploy.limits_of(TIER));
    // A separate machine has a known size, for which services are tuned.
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
    let mut shared = service.own_programs();
    shared.extend(std::env::current_exe().ok().filter(|_| is_embedded));
    Topology {
        parts: vec![part],
        fronts: vec![name.clone(), format!("{name}:imap")],
        scheme: if is_embedded { "mail" } else { "lmtp" },
        shared,
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

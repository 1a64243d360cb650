//! The server that a run deploys.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::plan::MailPlan;

/// The tier of the server that keeps the mail.
pub(crate) const TIER: &str = "server";

/// The tier of the agent that takes submissions before it, if there is one.
pub(crate) const AGENT: &str = "agent";

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine where the plan does not state it.
const MACHINE_MIB: u64 = 1_024;

/// Servers that a plan may name: the embedded one, Dovecot, and Postfix before Dovecot.
pub(crate) const SERVERS: [&str; 3] = ["embedded", "dovecot", "postfix"];

/// The parts for a plan. They receive the load at two ports: for submission, and for IMAP.
pub(crate) fn topology(plan: &Plan, own: &MailPlan) -> Topology {
    let is_embedded = own.server == "embedded";
    let store = part(plan, TIER, if is_embedded { "mail" } else { "dovecot" }, store_values(plan, own));
    let imap = format!("{}:imap", store.name);
    let mut parts = vec![store];
    if own.server == "postfix" {
        let address =
            Value::Each { of: vec![parts[0].name.clone()], pattern: "{address}:{port}", between: "" };
        let values = vec![("store", address), ("connections", connections(plan))];
        let below = vec![parts[0].name.clone()];
        let agent = part(plan, AGENT, "postfix", values);
        parts.insert(0, Part { needs: below.clone(), uses: below, ..agent });
    }
    let programs = |part: &Part| match part.work {
        PartWork::Service(service) => service.own_programs(),
        PartWork::Job => Vec::new(),
    };
    let mut shared: Vec<_> = parts.iter().flat_map(programs).collect();
    shared.extend(std::env::current_exe().ok().filter(|_| is_embedded));
    Topology {
        fronts: vec![parts[0].name.clone(), imap],
        parts,
        scheme: match own.server {
            "embedded" => "mail",
            "dovecot" => "lmtp",
            _ => "smtp",
        },
        shared,
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        ..Topology::empty()
    }
}

/// Settings of the server that keeps the mail.
fn store_values(plan: &Plan, own: &MailPlan) -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut values = vec![("password", text(&own.password))];
    if own.server == "embedded" {
        values.extend([
            ("supervised", text("yes")),
            ("durability", text(own.durability)),
            ("domain", text(own.domain())),
        ]);
        return values;
    }
    values.push(("connections", connections(plan)));
    if own.durability != "full" {
        values.push(("not_durable", text("yes")));
    }
    values
}

fn connections(plan: &Plan) -> Value {
    Value::Text((plan.most_users() + 50).to_string())
}

fn part(plan: &Plan, tier: &'static str, service: &str, values: Vec<(&'static str, Value)>) -> Part {
    let service = find(service).expect("every server of a plan is a service, as a test holds");
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

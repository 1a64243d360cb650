//! The server that a run deploys.

use barograph_spec::Plan;
use barograph_workload::topology::{Topology, TopologyBuilder, Value};

use crate::plan::MailPlan;

/// The tier of the server that keeps the mail.
pub(crate) const TIER: &str = "server";

/// The tier of the agent that takes submissions before it, if there is one.
pub(crate) const AGENT: &str = "agent";

/// Servers that a plan may name: the embedded one, Dovecot, Postfix before Dovecot, and maddy.
pub(crate) const SERVERS: [&str; 4] = ["embedded", "dovecot", "postfix", "maddy"];

/// The parts for a plan. They receive the load at two ports: for submission, and for IMAP.
pub(crate) fn topology(plan: &Plan, own: &MailPlan) -> Topology {
    let is_embedded = own.server == "embedded";
    let mut making = TopologyBuilder::new(plan);
    let service = match own.server {
        "embedded" => "mail",
        "maddy" => "maddy",
        _ => "dovecot",
    };
    let store = making.add((TIER, 1), service, store_values(plan, own), &[]);
    let imap = format!("{store}:imap");
    let mut front = store.clone();
    if own.server == "postfix" {
        let address = Value::Each { of: vec![store.clone()], pattern: "{address}:{port}", between: "" };
        let values = vec![("store", address), ("connections", connections(plan))];
        front = making.add((AGENT, 1), "postfix", values, &[store]);
    }
    let scheme = match own.server {
        "embedded" => "mail",
        "dovecot" => "lmtp",
        _ => "smtp",
    };
    let mut topology = making.finish(&[AGENT, TIER], (scheme, vec![front, imap]));
    topology.shared.extend(std::env::current_exe().ok().filter(|_| is_embedded));
    topology
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
    if own.server != "maddy" {
        values.push(("connections", connections(plan)));
    }
    if own.durability != "full" {
        values.push(("not_durable", text("yes")));
    }
    values
}

fn connections(plan: &Plan) -> Value {
    Value::Text((plan.most_users() + 50).to_string())
}

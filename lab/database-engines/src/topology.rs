//! The parts of a database server that a run deploys.

use barograph_spec::Plan;
use barograph_workload::topology::{Topology, TopologyBuilder, Value};

use crate::parts::{ServerParts, Standby};

/// The tier of the server.
pub const TIER: &str = "database";

/// The tiers of a server and of all beside it, from the users to the standby.
pub const TIERS: [&str; 4] = ["balancer", "pool", TIER, "standby"];

/// A server as a service.
pub(crate) struct ServerSpec {
    /// Its name in `services`.
    pub(crate) service: &'static str,
    /// The scheme of its addresses.
    pub(crate) scheme: &'static str,
    /// The most sessions.
    pub(crate) sessions: u32,
    /// Values for its words.
    pub(crate) values: Vec<(&'static str, Value)>,
}

/// The parts. The load goes to the first front; the others are the server, if it is behind one, and its standby.
pub(crate) fn of(plan: &Plan, parts: &ServerParts, server: &ServerSpec) -> Topology {
    let mut making = TopologyBuilder::new(plan);
    let (first, second) = (format!("{TIER}-1"), "standby-1".to_owned());
    let named = |name: &str, pattern| Value::Each { of: vec![name.to_owned()], pattern, between: "" };
    let mut values = server.values.clone();
    if let Some(standby) = parts.standby {
        let mut of_standby = values.clone();
        of_standby.push(("primary", named(&first, "{address}:{port}")));
        making.add(("standby", 1), server.service, of_standby, std::slice::from_ref(&first));
        values.push(("standby", named(&second, "{name}")));
        if standby == Standby::Asynchronous {
            values.push(("replication", Value::Text(standby.name().to_owned())));
        }
    }
    making.add((TIER, 1), server.service, values, &[]);
    let sessions = || ("connections", Value::Text(server.sessions.to_string()));
    let mut front = first.clone();
    if parts.has_pool {
        let values = vec![("server", named(&front, "{address}:{port}")), sessions()];
        front = making.add(("pool", 1), "pgbouncer", values, &[front]);
    }
    if parts.has_balancer {
        let word = |word: &str| Value::Text(word.to_owned());
        let servers = named(&front, "{name}={address}:{port}");
        let values =
            vec![("servers", servers), ("mode", word("tcp")), ("check", word("connect")), sessions()];
        front = making.add(("balancer", 1), "haproxy", values, &[front]);
    }
    let behind = (front != first).then(|| format!("{first}:main"));
    let standby = parts.standby.map(|_| format!("{second}:main"));
    let fronts = [front].into_iter().chain(behind).chain(standby).collect();
    making.finish(&TIERS, (server.scheme, fronts))
}

//! The parts of a database server that a run deploys.

use barograph_services::{Flavour, find};
use barograph_spec::{Ability, Plan};
use barograph_workload::topology::{Part, PartWork, Topology, Value, limits_of};

use crate::parts::{ServerParts, Standby};

/// The tier of the server.
pub const TIER: &str = "database";

/// The tiers of a server and of all beside it, from the users to the standby.
pub const TIERS: [&str; 4] = ["balancer", "pool", TIER, "standby"];

/// The host of everything, when all parts are together.
const TOGETHER: &str = "all-1";

/// Memory of a virtual machine, where the plan does not say.
const MACHINE_MIB: u64 = 1_024;

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
    let mut making = TopologyBuilder { plan, parts: Vec::new() };
    let (first, second) = (format!("{TIER}-1"), "standby-1".to_owned());
    let named = |name: &str, pattern| Value::Each { of: vec![name.to_owned()], pattern, between: "" };
    let mut values = server.values.clone();
    if let Some(standby) = parts.standby {
        let mut of_standby = values.clone();
        of_standby.push(("primary", named(&first, "{address}:{port}")));
        making.add(("standby", &second), server.service, of_standby, Some(&first));
        values.push(("standby", named(&second, "{name}")));
        if standby == Standby::Asynchronous {
            values.push(("replication", Value::Text(standby.name().to_owned())));
        }
    }
    making.add((TIER, &first), server.service, values, None);
    let sessions = || ("connections", Value::Text(server.sessions.to_string()));
    let mut front = first.clone();
    if parts.has_pool {
        let values = vec![("server", named(&front, "{address}:{port}")), sessions()];
        making.add(("pool", "pool-1"), "pgbouncer", values, Some(&front));
        front = "pool-1".to_owned();
    }
    if parts.has_balancer {
        let word = |word: &str| Value::Text(word.to_owned());
        let servers = named(&front, "{name}={address}:{port}");
        let values =
            vec![("servers", servers), ("mode", word("tcp")), ("check", word("connect")), sessions()];
        making.add(("balancer", "balancer-1"), "haproxy", values, Some(&front));
        front = "balancer-1".to_owned();
    }
    making.parts.sort_by_key(|part| TIERS.iter().position(|tier| *tier == part.tier));
    let behind = (front != first).then(|| format!("{first}:main"));
    let standby = parts.standby.map(|_| format!("{second}:main"));
    Topology {
        fronts: [front].into_iter().chain(behind).chain(standby).collect(),
        scheme: server.scheme,
        shared: making.shared(),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        parts: making.parts,
        ..Topology::empty()
    }
}

struct TopologyBuilder<'p> {
    plan: &'p Plan,
    parts: Vec<Part>,
}

impl TopologyBuilder<'_> {
    /// Adds a part, on a host of its own or on the common one, that needs another.
    fn add(
        &mut self,
        (tier, name): (&'static str, &str),
        service: &str,
        values: Vec<(&'static str, Value)>,
        behind: Option<&String>,
    ) {
        let service = find(service).expect("every word of a plan is a service, as a test holds");
        let deploy = &self.plan.deploy;
        let mut limits = limits_of(deploy.limits_of(tier));
        // A machine of its own has some size, and services are tuned for it.
        if deploy.has(Ability::Machines) {
            limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
        }
        let needs: Vec<String> = behind.into_iter().cloned().collect();
        self.parts.push(Part {
            name: name.to_owned(),
            tier,
            host: if deploy.hosts == "together" { TOGETHER.to_owned() } else { name.to_owned() },
            node: false,
            work: PartWork::Service(service),
            uses: needs.clone(),
            needs,
            values,
            limits,
        });
    }

    /// Programs in unusual places.
    fn shared(&self) -> Vec<std::path::PathBuf> {
        let services = barograph_workload::topology::services(self.parts.iter());
        let mut all: Vec<_> = services.iter().flat_map(|service| service.own_programs()).collect();
        all.sort();
        all.dedup();
        all
    }
}

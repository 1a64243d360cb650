//! The parts of the web tier: its nodes, a service in front of them, and the database behind.

use barograph_database_engines::{DURABILITIES, EngineKind};
use barograph_spec::Plan;
use barograph_workload::topology::{Part, Topology, TopologyBuilder, Value};

use super::contract::HEALTH;
use crate::plan::StorePlan;

/// The tier of the service in front of the nodes.
pub(crate) const FRONT: &str = "front";

/// The tier of the nodes.
pub(crate) const WEB: &str = "web";

/// Sessions of a database server beside those of nodes.
const FURTHER_SESSIONS: u32 = 20;

/// The web tier of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WebTier {
    /// Its nodes.
    pub(crate) nodes: u32,
    /// Sessions of each node at the database.
    pub(crate) sessions: u32,
    /// The service in front of the nodes; `none` for none.
    pub(crate) front: &'static str,
}

impl WebTier {
    /// Addresses at which users connect.
    pub(crate) fn fronts(self) -> usize {
        if self.front == "none" { self.nodes as usize } else { 1 }
    }
}

/// The parts for a plan. `database` has those of its engine, and `file` is the SQLite file for the run, if it is one.
pub(crate) fn topology(
    plan: &Plan,
    tier: WebTier,
    database: Topology,
    (kind, file): (EngineKind, Option<&str>),
) -> Topology {
    // The first address takes sessions, the others are for checks.
    let behind: Vec<String> = database.fronts.iter().take(1).cloned().collect();
    let url = match (kind, file) {
        (EngineKind::Sqlite, file) => Value::Text(file.unwrap_or_default().to_owned()),
        (EngineKind::Postgres, _) => of(&behind, "postgres://postgres@{address}:{port}/store_run"),
        (EngineKind::Mariadb, _) => of(&behind, "mysql://auction@{address}:{port}/store_run"),
    };
    let mut making = TopologyBuilder::new(plan);
    let mut values = node_values(StorePlan::of(plan), tier);
    values.push(("database", url));
    let nodes: Vec<String> =
        (1..=tier.nodes).map(|number| making.add((WEB, number), "store", values.clone(), &behind)).collect();
    let mut fronts = match tier.front {
        "none" => nodes,
        service => vec![making.add((FRONT, 1), service, front_values(service, &nodes), &nodes)],
    };
    fronts.extend(database.fronts.iter().cloned());
    // The tier that users meet first comes first. An embedded database has no parts and no flavour.
    let mut web = making.finish(&[FRONT, WEB], ("http", fronts));
    web.parts.iter_mut().for_each(|part| part.node = part.tier == WEB);
    web.parts.extend(database.parts.into_iter().map(|part| with_sessions(part, tier)));
    web.shared.extend(database.shared.into_iter().chain(std::env::current_exe()));
    web.shared.sort();
    web.shared.dedup();
    web
}

fn node_values(own: &StorePlan, tier: WebTier) -> Vec<(&'static str, Value)> {
    let text = |text: String| Value::Text(text);
    let database = &own.database;
    let mut values = vec![
        // It ends with this program, even if this is killed.
        ("supervised", text("yes".to_owned())),
        ("sessions", text(tier.sessions.to_string())),
        ("durability", text(DURABILITIES[usize::from(!database.is_durable)].to_owned())),
        ("isolation", text(database.isolation.to_owned())),
        ("busy_ms", text(database.busy.as_millis().to_string())),
    ];
    if !database.is_queued {
        values.push(("no_queue", text("yes".to_owned())));
    }
    values
}

fn front_values(service: &str, nodes: &[String]) -> Vec<(&'static str, Value)> {
    let servers = Value::Each { of: nodes.to_vec(), pattern: "{name}={address}:{port}", between: " " };
    let more = match service {
        "haproxy" => ("check_path", HEALTH),
        _ => ("image_cache_mib", "0"),
    };
    vec![("servers", servers), (more.0, Value::Text(more.1.to_owned()))]
}

/// A part of the database with room for the sessions of all nodes.
fn with_sessions(mut part: Part, tier: WebTier) -> Part {
    let sessions = tier.nodes * tier.sessions + FURTHER_SESSIONS;
    for (_, value) in part.values.iter_mut().filter(|(name, _)| *name == "connections") {
        *value = Value::Text(sessions.to_string());
    }
    part
}

/// A text for parts.
fn of(parts: &[String], pattern: &'static str) -> Value {
    Value::Each { of: parts.to_vec(), pattern, between: "" }
}

#[cfg(test)]
mod tests {
    use barograph_spec::Catalogue;
    use barograph_workload::WorkloadFactory as _;

    use super::*;
    use crate::Store;

    fn of_plan(sets: &[&str]) -> Topology {
        let sets: Vec<String> =
            ["store.access=web"].iter().chain(sets).map(|set| (*set).to_owned()).collect();
        let plan = barograph_spec::read(Catalogue::of(&[&Store]), "a plan", "workload = \"store\"\n", &sets)
            .unwrap();
        let workload = Store.of_plan(&plan).unwrap();
        assert!(workload.target().is_none() && !workload.operations_block());
        assert!(workload.measures().iter().all(|measure| measure.id != "lock_wait_ms"));
        workload.application().unwrap().topology(&plan, None)
    }

    /// Names of the parts with those that they use.
    fn parts(topology: &Topology) -> Vec<String> {
        topology.parts.iter().map(|part| format!("{} > {}", part.name, part.uses.join(" "))).collect()
    }

    fn value<'t>(topology: &'t Topology, part: &str, name: &str) -> &'t Value {
        let part = topology.parts.iter().find(|known| known.name == part).unwrap();
        &part.values.iter().find(|(known, _)| *known == name).unwrap().1
    }

    #[test]
    fn nodes_on_a_file_are_fronts() {
        let topology = of_plan(&["deploy.web_nodes=2"]);
        assert_eq!(parts(&topology), ["web-1 > ", "web-2 > "]);
        assert_eq!(
            (topology.scheme, &topology.fronts[..]),
            ("http", &["web-1".to_owned(), "web-2".to_owned()][..])
        );
        let Value::Text(file) = value(&topology, "web-2", "database") else { panic!("{topology:?}") };
        assert!(file.starts_with("sqlite:///") && file.ends_with("data/store-100mb-s1.db.run"), "{file}");
    }

    #[test]
    fn a_chain_goes_from_the_users_to_the_database() {
        for (database, url) in [
            ("postgres", "postgres://postgres@{address}:{port}/store_run"),
            ("mariadb", "mysql://auction@{address}:{port}/store_run"),
        ] {
            for front in ["nginx", "haproxy"] {
                let set = [&format!("deploy.database={database}"), &format!("deploy.front={front}")];
                let topology = of_plan(&[set[0], set[1], "deploy.web_nodes=2", "deploy.web_sessions=30"]);
                assert_eq!(topology.fronts, ["front-1", "database-1"]);
                assert_eq!(
                    parts(&topology),
                    ["front-1 > web-1 web-2", "web-1 > database-1", "web-2 > database-1", "database-1 > "]
                );
                let Value::Each { pattern, .. } = value(&topology, "web-1", "database") else {
                    panic!("{url}")
                };
                assert_eq!(*pattern, url);
                assert!(
                    matches!(value(&topology, "database-1", "connections"), Value::Text(most) if most == "80")
                );
            }
        }
    }

    #[test]
    fn nodes_reach_the_server_by_what_is_beside_it() {
        let topology =
            of_plan(&["deploy.database=postgres", "deploy.pool=pgbouncer", "deploy.standby=asynchronous"]);
        assert_eq!(topology.fronts, ["web-1", "pool-1", "database-1:main", "standby-1:main"]);
        assert_eq!(
            parts(&topology),
            ["web-1 > pool-1", "pool-1 > database-1", "database-1 > ", "standby-1 > database-1"]
        );
    }
}

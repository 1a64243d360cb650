//! The floors: a crate depends only on lower floors, and only on those listed in the table.
//!
//! ARCHITECTURE.md shows the same table with its reasons. Before a missing edge is added it should be
//! discussed: most often a piece of one crate belongs one floor lower.
//!
//! Maintainers' programs (`dev`) are on the top floor, where nothing can depend on them.

use cargo_metadata::{DependencyKind, Metadata};

use super::Finding;

/// Floor of a crate, and the workspace crates that it may use.
struct Crate {
    name: &'static str,
    floor: u8,
    may_use: &'static [&'static str],
}

/// Crates that the tests of any crate may use, on any floor, and others only as listed in the table.
const FOR_TESTS: &[&str] = &[
    "testkit",
    "test-s3",
    "test-services",
    "test-browser",
    "test-kubernetes",
    "features",
    "simulated-auction",
];

/// The crates that workloads on databases may use.
const ON_DATABASES: &[&str] = &[
    "model",
    "spec",
    "record",
    "data",
    "platform",
    "workload",
    "engine",
    "mysql",
    "postgres",
    "database",
    "database-engines",
];

/// All crates, with their floors and the other crates that each may use.
const CRATES: &[Crate] = &[
    Crate { name: "features", floor: 0, may_use: &[] },
    Crate { name: "model", floor: 0, may_use: &[] },
    Crate { name: "stats", floor: 1, may_use: &["model"] },
    Crate { name: "data", floor: 1, may_use: &["model"] },
    Crate { name: "spec", floor: 1, may_use: &["model"] },
    Crate { name: "platform", floor: 1, may_use: &["model"] },
    Crate { name: "probe", floor: 1, may_use: &["model"] },
    Crate { name: "auction-api", floor: 1, may_use: &["model"] },
    Crate { name: "auction-bus", floor: 1, may_use: &[] },
    Crate { name: "cgroup", floor: 1, may_use: &[] },
    Crate { name: "ethtool", floor: 1, may_use: &[] },
    Crate { name: "tunables", floor: 2, may_use: &["platform", "ethtool"] },
    Crate { name: "bandwidth", floor: 1, may_use: &[] },
    Crate { name: "matrix", floor: 1, may_use: &[] },
    Crate { name: "pages", floor: 1, may_use: &[] },
    Crate { name: "sort", floor: 1, may_use: &[] },
    Crate { name: "reactor", floor: 1, may_use: &[] },
    Crate { name: "resp", floor: 1, may_use: &[] },
    Crate { name: "scenario", floor: 1, may_use: &["model"] },
    Crate { name: "scenario-script", floor: 1, may_use: &[] },
    Crate { name: "service-metrics", floor: 1, may_use: &[] },
    Crate { name: "supervisor", floor: 2, may_use: &["reactor"] },
    Crate { name: "testkit", floor: 1, may_use: &["model"] },
    Crate { name: "engine", floor: 2, may_use: &["model", "stats", "reactor"] },
    Crate { name: "net", floor: 2, may_use: &["model", "reactor"] },
    Crate { name: "ring", floor: 2, may_use: &["reactor"] },
    Crate { name: "http", floor: 3, may_use: &["model", "net", "reactor"] },
    Crate { name: "database", floor: 3, may_use: &["model", "data", "spec", "engine"] },
    Crate { name: "lines", floor: 3, may_use: &["model", "net"] },
    Crate { name: "smtp", floor: 4, may_use: &["net", "lines"] },
    Crate { name: "imap", floor: 4, may_use: &["net", "lines"] },
    Crate { name: "mail", floor: 1, may_use: &[] },
    Crate { name: "bucket", floor: 1, may_use: &[] },
    Crate { name: "social", floor: 2, may_use: &["bucket", "data", "resp"] },
    Crate { name: "mysql", floor: 3, may_use: &["model", "net"] },
    Crate { name: "nbd", floor: 3, may_use: &["model", "net", "reactor"] },
    Crate { name: "postgres", floor: 3, may_use: &["model", "net"] },
    Crate { name: "scenario-import", floor: 2, may_use: &["model", "scenario"] },
    Crate { name: "record", floor: 2, may_use: &["model", "stats"] },
    Crate { name: "auction-rules", floor: 2, may_use: &["auction-api"] },
    Crate { name: "auction-store", floor: 3, may_use: &["auction-api", "auction-rules"] },
    Crate { name: "platform-process", floor: 2, may_use: &["model", "platform", "cgroup", "ethtool"] },
    Crate { name: "services", floor: 3, may_use: &["model", "platform", "service-metrics"] },
    Crate { name: "test-s3", floor: 1, may_use: &[] },
    Crate { name: "test-browser", floor: 5, may_use: &["test-services"] },
    Crate {
        name: "test-kubernetes",
        floor: 4,
        may_use: &["platform", "cgroup", "platform-namespace", "platform-process", "testkit"],
    },
    Crate { name: "test-services", floor: 4, may_use: &["platform", "services", "platform-process"] },
    Crate { name: "virtual-network", floor: 2, may_use: &["model", "platform", "ethtool"] },
    Crate {
        name: "platform-namespace",
        floor: 3,
        may_use: &["model", "platform", "cgroup", "platform-process", "virtual-network"],
    },
    Crate {
        name: "platform-container",
        floor: 4,
        may_use: &["model", "platform", "cgroup", "virtual-network", "platform-process"],
    },
    Crate {
        name: "platform-kubernetes",
        floor: 4,
        may_use: &["model", "platform", "cgroup", "platform-process"],
    },
    Crate {
        name: "platform-vm",
        floor: 4,
        may_use: &["model", "platform", "cgroup", "probe", "platform-process", "virtual-network"],
    },
    Crate {
        name: "workload",
        floor: 4,
        may_use: &["model", "spec", "record", "engine", "platform", "services", "service-metrics"],
    },
    Crate {
        name: "database-engines",
        floor: 5,
        may_use: &[
            "model",
            "spec",
            "record",
            "engine",
            "reactor",
            "platform",
            "services",
            "service-metrics",
            "workload",
            "database",
            "mysql",
            "postgres",
        ],
    },
    Crate { name: "workload-order-entry", floor: 6, may_use: ON_DATABASES },
    Crate {
        name: "workload-store",
        floor: 6,
        may_use: &[
            "model",
            "spec",
            "record",
            "data",
            "platform",
            "reactor",
            "services",
            "http",
            "workload",
            "engine",
            "mysql",
            "postgres",
            "database",
            "database-engines",
        ],
    },
    Crate { name: "workload-brokerage", floor: 6, may_use: ON_DATABASES },
    Crate { name: "workload-statements", floor: 6, may_use: ON_DATABASES },
    Crate {
        name: "harness",
        floor: 5,
        may_use: &[
            "workload",
            "model",
            "stats",
            "spec",
            "record",
            "engine",
            "platform",
            "cgroup",
            "services",
            "service-metrics",
            "probe",
            "tunables",
        ],
    },
    Crate { name: "study", floor: 5, may_use: &["model", "stats", "spec", "record"] },
    Crate { name: "report", floor: 3, may_use: &["model", "stats", "record"] },
    Crate { name: "export", floor: 3, may_use: &["model", "stats", "record"] },
    Crate { name: "share", floor: 3, may_use: &["model", "record"] },
    Crate { name: "live", floor: 3, may_use: &["model", "stats", "record"] },
    Crate {
        name: "workload-auction",
        floor: 6,
        may_use: &[
            "model",
            "spec",
            "record",
            "engine",
            "http",
            "data",
            "platform",
            // To query the application outside of the load: whether it is ready and its data are right.
            "reactor",
            "services",
            "workload",
            "auction-api",
            // Sizes, rows and stamps of its data sets.
            "auction",
        ],
    },
    Crate {
        name: "workload-scenario",
        floor: 5,
        may_use: &["model", "spec", "engine", "http", "scenario", "scenario-script", "workload"],
    },
    Crate { name: "store-sqlite", floor: 4, may_use: &["auction-api", "auction-rules", "auction-store"] },
    Crate { name: "store-sql", floor: 4, may_use: &["auction-api", "auction-rules", "auction-store"] },
    Crate { name: "store-images", floor: 4, may_use: &["auction-api", "auction-store", "bucket"] },
    Crate { name: "store-documents", floor: 4, may_use: &["auction-api", "auction-rules", "auction-store"] },
    Crate {
        name: "auction",
        floor: 5,
        may_use: &[
            "data",
            "reactor",
            "auction-api",
            "auction-bus",
            "auction-rules",
            "auction-store",
            "store-sqlite",
            "store-sql",
            "store-images",
            "store-documents",
        ],
    },
    Crate {
        name: "cli",
        floor: 7,
        may_use: &[
            "model",
            "stats",
            "spec",
            "record",
            "platform",
            "probe",
            "harness",
            "study",
            "report",
            "export",
            "share",
            "live",
            "scenario-import",
            "workload",
            "workload-",
            "workload-auction",
            "workload-brokerage",
            "workload-order-entry",
            "workload-scenario",
            "workload-statements",
            "workload-store",
            "services",
            "supervisor",
            "virtual-network",
            "platform-process",
            "platform-namespace",
            "platform-container",
            "platform-kubernetes",
            "platform-vm",
            "platform-nested",
        ],
    },
    Crate {
        name: "platform-nested",
        floor: 5,
        may_use: &["model", "platform", "platform-container", "platform-vm"],
    },
    Crate {
        name: "simulated-auction",
        floor: 7,
        may_use: &["model", "engine", "http", "auction-api", "auction-rules", "workload-auction"],
    },
    Crate {
        name: "simulations",
        floor: 8,
        may_use: &["model", "stats", "record", "engine", "simulated-auction", "workload-auction"],
    },
    Crate {
        name: "bench",
        floor: 8,
        may_use: &[
            "model",
            "stats",
            "data",
            "record",
            "reactor",
            "engine",
            "http",
            "postgres",
            "scenario",
            "workload-scenario",
            "platform",
            "platform-process",
            "platform-vm",
            "services",
            "auction-api",
            "auction-bus",
            "auction-rules",
            "auction-store",
            "auction",
            "store-documents",
            "store-sql",
            "store-sqlite",
            // Starts the measured servers.
            "test-services",
            "testkit",
        ],
    },
    // xtask builds in seconds: it starts the others as programs.
    Crate { name: "xtask", floor: 8, may_use: &[] },
];

/// Every workload that is not in the table: it stands on the seams, never on another workload.
const ANY_WORKLOAD: Crate = Crate {
    name: "workload-",
    floor: 5,
    may_use: &[
        "model",
        "spec",
        "record",
        "data",
        "platform",
        "services",
        "workload",
        "engine",
        "reactor",
        "net",
        "http",
        "resp",
        "mysql",
        "nbd",
        "postgres",
        "lines",
        "smtp",
        "imap",
        "mail",
        "bucket",
        "social",
        "bandwidth",
        "matrix",
        "pages",
        "sort",
        "database",
        "ring",
        "supervisor",
    ],
};

/// A dependency between two crates of the workspace, names without the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    from: String,
    to: String,
    only_tests: bool,
}

/// A package's name without the prefix; the program's package has the product's name and lives in `lab/cli`.
fn bare(name: &str) -> String {
    if name == "barograph" {
        "cli".to_owned()
    } else {
        name.strip_prefix("barograph-").unwrap_or(name).to_owned()
    }
}

/// All dependencies between crates of the workspace.
pub(super) fn edges(metadata: &Metadata) -> Vec<Edge> {
    let mut edges = Vec::new();
    for package in &metadata.packages {
        let from = bare(package.name.as_str());
        // A crate without edges is named by an edge to itself, so that one missing in the table is found too.
        edges.push(Edge { from: from.clone(), to: from.clone(), only_tests: false });
        edges.extend(package.dependencies.iter().filter(|d| d.path.is_some()).map(|dependency| Edge {
            from: from.clone(),
            to: bare(&dependency.name),
            only_tests: dependency.kind == DependencyKind::Development,
        }));
    }
    edges
}

pub(super) fn check(edges: &[Edge]) -> Vec<Finding> {
    edges.iter().filter_map(wrong).collect()
}

/// The row of a crate.
fn known(name: &str) -> Option<&'static Crate> {
    let of_family = || name.starts_with(ANY_WORKLOAD.name).then_some(&ANY_WORKLOAD);
    CRATES.iter().find(|known| known.name == name).or_else(of_family)
}

fn wrong(edge: &Edge) -> Option<Finding> {
    let finding =
        |says: String| Some(Finding { rule: "floors", place: format!("crate {}", edge.from), says });
    let Some(from) = known(&edge.from) else {
        return finding("is not in the table of floors (xtask/src/tidy/floors.rs)".to_owned());
    };
    let Some(to) = known(&edge.to) else {
        return finding(format!("depends on {}, which is not in the table of floors", edge.to));
    };
    if edge.from == edge.to {
        return None;
    }
    if FOR_TESTS.contains(&to.name) && !from.may_use.contains(&to.name) {
        let used = || finding(format!("uses {} outside of tests", to.name));
        return if edge.only_tests { None } else { used() };
    }
    if to.floor >= from.floor {
        return finding(format!(
            "is on floor {} and depends on {} on floor {}",
            from.floor, to.name, to.floor
        ));
    }
    if !edge.only_tests && !from.may_use.contains(&to.name) {
        return finding(format!("depends on {}, an edge that the table of floors does not list", to.name));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(from: &str, to: &str, only_tests: bool) -> Option<String> {
        wrong(&Edge { from: from.to_owned(), to: to.to_owned(), only_tests }).map(|f| f.says)
    }

    #[test]
    fn packages_have_bare_names() {
        assert_eq!([bare("barograph"), bare("barograph-stats"), bare("xtask")], ["cli", "stats", "xtask"]);
    }

    #[test]
    fn lower_and_listed_is_allowed() {
        assert_eq!(says("engine", "stats", false), None);
        assert_eq!(says("workload-auction", "auction-rules", true), None);
        assert_eq!(says("model", "testkit", true), None);
        assert_eq!(says("workload-auction", "simulated-auction", true), None);
        assert_eq!(says("auction-bus", "test-services", true), None);
        assert_eq!(says("bench", "test-services", false), None);
        assert_eq!(says("cli", "workload-new", false), None);
        assert_eq!(says("workload-new", "engine", false), None);
    }

    #[test]
    fn up_sideways_unlisted_and_unknown_are_found() {
        assert_eq!(says("stats", "engine", false).unwrap(), "is on floor 1 and depends on engine on floor 2");
        assert_eq!(says("engine", "record", true).unwrap(), "is on floor 2 and depends on record on floor 2");
        assert!(says("report", "engine", false).unwrap().contains("does not list"));
        for name in ["testkit", "test-services", "simulated-auction"] {
            assert!(says("engine", name, false).unwrap().contains("outside of tests"));
        }
        assert!(says("simulations", "testkit", false).unwrap().contains("outside of tests"));
        assert!(says("cli", "bench", true).unwrap().contains("on floor 7"));
        assert!(says("xtask", "model", false).unwrap().contains("does not list"));
        assert!(says("workload-new", "workload-newer", false).unwrap().contains("on floor 5"));
        assert!(says("workload-new", "harness", false).unwrap().contains("on floor 5"));
        assert!(says("workload-new", "stats", false).unwrap().contains("does not list"));
        assert!(says("newcomer", "model", false).unwrap().contains("not in the table"));
    }

    #[test]
    fn the_table_itself_keeps_the_rule() {
        for from in CRATES {
            for name in from.may_use {
                let to = known(name).expect("named in the table");
                assert!(to.floor < from.floor, "{} may not use {}", from.name, to.name);
            }
        }
    }
}

//! The deployment as a picture: tiers from the users down to the stores, as text for a terminal and as a
//! drawing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use barograph_record::{PartRecord, Run, TopologyRecord};

use crate::html::Grid;
use crate::words;

mod drawing;

/// Columns of the picture in text.
const WIDTH: usize = 110;

/// The picture in at most 110 columns. Parts of a tier that do not fit beside each other are one box.
#[must_use]
pub fn topology_text(topology: &TopologyRecord) -> String {
    let mut text = format!("{:>13}\n", "users");
    for level in levels(topology) {
        writeln!(text, "{:>13}", "↓  ").expect("writing to memory cannot fail");
        for tier in level {
            let boxes: Vec<String> = tier.iter().map(|part| format!("[{}]", part.name)).collect();
            let mut line = tier_line(&tier, &boxes.join(" "));
            if line.chars().count() > WIDTH {
                let (first, last) = (&tier[0].name, &tier[tier.len() - 1].name);
                line = tier_line(&tier, &format!("{} x [{first} … {last}]", tier.len()));
            }
            writeln!(text, "{line}").expect("as above");
        }
    }
    text
}

/// A tier with its boxes, service and limits.
fn tier_line(tier: &[&PartRecord], boxes: &str) -> String {
    let PartRecord { tier: name, service, .. } = tier[0];
    format!("{name:>13}  {boxes:<46} {service}{}", limits(tier[0]))
}

/// Parts by level and by tier of a load, from the users to the stores in their recorded order, without jobs
/// and drivers. A tier is one level below the lowest of those before it that use it.
fn levels(topology: &TopologyRecord) -> Vec<Vec<Vec<&PartRecord>>> {
    let mut tiers: Vec<Vec<&PartRecord>> = Vec::new();
    for part in services(topology) {
        match tiers.iter_mut().find(|tier| (&tier[0].load, &tier[0].tier) == (&part.load, &part.tier)) {
            Some(tier) => tier.push(part),
            None => tiers.push(vec![part]),
        }
    }
    let uses = |above: &[&PartRecord], below: &[&PartRecord]| {
        above.iter().any(|part| below.iter().any(|other| part.uses.contains(&other.name)))
    };
    let mut level_of = vec![0; tiers.len()];
    for (at, above) in tiers.iter().enumerate() {
        for below in (at + 1..tiers.len()).filter(|below| uses(above, &tiers[*below])) {
            level_of[below] = level_of[below].max(level_of[at] + 1);
        }
    }
    let mut levels: BTreeMap<usize, Vec<Vec<&PartRecord>>> = BTreeMap::new();
    for (level, tier) in level_of.into_iter().zip(tiers) {
        levels.entry(level).or_default().push(tier);
    }
    levels.into_values().collect()
}

fn limits(part: &PartRecord) -> String {
    let cores = part.cpus.map(|cpus| format!("{cpus} cores"));
    let memory = part.memory_bytes.map(|bytes| words::bytes(bytes as f64));
    let disks = disks(part).map(|rate| format!("disks {rate}"));
    let all: Vec<String> = [cores, core_set(part), memory, disks].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

fn core_set(part: &PartRecord) -> Option<String> {
    (!part.cores.is_empty()).then(|| format!("on {}", part.cores))
}

/// Rate of each disk, each way, in the unit of plans.
fn disks(part: &PartRecord) -> Option<String> {
    part.disk_bytes_s.map(|bytes| format!("{} MB/s", bytes as f64 / 1e6))
}

/// CPU time in cores, and the numbers of the cores.
fn cores(part: &PartRecord) -> String {
    match (part.cpus.map(|cpus| cpus.to_string()), core_set(part)) {
        (None, None) => words::NONE.to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(cpus), Some(set)) => format!("{cpus} {set}"),
    }
}

/// The section of the report.
pub(crate) struct DeploymentSection {
    pub(crate) lede: String,
    pub(crate) svg: String,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) table: Grid,
}

pub(crate) fn deployed(run: &Run) -> Option<DeploymentSection> {
    let topology = run.topology()?;
    let lede = format!(
        "{} on platform {}: hosts were there after {}, the application answered after {}.",
        parts(topology),
        topology.platform,
        words::duration(topology.open_s),
        words::duration(topology.ready_s)
    );
    Some(DeploymentSection {
        lede,
        svg: drawing::draw(topology),
        facts: topology.facts.clone(),
        table: table(topology),
    })
}

/// The parts that are services, without jobs and drivers.
pub(crate) fn services(topology: &TopologyRecord) -> impl Iterator<Item = &PartRecord> {
    topology.parts.iter().filter(|part| part.service != "job" && part.tier != "driver")
}

/// The number of services that the drawing shows.
fn parts(topology: &TopologyRecord) -> String {
    match services(topology).count() {
        1 => "One service".to_owned(),
        n => format!("{n} services"),
    }
}

fn table(topology: &TopologyRecord) -> Grid {
    let rows = topology.parts.iter().map(|part| {
        let version = if part.version.is_empty() { words::NONE.to_owned() } else { part.version.clone() };
        vec![
            part.name.clone(),
            part.service.clone(),
            version,
            part.host.clone(),
            if part.url.is_empty() { words::NONE.to_owned() } else { part.url.clone() },
            cores(part),
            part.memory_bytes.map_or_else(|| words::NONE.to_owned(), |bytes| words::bytes(bytes as f64)),
            disks(part).unwrap_or_else(|| words::NONE.to_owned()),
            words::duration(part.start_s),
        ]
    });
    Grid::new(
        &["Part", "Service", "Version", "Host", "Answers at", "Cores", "Memory", "Disks", "Ready after"],
        rows.collect(),
    )
    .with_words(&["Service", "Version", "Host", "Answers at"])
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn part(tier: &str, number: u32, service: &str, uses: &[&str]) -> PartRecord {
        PartRecord {
            name: format!("{tier}-{number}"),
            tier: tier.to_owned(),
            service: service.to_owned(),
            uses: uses.iter().map(|u| (*u).to_owned()).collect(),
            ..PartRecord::default()
        }
    }

    #[test]
    fn levels_follow_from_use_also_in_a_circle() {
        let parts = vec![
            part("address", 1, "Keepalived", &["balancer-1"]),
            part("balancer", 1, "HAProxy", &["node-1", "worker-1"]),
            part("node", 1, "shop", &["store-1", "worker-1"]),
            part("worker", 1, "shop", &["store-1", "node-1"]),
            part("store", 1, "PostgreSQL", &[]),
            part("store", 2, "PostgreSQL", &["store-1"]),
            part("load", 1, "job", &["store-1"]),
            part("driver", 1, "barograph", &["balancer-1"]),
        ];
        let topology = TopologyRecord { parts, ..TopologyRecord::default() };
        let names = |level: Vec<Vec<&PartRecord>>| -> Vec<String> {
            level.into_iter().flatten().map(|part| part.name.clone()).collect()
        };
        let levels: Vec<Vec<String>> = levels(&topology).into_iter().map(names).collect();
        let expected: [&[&str]; 5] =
            [&["address-1"], &["balancer-1"], &["node-1"], &["worker-1"], &["store-1", "store-2"]];
        assert_eq!(levels, expected);
    }

    pub(super) fn topology() -> TopologyRecord {
        let mut store = part("relational", 1, "PostgreSQL", &[]);
        (store.cpus, store.cores) = (Some(0.5), "0-1".to_owned());
        store.disk_bytes_s = Some(1_500_000);
        TopologyRecord {
            front: "web-1".to_owned(),
            parts: vec![
                part("web", 1, "nginx", &["application-1", "application-2"]),
                part("application", 1, "shop", &["relational-1"]),
                part("application", 2, "shop", &["relational-1"]),
                store,
                part("load", 1, "job", &["relational-1"]),
                part("driver", 1, "barograph", &["web-1"]),
            ],
            ..TopologyRecord::default()
        }
    }

    #[test]
    fn the_picture_in_text_shows_tiers_in_order_and_no_jobs() {
        let text = topology_text(&topology());
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(lines[0], "users");
        assert!(lines[2].starts_with("web  [web-1]") && lines[2].ends_with("nginx"), "{text}");
        assert!(lines[4].starts_with("application  [application-1] [application-2]"), "{text}");
        assert!(lines[6].ends_with("PostgreSQL (0.5 cores, on 0-1, disks 1.5 MB/s)"), "{text}");
        assert_eq!((lines.len(), parts(&topology())), (7, "4 services".to_owned()));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn parts_of_a_tier_that_do_not_fit_beside_each_other_are_one_box() {
        let text = |parts: u32| {
            let parts = (1..=parts).map(|number| part("server", number, "nginx", &[])).collect();
            topology_text(&TopologyRecord { parts, ..TopologyRecord::default() })
        };
        let six = "[server-1] [server-2] [server-3] [server-4] [server-5] [server-6]";
        assert!(text(6).ends_with(&format!("       server  {six} nginx\n")), "{}", text(6));
        let many = "       server  400 x [server-1 … server-400]                  nginx\n";
        assert!(text(400).ends_with(many), "{}", text(400));
    }
}

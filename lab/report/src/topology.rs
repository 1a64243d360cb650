//! The deployment as a picture: tiers from the users down to the stores, as text for a terminal and as a
//! drawing.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use barograph_record::{PartRecord, Run, TopologyRecord};

use crate::chart::{Anchor, Svg};
use crate::html::Grid;
use crate::words;

/// The picture in at most 110 columns.
#[must_use]
pub fn topology_text(topology: &TopologyRecord) -> String {
    let mut text = format!("{:>13}\n", "users");
    for level in levels(topology) {
        writeln!(text, "{:>13}", "↓  ").expect("writing to memory cannot fail");
        for tier in level {
            let boxes: Vec<String> = tier.iter().map(|part| format!("[{}]", part.name)).collect();
            let service = tier.first().map_or("", |part| part.service.as_str());
            let (name, boxes) = (tier.first().map_or("", |part| part.tier.as_str()), boxes.join(" "));
            writeln!(text, "{name:>13}  {boxes:<46} {service}{}", limits(tier[0])).expect("as above");
        }
    }
    text
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
    let all: Vec<String> = [cores, core_set(part), memory].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

fn core_set(part: &PartRecord) -> Option<String> {
    (!part.cores.is_empty()).then(|| format!("on {}", part.cores))
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
        svg: draw(topology),
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
            words::duration(part.start_s),
        ]
    });
    Grid::new(
        &["Part", "Service", "Version", "Host", "Answers at", "Cores", "Memory", "Ready after"],
        rows.collect(),
    )
    .with_words(&["Service", "Version", "Host", "Answers at"])
}

/// Least width, and the height of a box.
const BOX: (f64, f64) = (132.0, 44.0);
/// Width of a letter of a part's name, and the margins beside the name.
const LETTER: f64 = 7.6;
const MARGINS: f64 = 16.0;
/// Horizontal and vertical room between two boxes.
const GAP: (f64, f64) = (18.0, 46.0);
/// Room on the left for the names of the tiers.
const NAMES: f64 = 110.0;

/// A box in the drawing.
struct PartBox<'p> {
    part: &'p PartRecord,
    x: f64,
    y: f64,
    width: f64,
}

impl PartBox<'_> {
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }
}

/// Width of all boxes, in which the longest name of a part fits.
fn box_width(topology: &TopologyRecord) -> f64 {
    let longest = services(topology).map(|part| part.name.chars().count()).max().unwrap_or(0);
    BOX.0.max(longest as f64 * LETTER + MARGINS)
}

fn draw(topology: &TopologyRecord) -> String {
    let levels = levels(topology);
    let rows: Vec<Vec<&PartRecord>> =
        levels.iter().map(|tiers| tiers.iter().flatten().copied().collect()).collect();
    let widest = rows.iter().map(Vec::len).max().unwrap_or(1).max(3) as f64;
    let box_width = box_width(topology);
    let inner = widest * box_width + (widest - 1.0) * GAP.0;
    let top = 34.0;
    let size = (NAMES + inner + 10.0, top + rows.len() as f64 * (BOX.1 + GAP.1) - GAP.1 / 2.0 + 12.0);
    let mut svg =
        Svg::new("topology", size, "What was deployed", "Services by tier, and which of them talk to which");
    let middle = NAMES + inner / 2.0;
    let placed: Vec<PartBox<'_>> = rows
        .iter()
        .enumerate()
        .flat_map(|(at, row)| {
            let width = row.len() as f64 * box_width + (row.len() as f64 - 1.0) * GAP.0;
            let y = top + at as f64 * (BOX.1 + GAP.1) + GAP.1 / 2.0;
            row.iter().enumerate().map(move |(column, part)| PartBox {
                part,
                x: middle - width / 2.0 + column as f64 * (box_width + GAP.0),
                y,
                width: box_width,
            })
        })
        .collect();
    svg.text("part-name", (middle, 18.0), Anchor::Middle, "users");
    // Users may reach the highest parts through an address that moves between them.
    let named = |box_: &PartBox<'_>| topology.fronts().any(|front| front == box_.part.name);
    let floats = !placed.iter().any(named);
    let is_front = |box_: &&PartBox<'_>| named(box_) || (floats && box_.y < top + BOX.1);
    for first in placed.iter().filter(is_front) {
        svg.line("wire", (middle, 24.0), (first.middle(), first.y));
    }
    wires(&mut svg, &placed);
    for (at, level) in levels.iter().enumerate() {
        let y = top + at as f64 * (BOX.1 + GAP.1) + GAP.1 / 2.0;
        // Several loads may have the same tiers.
        let mut names: Vec<&str> = level.iter().map(|tier| tier[0].tier.as_str()).collect();
        names.sort_unstable_by_key(|name| level.iter().position(|tier| tier[0].tier == *name));
        names.dedup();
        for (line, name) in names.iter().enumerate() {
            let room = 15.0 * line as f64 - 7.5 * (names.len() as f64 - 1.0);
            svg.text("tick", (0.0, y + BOX.1 / 2.0 + 4.0 + room), Anchor::Start, name);
        }
    }
    for box_ in &placed {
        let PartBox { part, x, y, width } = box_;
        svg.begin_group(&format!("{} {} on {}", part.service, part.version, part.host));
        svg.rect("part", (*x, *y), (*width, BOX.1));
        svg.text("part-name", (box_.middle(), y + 19.0), Anchor::Middle, &part.name);
        svg.text("tick", (box_.middle(), y + 35.0), Anchor::Middle, &part.service);
        svg.end_group();
    }
    svg.finish()
}

/// Connections between parts. Within one level the line goes below the boxes.
fn wires(svg: &mut Svg, placed: &[PartBox<'_>]) {
    for from in placed {
        for to in placed.iter().filter(|to| from.part.uses.contains(&to.part.name)) {
            let (x1, x2) = (from.middle(), to.middle());
            if from.y < to.y {
                svg.line("wire", (x1, from.y + BOX.1), (x2, to.y));
            } else {
                let below = from.y + BOX.1 + 9.0;
                let corners = [(x1, from.y + BOX.1), (x1, below), (x2, below), (x2, to.y + BOX.1)];
                svg.path("wire", corners.map(Some));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(tier: &str, number: u32, service: &str, uses: &[&str]) -> PartRecord {
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

    fn topology() -> TopologyRecord {
        let mut store = part("relational", 1, "PostgreSQL", &[]);
        (store.cpus, store.cores) = (Some(0.5), "0-1".to_owned());
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
        assert!(lines[6].ends_with("PostgreSQL (0.5 cores, on 0-1)"), "{text}");
        assert_eq!(lines.len(), 7);
        assert!(text.lines().all(|line| line.chars().count() <= 110));
    }

    #[test]
    fn the_drawing_has_a_box_for_each_part_and_a_line_for_each_use() {
        let svg = draw(&topology());
        assert_eq!(parts(&topology()), "4 services");
        assert_eq!(svg.matches("class=\"part\"").count(), 4);
        // Users to the front, web to two nodes, two nodes to the store.
        assert_eq!(svg.matches("class=\"wire\"").count(), 5);
    }

    #[test]
    fn a_box_is_as_wide_as_the_longest_name_needs() {
        let mut topology = topology();
        assert_eq!(box_width(&topology), BOX.0);
        topology.parts[0].name = "web-of-the-second-tile-1".to_owned();
        assert_eq!(box_width(&topology), 24.0 * LETTER + MARGINS);
        assert!(draw(&topology).contains("width=\"198.4\""));
    }

    #[test]
    fn users_come_in_at_every_front() {
        let stores = [1, 2, 3].map(|number| part("store", number, "Valkey", &[]));
        let topology = TopologyRecord {
            front: "store-1".to_owned(),
            beside: vec!["store-2".to_owned()],
            parts: stores.to_vec(),
            ..TopologyRecord::default()
        };
        assert_eq!(draw(&topology).matches("class=\"wire\"").count(), 2);
    }
}

//! The drawing of a deployment: boxes by tier, from the users down to the stores, with lines between parts that talk
//! to each other. Of several applications each is a block of its own, and blocks fill shelves of the paper's width.

use barograph_record::{PartRecord, TopologyRecord};

use super::{levels, services};
use crate::chart::{Anchor, Svg};

/// Least width, and the height of a box.
const BOX: (f64, f64) = (132.0, 44.0);
/// Least width of a box where several applications share the paper.
const NARROW: f64 = 88.0;
/// Width of a letter of a part's name, and the margins beside the name.
const LETTER: f64 = 7.6;
const MARGINS: f64 = 16.0;
/// Horizontal and vertical room between two boxes.
const GAP: (f64, f64) = (18.0, 46.0);
/// Room on the left for the names of the tiers.
const NAMES: f64 = 110.0;
/// Room above the first level, for the word `users` or the name of a load.
const HEAD: f64 = 34.0;
/// Width of the drawing of several applications, in pixels, unless one alone is wider.
const PAPER: f64 = 1140.0;
/// Room around an application among several.
const APART: f64 = 14.0;

/// Most parts of a tier beside each other; more are one box.
const MOST: usize = 12;

/// What a box stands for: a part, or all parts of a tier.
#[derive(Clone, Copy)]
struct Drawn<'p> {
    /// The part, or the first of them.
    part: &'p PartRecord,
    count: usize,
}

impl<'p> Drawn<'p> {
    /// The parts of a tier, or all in one.
    fn of(tier: &[&'p PartRecord]) -> Vec<Self> {
        match tier {
            [first, ..] if tier.len() > MOST => vec![Drawn { part: first, count: tier.len() }],
            _ => tier.iter().map(|part| Drawn { part, count: 1 }).collect(),
        }
    }

    /// Its name without that of the load.
    fn name(&self, load: &str) -> String {
        match self.count {
            1 => name_within(self.part, load).to_owned(),
            count => format!("{count} x {}", self.part.tier),
        }
    }
}

/// A box in the drawing.
struct PartBox<'p> {
    drawn: Drawn<'p>,
    name: String,
    x: f64,
    y: f64,
    width: f64,
}

impl PartBox<'_> {
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }
}

/// An application: its parts by level.
struct Block<'p> {
    /// Name of its load; empty for an only application.
    load: &'p str,
    rows: Vec<Vec<Drawn<'p>>>,
    box_width: f64,
}

impl<'p> Block<'p> {
    fn new(load: &'p str, rows: Vec<Vec<Drawn<'p>>>) -> Self {
        let least = if load.is_empty() { BOX.0 } else { NARROW };
        let letters = |drawn: &Drawn<'_>| {
            // The service stands below the name.
            drawn.name(load).chars().count().max(drawn.part.service.chars().count())
        };
        let longest = rows.iter().flatten().map(letters).max().unwrap_or(0);
        Block { load, rows, box_width: least.max(longest as f64 * LETTER + MARGINS) }
    }

    fn widest_row(&self) -> f64 {
        self.rows.iter().map(Vec::len).max().unwrap_or(1) as f64
    }

    /// Width of this number of boxes in a row.
    fn width_of(&self, boxes: f64) -> f64 {
        boxes * self.box_width + (boxes - 1.0) * GAP.0
    }

    fn height(&self) -> f64 {
        HEAD + self.rows.len() as f64 * (BOX.1 + GAP.1) - GAP.1 / 2.0
    }

    /// Upper edge of a level, below the upper edge of the block.
    fn top_of(at: usize) -> f64 {
        HEAD + at as f64 * (BOX.1 + GAP.1) + GAP.1 / 2.0
    }

    /// Its boxes around `middle`, below `top`.
    fn place(&self, middle: f64, top: f64) -> Vec<PartBox<'p>> {
        let row = |(at, row): (usize, &Vec<Drawn<'p>>)| -> Vec<PartBox<'p>> {
            let left = middle - self.width_of(row.len() as f64) / 2.0;
            let place = |(column, drawn): (usize, &Drawn<'p>)| PartBox {
                drawn: *drawn,
                name: drawn.name(self.load),
                x: left + column as f64 * (self.box_width + GAP.0),
                y: top + Block::top_of(at),
                width: self.box_width,
            };
            row.iter().enumerate().map(place).collect()
        };
        self.rows.iter().enumerate().flat_map(row).collect()
    }
}

/// Name of a part without that of its load.
fn name_within<'p>(part: &'p PartRecord, load: &str) -> &'p str {
    let within = part.name.strip_prefix(load).and_then(|rest| rest.strip_prefix('-'));
    within.filter(|_| !load.is_empty()).unwrap_or(&part.name)
}

/// The drawing.
pub(super) fn draw(topology: &TopologyRecord) -> String {
    let mut loads: Vec<&str> = Vec::new();
    for part in services(topology) {
        if !loads.contains(&part.load.as_str()) {
            loads.push(&part.load);
        }
    }
    if loads.len() > 1 { draw_several(topology, &loads) } else { draw_one(topology) }
}

fn new_drawing(size: (f64, f64)) -> Svg {
    Svg::new("topology", size, "What was deployed", "Services by tier, and which of them talk to which")
}

/// An only application, with the names of its tiers on the left.
fn draw_one(topology: &TopologyRecord) -> String {
    let levels = levels(topology);
    let rows = levels.iter().map(|tiers| tiers.iter().flat_map(|tier| Drawn::of(tier)).collect()).collect();
    let block = Block::new("", rows);
    let inner = block.width_of(block.widest_row().max(3.0));
    let middle = NAMES + inner / 2.0;
    let mut svg = new_drawing((NAMES + inner + 10.0, block.height() + 12.0));
    draw_block(&mut svg, topology, (&block, "users"), (middle, 0.0));
    for (at, level) in levels.iter().enumerate() {
        let y = Block::top_of(at);
        for (line, tier) in level.iter().enumerate() {
            let room = 15.0 * line as f64 - 7.5 * (level.len() as f64 - 1.0);
            svg.text("tick", (0.0, y + BOX.1 / 2.0 + 4.0 + room), Anchor::Start, &tier[0].tier);
        }
    }
    svg.finish()
}

/// The application of a load, whose levels depend on it alone.
fn block_of<'p>(levels: &[Vec<Vec<&'p PartRecord>>], load: &'p str) -> Block<'p> {
    let rows = levels.iter().map(|tiers| {
        tiers.iter().filter(|tier| tier[0].load == load).flat_map(|tier| Drawn::of(tier)).collect::<Vec<_>>()
    });
    Block::new(load, rows.filter(|row| !row.is_empty()).collect())
}

/// Several applications, each below the name of its load.
fn draw_several<'p>(topology: &'p TopologyRecord, loads: &[&'p str]) -> String {
    let levels = levels(topology);
    let blocks: Vec<Block<'_>> = loads.iter().map(|load| block_of(&levels, load)).collect();
    let width = |block: &Block<'_>| {
        let title = block.load.chars().count() as f64 * LETTER;
        block.width_of(block.widest_row()).max(title) + 2.0 * APART
    };
    let paper = blocks.iter().map(&width).fold(PAPER, f64::max);
    // A block that does not fit beside the others begins a shelf.
    let (mut left, mut top, mut shelf) = (0.0, 0.0, 0.0);
    let mut placed = Vec::new();
    for block in &blocks {
        if left > 0.0 && left + width(block) > paper {
            (left, top, shelf) = (0.0, top + shelf, 0.0);
        }
        placed.push((block, (left + width(block) / 2.0, top)));
        left += width(block);
        shelf = (block.height() + APART).max(shelf);
    }
    let mut svg = new_drawing((paper, top + shelf));
    for (block, at) in placed {
        draw_block(&mut svg, topology, (block, block.load), at);
    }
    svg.finish()
}

/// An application around the middle and below the upper edge `at`, with a title from which the users come.
fn draw_block(svg: &mut Svg, topology: &TopologyRecord, (block, title): (&Block<'_>, &str), at: (f64, f64)) {
    let (middle, top) = at;
    let placed = block.place(middle, top);
    svg.text("part-name", (middle, top + 18.0), Anchor::Middle, title);
    // Users may reach the highest parts through an address that moves between them.
    let named = |box_: &PartBox<'_>| topology.fronts().any(|front| front == box_.drawn.part.name);
    let floats = !placed.iter().any(named);
    let is_front = |box_: &&PartBox<'_>| named(box_) || (floats && box_.y < top + HEAD + BOX.1);
    for first in placed.iter().filter(is_front) {
        svg.line("wire", (middle, top + 24.0), (first.middle(), first.y));
    }
    wires(svg, &placed);
    for box_ in &placed {
        let PartBox { drawn: Drawn { part, count }, name, x, y, width } = box_;
        let shown = if *count == 1 { &part.name } else { name };
        svg.begin_group(&format!("{shown}: {} {} on {}", part.service, part.version, part.host));
        svg.rect("part", (*x, *y), (*width, BOX.1));
        svg.text("part-name", (box_.middle(), y + 19.0), Anchor::Middle, name);
        svg.text("tick", (box_.middle(), y + 35.0), Anchor::Middle, &part.service);
        svg.end_group();
    }
}

/// Connections between parts. Within one level the line goes below the boxes.
fn wires(svg: &mut Svg, placed: &[PartBox<'_>]) {
    for from in placed {
        for to in placed.iter().filter(|to| from.drawn.part.uses.contains(&to.drawn.part.name)) {
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
    use super::super::tests::{part, topology};
    use super::*;

    #[test]
    fn the_drawing_has_a_box_for_each_part_and_a_line_for_each_use() {
        let svg = draw(&topology());
        assert_eq!(svg.matches("class=\"part\"").count(), 4);
        // Users to the front, web to two nodes, two nodes to the store.
        assert_eq!(svg.matches("class=\"wire\"").count(), 5);
    }

    #[test]
    fn a_box_is_as_wide_as_the_longest_name_needs() {
        let mut topology = topology();
        assert!(draw(&topology).contains(&format!("width=\"{:.1}\"", BOX.0)));
        topology.parts[0].name = "web-of-the-second-tile-1".to_owned();
        assert!(draw(&topology).contains("width=\"198.4\""));
    }

    #[test]
    fn parts_of_a_tier_that_do_not_fit_are_one_box() {
        let names: Vec<String> = (1..=400).map(|number| format!("node-{number}")).collect();
        let uses: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut parts = vec![part("web", 1, "nginx", &uses)];
        parts.extend((1..=400).map(|number| part("node", number, "shop", &["store-1"])));
        parts.push(part("store", 1, "PostgreSQL", &[]));
        let topology = TopologyRecord { parts, ..TopologyRecord::default() };
        let svg = draw(&topology);
        assert!(svg.contains(">400 x node</text>") && svg.contains("<title>400 x node: shop"), "{svg}");
        // Users to web, web to the nodes, the nodes to the store.
        assert_eq!((svg.matches("class=\"part\"").count(), svg.matches("class=\"wire\"").count()), (3, 3));
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

    /// Twenty applications of two levels each: none leaves the paper, and no box lies on another.
    #[test]
    fn several_applications_are_blocks_on_shelves() {
        let mut topology = TopologyRecord::default();
        for tile in 1..=4 {
            for member in ["orchard", "store", "social", "mail", "standby"] {
                let load = format!("{member}-{tile}");
                let names = ["front-1", "web-1", "web-2", "web-3"].map(|name| format!("{load}-{name}"));
                let uses: Vec<&str> = names[1..].iter().map(String::as_str).collect();
                for (at, name) in names.iter().enumerate() {
                    let of = part(
                        if at == 0 { "front" } else { "web" },
                        1,
                        "web store",
                        if at == 0 { &uses } else { &[] },
                    );
                    topology.parts.push(PartRecord { name: name.clone(), load: load.clone(), ..of });
                }
            }
        }
        let svg = draw(&topology);
        assert_eq!((svg.matches("class=\"part\"").count(), svg.matches(">web-3</text>").count()), (80, 20));
        assert!(svg.starts_with("<svg viewBox=\"0 0 1140 "), "{}", &svg[..60]);
        let number = |text: &str, key: &str| -> f64 {
            let rest = &text[text.find(key).unwrap() + key.len()..];
            rest[..rest.find('"').unwrap()].parse().unwrap()
        };
        let rects = svg.split("<rect class=\"part\"").skip(1);
        let boxes: Vec<[f64; 3]> =
            rects.map(|rect| [" x=\"", " y=\"", " width=\""].map(|key| number(rect, key))).collect();
        assert!(boxes.iter().all(|[x, _, width]| *x >= 0.0 && x + width <= PAPER), "{boxes:?}");
        for (at, [x, y, width]) in boxes.iter().enumerate() {
            let others = boxes[at + 1..].iter();
            assert!(others.clone().all(|[x2, y2, _]| (y - y2).abs() >= BOX.1 || (x - x2).abs() >= *width));
        }
    }
}

//! Use of the cores over time, as layers: by kind of use, and by user.

use barograph_record::{PartRecord, ProbeRow, Run};

use crate::chart::{Layer, StackedChart, TimeAxis};
use crate::html::{Figure, Grid, Key};
use crate::{topology, words};

/// Most instants of a figure: two pixels each.
const POINTS: usize = 200;

/// Most rows of the table beside a figure.
const TABLE_ROWS: usize = 30;

/// Most tiers with a layer of their own; the rest share one.
const MOST_TIERS: usize = 4;

/// Kinds of use with the CSS classes of their areas, from the bottom up.
const USES: [(&str, &str); 6] = [
    ("user", "u1"),
    ("system", "u2"),
    ("interrupts", "u3"),
    ("stolen", "u4"),
    ("disk wait", "u5"),
    ("idle", "u6"),
];

/// CSS classes of the areas of tiers.
const TIERS: [&str; MOST_TIERS] = ["l2", "l3", "l4", "l5"];

/// Values by layer over time, as cores; seconds from the start of the load.
pub(crate) struct Stack {
    /// Names and classes, from the bottom up.
    pub(crate) layers: Vec<(String, &'static str)>,
    pub(crate) rows: Vec<(f64, Vec<f64>)>,
    /// The upper end of the scale, if known beyond the layers.
    pub(crate) top: f64,
}

/// Id, title and description of a figure.
type Words<'a> = (&'a str, &'a str, String);

/// Both figures, as far as the record has their data.
pub(crate) fn figures(run: &Run, course: TimeAxis<'_>) -> Vec<Figure> {
    let by_use: Words<'_> = (
        "cpu-use",
        "CPU of the host by use",
        "Cores, on each other: in programs, in the kernel, in interrupts, taken away by a hypervisor (stolen), idle \
                while a disk worked (disk wait), idle. What was 0 all the time has no layer. Strips along the top: measured windows."
            .to_owned(),
    );
    let by_part: Words<'_> = (
        "cpu-parts",
        "CPU of the host by part",
        "Cores, on each other: the driver, the tiers of the application, and everything else on the host. Up to the \
                top of the scale the host was idle or stolen. Strips along the top: measured windows."
            .to_owned(),
    );
    let drawn = [(by_use, uses(run, course.span)), (by_part, parts(run, course.span))];
    drawn.into_iter().filter_map(|(say, cores)| Some(figure(say, course, &cores?))).collect()
}

/// The samples within a span of the load, by instant.
fn samples(run: &Run, span: (f64, f64)) -> impl Iterator<Item = (f64, &[ProbeRow])> {
    let start = run.load_start_s().unwrap_or(0.0);
    let together = run.probes.chunk_by(|a, b| a.at_s == b.at_s);
    let timed = together.filter_map(move |rows| Some((rows.first()?.at_s - start, rows)));
    timed.filter(move |(at, _)| (span.0..=span.1).contains(at))
}

fn host(rows: &[ProbeRow]) -> Option<&ProbeRow> {
    rows.iter().find(|row| row.subject == "host")
}

/// Use of all cores of the host, in the order of [`USES`]; `None` in older records, which lack the idle
/// share.
fn all_uses(host: &ProbeRow) -> Option<[f64; USES.len()]> {
    let (user, kernel, idle) = (host.cpu_user_cores?, host.cpu_system_cores?, host.cpu_idle_cores?);
    let (irq, disk) = (host.cpu_irq_cores.unwrap_or(0.0), host.cpu_iowait_cores.unwrap_or(0.0));
    // Recorded as a share of all cores, so the rest gives the stolen amount.
    let stolen = host.steal_share.filter(|share| (0.0..1.0).contains(share)).unwrap_or(0.0);
    let present = user + kernel + disk + idle;
    Some([user, (kernel - irq).max(0.0), irq, present * stolen / (1.0 - stolen), disk, idle])
}

fn uses(run: &Run, span: (f64, f64)) -> Option<Stack> {
    let rows = samples(run, span).filter_map(|(at, rows)| Some((at, all_uses(host(rows)?)?.to_vec())));
    let layers = USES.map(|(name, class)| (name.to_owned(), class)).to_vec();
    Stack { layers, rows: rows.collect(), top: 0.0 }.without_nothing()
}

/// The deployed tiers, in their order; drivers and jobs are left out.
fn tiers(run: &Run) -> Vec<String> {
    let mut tiers = Vec::new();
    for tier in services(run).map(tier) {
        if !tiers.contains(&tier) {
            tiers.push(tier);
        }
    }
    tiers
}

/// The tier of a part, with the load that deployed it if there are several.
fn tier(part: &PartRecord) -> String {
    if part.load.is_empty() { part.tier.clone() } else { format!("{} {}", part.load, part.tier) }
}

fn services(run: &Run) -> impl Iterator<Item = &PartRecord> {
    run.topology().into_iter().flat_map(topology::services)
}

fn parts(run: &Run, span: (f64, f64)) -> Option<Stack> {
    let mut tiers = tiers(run);
    // Without parts known by name, the application is one part.
    let whole = tiers.is_empty();
    if whole {
        tiers.push("application".to_owned());
    }
    let of_tier = |rows: &[ProbeRow], tier: &str| -> f64 {
        let belongs = |row: &&ProbeRow| match whole {
            true => row.subject == "app",
            false => services(run).any(|part| part.name == row.subject && self::tier(part) == tier),
        };
        rows.iter().filter(belongs).filter_map(ProbeRow::cores).sum()
    };
    let mut top = 0.0_f64;
    let mut rows = Vec::new();
    for (at, sample) in samples(run, span) {
        let Some((host, busy)) = host(sample).and_then(|host| Some((host, host.cores()?))) else { continue };
        let driver = sample.iter().find(|row| row.subject == "driver").and_then(ProbeRow::cores);
        let used = std::iter::once(driver.unwrap_or(0.0));
        let mut cores: Vec<f64> = used.chain(tiers.iter().map(|tier| of_tier(sample, tier))).collect();
        let known: f64 = cores.iter().sum();
        cores.push((busy - known).max(0.0));
        top = top.max(all_uses(host).map_or(0.0, |uses| uses.iter().sum()));
        rows.push((at, cores));
    }
    let names: Vec<&str> = tiers.iter().map(String::as_str).collect();
    grouped(&names, rows, top).without_nothing()
}

/// Layers for the driver, for the tiers with the highest use, for the other tiers together, and for the rest.
/// `rows` have the driver first, then each tier, then the rest.
fn grouped(tiers: &[&str], rows: Vec<(f64, Vec<f64>)>, top: f64) -> Stack {
    let total = |tier: usize| rows.iter().map(|(_, cores)| cores[tier + 1]).sum::<f64>();
    let mut by_use: Vec<usize> = (0..tiers.len()).collect();
    by_use.sort_by(|a, b| total(*b).total_cmp(&total(*a)));
    let others = by_use.split_off(by_use.len().min(MOST_TIERS));
    let mut shown = by_use;
    shown.sort_unstable();
    let group = |cores: Vec<f64>| {
        let mut layers = vec![cores[0]];
        layers.extend(shown.iter().map(|tier| cores[tier + 1]));
        layers.extend([others.iter().map(|tier| cores[tier + 1]).sum::<f64>(), cores[tiers.len() + 1]]);
        layers
    };
    let mut layers = vec![("driver".to_owned(), "l1")];
    layers.extend(shown.iter().zip(TIERS).map(|(tier, class)| (tiers[*tier].to_owned(), class)));
    layers.extend([("other tiers".to_owned(), "l6"), ("everything else".to_owned(), "l7")]);
    let rows = rows.into_iter().map(|(at, cores)| (at, group(cores))).collect();
    Stack { layers, rows, top }
}

impl Stack {
    /// Drops layers that are always 0; `None` if nothing is left to draw.
    pub(crate) fn without_nothing(self) -> Option<Self> {
        let used: Vec<bool> = (0..self.layers.len())
            .map(|layer| self.rows.iter().any(|(_, cores)| cores[layer] > 0.0))
            .collect();
        let keep = |cores: Vec<f64>| cores.into_iter().zip(&used).filter(|(_, used)| **used).map(|(c, _)| c);
        let rows: Vec<_> = self.rows.into_iter().map(|(at, cores)| (at, keep(cores).collect())).collect();
        let layers: Vec<_> =
            self.layers.into_iter().zip(&used).filter(|(_, used)| **used).map(|(l, _)| l).collect();
        // An area needs two instants.
        (rows.len() > 1 && !layers.is_empty()).then_some(Stack { layers, rows, top: self.top })
    }

    /// Means of neighbouring instants, so that at most `most` are left.
    fn thinned(&self, most: usize) -> Vec<(f64, Vec<f64>)> {
        let together = self.rows.len().div_ceil(most).max(1);
        let join = |some: &[(f64, Vec<f64>)]| {
            let n = some.len() as f64;
            let layer = |at: usize| some.iter().map(|(_, cores)| cores[at]).sum::<f64>() / n;
            let at = some.iter().map(|(at, _)| at).sum::<f64>() / n;
            (at, (0..self.layers.len()).map(layer).collect())
        };
        self.rows.chunks(together).map(join).collect()
    }
}

/// Draws the layers.
pub(crate) fn figure((id, title, about): Words<'_>, course: TimeAxis<'_>, cores: &Stack) -> Figure {
    let rows = cores.thinned(POINTS);
    let times: Vec<f64> = rows.iter().map(|(at, _)| *at).collect();
    let layer = |(at, (name, class)): (usize, &(String, &'static str))| Layer {
        name: name.clone(),
        class,
        values: rows.iter().map(|(_, cores)| cores[at]).collect(),
    };
    let layers: Vec<Layer> = cores.layers.iter().enumerate().map(layer).collect();
    let top = cores.top;
    let chart = StackedChart { id, title, about: &about, course, times: &times, layers: &layers, top };
    let svg = chart.draw();
    let keys = cores.layers.iter().map(|(name, class)| Key::area(name, &format!("area {class}")));
    Figure {
        id: id.to_owned(),
        title: title.to_owned(),
        svg,
        keys: keys.collect(),
        table: table(cores),
        about,
    }
}

fn table(cores: &Stack) -> Grid {
    let rows = cores.thinned(TABLE_ROWS).into_iter().map(|(at, cores)| {
        std::iter::once(words::clock(at)).chain(cores.into_iter().map(|c| words::fixed(c, 2))).collect()
    });
    let names = cores.layers.iter().map(|(name, _)| name.as_str());
    let head: Vec<&str> = std::iter::once("Time").chain(names).collect();
    Grid::new(&head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_the_host_add_up_to_its_cores() {
        let row = ProbeRow {
            cpu_user_cores: Some(1.0),
            cpu_system_cores: Some(0.5),
            cpu_irq_cores: Some(0.125),
            cpu_iowait_cores: Some(0.0),
            cpu_idle_cores: Some(1.5),
            steal_share: Some(0.25),
            ..ProbeRow::default()
        };
        assert_eq!(all_uses(&row), Some([1.0, 0.375, 0.125, 1.0, 0.0, 1.5]));
        assert_eq!(all_uses(&ProbeRow { cpu_idle_cores: None, ..row.clone() }), None, "an older record");
        let none_left = ProbeRow { steal_share: Some(1.0), ..row };
        assert_eq!(all_uses(&none_left).unwrap()[3], 0.0);
    }

    fn cores(rows: &[(f64, &[f64])]) -> Vec<(f64, Vec<f64>)> {
        rows.iter().map(|(at, cores)| (*at, cores.to_vec())).collect()
    }

    #[test]
    fn small_tiers_are_one_layer_and_nothing_is_none() {
        let tiers = ["web", "application", "bus", "relational", "events", "address"];
        let rows = cores(&[
            (1.0, &[0.5, 0.25, 1.0, 0.125, 0.75, 0.5, 0.0, 0.25]),
            (2.0, &[0.5, 0.25, 1.0, 0.125, 0.75, 0.5, 0.0, 0.75]),
        ]);
        let found = grouped(&tiers, rows, 4.0).without_nothing().unwrap();
        let names: Vec<&str> = found.layers.iter().map(|(name, _)| name.as_str()).collect();
        let expected =
            ["driver", "web", "application", "relational", "events", "other tiers", "everything else"];
        assert_eq!(names, expected);
        assert_eq!(found.rows[1], (2.0, vec![0.5, 0.25, 1.0, 0.75, 0.5, 0.125, 0.75]));
        assert_eq!(found.thinned(1), [(1.5, vec![0.5, 0.25, 1.0, 0.75, 0.5, 0.125, 0.5])]);
        let idle = Stack {
            layers: vec![("driver".to_owned(), "l1")],
            rows: cores(&[(1.0, &[0.0]), (2.0, &[0.0])]),
            top: 2.0,
        };
        assert!(idle.without_nothing().is_none());
    }
}

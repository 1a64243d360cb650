//! Response time by percentile, a line for each configuration, on a scale of nines.

use barograph_record::{LineRecord, PercentilesRecord, QuantileRecord};

use super::bars::shortened;
use crate::chart::{Anchor, Scale, Svg, spread};
use crate::html::Grid;
use crate::percentile_chart::{BOTTOM, HEIGHT, LEFT, LOOKS, RIGHT, TOP, WIDTH, axes, nines};
use crate::words;

/// Largest ratio of a limit to all times with which it is drawn; one further away is given in words, as it
/// would press all lines together.
const NEAR: f64 = 10.0;

/// Shares of longer operations in the table: p50 to p99.99.
const LONGER: [f64; 6] = [0.5, 0.1, 0.05, 0.01, 0.001, 0.0001];

/// Explanation of the figure.
pub(super) fn lede(of: &PercentilesRecord) -> String {
    let mut text = "Lines are medians of the valid runs, shaded is the 95 % interval of that median, which six runs have at \
                    the least. Each nine to the right is ten times rarer, and a line ends where the run with the fewest \
                    operations does."
        .to_owned();
    if of.lines.len() > LOOKS.len() {
        text +=
            &format!(" The first {} are drawn, and all are in the table.", words::count(LOOKS.len() as u64));
    }
    text += " Shades do not pair what one block has in common: whether configurations differ is said by the ratios.";
    let lines = drawn(of);
    for (quantile, limit) in limits(lines).into_iter().filter(|limit| !is_near(lines, limit.1)) {
        let side = if limit > ends(lines).1 { "above" } else { "below" };
        text +=
            &format!(" The limit of {} at {} is far {side}.", words::time(limit), words::quantile(quantile));
    }
    text
}

/// The figure.
pub(super) fn draw(id: &str, of: &PercentilesRecord) -> String {
    let lines = drawn(of);
    let about = "A line for each configuration, from its shortest response time on the left to its rarest on the right.";
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title(of), about);
    let most = points(lines).map(|point| nines(1.0 - point.longer)).fold(1.0, f64::max);
    let x = Scale::linear((0.0, most), (LEFT, RIGHT));
    let (low, high) = ends(lines);
    let near: Vec<(f64, f64)> =
        limits(lines).into_iter().filter(|(_, limit)| is_near(lines, *limit)).collect();
    let (low, high) =
        near.iter().fold((low, high), |(low, high), (_, limit)| (low.min(*limit), high.max(*limit)));
    let y = Scale::log((low * 0.8, high * 1.25), (BOTTOM, TOP));
    axes(&mut svg, &x, &y, most);
    let place = |point: &QuantileRecord, ms: f64| Some((x.at(nines(1.0 - point.longer))?, y.at(ms)?));
    for (line, (class, _)) in lines.iter().zip(LOOKS) {
        let above = line.points.iter().map(|point| place(point, point.high));
        let below = line.points.iter().rev().map(|point| place(point, point.low));
        let edge: Vec<(f64, f64)> = above.chain(below).flatten().collect();
        if !edge.is_empty() {
            svg.polygon(&format!("median-band {class}"), &edge);
        }
    }
    for (quantile, limit) in near {
        let (Some(height), Some(end)) = (y.at(limit), x.at(nines(quantile))) else { continue };
        svg.line("limit", (LEFT, height), (end, height));
        let words = format!("limit {} at {}", words::time(limit), words::quantile(quantile));
        svg.text("limit-name", (LEFT + 8.0, height - 5.0), Anchor::Start, &words);
    }
    for (line, (class, dash)) in lines.iter().zip(LOOKS) {
        svg.begin_group(&line.configuration);
        let points = line.points.iter().map(|point| place(point, point.ms));
        svg.path(&format!("series {class}{}", dash.class()), points);
        svg.end_group();
    }
    let of_end = |line: &LineRecord| line.points.last().and_then(|point| place(point, point.ms));
    let named: Vec<(&LineRecord, (f64, f64))> =
        lines.iter().filter_map(|line| Some((line, of_end(line)?))).collect();
    let heights: Vec<f64> = named.iter().map(|(_, end)| end.1).collect();
    for ((line, end), height) in named.into_iter().zip(spread(&heights, 14.0, (TOP, BOTTOM))) {
        svg.line("leader", end, (RIGHT + 12.0, height));
        svg.text(
            "point-name",
            (RIGHT + 16.0, height + 4.0),
            Anchor::Start,
            &shortened(&line.configuration, LONGEST_NAME),
        );
    }
    svg.finish()
}

/// Most letters of a name at the end of a line.
const LONGEST_NAME: usize = 26;

pub(super) fn title(of: &PercentilesRecord) -> String {
    format!("Response time of {} by percentile", of.op)
}

/// A row for each configuration, with the quantiles that any of them reaches.
pub(super) fn table(of: &PercentilesRecord) -> Grid {
    let at = |line: &LineRecord, longer: f64| {
        line.points.iter().find(|point| (point.longer / longer - 1.0).abs() < 1e-9).copied()
    };
    let reached = |longer: &f64| of.lines.iter().any(|line| at(line, *longer).is_some());
    let shown: Vec<f64> = LONGER.into_iter().filter(reached).collect();
    let rows = of.lines.iter().map(|line| {
        let told = |longer: &f64| at(line, *longer).map_or_else(|| words::NONE.to_owned(), in_words);
        let mut row = vec![line.configuration.clone(), line.runs.to_string()];
        row.extend(shown.iter().map(told));
        row
    });
    let names: Vec<String> = shown.iter().map(|longer| words::quantile(1.0 - longer)).collect();
    let head: Vec<&str> =
        ["configuration", "runs"].into_iter().chain(names.iter().map(String::as_str)).collect();
    Grid::new(&head, rows.collect())
}

fn in_words(point: QuantileRecord) -> String {
    if !(point.low.is_finite() && point.high.is_finite()) {
        return words::time(point.ms);
    }
    format!("{} ({} – {})", words::time(point.ms), words::time(point.low), words::time(point.high))
}

/// The drawn lines: more would hide each other.
fn drawn(of: &PercentilesRecord) -> &[LineRecord] {
    &of.lines[..of.lines.len().min(LOOKS.len())]
}

fn points(lines: &[LineRecord]) -> impl Iterator<Item = &QuantileRecord> {
    lines.iter().flat_map(|line| &line.points)
}

/// The shortest and the longest time of all lines.
fn ends(lines: &[LineRecord]) -> (f64, f64) {
    let times = || points(lines).flat_map(|point| [point.low, point.ms, point.high]);
    let known = || times().filter(|ms| ms.is_finite() && *ms > 0.0);
    (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max))
}

fn is_near(lines: &[LineRecord], limit: f64) -> bool {
    let (low, high) = ends(lines);
    (low / NEAR..=high * NEAR).contains(&limit)
}

/// Quantile and limit of each rule, once.
fn limits(lines: &[LineRecord]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for limit in lines.iter().filter_map(|line| line.limit) {
        if !all.contains(&limit) {
            all.push(limit);
        }
    }
    all
}

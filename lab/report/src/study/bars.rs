//! Normalised bars: each configuration over its baseline, with the 95 % interval as whiskers.

use barograph_record::{FindingRecord, MetricRecord, RowRecord};

use crate::chart::{Anchor, Scale, Svg};
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 860.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 230.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = 640.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 34.0;
/// Height of a row, in pixels.
const ROW: f64 = 30.0;
/// Height of a bar, in pixels.
const BAR: f64 = 14.0;
/// Distance of the dots of single pairs below the middle of their bar, in pixels.
const DOTS: f64 = 11.0;

/// Most letters of a name beside a bar.
const LONGEST_NAME: usize = 34;

/// Largest ratio, or its inverse, on an even axis; beyond it the axis is logarithmic, since small bars beside
/// the large would be lost.
const WIDE: f64 = 5.0;

/// The figure of a metric.
pub(super) fn draw(id: &str, metric: &MetricRecord) -> String {
    let height = TOP + ROW * metric.rows.len() as f64 + 40.0;
    let bottom = height - 40.0;
    let title = format!("{} over the baseline", metric.called());
    let about = "A bar for each configuration, its 95 % interval as a whisker, and a dot for each pair; the line at 1 is the \
                 baseline.";
    let (x, begin) = axis(metric);
    let mut svg = Svg::new(id, (WIDTH, height), &title, about);
    for tick in x.ticks(6) {
        let Some(at) = x.at(tick) else { continue };
        svg.line("grid", (at, TOP), (at, bottom));
        svg.text("tick", (at, bottom + 17.0), Anchor::Middle, &words::figure(tick));
    }
    let mut band = |class: &str, share: f64, meaning: &str| {
        if let (Some(from), Some(to)) = (x.at(1.0 / (1.0 + share)), x.at(1.0 + share)) {
            svg.begin_group(meaning);
            svg.rect(class, (from, TOP), (to - from, bottom - TOP));
            svg.end_group();
        }
    };
    if let Some(floor) = metric.noise_floor.filter(|floor| *floor > metric.margin) {
        band("noise", floor, "so little may be noise");
    }
    band("same", metric.margin, "so little counts as the same");
    for (at, row) in metric.rows.iter().enumerate() {
        bar(&mut svg, (&x, begin), row, TOP + ROW * (at as f64 + 0.5));
    }
    if let Some(one) = x.at(1.0) {
        svg.line("axis", (one, TOP - 6.0), (one, bottom));
    }
    let better = if metric.more_is_better { "better →" } else { "← better" };
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), TOP - 14.0), Anchor::Middle, better);
    let how = if begin > 0.0 { ", logarithmic" } else { "" };
    let axis = format!("{} over its baseline{how}", metric.called());
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), height - 6.0), Anchor::Middle, &axis);
    svg.finish()
}

/// The larger of margin and noise floor: larger differences count.
fn widest(metric: &MetricRecord) -> f64 {
    metric.noise_floor.map_or(metric.margin, |floor| floor.max(metric.margin))
}

/// The axis, and the ratio at which bars begin: zero, or on a logarithmic axis, which has no zero, the
/// baseline.
fn axis(metric: &MetricRecord) -> (Scale, f64) {
    let of_row = |row: &RowRecord| [row.ratio, row.low, row.high].into_iter().chain(row.ratios.clone());
    let ends = metric.rows.iter().flat_map(of_row);
    let known: Vec<f64> = ends.filter(|end| end.is_finite() && *end > 0.0).collect();
    let high = known.iter().copied().fold(1.0 + widest(metric), f64::max);
    let low = known.iter().copied().fold(1.0 / (1.0 + widest(metric)), f64::min);
    if high < WIDE && low > 1.0 / WIDE {
        return (Scale::linear((0.0, high * 1.06), (LEFT, RIGHT)), 0.0);
    }
    (Scale::log((low / 1.2, high * 1.2), (LEFT, RIGHT)), 1.0)
}

/// CSS class of a bar, besides the mark and the word at its end.
fn class(finding: FindingRecord) -> &'static str {
    match finding {
        FindingRecord::Baseline => "bar baseline",
        FindingRecord::Better => "bar better",
        FindingRecord::Worse => "bar worse",
        FindingRecord::Equivalent => "bar equivalent",
        FindingRecord::Undecided => "bar undecided",
    }
}

fn bar(svg: &mut Svg, (x, begin): (&Scale, f64), row: &RowRecord, middle: f64) {
    let is_baseline = row.finding == FindingRecord::Baseline;
    let (n, noun) = if is_baseline { (row.runs, "run") } else { (row.pairs, "pair") };
    let rests_on = words::counted(n.into(), noun);
    svg.text(
        "bar-name",
        (LEFT - 10.0, middle + 4.0),
        Anchor::End,
        &shortened(&row.configuration, LONGEST_NAME),
    );
    svg.begin_group(&format!("{}: {} against {}", row.configuration, row.finding.name(), row.baseline));
    if let (Some(from), Some(to)) = (x.at(begin), x.at(row.ratio)) {
        svg.rect(class(row.finding), (from.min(to), middle - BAR / 2.0), ((to - from).abs(), BAR));
    }
    if let (false, Some(from), Some(to)) = (is_baseline, x.at(row.low), x.at(row.high)) {
        svg.line("whisker", (from, middle), (to, middle));
        for end in [from, to] {
            svg.line("whisker", (end, middle - 5.0), (end, middle + 5.0));
        }
    }
    for at in row.ratios.iter().filter_map(|ratio| x.at(*ratio)) {
        svg.circle("pair", (at, middle + DOTS), 1.9);
    }
    svg.end_group();
    let ratio = if is_baseline { "1".to_owned() } else { words::fixed(row.ratio, 2) };
    let words = format!("{ratio}  {} {}  {rests_on}", words::mark(row.finding), row.finding.name());
    svg.text("bar-word", (RIGHT + 14.0, middle + 4.0), Anchor::Start, &words);
}

/// The name, cut to at most `longest` letters.
pub(super) fn shortened(name: &str, longest: usize) -> String {
    if name.chars().count() <= longest {
        return name.to_owned();
    }
    name.chars().take(longest - 1).chain(['…']).collect()
}

//! Response time by percentile on a scale of nines: 90 %, 99 %, 99.9 % ... lie equally far apart, so that the
//! tail has as much room as everything below it.

use barograph_record::{OpRecord, Run};
use barograph_stats::Histogram;

use crate::chart::{Anchor, Dash, Scale, Svg, YAxis, spread};
use crate::deciding::DecidingWindow;
use crate::html::{Figure, Grid, Key};
use crate::words;

/// Width of the drawing, in pixels.
pub(crate) const WIDTH: f64 = 1140.0;
/// Height of the drawing, in pixels.
pub(crate) const HEIGHT: f64 = 420.0;
/// Left end of the plot, in pixels.
pub(crate) const LEFT: f64 = 66.0;
/// Right end of the plot, with room for the names of operations.
pub(crate) const RIGHT: f64 = WIDTH - 190.0;
/// Upper end of the plot.
pub(crate) const TOP: f64 = 14.0;
/// Lower end of the plot.
pub(crate) const BOTTOM: f64 = HEIGHT - 46.0;

/// Colours and dashes of the lines; more lines would hide each other.
pub(crate) const LOOKS: [(&str, Dash); 6] = [
    ("c1", Dash::Solid),
    ("c2", Dash::Dashed),
    ("c3", Dash::Dotted),
    ("c4", Dash::Solid),
    ("c2", Dash::Solid),
    ("c1", Dash::Dotted),
];

/// Points of a line in one nine.
const STEPS: u32 = 20;

/// Fewest operations above a quantile that give it more than chance precision.
const ENOUGH: f64 = 10.0;

/// Quantiles of the table.
const QUANTILES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// One operation of the window.
struct OperationCurve<'a> {
    op: &'a OpRecord,
    times: &'a Histogram,
    /// The quantile it is judged by.
    quantile: f64,
}

impl OperationCurve<'_> {
    fn ms(&self, quantile: f64) -> f64 {
        self.times.value_at_quantile(quantile) as f64 / 1e3
    }

    /// Number of nines at which the largest time lies, one of all operations.
    fn most(&self) -> f64 {
        (self.times.len() as f64).log10()
    }
}

/// A share as its nines: 0.9 is 1, 0.99 is 2.
pub(crate) fn nines(share: f64) -> f64 {
    -(1.0 - share).max(f64::MIN_POSITIVE).log10()
}

fn share(nines: f64) -> f64 {
    1.0 - 10f64.powf(-nines)
}

/// A share of `nines` nines in words: `90 %`, `99 %`, `99.9 %`.
fn tick_word(nines: u32) -> String {
    match nines {
        0 => "0 %".to_owned(),
        1 => "90 %".to_owned(),
        n => format!("{:.*} %", n as usize - 2, 100.0 - 100.0 * 10f64.powi(-(n as i32))),
    }
}

/// The figure and its table; `None` without times of a window.
pub(crate) fn figure(run: &Run, deciding: Option<&DecidingWindow>) -> Option<Figure> {
    let all = lines(run, deciding?)?;
    let room = all.iter().filter(|line| line.op.limit_share().is_some()).count();
    // Without operations judged by time, the most frequent ones are shown.
    let drawn = &all[..LOOKS.len().min(if room == 0 { all.len() } else { room })];
    let left_out = if drawn.len() < room { ", the six with the least room to their limit" } else { "" };
    let about = format!(
        "Operations judged by time{left_out}. Each nine to the right is ten times rarer; a line ends at its largest time and \
         is faint where fewer than {ENOUGH} operations took longer. A limit reaches as far as the quantile it is for, and \
         the circle is there. All operations are in the table."
    );
    let title = "Response time by percentile";
    let keys = drawn.iter().zip(LOOKS).map(|(line, (class, dash))| Key::line(&line.op.op, class, dash));
    Some(Figure {
        id: "nines".to_owned(),
        title: title.to_owned(),
        svg: draw(drawn, title, &about),
        keys: keys.collect(),
        table: table(&all),
        about,
    })
}

/// The operations that ended in the window, those nearest to their limit first.
fn lines<'a>(run: &'a Run, deciding: &'a DecidingWindow) -> Option<Vec<OperationCurve<'a>>> {
    let rules = run.expected().map_or(&[][..], |expected| &expected.rules);
    let line = |op: &'a OpRecord| {
        let times = deciding.ops.get(&op.op).filter(|times| !times.is_empty())?;
        let rule = rules.iter().find(|rule| rule.op == op.op);
        Some(OperationCurve { op, times, quantile: rule.map_or(0.99, |rule| rule.quantile) })
    };
    let mut lines: Vec<OperationCurve<'_>> =
        run.deciding_trial()?.window.ops.iter().filter_map(line).collect();
    let used = |line: &OperationCurve<'_>| line.op.limit_share().unwrap_or(-1.0);
    lines.sort_by(|a, b| used(b).total_cmp(&used(a)).then(b.times.len().cmp(&a.times.len())));
    (!lines.is_empty()).then_some(lines)
}

fn draw(lines: &[OperationCurve<'_>], title: &str, about: &str) -> String {
    let mut svg = Svg::new("nines", (WIDTH, HEIGHT), title, about);
    let most = lines.iter().map(OperationCurve::most).fold(2.0, f64::max);
    let x = Scale::linear((0.0, most), (LEFT, RIGHT));
    let limits = lines.iter().filter_map(|line| line.op.limit_ms);
    let high = lines.iter().map(|line| line.ms(1.0)).chain(limits).fold(0.0, f64::max);
    let low = lines.iter().map(|line| line.ms(0.0)).filter(|ms| *ms > 0.0).fold(high, f64::min);
    let y = Scale::log((low * 0.8, high * 1.4), (BOTTOM, TOP));
    axes(&mut svg, &x, &y, most);
    draw_limits(&mut svg, &x, &y, lines);
    for (line, (class, dash)) in lines.iter().zip(LOOKS) {
        draw_line(&mut svg, (&x, &y), line, &format!("series {class}{}", dash.class()));
    }
    name_lines(&mut svg, &x, &y, lines);
    svg.finish()
}

/// Times upwards by their logarithm, and shares to the right up to `most` nines.
pub(crate) fn axes(svg: &mut Svg, x: &Scale, y: &Scale, most: f64) {
    let ticked = |tick| Some((y.at(tick)?, YAxis::LogTime.tick(tick)));
    svg.grid((LEFT, RIGHT), y.ticks(7).into_iter().filter_map(ticked));
    svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    let whole = (0..=most as u32).map(|nines| (f64::from(nines), tick_word(nines)));
    for (nines, word) in whole.chain([(nines(0.5), "50 %".to_owned())]) {
        let Some(at) = x.at(nines) else { continue };
        svg.line("grid", (at, TOP), (at, BOTTOM));
        svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
        svg.text("tick", (at, BOTTOM + 18.0), Anchor::Middle, &word);
    }
    let words = "share of the operations that took at most so long";
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0), Anchor::Middle, words);
}

/// The line up to the last quantile with enough operations, then the rest of it, faint.
fn draw_line(svg: &mut Svg, (x, y): (&Scale, &Scale), line: &OperationCurve<'_>, class: &str) {
    let most = line.most();
    let sure = (line.times.len() as f64 / ENOUGH).log10().max(0.0);
    let steps = (0..).map(|step| f64::from(step) / f64::from(STEPS));
    let inner: Vec<f64> = steps.take_while(|nines| *nines < most).collect();
    let place = |nines: f64| {
        let quantile = if nines >= most { 1.0 } else { share(nines) };
        Some((x.at(nines)?, y.at(line.ms(quantile))?))
    };
    svg.begin_group(&line.op.op);
    let before = inner.iter().copied().filter(|nines| *nines < sure).chain([sure]);
    svg.path(class, before.map(place));
    let after = inner.iter().copied().filter(|nines| *nines > sure);
    svg.path(&format!("{class} few"), std::iter::once(sure).chain(after).chain([most]).map(place));
    svg.end_group();
    let (Some(limit), judged) = (line.op.limit_ms, nines(line.quantile)) else { return };
    if let (true, Some(at)) = (judged <= most, place(judged)) {
        svg.begin_group(&format!(
            "{}: {} {}, limit {}",
            line.op.op,
            words::quantile(line.quantile),
            words::time(line.op.judged_ms),
            words::time(limit)
        ));
        svg.circle("judged", at, 4.0);
        svg.end_group();
    }
}

/// Each limit once, up to its quantile.
fn draw_limits(svg: &mut Svg, x: &Scale, y: &Scale, lines: &[OperationCurve<'_>]) {
    let mut limits: Vec<(f64, f64, Vec<&str>)> = Vec::new();
    for line in lines {
        let Some(limit) = line.op.limit_ms else { continue };
        match limits.iter_mut().find(|(known, quantile, _)| (*known, *quantile) == (limit, line.quantile)) {
            Some((.., ops)) => ops.push(line.op.op.as_str()),
            None => limits.push((limit, line.quantile, vec![line.op.op.as_str()])),
        }
    }
    let heights: Vec<f64> = limits.iter().filter_map(|(limit, ..)| y.at(*limit)).collect();
    let places = spread(&heights, 13.0, (TOP + 6.0, BOTTOM));
    for (((limit, quantile, ops), height), place) in limits.iter().zip(heights).zip(places) {
        let Some(end) = x.at(nines(*quantile)) else { continue };
        svg.begin_group(&ops.join(", "));
        svg.line("limit", (LEFT, height), (end, height));
        let words = format!("limit {} at {}", words::time(*limit), words::quantile(*quantile));
        svg.text("limit-name", (end + 8.0, place + 4.0), Anchor::Start, &words);
        svg.end_group();
    }
}

/// Names the lines on the right, each with a thin line from its end.
fn name_lines(svg: &mut Svg, x: &Scale, y: &Scale, lines: &[OperationCurve<'_>]) {
    let ends: Vec<(f64, f64)> =
        lines.iter().filter_map(|line| Some((x.at(line.most())?, y.at(line.ms(1.0))?))).collect();
    let heights: Vec<f64> = ends.iter().map(|end| end.1).collect();
    for ((line, end), place) in lines.iter().zip(&ends).zip(spread(&heights, 14.0, (TOP, BOTTOM))) {
        svg.line("leader", *end, (RIGHT + 12.0, place));
        svg.text("point-name", (RIGHT + 16.0, place + 4.0), Anchor::Start, &line.op.op);
    }
}

/// Whether `times` is large enough for this quantile: at least one time must lie above it.
fn reaches(times: &Histogram, quantile: f64) -> bool {
    // Rounding is allowed for shares without an exact binary form.
    times.len() as f64 * (1.0 - quantile) > 1.0 - 1e-6
}

fn table(lines: &[OperationCurve<'_>]) -> Grid {
    let shown: Vec<f64> =
        QUANTILES.into_iter().filter(|q| lines.iter().any(|line| reaches(line.times, *q))).collect();
    let rows = lines.iter().map(|line| {
        let time = |q: &f64| {
            if reaches(line.times, *q) { words::time(line.ms(*q)) } else { words::NONE.to_owned() }
        };
        let mut row = vec![line.op.op.clone(), words::count(line.times.len())];
        row.extend(shown.iter().map(time));
        row.push(words::time(line.ms(1.0)));
        row.push(line.op.limit_ms.map_or_else(
            || words::NONE.to_owned(),
            |limit| format!("{} at {}", words::time(limit), words::quantile(line.quantile)),
        ));
        row
    });
    let names: Vec<String> = shown.iter().map(|q| words::quantile(*q)).collect();
    let head = ["Operation", "Count"].into_iter().chain(names.iter().map(String::as_str));
    let head: Vec<&str> = head.chain(["Max", "Limit"]).collect();
    Grid::new(&head, rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_nines_and_back() {
        for (part, expected) in [(0.0, 0.0), (0.9, 1.0), (0.99, 2.0), (0.999, 3.0)] {
            assert!((nines(part) - expected).abs() < 1e-9 && (share(expected) - part).abs() < 1e-9, "{part}");
        }
        assert!(nines(1.0).is_finite());
        let ticks: Vec<String> = (0..7).map(tick_word).collect();
        assert_eq!(ticks.join(" "), "0 % 90 % 99 % 99.9 % 99.99 % 99.999 % 99.9999 %");
    }

    #[test]
    fn a_quantile_needs_an_operation_above_it() {
        let mut times = barograph_stats::Histogram::new(3).unwrap();
        times.record_n(1_000, 999).unwrap();
        assert!(reaches(&times, 0.99) && !reaches(&times, 0.999));
        times.record(2_000).unwrap();
        assert!(reaches(&times, 0.999) && !reaches(&times, 0.9999));
    }
}

//! Response time against load: every trial as a point, the first ramp as faint dots, the limit as a line; beside
//! it the edge, enlarged.

use barograph_model::Level;
use barograph_record::{OpRecord, ResultRecord, Run, Trial, UnitRecord};
use barograph_stats::compare::IntervalEstimate;

use crate::chart::{Anchor, Scale, Svg};
use crate::html::{Grid, Key};
use crate::series::RunSeries;
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 1140.0;
/// Height of the drawing, in pixels.
const HEIGHT: f64 = 420.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 66.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 14.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 26.0;
/// Lower end of the plot, in pixels.
const BOTTOM: f64 = HEIGHT - 52.0;

/// The end of the whole curve and the begin of the enlarged edge, in pixels.
const SPLIT: (f64, f64) = (640.0, 724.0);

/// Largest range of the edge's trials, as a part of the whole scale, with which the edge is enlarged: a wider
/// one is visible anyway.
const EDGE_PART: f64 = 0.35;

/// Distance from the answer, as a part of it, within which levels belong to the edge.
const EDGE_REACH: f64 = 0.06;

/// The figure and its table.
pub(crate) struct Curve {
    pub(crate) svg: String,
    /// Legend of the shaded area, if there is one.
    pub(crate) shaded: Option<Key>,
    pub(crate) table: Grid,
}

/// A trial with the operation nearest to its limit.
struct Point<'a> {
    trial: &'a Trial,
    op: &'a OpRecord,
    share: f64,
}

/// One system of axes on the paper.
struct Panel {
    px: (f64, f64),
    x: Scale,
    y: Scale,
}

/// The operation nearest to (or farthest over) its limit.
pub(crate) fn worst(trial: &Trial) -> Option<(&OpRecord, f64)> {
    let shares = trial.window.ops.iter().filter_map(|op| Some((op, op.limit_share()?)));
    shares.filter(|(_, share)| share.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The heading of a column of loads.
pub(crate) fn load_name(unit: UnitRecord) -> &'static str {
    match unit {
        UnitRecord::Users => "Users",
        UnitRecord::StartsPerSecond => "Starts/s",
        UnitRecord::Percent => "Scale, %",
    }
}

/// The interval of the capacity, with its name; `None` if it has none.
fn believed(run: &Run) -> Option<(IntervalEstimate, &'static str)> {
    let believed = run.believed_capacity()?;
    let name = match believed.high.is_finite() {
        true => "95 % interval of the capacity",
        false => "where the capacity lies, with 97.5 % certainty",
    };
    Some((believed, name))
}

/// Draws the curve of `run`; `None` if there is nothing to show.
pub(crate) fn draw(run: &Run, measured: &RunSeries) -> Option<Curve> {
    let points: Vec<Point<'_>> =
        run.trials().filter_map(|trial| worst(trial).map(|(op, share)| Point { trial, op, share })).collect();
    if points.is_empty() && measured.ramp.is_empty() {
        return None;
    }
    let mut svg = Svg::new(
        "curve",
        (WIDTH, HEIGHT),
        &format!("Response time against {}", run.unit().name()),
        "Each point is a trial: its load, and how much of its limit the slowest judged operation used. Above the \
         line at 100 % the response-time rule is broken.",
    );
    let most = points.iter().map(|p| p.trial.level).chain(measured.ramp.iter().map(|p| p.level.into())).max();
    let top = f64::from(most.unwrap_or(Level::from(1))) * 1.06;
    let edge = edge(run, &points, top);
    let right = if edge.is_some() { SPLIT.0 } else { RIGHT };
    let whole = Panel::new((0.0, top), shares(&points, measured, (0.0, f64::MAX)), (LEFT, right));
    whole.draw(&mut svg, run, measured, &points);
    svg.text(
        "axis-name",
        (4.0, 13.0),
        Anchor::Start,
        "share of the limit used by the slowest judged operation",
    );
    if let Some(range) = edge {
        let panel = Panel::new(range, shares(&points, measured, range), (SPLIT.1, RIGHT));
        let near: Vec<Point<'_>> =
            points.iter().filter(|p| within(p.trial.level, range)).map(|p| Point { ..*p }).collect();
        panel.draw(&mut svg, run, measured, &near);
        panel.number(&mut svg, &near);
        svg.text("axis-name", (SPLIT.1, 13.0), Anchor::Start, "the edge, enlarged");
    } else {
        whole.number(&mut svg, &points);
    }
    let shaded = believed(run).map(|(_, name)| Key::area(name, "believed"));
    Some(Curve { svg: svg.finish(), shaded, table: table(run, &points) })
}

fn within(level: Level, range: (f64, f64)) -> bool {
    (range.0..=range.1).contains(&f64::from(level))
}

/// Range of the share of the limit used, over the loads in `range`.
fn shares(points: &[Point<'_>], measured: &RunSeries, range: (f64, f64)) -> (f64, f64) {
    let trials = points.iter().map(|p| (p.trial.level, p.share));
    let ramp = measured.ramp.iter().map(|p| (p.level.into(), p.ratio));
    let inside = trials.chain(ramp).filter(|(level, share)| within(*level, range) && *share > 0.0);
    inside.fold((0.5, 1.0), |(low, high): (f64, f64), (_, share)| (low.min(share), high.max(share)))
}

/// The range of load to enlarge: around the answer, if at least three trials lie there.
fn edge(run: &Run, points: &[Point<'_>], top: f64) -> Option<(f64, f64)> {
    let centre = f64::from(run.verdict().and_then(|v| v.capacity)?);
    let reach = (centre * (1.0 - EDGE_REACH), centre * (1.0 + EDGE_REACH));
    let near: Vec<f64> =
        points.iter().filter(|p| within(p.trial.level, reach)).map(|p| f64::from(p.trial.level)).collect();
    let low = near.iter().copied().fold(centre, f64::min);
    let high = near.iter().copied().fold(centre, f64::max);
    let crowded = near.len() >= 3 && high > low && (high - low) < top * EDGE_PART;
    crowded.then_some((low - (high - low) * 0.18, high + (high - low) * 0.18))
}

impl Panel {
    fn new(load: (f64, f64), shares: (f64, f64), px: (f64, f64)) -> Self {
        Panel {
            px,
            x: Scale::linear(load, px),
            y: Scale::log((shares.0 * 0.7, shares.1 * 1.6), (BOTTOM, TOP)),
        }
    }

    fn at(&self, level: Level, share: f64) -> Option<(f64, f64)> {
        Some((self.x.at(f64::from(level))?, self.y.at(share)?))
    }

    fn draw(&self, svg: &mut Svg, run: &Run, measured: &RunSeries, points: &[Point<'_>]) {
        self.believed(svg, run);
        self.axes(svg, run.unit().name());
        self.capacity(svg, run);
        for dot in &measured.ramp {
            // The scale clamps places, so points outside of it must not be drawn at its rim.
            if let Some(at) =
                self.at(dot.level.into(), dot.ratio).filter(|at| at.0 > self.px.0 && at.0 < self.px.1)
            {
                svg.circle("ramp-dot", at, 2.8);
            }
        }
        // Open diamonds last: they cover nothing.
        let invalid = |p: &&Point<'_>| p.trial.result == ResultRecord::Invalid;
        for point in points.iter().filter(|p| !invalid(p)).chain(points.iter().filter(invalid)) {
            let Some(at) = self.at(point.trial.level, point.share) else { continue };
            svg.begin_group(&format!(
                "trial {}, {}: {}; {} used {} of its limit",
                point.trial.n,
                words::offered(point.trial.offered()),
                point.trial.result.name(),
                point.op.op,
                words::percent(point.share)
            ));
            symbol(svg, point.trial.result, at);
            svg.end_group();
        }
    }

    fn axes(&self, svg: &mut Svg, unit: &str) {
        let (left, right) = self.px;
        if let Some(limit) = self.y.at(1.0) {
            svg.rect("over", (left, TOP), (right - left, limit - TOP));
        }
        let ticked = |tick| Some((self.y.at(tick)?, tick_percent(tick)));
        svg.grid((left, right), self.y.ticks(7).into_iter().filter_map(ticked));
        svg.line("axis", (left, BOTTOM), (right, BOTTOM));
        for tick in self.x.whole_ticks(((right - left) / 75.0) as usize) {
            let Some(at) = self.x.at(tick) else { continue };
            svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
            svg.text("tick", (at, BOTTOM + 19.0), Anchor::Middle, &words::fixed(tick, 0));
        }
        svg.text("axis-name", (f64::midpoint(left, right), HEIGHT - 10.0), Anchor::Middle, unit);
        if let Some(limit) = self.y.at(1.0) {
            svg.line("limit", (left, limit), (right, limit));
            svg.text("limit-name", (left + 8.0, limit - 7.0), Anchor::Start, "limit");
        }
    }

    /// Shades the interval of the capacity, below everything else.
    fn believed(&self, svg: &mut Svg, run: &Run) {
        let Some((believed, name)) = believed(run) else { return };
        if let (Some(low), Some(high)) = (self.x.at(believed.low), self.x.at(believed.high)) {
            svg.begin_group(name);
            svg.rect("believed", (low, TOP), (high - low, BOTTOM - TOP));
            svg.end_group();
        }
    }

    fn capacity(&self, svg: &mut Svg, run: &Run) {
        let Some(users) = run.verdict().and_then(|v| v.capacity) else { return };
        let Some(at) = self.x.at(f64::from(users)) else { return };
        svg.line("capacity", (at, TOP), (at, BOTTOM));
        let words = format!("capacity {}", words::count(users.into()));
        let right_half = at > f64::midpoint(self.px.0, self.px.1);
        let (place, anchor) = if right_half { (at - 8.0, Anchor::End) } else { (at + 8.0, Anchor::Start) };
        svg.text("capacity-name", (place, BOTTOM - 10.0), anchor, &words);
    }

    /// Writes each trial's number beside its point, if that place is free.
    fn number(&self, svg: &mut Svg, points: &[Point<'_>]) {
        let places = points.iter().filter_map(|p| self.at(p.trial.level, p.share));
        // A number hangs four pixels below the middle of its letters.
        let mut taken: Vec<(f64, f64)> = places.map(|(x, y)| (x, y + 4.0)).collect();
        for point in points {
            let Some((x, y)) = self.at(point.trial.level, point.share) else { continue };
            let free = |place: &(f64, f64)| {
                taken.iter().all(|t| (t.0 - place.0).abs() > 12.0 || (t.1 - place.1).abs() > 12.0)
            };
            let around = [
                (14.0, -7.0),
                (-14.0, -7.0),
                (14.0, 15.0),
                (-14.0, 15.0),
                (0.0, -13.0),
                (0.0, 23.0),
                (28.0, 4.0),
                (-28.0, 4.0),
            ];
            if let Some(place) = around.map(|(dx, dy)| (x + dx, y + dy)).into_iter().find(free) {
                svg.text("point-name", place, Anchor::Middle, &point.trial.n.to_string());
                taken.push(place);
            }
        }
    }
}

/// A tick of the share of a limit: `0.3 %`, `50 %`.
fn tick_percent(tick: f64) -> String {
    format!("{} %", words::figure_short(tick * 100.0))
}

/// A filled circle for a pass, a cross for a failure, an open diamond for an invalid trial.
fn symbol(svg: &mut Svg, result: ResultRecord, at: (f64, f64)) {
    let (x, y) = at;
    match result {
        ResultRecord::Pass => svg.circle("point pass", at, 7.0),
        ResultRecord::Fail => {
            for (class, d) in [("halo", 5.5), ("point fail", 5.5)] {
                svg.line(class, (x - d, y - d), (x + d, y + d));
                svg.line(class, (x - d, y + d), (x + d, y - d));
            }
        }
        ResultRecord::Invalid => {
            svg.polygon("point invalid", &[(x, y - 8.0), (x + 8.0, y), (x, y + 8.0), (x - 8.0, y)]);
        }
    }
}

fn table(run: &Run, points: &[Point<'_>]) -> Grid {
    let rows = points.iter().map(|p| {
        vec![
            p.trial.n.to_string(),
            p.trial.level.to_string(),
            p.trial.result.name().to_owned(),
            p.op.op.clone(),
            words::time(p.op.judged_ms),
            p.op.limit_ms.map_or_else(|| words::NONE.to_owned(), words::time),
            words::percent(p.share),
        ]
    });
    let load = load_name(run.unit());
    let head = ["Trial", load, "Result", "Slowest operation", "Time", "Limit", "Used"];
    Grid::new(&head, rows.collect()).with_words(&["Result", "Slowest operation"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_percentages_without_digits_that_say_nothing() {
        let words = |low: f64, wanted: usize| {
            let ticks = Scale::log((low, 2.0), (BOTTOM, TOP)).ticks(wanted);
            ticks.into_iter().map(tick_percent).collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(words(0.002, 7), "0.3 % | 1 % | 3 % | 10 % | 30 % | 100 %");
        assert_eq!(words(0.0002, 9), "0.03 % | 0.1 % | 0.3 % | 1 % | 3 % | 10 % | 30 % | 100 %");
        assert_eq!(words(0.4, 7), "50 % | 100 % | 200 %");
    }
}

//! Services' own statistics: a line for each, with its course over time.

use std::collections::BTreeMap;

use barograph_record::{Run, STATE, StatisticRow};

use crate::chart::{Scale, Svg};
use crate::{states, words};

/// Width and height of a course in pixels.
const SIZE: (f64, f64) = (150.0, 22.0);

/// Most points of a course: two pixels each.
const POINTS: usize = 75;

/// Most statistics of a part in a terminal.
const SHOWN: usize = 4;

/// One part and its statistics.
pub(crate) struct PartSection {
    pub(crate) name: String,
    pub(crate) lines: Vec<StatisticLine>,
    /// Statistics that were always 0.
    pub(crate) nothing: Vec<String>,
}

/// One statistic in the deciding window.
pub(crate) struct StatisticLine {
    pub(crate) name: String,
    pub(crate) svg: String,
    pub(crate) median: String,
    pub(crate) highest: String,
    pub(crate) unit: String,
}

/// One statistic of one part, in the order of time.
pub(crate) struct StatisticSeries<'r> {
    pub(crate) part: &'r str,
    pub(crate) name: String,
    pub(crate) unit: &'r str,
    pub(crate) is_rate: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

impl StatisticSeries<'_> {
    /// Values for the window `(from, to)`, sorted. A value describes the time since the previous one.
    fn within(&self, (from, to): (f64, f64)) -> Vec<f64> {
        let before = std::iter::once(None).chain(self.points.iter().map(|(at, _)| Some(*at)));
        let about = self.points.iter().zip(before).map(|((at, value), before)| {
            let middle = before.map_or(*at, |before| f64::midpoint(before, *at));
            (middle, *value)
        });
        let mut values: Vec<f64> =
            about.filter(|(middle, _)| (from..=to).contains(middle)).map(|(_, value)| value).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn word(&self, value: f64) -> String {
        if self.unit == "bytes" { words::bytes(value) } else { words::figure(value) }
    }

    fn unit(&self) -> String {
        match (self.is_rate, self.unit) {
            (true, "bytes") => "per second".to_owned(),
            (false, "bytes") => String::new(),
            (true, unit) => format!("{unit}/s"),
            (false, unit) => unit.to_owned(),
        }
    }

    fn is_nothing(&self) -> bool {
        self.points.iter().all(|(_, value)| *value == 0.0)
    }
}

/// All statistics, by part in the order of the topology and by statistic in the order of recording.
fn told(run: &Run) -> Vec<StatisticSeries<'_>> {
    let start = run.load_start_s().unwrap_or(0.0);
    let mut all: Vec<StatisticSeries<'_>> = Vec::new();
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in run.statistics.iter().filter(|row| row.kind != STATE) {
        let StatisticRow { part, statistic, kind, unit, .. } = row;
        let place = *places.entry((part, statistic)).or_insert_with(|| {
            let (name, is_rate) = (statistic.replace('_', " "), kind == "rate");
            all.push(StatisticSeries { part, name, unit, is_rate, points: Vec::new() });
            all.len() - 1
        });
        all[place].points.push((row.at_s - start, row.value));
    }
    let parts = run.topology().map_or(&[][..], |topology| &topology.parts);
    let rank = |told: &StatisticSeries<'_>| {
        parts.iter().position(|part| part.name == told.part).unwrap_or(parts.len())
    };
    all.sort_by_key(rank);
    all
}

/// The deciding window, or else the whole load.
pub(crate) fn window(run: &Run) -> (f64, f64) {
    run.deciding_trial().map_or((f64::MIN, f64::MAX), |trial| (trial.window.from_s, trial.window.to_s))
}

/// The section of the report; empty without statistics.
pub(crate) fn parts(run: &Run) -> Vec<PartSection> {
    let all = told(run);
    let window = window(run);
    let times = || all.iter().flat_map(|told| &told.points).map(|(at, _)| *at);
    let span = (times().fold(f64::INFINITY, f64::min), times().fold(f64::NEG_INFINITY, f64::max));
    let mut parts: Vec<PartSection> = Vec::new();
    for (number, told) in all.iter().enumerate() {
        if parts.last().is_none_or(|part| part.name != told.part) {
            parts.push(PartSection { name: told.part.to_owned(), lines: Vec::new(), nothing: Vec::new() });
        }
        let Some(part) = parts.last_mut() else { continue };
        if told.is_nothing() {
            part.nothing.push(told.name.clone());
            continue;
        }
        let values = told.within(window);
        let worded = |value: Option<f64>| value.map_or_else(|| words::NONE.to_owned(), |v| told.word(v));
        part.lines.push(StatisticLine {
            name: told.name.clone(),
            svg: course(&format!("said-{number}"), told, span, window),
            median: worded(median(&values)),
            highest: worded(values.last().copied()),
            unit: told.unit(),
        });
    }
    parts
}

/// Median of sorted values; for an even number the mean of the two in the middle.
pub(crate) fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The course of a statistic over the whole load, from 0 up to its highest value, with the window shaded.
pub(crate) fn course(id: &str, told: &StatisticSeries<'_>, span: (f64, f64), window: (f64, f64)) -> String {
    let points = thinned(&told.points);
    let highest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let x = Scale::linear(span, (0.0, SIZE.0));
    let y = Scale::linear((0.0, highest.max(f64::MIN_POSITIVE)), (SIZE.1 - 1.5, 1.5));
    let title = format!("{} of {}", told.name, told.part);
    let mut svg = Svg::new(id, SIZE, &title, &format!("From 0 to {}.", told.word(highest)));
    if let (Some(from), Some(to)) = (x.at(window.0.max(span.0)), x.at(window.1.min(span.1))) {
        svg.rect("phase", (from, 0.0), (to - from, SIZE.1));
    }
    svg.path("series c1", points.iter().map(|(at, value)| Some((x.at(*at)?, y.at(*value)?))));
    svg.finish()
}

/// Means of neighbouring points, where there are more points than pixels.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let together = points.len().div_ceil(POINTS).max(1);
    let mean = |some: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        some.iter().map(of).sum::<f64>() / some.len() as f64
    };
    points.chunks(together).map(|some| (mean(some, |p| p.0), mean(some, |p| p.1))).collect()
}

/// A line for each part with its main statistics; empty without statistics.
pub(crate) fn terminal(run: &Run) -> Vec<String> {
    let window = window(run);
    let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
    let all = told(run);
    for told in all.iter().filter(|told| !told.is_nothing()) {
        if lines.last().is_none_or(|(part, _)| *part != told.part) {
            lines.push((told.part, Vec::new()));
        }
        if let (Some((_, said)), Some(median)) = (lines.last_mut(), median(&told.within(window)))
            && said.len() < SHOWN
        {
            let unit = if told.is_rate { "/s" } else { "" };
            said.push(format!("{} {}{unit}", told.name, told.word(median)));
        }
    }
    lines.retain(|(_, said)| !said.is_empty());
    let lines = lines.into_iter().map(|(part, said)| format!("{part:<15} {}", said.join(", ")));
    lines.chain(states::terminal(run, window)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(points: &[(f64, f64)]) -> StatisticSeries<'static> {
        StatisticSeries {
            part: "bus-1",
            name: "bytes in".to_owned(),
            unit: "bytes",
            is_rate: true,
            points: points.to_vec(),
        }
    }

    #[test]
    fn a_value_belongs_to_the_window_it_describes() {
        // Polled a moment after each interval's end: the value of second 10 is about second 9 to 10.
        let told = told(&[(9.01, 1.0), (10.01, 2.0), (11.01, 4.0), (12.01, 3.0), (13.01, 9.0)]);
        assert_eq!(told.within((10.0, 12.0)), [3.0, 4.0]);
        assert_eq!(median(&told.within((10.0, 12.0))), Some(3.5));
        assert_eq!(median(&told.within((9.2, 12.0))), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_long_course_is_thinned_and_keeps_its_mean() {
        let points: Vec<(f64, f64)> = (0..1_000).map(|at| (f64::from(at), f64::from(at % 7))).collect();
        let thin = thinned(&points);
        assert!(thin.len() <= POINTS && thin.len() > POINTS / 2, "{}", thin.len());
        assert_eq!(thinned(&points[..10]), &points[..10]);
        let svg = course("x", &told(&points), (0.0, 999.0), (100.0, 200.0));
        assert!(svg.contains("<title id=\"x-t\">bytes in of bus-1</title>") && !svg.contains("NaN"), "{svg}");
    }
}

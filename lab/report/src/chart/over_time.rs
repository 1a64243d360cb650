//! A chart over time: lines over shaded windows, with the phases named along the top.

use super::scale::round_up;
use super::time_axis::{BOTTOM, HEIGHT, LEFT, TOP, WIDTH, WindowMarks};
use super::{Scale, Svg, TimeAxis};
use crate::words;

/// Dash pattern of a line, besides its colour.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dash {
    /// Without gaps.
    Solid,
    /// Long dashes.
    Dashed,
    /// Dots.
    Dotted,
}

impl Dash {
    pub(crate) fn class(self) -> &'static str {
        match self {
            Dash::Solid => "",
            Dash::Dashed => " dashed",
            Dash::Dotted => " dotted",
        }
    }
}

/// One line: seconds and values. `class` is one of the style sheet's colours `c1` to `c4`.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) class: &'static str,
    pub(crate) dash: Dash,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Scale and wording of the values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum YAxis {
    /// Evenly from zero, as plain figures.
    Figures,
    /// Evenly from zero, as bytes.
    Bytes,
    /// By logarithm, milliseconds.
    LogTime,
}

impl YAxis {
    pub(crate) fn word(self, value: f64) -> String {
        match self {
            YAxis::Figures => words::figure(value),
            YAxis::Bytes => words::bytes(value),
            YAxis::LogTime => words::time(value),
        }
    }

    pub(crate) fn tick(self, value: f64) -> String {
        match self {
            YAxis::Figures => words::fixed(value, decimals(value)),
            YAxis::Bytes => self.word(value),
            YAxis::LogTime if value >= 1e3 => format!("{} s", value / 1e3),
            YAxis::LogTime if value < 0.999 => format!("{:.0} µs", value * 1e3),
            YAxis::LogTime => format!("{value:.0} ms"),
        }
    }
}

/// Number of decimals of a round figure.
fn decimals(figure: f64) -> usize {
    /// Most decimals: smaller steps do not occur between ticks of any scale here.
    const MOST: usize = 6;
    let is_whole = |digits: &usize| {
        let scaled = figure * 10f64.powi(*digits as i32);
        (scaled - scaled.round()).abs() < 1e-6
    };
    (0..MOST).find(is_whole).unwrap_or(MOST)
}

/// A chart over time.
#[derive(Debug)]
pub(crate) struct OverTime<'a> {
    pub(crate) id: &'a str,
    pub(crate) title: &'a str,
    pub(crate) about: &'a str,
    pub(crate) course: TimeAxis<'a>,
    pub(crate) y: YAxis,
    pub(crate) series: &'a [Series],
}

/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 20.0;

impl OverTime<'_> {
    /// Draws the chart.
    pub(crate) fn draw(&self) -> String {
        let mut svg = Svg::new(self.id, (WIDTH, HEIGHT), self.title, self.about);
        let x = self.course.scale(RIGHT);
        let y = self.y_scale();
        self.course.draw_windows(&mut svg, &x, WindowMarks::Shades);
        let ticked = |tick| Some((y.at(tick)?, self.tick_word(tick)));
        svg.grid((LEFT, RIGHT), self.y_ticks(&y).into_iter().filter_map(ticked));
        self.course.draw_axis(&mut svg, &x, RIGHT);
        self.course.draw_phases(&mut svg, &x);
        self.course.draw_actions(&mut svg, &x);
        for series in self.series {
            let points = series.points.iter().map(|(s, v)| Some((x.at(*s)?, y.at(*v)?)));
            svg.path(&format!("series {}{}", series.class, series.dash.class()), points);
        }
        svg.finish()
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|s| &s.points).map(|p| p.1).filter(|v| v.is_finite())
    }

    fn highest(&self) -> f64 {
        self.values().fold(0.0, f64::max)
    }

    /// The largest unit of bytes that fits into the highest value.
    fn byte_unit(&self) -> f64 {
        1024f64.powi((self.highest().max(1.0).log2() / 10.0).floor() as i32)
    }

    fn y_ticks(&self, y: &Scale) -> Vec<f64> {
        match self.y {
            YAxis::Figures | YAxis::LogTime => y.ticks(5),
            YAxis::Bytes => {
                let unit = self.byte_unit();
                let in_units = Scale::linear((0.0, self.byte_top() / unit), (0.0, 1.0));
                in_units.ticks(5).into_iter().map(|tick| tick * unit).collect()
            }
        }
    }

    fn tick_word(&self, tick: f64) -> String {
        match self.y {
            YAxis::Bytes if tick > 0.0 => {
                let unit = self.byte_unit();
                let name = words::bytes(unit);
                let name = name.split(' ').next_back().unwrap_or_default();
                format!("{} {name}", (tick / unit * 1e3).round() / 1e3)
            }
            YAxis::Bytes => "0".to_owned(),
            y => y.tick(tick),
        }
    }

    fn byte_top(&self) -> f64 {
        let unit = self.byte_unit();
        round_up(self.highest() * 1.04 / unit) * unit
    }

    fn y_scale(&self) -> Scale {
        let high = self.highest();
        match self.y {
            YAxis::Figures => Scale::linear((0.0, round_up(high * 1.04)), (BOTTOM, TOP)),
            YAxis::Bytes => Scale::linear((0.0, self.byte_top()), (BOTTOM, TOP)),
            YAxis::LogTime => {
                let low = self.values().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
                Scale::log((low * 0.8, (high * 1.25).max(low * 10.0)), (BOTTOM, TOP))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Band, Moment};
    use super::*;

    fn chart(points: Vec<(f64, f64)>, y: YAxis) -> String {
        let series = [Series { name: "users".to_owned(), class: "c1", dash: Dash::Solid, points }];
        let phases = [Band { from_s: 0.0, to_s: 60.0, label: "ramp".to_owned(), class: "" }];
        let actions = [Moment { at_s: 90.0, label: "web-1: restart".to_owned() }];
        OverTime {
            id: "users",
            title: "Users over time",
            about: "How many users were active.",
            course: TimeAxis { span: (0.0, 120.0), windows: &[], phases: &phases, actions: &actions },
            y,
            series: &series,
        }
        .draw()
    }

    #[test]
    fn a_chart_names_itself_and_its_phases() {
        let text = chart(vec![(0.0, 0.0), (60.0, 500.0), (120.0, 900.0)], YAxis::Figures);
        for piece in [
            "<title id=\"users-t\">Users over time</title>",
            ">ramp</text>",
            ">1:00</text>",
            ">400</text>",
            "<g><title>web-1: restart</title><line class=\"action\"",
        ] {
            assert!(text.contains(piece), "{piece} in {text}");
        }
    }

    #[test]
    fn ticks_of_small_figures_tell_them_apart() {
        let ticks = Scale::linear((0.0, 0.025), (0.0, 1.0)).ticks(5);
        let words: Vec<String> = ticks.into_iter().map(|tick| YAxis::Figures.tick(tick)).collect();
        assert_eq!(words, ["0", "0.005", "0.01", "0.015", "0.02", "0.025"]);
        let words = [0.1 * 3.0, 0.25, 2.0, 12_500.0].map(|tick| YAxis::Figures.tick(tick));
        assert_eq!(words, ["0.3", "0.25", "2", "12,500"]);
    }

    #[test]
    fn a_chart_of_nothing_or_nonsense_is_still_whole() {
        for y in [YAxis::Figures, YAxis::Bytes, YAxis::LogTime] {
            for points in [vec![], vec![(0.0, f64::NAN), (f64::NAN, 1.0)], vec![(0.0, 0.0)]] {
                let text = chart(points, y);
                assert!(text.ends_with("</svg>") && !text.contains("NaN") && !text.contains("inf"), "{text}");
            }
        }
    }
}

//! Several speeds by the same sizes in one figure, each relative to its smallest size.

use barograph_record::{Conclusions, KnownAs, ScalingRecord};

use super::tables::sign;
use crate::chart::{Anchor, Dash, Scale, Svg};
use crate::html::Grid;
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 640.0;
/// Height of the drawing, in pixels.
const HEIGHT: f64 = 340.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 54.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 30.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 44.0;
/// Lower end of the plot, in pixels.
const BOTTOM: f64 = HEIGHT - 52.0;
/// Width of a piece of a line in the legend, in pixels.
const SAMPLE: f64 = 26.0;
/// Width of a letter in the legend, in pixels.
const LETTER: f64 = 6.5;

/// Colours and dashes of the speeds; the dotted line is linear growth.
const LINES: [(&str, Dash); 3] = [("c1", Dash::Solid), ("c2", Dash::Dashed), ("c3", Dash::Dashed)];

/// Explanation of the figure.
pub(super) const LEDE: &str = "Medians over blocks, each divided by that of the smallest size. The dotted line is linear growth. \
                               The last column of the table has how far the highest ratio of a size is above the lowest.";

/// Speeds by the same sizes.
pub(super) struct SpeedGroup<'s> {
    speeds: Vec<&'s ScalingRecord>,
}

/// Groups of at least two speeds by one factor, among the same levels of others.
pub(super) fn groups(study: &Conclusions) -> Vec<SpeedGroup<'_>> {
    let mut groups: Vec<SpeedGroup<'_>> = Vec::new();
    for speed in &study.scaling {
        let is_like = |group: &&mut SpeedGroup<'_>| {
            let first = group.speeds[0];
            first.factor == speed.factor && first.among == speed.among && group.speeds.len() < LINES.len()
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.speeds.push(speed),
            None => groups.push(SpeedGroup { speeds: vec![speed] }),
        }
    }
    groups.retain(|group| group.speeds.len() > 1);
    groups
}

impl SpeedGroup<'_> {
    fn first(&self) -> &ScalingRecord {
        self.speeds[0]
    }

    /// Sizes of all speeds, rising.
    fn sizes(&self) -> Vec<f64> {
        let mut sizes: Vec<f64> =
            self.speeds.iter().flat_map(|speed| speed.points.iter().map(|point| point.n)).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    }

    pub(super) fn title(&self) -> String {
        let names: Vec<&str> = self.speeds.iter().map(|speed| speed.metric.as_str()).collect();
        let among = match self.first().among.as_str() {
            "" => String::new(),
            among => format!(", {among}"),
        };
        format!("{} by {} side by side{among}", names.join(" and "), self.first().factor)
    }

    pub(super) fn table(&self) -> Grid {
        let mut head = vec![self.first().factor.clone()];
        for speed in &self.speeds {
            head.push(format!("{}, {}", speed.metric, speed.unit));
            head.push("ratio".to_owned());
        }
        head.push("apart".to_owned());
        let rows = self.sizes().into_iter().map(|n| self.row(n)).collect();
        Grid::new(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows)
    }

    fn row(&self, n: f64) -> Vec<String> {
        let mut cells = vec![words::size(n)];
        let (mut low, mut high, mut exact) = (f64::INFINITY, f64::NEG_INFINITY, true);
        for speed in &self.speeds {
            let Some(point) = speed.points.iter().find(|point| point.n == n) else {
                cells.extend([words::NONE.to_owned(), words::NONE.to_owned()]);
                exact = false;
                continue;
            };
            let known = speed.growth_to(n);
            exact &= known == KnownAs::Exact;
            (low, high) = (low.min(point.speedup), high.max(point.speedup));
            let least = if speed.bounded.contains(&n) { words::AT_LEAST } else { "" };
            cells.push(format!("{least}{}", words::figure(point.x)));
            cells.push(format!("{}{}", sign(known), words::fixed(point.speedup, 2)));
        }
        let apart = (exact && low > 0.0).then(|| words::percent(high / low - 1.0));
        cells.push(apart.unwrap_or_else(|| words::NONE.to_owned()));
        cells
    }

    pub(super) fn draw(&self, id: &str) -> String {
        let mut svg = Svg::new(id, (WIDTH, HEIGHT), &self.title(), LEDE);
        let sizes = self.sizes();
        let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else { return svg.finish() };
        let ratios = self.speeds.iter().flat_map(|speed| speed.points.iter().map(|point| point.speedup));
        let high = ratios.chain([last / first]).filter(|ratio| ratio.is_finite()).fold(0.0, f64::max);
        let x = Scale::linear((0.0, last * 1.08), (LEFT, RIGHT));
        let y = Scale::linear((0.0, high * 1.06), (BOTTOM, TOP));
        let ticked = |tick| Some((y.at(tick)?, words::figure(tick)));
        svg.grid((LEFT, RIGHT), y.ticks(5).into_iter().filter_map(ticked));
        svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
        let place = |n: f64, ratio: f64| Some((x.at(n)?, y.at(ratio)?));
        svg.path("series c4 dotted", [place(0.0, 0.0), place(*last, last / first)]);
        for (speed, (class, dash)) in self.speeds.iter().zip(LINES) {
            let line = format!("series {class}{}", dash.class());
            svg.path(&line, speed.points.iter().map(|point| place(point.n, point.speedup)));
            for point in &speed.points {
                let Some(at) = place(point.n, point.speedup) else { continue };
                svg.begin_group(&format!("{}: {}", speed.metric, words::fixed(point.speedup, 2)));
                svg.circle("point pass", at, 4.0);
                svg.end_group();
            }
        }
        for at in sizes.iter().filter_map(|n| Some((x.at(*n)?, words::size(*n)))) {
            svg.line("axis", (at.0, BOTTOM), (at.0, BOTTOM + 4.0));
            svg.text("tick", (at.0, BOTTOM + 18.0), Anchor::Middle, &at.1);
        }
        let middle = f64::midpoint(LEFT, RIGHT);
        svg.text("axis-name", (middle, HEIGHT - 8.0), Anchor::Middle, &self.first().factor);
        self.legend(&mut svg);
        svg.finish()
    }

    fn legend(&self, svg: &mut Svg) {
        let named = self.speeds.iter().zip(LINES);
        let named = named.map(|(speed, (class, dash))| (speed.metric.as_str(), class, dash));
        let mut left = LEFT;
        for (name, class, dash) in named.chain([("linear growth", "c4", Dash::Dotted)]) {
            let up = TOP - 22.0;
            svg.path(
                &format!("series {class}{}", dash.class()),
                [Some((left, up)), Some((left + SAMPLE, up))],
            );
            svg.text("axis-name", (left + SAMPLE + 6.0, up + 4.0), Anchor::Start, name);
            left += SAMPLE + 24.0 + name.chars().count() as f64 * LETTER;
        }
    }
}

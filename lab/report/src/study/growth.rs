//! Speed by size: measured points with their intervals, and the dotted line of linear growth.

use barograph_record::ScalingRecord;

use super::tables::sign;
use crate::chart::{Anchor, Scale, Svg};
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 640.0;
/// Height of the drawing, in pixels.
const HEIGHT: f64 = 340.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 74.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 30.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 24.0;
/// Lower end of the plot, in pixels.
const BOTTOM: f64 = HEIGHT - 52.0;

/// Width of the name of a knee, in pixels.
const NAME: f64 = 90.0;

/// Pieces of the fitted curve.
const PIECES: u32 = 60;

/// The figure of a scaling.
pub(super) fn draw(id: &str, scaling: &ScalingRecord) -> String {
    let title = format!("{} by {}", scaling.metric, scaling.factor);
    let law = law_of(scaling);
    let dashed = match law {
        None => "",
        Some(_) if scaling.fit.is_some() => {
            ", the dashed one the universal scalability law with its 95 % band"
        }
        Some(_) => ", the dashed one Amdahl's law",
    };
    let about = format!(
        "Points are medians with their 95 % intervals; the dotted line is linear growth from the first{dashed}."
    );
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title, &about);
    let (Some(first), Some(last)) = (scaling.points.first(), scaling.points.last()) else {
        return svg.finish();
    };
    let linear = |n: f64| first.x * n / first.n;
    let ends = scaling.points.iter().flat_map(|p| [p.x, p.high, linear(p.n)]);
    let high = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);
    let x = Scale::linear((0.0, last.n * 1.08), (LEFT, RIGHT));
    let y = Scale::linear((0.0, high * 1.06), (BOTTOM, TOP));
    let ticked = |tick| Some((y.at(tick)?, words::figure(tick)));
    svg.grid((LEFT, RIGHT), y.ticks(5).into_iter().filter_map(ticked));
    svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    let place = |n: f64, v: f64| Some((x.at(n)?, y.at(v)?));
    // First, so that everything else is drawn over it.
    let (above, below) = (scaling.band.iter(), scaling.band.iter().rev());
    let edge = above.map(|at| place(at.n, at.high)).chain(below.map(|at| place(at.n, at.low)));
    let edge: Vec<(f64, f64)> = edge.flatten().collect();
    if !edge.is_empty() {
        svg.begin_group("95 % interval of the fitted curve");
        svg.polygon("fit-band", &edge);
        svg.end_group();
    }
    svg.path("series c4 dotted", [place(0.0, 0.0), place(last.n, linear(last.n))]);
    if let Some(law) = law {
        let along = (0..=PIECES).map(|piece| last.n * 1.08 * f64::from(piece) / f64::from(PIECES));
        svg.path("series c2 dashed", along.map(|n| place(n, law.at(n))));
    }
    if let Some(at) = scaling.knee.and_then(|knee| x.at(knee.n)) {
        svg.begin_group("growth bends here");
        svg.line("knee", (at, TOP), (at, BOTTOM));
        let (beside, anchor) =
            if at + NAME < RIGHT { (at + 6.0, Anchor::Start) } else { (at - 6.0, Anchor::End) };
        svg.text("tick", (beside, BOTTOM - 8.0), anchor, "growth bends");
        svg.end_group();
    }
    svg.path("series c1", scaling.points.iter().map(|point| place(point.n, point.x)));
    for point in &scaling.points {
        let Some((at, up)) = place(point.n, point.x) else { continue };
        svg.begin_group(&format!("{} {}: {}", scaling.factor, point.n, words::figure(point.x)));
        if let (Some(low), Some(high)) = (y.at(point.low), y.at(point.high)) {
            svg.line("whisker", (at, low), (at, high));
            for end in [low, high] {
                svg.line("whisker", (at - 5.0, end), (at + 5.0, end));
            }
        }
        svg.circle("point pass", (at, up), 5.0);
        svg.end_group();
        svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
        svg.text("tick", (at, BOTTOM + 18.0), Anchor::Middle, &words::size(point.n));
        let efficiency = format!("{}{}", sign(scaling.growth_to(point.n)), words::percent(point.efficiency));
        svg.text("point-name", (at + 9.0, up + 16.0), Anchor::Start, &efficiency);
    }
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), HEIGHT - 8.0), Anchor::Middle, &scaling.factor);
    let speed = format!("{}, {}; beside the points: efficiency", scaling.metric, scaling.unit);
    svg.text("axis-name", (LEFT, TOP - 8.0), Anchor::Start, &speed);
    svg.finish()
}

/// The universal scalability law, of which Amdahl's is the case without coherency.
#[derive(Clone, Copy)]
struct Law {
    gamma: f64,
    contention: f64,
    coherency: f64,
}

impl Law {
    fn at(self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.contention * (n - 1.0) + self.coherency * n * (n - 1.0))
    }
}

/// The fitted law, if any.
fn law_of(scaling: &ScalingRecord) -> Option<Law> {
    let universal =
        scaling.fit.map(|fit| Law { gamma: fit.gamma, contention: fit.contention, coherency: fit.coherency });
    let amdahl =
        || scaling.amdahl.map(|law| Law { gamma: law.gamma, contention: law.serial, coherency: 0.0 });
    universal.or_else(amdahl)
}

//! Probability of a pass at each load, by the final posterior of the search, beside the trials.

use std::collections::BTreeMap;

use barograph_record::{EstimateRecord, PassPointRecord, ResultRecord, Run, Trial};

use crate::chart::{Anchor, Dash, Scale, Svg};
use crate::curve::load_name;
use crate::html::{Figure, Grid, Key};
use crate::words;

/// Width of the drawing, in pixels.
const WIDTH: f64 = 1140.0;
/// Height of the drawing, in pixels.
const HEIGHT: f64 = 340.0;
/// Left end of the plot, in pixels.
const LEFT: f64 = 66.0;
/// Right end of the plot, in pixels.
const RIGHT: f64 = WIDTH - 14.0;
/// Upper end of the plot, in pixels.
const TOP: f64 = 14.0;
/// Lower end of the plot, in pixels.
const BOTTOM: f64 = HEIGHT - 52.0;

/// Half the height of the ends of an interval.
const END: f64 = 6.0;

/// Valid trials at a level.
#[derive(Clone, Copy, Default)]
struct LevelTrials {
    passed: u32,
    trials: u32,
}

impl LevelTrials {
    fn share(self) -> f64 {
        f64::from(self.passed) / f64::from(self.trials)
    }

    /// The area grows with the trials.
    fn radius(self) -> f64 {
        (3.0 * f64::from(self.trials).sqrt()).min(10.0)
    }
}

/// Width of the capacity's name, in pixels.
const NAME: f64 = 150.0;

/// The figure and its table; `None` without a search, with a method without probabilities, or if the edge is
/// above all levels: the curve would be the prior.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    run.believed_capacity().filter(|believed| believed.high.is_finite())?;
    let estimate = run.verdict()?.search.as_ref()?.estimate.as_deref()?;
    let (first, last) = (estimate.curve.first()?, estimate.curve.last()?);
    if first.level >= last.level {
        return None;
    }
    let tried = tried(run.trials());
    let outside = tried.keys().filter(|level| !(first.level..=last.level).contains(level)).count();
    let about = format!(
        "What the search believes after all its trials. Circles: the loads that were tried, at the share of their valid trials \
         that passed, larger for more of them{}. The bar at one half is the 95 % interval of the capacity. Trials that fail for \
         no reason keep the line below 100 %.",
        match outside {
            0 => String::new(),
            1 => "; one load further off is in the table alone".to_owned(),
            n => format!("; {n} loads further off are in the table alone"),
        }
    );
    let title = "Probability to pass";
    let circle = "<circle class=\"judged\" cx=\"13\" cy=\"4\" r=\"3.2\"/>".to_owned();
    Some(Figure {
        id: "passing".to_owned(),
        title: title.to_owned(),
        svg: draw(run, estimate, &tried, (title, &about)),
        keys: vec![
            Key::line("median", "c1", Dash::Solid),
            Key::area("95 % interval", "believed"),
            Key { name: "tried".to_owned(), sample: circle },
        ],
        table: table(run, &estimate.curve, &tried),
        about,
    })
}

fn tried<'a>(trials: impl Iterator<Item = &'a Trial>) -> BTreeMap<u32, LevelTrials> {
    let mut all: BTreeMap<u32, LevelTrials> = BTreeMap::new();
    for trial in trials.filter(|trial| trial.result != ResultRecord::Invalid) {
        let at = all.entry(trial.level.whole()).or_default();
        at.trials += 1;
        at.passed += u32::from(trial.result == ResultRecord::Pass);
    }
    all
}

fn draw(
    run: &Run,
    estimate: &EstimateRecord,
    tried: &BTreeMap<u32, LevelTrials>,
    (title, about): (&str, &str),
) -> String {
    let mut svg = Svg::new("passing", (WIDTH, HEIGHT), title, about);
    let (first, last) = (estimate.curve[0].level, estimate.curve[estimate.curve.len() - 1].level);
    let x = Scale::linear((f64::from(first), f64::from(last)), (LEFT, RIGHT));
    let y = Scale::linear((0.0, 1.0), (BOTTOM, TOP));
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let Some(at) = y.at(tick) else { continue };
        svg.line("grid", (LEFT, at), (RIGHT, at));
        svg.text(
            "tick",
            (LEFT - 8.0, at + 4.0),
            Anchor::End,
            &format!("{} %", words::fixed(tick * 100.0, 0)),
        );
    }
    svg.line("axis", (LEFT, BOTTOM), (RIGHT, BOTTOM));
    for tick in x.whole_ticks(12) {
        let Some(at) = x.at(tick) else { continue };
        svg.line("axis", (at, BOTTOM), (at, BOTTOM + 4.0));
        svg.text("tick", (at, BOTTOM + 19.0), Anchor::Middle, &words::fixed(tick, 0));
    }
    svg.text("axis-name", (f64::midpoint(LEFT, RIGHT), HEIGHT - 10.0), Anchor::Middle, run.unit().name());
    let place = |level: u32, share: f64| Some((x.at(f64::from(level))?, y.at(share)?));
    let above = estimate.curve.iter().map(|at| place(at.level, at.high));
    let below = estimate.curve.iter().rev().map(|at| place(at.level, at.low));
    let band: Vec<(f64, f64)> = above.chain(below).flatten().collect();
    svg.polygon("believed", &band);
    svg.path("series c1", estimate.curve.iter().map(|at| place(at.level, at.pass)));
    capacity(&mut svg, (&x, &y), estimate);
    for (level, tried) in tried.range(first..=last) {
        let Some(at) = place(*level, tried.share()) else { continue };
        svg.begin_group(&format!(
            "{}: {} of {} valid trials passed",
            words::count((*level).into()),
            tried.passed,
            tried.trials
        ));
        svg.circle("judged", at, tried.radius());
        svg.end_group();
    }
    svg.finish()
}

/// The median of the capacity with its interval.
fn capacity(svg: &mut Svg, (x, y): (&Scale, &Scale), estimate: &EstimateRecord) {
    let (Some(at), Some(half)) = (x.at(estimate.capacity), y.at(0.5)) else { return };
    let (Some(low), Some(high)) = (x.at(estimate.low), x.at(estimate.high)) else { return };
    svg.line("capacity", (at, TOP), (at, BOTTOM));
    svg.begin_group(&format!(
        "capacity {}, 95 % interval {} to {}",
        words::fixed(estimate.capacity, 0),
        words::fixed(estimate.low, 0),
        words::fixed(estimate.high, 0)
    ));
    svg.line("interval", (low, half), (high, half));
    for end in [low, high] {
        svg.line("interval", (end, half - END), (end, half + END));
    }
    svg.end_group();
    // Above the line to the right of it, or below it to the left.
    let (beside, anchor) = match at + NAME < RIGHT {
        true => ((at + 8.0, TOP + 18.0), Anchor::Start),
        false => ((at - 8.0, BOTTOM - 10.0), Anchor::End),
    };
    let words = format!("capacity {}", words::fixed(estimate.capacity, 0));
    svg.text("capacity-name", beside, anchor, &words);
}

fn table(run: &Run, curve: &[PassPointRecord], tried: &BTreeMap<u32, LevelTrials>) -> Grid {
    let mut levels: BTreeMap<u32, (Option<&PassPointRecord>, Option<LevelTrials>)> = BTreeMap::new();
    for point in curve {
        levels.entry(point.level).or_default().0 = Some(point);
    }
    for (level, tried) in tried {
        levels.entry(*level).or_default().1 = Some(*tried);
    }
    let none = || words::NONE.to_owned();
    let rows = levels.iter().map(|(level, (believed, tried))| {
        let share = |of: fn(&PassPointRecord) -> f64| believed.map_or_else(none, |at| words::percent(of(at)));
        vec![
            words::count((*level).into()),
            share(|at| at.pass),
            share(|at| at.low),
            share(|at| at.high),
            tried.map_or_else(none, |tried| tried.trials.to_string()),
            tried.map_or_else(none, |tried| tried.passed.to_string()),
        ]
    });
    let head = [load_name(run.unit()), "Median", "From", "To", "Valid trials", "Passed"];
    Grid::new(&head, rows.collect())
}

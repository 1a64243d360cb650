//! Speed by size: speed-up and efficiency over the smallest size, with intervals by resampling blocks.

use barograph_record::{KeptPoint, KeptScaling, RunEnded};
use barograph_spec::study::{MetricPlan, Study};
use barograph_stats::compare::resample;
use barograph_stats::rank::median;

use crate::crossing::{blocks_of, median_of, rows_of};
use crate::figures::of;

/// For every metric that is a speed, and every factor that is a size.
pub(crate) fn scalings(study: &Study, runs: &[RunEnded]) -> Vec<KeptScaling> {
    let sizes = study.factors.iter().enumerate().filter(|(_, factor)| factor.is_numeric());
    let sizes: Vec<usize> = sizes.map(|(at, _)| at).collect();
    let speeds = study.metrics.iter().filter(|metric| metric.scaling);
    let all = speeds.flat_map(|metric| sizes.iter().map(move |factor| (metric, *factor)));
    all.flat_map(|(metric, factor)| {
        let rows = rows_of(study, factor).into_iter();
        rows.filter_map(move |row| scaling(study, runs, metric, factor, row)).collect::<Vec<_>>()
    })
    .collect()
}

fn scaling(
    study: &Study,
    runs: &[RunEnded],
    metric: &MetricPlan,
    factor: usize,
    (among, row): (String, Vec<(f64, usize)>),
) -> Option<KeptScaling> {
    let mut points: Vec<KeptPoint> = Vec::new();
    for (n, place) in row.iter().filter(|(n, _)| *n > 0.0) {
        let figures = of(runs, &study.configurations[*place].name, &metric.label);
        if figures.is_empty() {
            continue;
        }
        let blocks = blocks_of(std::slice::from_ref(&figures));
        let interval = resample(blocks.len(), |drawn| median_of(&figures, &blocks, drawn));
        let x = median(&figures.values().copied().collect::<Vec<_>>());
        let first = points.first().map_or((*n, x), |first| (first.n, first.x));
        let speedup = x / first.1;
        points.push(KeptPoint {
            n: *n,
            x,
            low: interval.map_or(f64::NAN, |interval| interval.low),
            high: interval.map_or(f64::NAN, |interval| interval.high),
            speedup,
            efficiency: speedup / (n / first.0),
        });
    }
    (points.len() > 1).then(|| KeptScaling {
        factor: study.factors[factor].name.clone(),
        among,
        metric: metric.label.clone(),
        unit: metric.metric.unit().to_owned(),
        points,
        fit: None,
    })
}

//! Crossings: the levels of a numeric factor between which a metric passes a limit.

use barograph_record::{CrossingRecord, RunEnded};
use barograph_spec::study::{Crossing, Study};
use barograph_stats::compare::resampled_interval;
use barograph_stats::rank::median;

use crate::figures::{ByBlock, of};

/// The number at which the line through `points` (number, figure), in rising order, first meets `limit`.
/// `None` if it does not.
#[must_use]
pub(crate) fn meets(points: &[(f64, f64)], limit: f64) -> Option<f64> {
    if let Some((n, _)) = points.iter().find(|(_, figure)| *figure == limit) {
        let before = points.windows(2).find_map(|pair| between(pair, limit));
        return Some(before.map_or(*n, |before| before.min(*n)));
    }
    points.windows(2).find_map(|pair| between(pair, limit))
}

fn between(pair: &[(f64, f64)], limit: f64) -> Option<f64> {
    let [(from, low), (to, high)] = pair else { return None };
    let passes = (low < &limit) != (high < &limit) && low.is_finite() && high.is_finite();
    passes.then(|| from + (limit - low) / (high - low) * (to - from))
}

/// Configurations that differ in one numeric factor only, from its lowest level to its highest: their numbers
/// and indices; and the levels of the other factors.
pub(crate) fn rows_of(study: &Study, factor: usize) -> Vec<(String, Vec<(f64, usize)>)> {
    type Row = (Vec<usize>, String, Vec<(f64, usize)>);
    let mut rows: Vec<Row> = Vec::new();
    for (place, configuration) in study.configurations.iter().enumerate() {
        let level = &study.factors[factor].levels[configuration.levels[factor]];
        let Some(value) = level.value else { continue };
        let mut others = configuration.levels.clone();
        others.remove(factor);
        if let Some(row) = rows.iter_mut().find(|row| row.0 == others) {
            row.2.push((value, place));
            continue;
        }
        let names = study.factors.iter().zip(&configuration.levels).enumerate();
        let names = names.filter(|(at, _)| *at != factor);
        let names = names.map(|(_, (f, level))| format!("{} {}", f.name, f.levels[*level].name));
        rows.push((others, names.collect::<Vec<_>>().join(", "), vec![(value, place)]));
    }
    rows.retain(|row| row.2.len() > 1);
    rows.into_iter()
        .map(|(_, among, mut row)| {
            row.sort_by(|a, b| a.0.total_cmp(&b.0));
            (among, row)
        })
        .collect()
}

/// The median of the figures in the drawn blocks; those without a figure are left out.
pub(crate) fn median_of(figures: &ByBlock, blocks: &[u32], drawn: &[usize]) -> Option<f64> {
    let drawn: Vec<f64> = drawn.iter().filter_map(|at| figures.get(&blocks[*at]).copied()).collect();
    (!drawn.is_empty()).then(|| median(&drawn))
}

/// Least share of resamplings that must reach the limit. One that never does places it outside of the tested
/// range. If more do not than one end of a 95 % interval leaves out, an interval of the others would be too
/// short.
pub(crate) const LEAST_REACHED: f64 = 0.975;

/// Blocks with at least one figure.
pub(crate) fn blocks_of(all: &[ByBlock]) -> Vec<u32> {
    let mut blocks: Vec<u32> = all.iter().flat_map(|figures| figures.keys().copied()).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// The crossings of a metric, for each combination of the other factors.
pub(crate) fn crossings(study: &Study, runs: &[RunEnded]) -> Vec<CrossingRecord> {
    let all = study.crossings.iter();
    let has = |asked: &Crossing, row: &[(f64, usize)]| {
        row.iter().any(|(_, place)| study.metrics[asked.metric].is_of(&study.configurations[*place]))
    };
    all.flat_map(|asked| rows_of(study, asked.factor).into_iter().map(move |row| (asked, row)))
        .filter(|(asked, (_, row))| has(asked, row))
        .map(|(asked, (among, row))| crossing(study, runs, asked, among, &row))
        .collect()
}

fn crossing(
    study: &Study,
    runs: &[RunEnded],
    asked: &Crossing,
    among: String,
    row: &[(f64, usize)],
) -> CrossingRecord {
    let metric = &study.metrics[asked.metric];
    let name = |place: usize| study.configurations[place].name.as_str();
    let figures: Vec<ByBlock> = row.iter().map(|(_, place)| of(runs, name(*place), &metric.label)).collect();
    let blocks = blocks_of(&figures);
    let at = |drawn: &[usize]| {
        let points = row.iter().zip(&figures);
        let points = points.filter_map(|((n, _), f)| Some((*n, median_of(f, &blocks, drawn)?)));
        meets(&points.collect::<Vec<_>>(), asked.limit)
    };
    let all: Vec<usize> = (0..blocks.len()).collect();
    let (mut tried, mut reached) = (0u32, 0u32);
    let interval = resampled_interval(blocks.len(), |drawn| {
        let found = at(drawn);
        tried += 1;
        reached += u32::from(found.is_some());
        found
    });
    let reached = f64::from(reached) / f64::from(tried);
    let interval = interval.filter(|_| reached >= LEAST_REACHED);
    CrossingRecord {
        factor: study.factors[asked.factor].name.clone(),
        among,
        metric: metric.called(),
        unit: metric.unit(),
        limit: asked.limit,
        at: at(&all),
        low: interval.map_or(f64::NAN, |interval| interval.low),
        high: interval.map_or(f64::NAN, |interval| interval.high),
        reached,
    }
}

#[cfg(test)]
mod tests {
    use barograph_spec::study::read;

    use super::*;
    use crate::figures::made;

    const STUDY: &str = r#"
question = "q"
plan = "p"
[[factor]]
name = "users"
levels = [{ name = "1", set = { seed = 1 } }, { name = "2", set = { seed = 2 } }, { name = "4", set = { seed = 4 } }]
[[metric]]
of = "response_p99"
operation = "Get"
[[crossing]]
factor = "users"
metric = "response_p99 of Get"
limit = 40
"#;

    /// The crossing of 40 ms: 10 ms with one user, 20 with two, and with four 41 in `above` blocks and 39 in
    /// the others.
    fn crossed(blocks: u32, above: u32) -> CrossingRecord {
        let study = read("s.toml", STUDY).unwrap_or_else(|refused| panic!("{refused}"));
        let figures = |block: u32| [10.0, 20.0, if block <= above { 41.0 } else { 39.0 }];
        let mut runs = Vec::new();
        for block in 1..=blocks {
            for (configuration, value) in study.configurations.iter().zip(figures(block)) {
                runs.push(made(block, &configuration.name, ("response_p99 of Get", value)));
            }
        }
        crossings(&study, &runs).remove(0)
    }

    /// Five figures are not enough for the smallest and the largest to hold the median 95 times in 100.
    #[test]
    fn an_interval_takes_six_blocks() {
        let (five, six) = (crossed(5, 5), crossed(6, 6));
        for found in [&five, &six] {
            assert!((found.at.unwrap() - (2.0 + 2.0 * 20.0 / 21.0)).abs() < 1e-9, "{found:?}");
        }
        assert!(five.low.is_nan() && five.high.is_nan(), "{five:?}");
        assert!(six.low <= six.at.unwrap() && six.at.unwrap() <= six.high && six.reached == 1.0, "{six:?}");
    }

    /// Of 13 figures above the limit and 7 below it one resampling in nineteen has a median below it: the
    /// number may lie above the tested range, and an interval of the other resamplings would not show that.
    #[test]
    fn a_limit_that_resamplings_do_not_reach_has_no_interval() {
        let found = crossed(20, 13);
        assert!(found.at.is_some() && (0.9..LEAST_REACHED).contains(&found.reached), "{found:?}");
        assert!(found.low.is_nan() && found.high.is_nan(), "{found:?}");
        let sure = crossed(20, 20);
        assert!(sure.reached == 1.0 && sure.low.is_finite() && sure.high.is_finite(), "{sure:?}");
    }

    #[test]
    fn a_limit_is_met_between_two_levels_or_not_at_all() {
        let points = [(100.0, 20.0), (200.0, 40.0), (400.0, 240.0)];
        assert_eq!(meets(&points, 30.0), Some(150.0));
        assert_eq!(meets(&points, 140.0), Some(300.0));
        assert_eq!(meets(&points, 40.0), Some(200.0));
        assert_eq!(meets(&points, 20.0), Some(100.0));
        assert_eq!(meets(&points, 240.0), Some(400.0));
        assert_eq!((meets(&points, 10.0), meets(&points, 300.0), meets(&[], 1.0)), (None, None, None));
        // The first meeting counts, also from above.
        assert_eq!(meets(&[(1.0, 10.0), (2.0, 0.0), (3.0, 10.0)], 5.0), Some(1.5));
        assert_eq!(meets(&[(1.0, f64::NAN), (2.0, 4.0)], 2.0), None);
    }
}

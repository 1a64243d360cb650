//! Speed by size: speed-up and efficiency relative to the smallest size, with intervals by resampling blocks,
//! and the universal scalability law with enough sizes for it.

use barograph_record::{
    AmdahlRecord, BandRecord, FitRecord, IntervalRecord, KneeRecord, PointRecord, RunEnded, ScalingRecord,
};
use barograph_spec::study::{MetricPlan, Study};
use barograph_stats::compare::{BootstrapInterval, FEWEST_PAIRS, resampled_interval};
use barograph_stats::rank::median;
use barograph_stats::scaling::{Point, amdahl, knee, speedup, usl};

use crate::bounds::is_bound;
use crate::crossing::{blocks_of, median_of, rows_of};
use crate::figures::{ByBlock, of};

/// Fewest sizes for the universal scalability law: it has three parameters, and only a fourth size can
/// contradict it.
const FEWEST_SIZES: usize = 4;

/// Pieces of the band beside the fitted curve.
const PIECES: u32 = 24;

/// End of the drawn curve, as a multiple of the largest size; further out nothing is known.
const BEYOND: f64 = 1.08;

/// Scalings for every metric that is a speed, and every factor that is a size.
pub(crate) fn scalings(study: &Study, runs: &[RunEnded]) -> Vec<ScalingRecord> {
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
) -> Option<ScalingRecord> {
    let (mut sizes, mut bounded) = (Vec::new(), Vec::new());
    for (n, place) in row.iter().filter(|(n, _)| *n > 0.0) {
        let name = &study.configurations[*place].name;
        let figures = of(runs, name, &metric.label);
        if figures.is_empty() {
            continue;
        }
        let own = runs.iter().filter(|run| run.started.configuration == *name && is_bound(run, metric));
        let at_least: Vec<u32> = own.map(|run| run.started.block).collect();
        bounded.extend(is_open(&figures, &at_least).then_some(*n));
        sizes.push((*n, figures));
    }
    let points = points_of(&sizes, &bounded);
    let law = if bounded.is_empty() { law_of(&sizes) } else { without_law(&metric.called()) };
    (points.len() > 1).then(|| ScalingRecord {
        factor: study.factors[factor].name.clone(),
        among,
        metric: metric.called(),
        unit: metric.unit(),
        points,
        bounded,
        ..law
    })
}

/// Whether the median would change if the figures of these blocks, which are lower bounds, were higher.
fn is_open(figures: &ByBlock, at_least: &[u32]) -> bool {
    let raised =
        |(block, figure): (&u32, &f64)| if at_least.contains(block) { f64::INFINITY } else { *figure };
    let highest: Vec<f64> = figures.iter().map(raised).collect();
    let as_found: Vec<f64> = figures.values().copied().collect();
    median(&highest) != median(&as_found)
}

/// Explanation of the missing law of speeds that are partly lower bounds.
fn without_law(metric: &str) -> ScalingRecord {
    let no_fit = format!(
        "No law of growth is fitted, since the {metric} of some sizes is only known to be at least what was found."
    );
    ScalingRecord { no_fit, ..ScalingRecord::default() }
}

/// The medians of all sizes, and their ratios to that of the smallest. Those of `bounded` sizes are lower
/// bounds: they have no upper end, and no serial part follows from them.
fn points_of(sizes: &[(f64, ByBlock)], bounded: &[f64]) -> Vec<PointRecord> {
    let median_of_all = |figures: &ByBlock| median(&figures.values().copied().collect::<Vec<_>>());
    let medians: Vec<Point> = sizes.iter().map(|(n, f)| Point::new(*n, median_of_all(f))).collect();
    let serial = speedup(&medians);
    let (Some(first), Some((_, of_first))) = (medians.first().copied(), sizes.first()) else {
        return Vec::new();
    };
    let point = |(Point { n, x }, (_, figures)): (&Point, &(f64, ByBlock))| {
        let blocks = blocks_of(std::slice::from_ref(figures));
        let interval = resampled_interval(blocks.len(), |drawn| median_of(figures, &blocks, drawn));
        PointRecord {
            n: *n,
            x: *x,
            low: interval.map_or(f64::NAN, |interval| interval.low),
            high: interval.filter(|_| !bounded.contains(n)).map_or(f64::NAN, |interval| interval.high),
            speedup: x / first.x,
            speedup_within: speedup_within((*n, figures), (first.n, of_first), bounded),
            efficiency: x / first.x / (n / first.n),
            serial: serial
                .iter()
                .find(|known| known.n == *n && bounded.is_empty())
                .and_then(|known| known.karp_flatt),
        }
    };
    medians.iter().zip(sizes).map(point).collect()
}

/// The interval of the speed-up of one size relative to the smallest. `None` for the smallest itself, and if
/// either is only a bound.
fn speedup_within(
    (n, figures): (f64, &ByBlock),
    (smallest, of_smallest): (f64, &ByBlock),
    bounded: &[f64],
) -> IntervalRecord {
    if n == smallest || bounded.contains(&n) || bounded.contains(&smallest) {
        return IntervalRecord::default();
    }
    // A block without both has no ratio.
    let blocks: Vec<u32> = figures.keys().filter(|block| of_smallest.contains_key(block)).copied().collect();
    within(resampled_interval(blocks.len(), |drawn| {
        Some(median_of(figures, &blocks, drawn)? / median_of(of_smallest, &blocks, drawn)?)
    }))
}

/// The law through the sizes with its bands and a knee, or the reason for its absence.
fn law_of(sizes: &[(f64, ByBlock)]) -> ScalingRecord {
    let (points, blocks) = evened(sizes);
    let without = |no_fit: String| ScalingRecord { no_fit, ..ScalingRecord::default() };
    if sizes.len() < FEWEST_SIZES {
        let too_few = format!(
            "The universal scalability law wants {FEWEST_SIZES} sizes, and there are {}.",
            sizes.len()
        );
        return ScalingRecord { amdahl: by_amdahl(&points, blocks), ..without(too_few) };
    }
    let Some(fit) = usl::fit(&points) else {
        return without("The universal scalability law was not fitted: no block has all sizes.".to_owned());
    };
    let (first, last) = (sizes[0].0, sizes[sizes.len() - 1].0 * BEYOND);
    let at: Vec<f64> =
        (0..=PIECES).map(|i| first + (last - first) * f64::from(i) / f64::from(PIECES)).collect();
    // Removed parameters: the effects of blocks, one for each except for the mean of all.
    let taken = blocks.saturating_sub(1);
    // The residuals of few blocks do not determine the scatter: of one block there is a single figure.
    let bands = (blocks >= FEWEST_PAIRS).then(|| usl::bands(&points, &at, taken)).flatten();
    let curve = bands.iter().flat_map(|bands| &bands.curve);
    ScalingRecord {
        fit: Some(FitRecord {
            contention: fit.contention,
            coherency: fit.coherency,
            gamma: fit.gamma,
            peak_n: fit.peak_n,
            contention_within: within(bands.as_ref().map(|bands| bands.contention)),
            coherency_within: within(bands.as_ref().map(|bands| bands.coherency)),
            peak_within: within(bands.as_ref().and_then(|bands| bands.peak_n)),
        }),
        band: curve.map(|band| BandRecord { n: band.n, low: band.low, high: band.high }).collect(),
        knee: knee(&points, taken).map(|knee| KneeRecord {
            n: knee.n,
            within: IntervalRecord { low: knee.low, high: knee.high },
            before: knee.before,
            after: knee.after,
        }),
        ..ScalingRecord::default()
    }
}

/// Amdahl's law through `points`, ordered by block.
fn by_amdahl(points: &[Point], blocks: usize) -> Option<AmdahlRecord> {
    let found = amdahl(points)?;
    let sizes = points.len() / blocks;
    // Least squares of points depend on the means of each size, if all sizes have equally many.
    let mean_of = |drawn: &[usize], size: usize| {
        let of_size = drawn.iter().map(|block| points[block * sizes + size].x);
        Point::new(points[size].n, of_size.sum::<f64>() / drawn.len() as f64)
    };
    let interval = resampled_interval(blocks, |drawn| {
        let means: Vec<Point> = (0..sizes).map(|size| mean_of(drawn, size)).collect();
        amdahl(&means).map(|again| again.serial)
    });
    Some(AmdahlRecord { serial: found.serial, within: within(interval), gamma: found.gamma })
}

fn within(found: Option<BootstrapInterval>) -> IntervalRecord {
    found.map_or_else(IntervalRecord::default, |found| IntervalRecord { low: found.low, high: found.high })
}

/// The figures of blocks that have all sizes, without the effects of blocks, and the number of those blocks.
/// Effects on a whole block say nothing about sizes, and would hide the effects of sizes as noise.
fn evened(sizes: &[(f64, ByBlock)]) -> (Vec<Point>, usize) {
    let Some((_, of_first)) = sizes.first() else { return (Vec::new(), 0) };
    let usable =
        |figures: &ByBlock, block: u32| figures.get(&block).is_some_and(|x| x.is_finite() && *x > 0.0);
    let whole = |block: &&u32| sizes.iter().all(|(_, figures)| usable(figures, **block));
    let blocks: Vec<u32> = of_first.keys().filter(whole).copied().collect();
    let mean_of = |logs: Vec<f64>| logs.iter().sum::<f64>() / logs.len() as f64;
    let mood = |block: &u32| mean_of(sizes.iter().map(|(_, figures)| figures[block].ln()).collect());
    let moods: Vec<f64> = blocks.iter().map(mood).collect();
    let mean = mean_of(moods.clone());
    let mut points = Vec::with_capacity(sizes.len() * blocks.len());
    for (block, mood) in blocks.iter().zip(&moods) {
        let even = (mean - mood).exp();
        points.extend(sizes.iter().map(|(n, figures)| Point::new(*n, figures[block] * even)));
    }
    (points, blocks.len())
}

#[cfg(test)]
mod tests {
    use barograph_record::SearchBound;
    use barograph_spec::study::read;

    use super::*;
    use crate::figures::made;

    /// Figures by the law, with an effect of each block of up to 30 % and a noise of 1 %.
    fn sizes(of: &[f64], blocks: u32) -> Vec<(f64, ByBlock)> {
        let law = |n: f64| 100.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
        let noise = |seed: f64| (seed * 12.9898).sin() * 43_758.545_3;
        let part = |seed: f64| noise(seed) - noise(seed).floor() - 0.5;
        let figure = |n: f64, block: u32| {
            law(n) * (1.0 + 0.6 * part(f64::from(block))) * (1.0 + 0.02 * part(n * 100.0 + f64::from(block)))
        };
        of.iter().map(|n| (*n, (1..=blocks).map(|block| (block, figure(*n, block))).collect())).collect()
    }

    #[test]
    fn moods_of_blocks_do_not_hide_the_law() {
        let found = law_of(&sizes(&[1.0, 2.0, 4.0, 8.0, 16.0], 12));
        let fit = found.fit.unwrap();
        assert!((fit.contention - 0.05).abs() < 0.01 && (fit.coherency - 0.002).abs() < 0.0008, "{fit:?}");
        let IntervalRecord { low, high } = fit.contention_within;
        assert!(low <= fit.contention && fit.contention <= high && high - low < 0.04, "{fit:?}");
        assert!((fit.peak_n.unwrap() - (0.95f64 / 0.002).sqrt()).abs() < 4.0, "{fit:?}");
        assert_eq!((found.band.len(), found.no_fit.as_str()), (PIECES as usize + 1, ""));
        assert!(
            found.band.iter().all(|band| band.low < band.high && band.high < band.low * 1.1),
            "{found:?}"
        );
    }

    /// Of five figures the median is the third for any two above it.
    #[test]
    fn a_median_is_a_bound_where_one_at_or_below_it_is() {
        let figures: ByBlock = (1..=5).map(|block| (block, f64::from(block))).collect();
        for (at_least, open) in [(vec![], false), (vec![4, 5], false), (vec![3], true), (vec![1], true)] {
            assert_eq!(is_open(&figures, &at_least), open, "{at_least:?}");
        }
        let even: ByBlock = (1..=4).map(|block| (block, f64::from(block))).collect();
        assert!(is_open(&even, &[3]) && !is_open(&even, &[4]), "the median of four lies between two");
    }

    #[test]
    fn capacities_that_are_only_bounds_have_no_upper_end_and_no_law() {
        let text = r#"
question = "q"
plan = "p"
[[factor]]
name = "nodes"
levels = [{ name = "1", set = { seed = 1 } }, { name = "2", set = { seed = 2 } }, { name = "4", set = { seed = 4 } }]
[[metric]]
of = "capacity"
"#;
        let study = read("s.toml", text).unwrap_or_else(|refused| panic!("{refused}"));
        let found = |bounded: u32| {
            let configurations = || study.configurations.iter().zip([100.0, 190.0, 350.0]);
            let blocks = 1..=7;
            let mut runs: Vec<RunEnded> = blocks
                .flat_map(|block| {
                    configurations()
                        .map(move |(c, x)| made(block, &c.name, ("capacity", x + f64::from(block))))
                })
                .collect();
            let highest = |run: &&mut RunEnded| run.started.configuration == study.configurations[2].name;
            for run in runs.iter_mut().filter(highest).filter(|run| run.started.block <= bounded) {
                run.at_least = Some(SearchBound::Fail);
            }
            scalings(&study, &runs).remove(0)
        };
        let (exact, bound) = (found(0), found(4));
        assert!(exact.bounded.is_empty() && exact.amdahl.is_some(), "{exact:?}");
        assert!(exact.points[2].high.is_finite() && exact.points[2].serial.is_some(), "{exact:?}");
        assert!(bound.bounded == [4.0] && bound.no_fit.starts_with("No law of growth"), "{bound:?}");
        assert!(bound.amdahl.is_none(), "{bound:?}");
        let known = |found: &ScalingRecord| {
            found.points.iter().map(|point| point.speedup_within.low.is_finite()).collect::<Vec<_>>()
        };
        assert_eq!((known(&exact), known(&bound)), (vec![false, true, true], vec![false, true, false]));
        assert!(
            bound.points.iter().all(|point| point.serial.is_none() && point.low.is_finite()),
            "{bound:?}"
        );
        let ends: Vec<bool> = bound.points.iter().map(|point| point.high.is_finite()).collect();
        assert_eq!(ends, [true, true, false]);
    }

    /// From six blocks on: those of fewer hardly ever reach as far as they should.
    #[test]
    fn few_blocks_have_a_law_and_no_intervals() {
        for (blocks, known) in [(1, false), (5, false), (6, true)] {
            let sizes = sizes(&[1.0, 2.0, 4.0, 8.0], blocks);
            let found = law_of(&sizes);
            let fit = found.fit.unwrap();
            assert_eq!(fit.contention_within.low.is_finite(), known, "{blocks} blocks: {fit:?}");
            assert_eq!(!found.band.is_empty(), known, "{blocks} blocks");
            let points = points_of(&sizes, &[]);
            assert!(
                points.iter().all(|p| p.low.is_finite() == known && p.high.is_finite() == known),
                "{points:?}"
            );
        }
    }

    #[test]
    fn fewer_than_four_sizes_say_why_there_is_no_law() {
        let three = law_of(&sizes(&[1.0, 2.0, 4.0], 6));
        assert!(three.fit.is_none() && three.band.is_empty() && three.knee.is_none());
        assert_eq!(three.no_fit, "The universal scalability law wants 4 sizes, and there are 3.");
        let mut torn = sizes(&[1.0, 2.0, 4.0, 8.0], 4);
        for (at, (_, figures)) in torn.iter_mut().enumerate() {
            figures.remove(&(at as u32 + 1));
        }
        assert_eq!(
            law_of(&torn).no_fit,
            "The universal scalability law was not fitted: no block has all sizes."
        );
        assert!(points_of(&torn, &[]).iter().all(|point| point.x > 0.0));
    }

    /// Effects of up to 30 % are equal for all sizes of a block; the serial part and its interval are free of
    /// them.
    #[test]
    fn a_serial_part_of_few_sizes_has_its_interval() {
        let of_blocks = |blocks: u32, law: fn(f64) -> f64| {
            let mood = |block: u32| 1.0 + 0.3 * (f64::from(block) * 12.989_8).sin();
            let hash = |seed: f64| (seed * 12.9898).sin() * 43_758.545_3;
            let part = |seed: f64| hash(seed) - hash(seed).floor() - 0.5;
            let noise = |n: f64, block: u32| 1.0 + 0.02 * part(n * 100.0 + f64::from(block));
            let figures =
                |n: f64| (1..=blocks).map(move |block| (block, law(n) * mood(block) * noise(n, block)));
            law_of(&[1.0, 2.0, 4.0].map(|n| (n, figures(n).collect()))).amdahl.unwrap()
        };
        let tenth = |n: f64| 100.0 / (0.1 + 0.9 / n);
        let found = of_blocks(12, tenth);
        assert!(found.within.low < 0.1 && 0.1 < found.within.high, "{found:?}");
        assert!(found.within.low > 0.09 && found.within.high < 0.11, "{found:?}");
        assert!(found.within.low <= found.serial && found.serial <= found.within.high, "{found:?}");
        assert!((found.limit().unwrap() - 10.0).abs() < 1.0, "{found:?}");
        assert!(of_blocks(5, tenth).within.low.is_nan(), "too few blocks for an interval");
        let more_than_linear = of_blocks(12, |n| 100.0 * n.powf(1.1));
        assert!(more_than_linear.serial < 1e-6, "{more_than_linear:?}");
        assert_eq!(more_than_linear.limit(), None);
    }

    #[test]
    fn a_speedup_has_an_interval_free_of_the_moods_of_blocks() {
        let points = points_of(&sizes(&[1.0, 2.0, 4.0], 12), &[]);
        assert!(points[0].speedup_within.low.is_nan(), "{points:?}");
        for point in &points[1..] {
            let IntervalRecord { low, high } = point.speedup_within;
            assert!(low <= point.speedup && point.speedup <= high, "{point:?}");
            assert!(
                high / low < point.high / point.low,
                "moods raise the speed, not the speed-up: {point:?}"
            );
        }
    }

    #[test]
    fn speed_is_over_that_of_the_smallest_size() {
        let points = points_of(&sizes(&[2.0, 4.0, 8.0], 8), &[]);
        assert_eq!((points[0].speedup, points[0].efficiency, points[0].serial), (1.0, 1.0, None));
        assert!((points[1].efficiency - points[1].speedup / 2.0).abs() < 1e-12, "{points:?}");
        assert!(points[2].serial.is_some_and(|serial| 0.0 < serial && serial < 0.3), "{points:?}");
        assert!(points_of(&[], &[]).is_empty());
    }
}

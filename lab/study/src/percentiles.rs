//! Response times by percentile: the median over the runs of a configuration, at each quantile.

use barograph_record::{LineRecord, PercentilesRecord, QuantileRecord, RunEnded, TimesRecord, longer_at};
use barograph_spec::study::{Study, of_load};
use barograph_stats::rank::{median_interval, median_of_sorted};

use crate::places;

/// For each operation of a metric, a line per configuration, baselines first; the number of drawn lines is
/// limited.
pub(crate) fn percentiles(study: &Study, runs: &[RunEnded]) -> Vec<PercentilesRecord> {
    let is_no_baseline = |(at, _): &(usize, String)| {
        study
            .configurations
            .get(*at)
            .is_none_or(|configuration| study.baseline_of(configuration) != Some(*at))
    };
    let mut names: Vec<(usize, String)> = places(study).into_iter().enumerate().collect();
    names.sort_by_key(is_no_baseline);
    let of = |op: &str| PercentilesRecord {
        op: op.to_owned(),
        lines: names.iter().filter_map(|(_, name)| line(runs, name, op)).collect(),
    };
    let all = study.operations().into_iter();
    all.map(|(load, op)| of(&of_load(load, op))).filter(|found| !found.lines.is_empty()).collect()
}

fn line(runs: &[RunEnded], name: &str, op: &str) -> Option<LineRecord> {
    let valid = runs.iter().filter(|run| run.valid && run.started.configuration == name);
    let times: Vec<&TimesRecord> = valid.filter_map(|run| run.times.iter().find(|of| of.op == op)).collect();
    // Beyond that each quantile would come from other runs.
    let all_reach = times.iter().map(|of| of.ms.len()).min()?;
    Some(LineRecord {
        configuration: name.to_owned(),
        runs: times.len() as u32,
        limit: times.first().and_then(|of| of.quantile.zip(of.limit_ms)),
        points: (0..all_reach).map(|place| quantile(&times, place)).collect(),
    })
}

fn quantile(times: &[&TimesRecord], place: usize) -> QuantileRecord {
    let mut ms: Vec<f64> = times.iter().map(|of| of.ms[place]).collect();
    ms.sort_by(f64::total_cmp);
    let (low, high) = median_interval(&ms).unwrap_or((f64::NAN, f64::NAN));
    QuantileRecord { longer: longer_at(place), ms: median_of_sorted(&ms), low, high }
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
name = "size"
levels = [{ name = "1", set = { seed = 1 } }, { name = "2", set = { seed = 2 } }]
[[metric]]
of = "throughput"
[[metric]]
of = "response_p50"
operation = "Get"
[[metric]]
of = "response_p99"
operation = "Get"
"#;

    /// A run whose times are 10, 20, 30 ... times `slow`, `places` of them.
    fn timed(block: u32, configuration: &str, (slow, places): (f64, usize)) -> RunEnded {
        let times = TimesRecord {
            op: "Get".to_owned(),
            count: 100,
            quantile: Some(0.99),
            limit_ms: Some(250.0),
            ms: (1..=places).map(|place| place as f64 * 10.0 * slow).collect(),
        };
        RunEnded { times: vec![times], ..made(block, configuration, ("throughput", 1.0)) }
    }

    #[test]
    fn what_others_are_held_against_comes_first() {
        let text = STUDY.replacen("[[factor]]", "baseline = { size = \"2\" }\n[[factor]]", 1);
        let study = read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"));
        let runs = ["size 1", "size 2", crate::CONTROL].map(|name| timed(1, name, (1.0, 12)));
        let names: Vec<String> =
            percentiles(&study, &runs)[0].lines.iter().map(|line| line.configuration.clone()).collect();
        assert_eq!(names, ["size 2", "size 1", crate::CONTROL]);
    }

    #[test]
    fn a_line_has_medians_and_their_intervals_as_far_as_all_runs_reach() {
        let study = read("s.toml", STUDY).unwrap_or_else(|refused| panic!("{refused}"));
        let mut runs: Vec<RunEnded> = (1..=7)
            .map(|block| timed(block, "size 1", (f64::from(block), if block == 3 { 11 } else { 12 })))
            .collect();
        runs.extend((1..=5).map(|block| timed(block, "size 2", (f64::from(block), 12))));
        // An invalid run, and one without times.
        runs.push(RunEnded { valid: false, ..timed(8, "size 1", (1e6, 12)) });
        runs.push(made(9, "size 1", ("throughput", 1.0)));
        let all = percentiles(&study, &runs);
        let [found] = all.as_slice() else {
            panic!("one operation, however many metrics are of it: {all:?}")
        };
        let [first, second] = found.lines.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.op.as_str(), first.configuration.as_str(), first.runs), ("Get", "size 1", 7));
        assert_eq!((first.limit, first.points.len()), (Some((0.99, 250.0)), 11));
        let last = first.points[10];
        assert!((last.longer - 0.1).abs() < 1e-12);
        assert_eq!((last.ms, last.low, last.high), (440.0, 110.0, 770.0));
        assert_eq!((second.runs, second.points.len(), second.points[0].ms), (5, 12, 30.0));
        assert!(second.points[0].low.is_nan(), "five runs do not tell a median with 95 %");
    }
}

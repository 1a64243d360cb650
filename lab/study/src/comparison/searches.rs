//! Comparison of searches: capacities with their posteriors, and what weakens them.

use barograph_model::words::{self, changes};
use barograph_record::{EstimateRecord, FindingRecord, MetricRecord, RowRecord, Run};
use barograph_stats::compare::{Direction, IntervalEstimate, compare_believed, is_beyond};

/// Compares one search per side: the ratio with the uncertainty of both, and never a finding. The variation
/// between starts of a target is in no search, and on a shared machine it is most of the noise.
pub(super) fn of_one_each(
    row: RowRecord,
    (baseline, candidate): (IntervalEstimate, IntervalEstimate),
    margin: f64,
) -> RowRecord {
    let row = row.with(&compare_believed(baseline, candidate, Direction::Higher, margin));
    RowRecord { finding: FindingRecord::Undecided, ..row }
}

/// The result of one search per side in one sentence.
pub(super) fn sentence(metric: &MetricRecord, found: &RowRecord) -> String {
    let apart = is_beyond((found.low, found.high), metric.margin);
    let (by, interval) = changes(found.ratio, (found.low, found.high));
    let says = format!("{} {by}, 95 % interval {interval}", metric.name);
    let says = match apart {
        true => format!("the two searches differ by more than their trials leave open ({says})"),
        false => format!("{says} by the trials of the two searches"),
    };
    format!(
        "Undecided: {says}. One search a side cannot tell a change from how the next start of the same target differs: \
         `barograph study` repeats whole searches."
    )
}

/// Facts that make the answer of a search weaker than its interval.
pub(super) fn warnings(run: &Run) -> Vec<String> {
    let id = &run.header.id;
    let Some(verdict) = run.verdict() else { return Vec::new() };
    let Some(search) = verdict.search.as_ref() else { return Vec::new() };
    let mut said = Vec::new();
    if let Some(capacity) = verdict.capacity.filter(|_| search.at_least) {
        said.push(format!(
            "{id} says only that its capacity is {} at least: no higher level could be tried or believed",
            words::count(capacity.into())
        ));
    }
    let estimate = search.estimate.as_deref();
    if estimate.is_some_and(drifted) {
        said.push(format!("the target of {id} changed during the search, so its interval is too narrow"));
    }
    if estimate.and_then(|e| e.cross_check).is_some_and(|check| check.disagrees) {
        said.push(format!(
            "the response times of {id} put its capacity elsewhere than its passed and failed trials do"
        ));
    }
    said
}

fn drifted(estimate: &EstimateRecord) -> bool {
    estimate.repeats.is_some_and(|repeats| repeats.drifted)
}

/// Further notes on one search per side.
pub(super) fn notes_on_two(one: &Run, other: &Run) -> Vec<String> {
    let mut said = Vec::new();
    let searched = |run: &Run| run.verdict().is_some_and(|verdict| verdict.search.is_some());
    if searched(one) && searched(other) {
        said.push(match (one.believed_capacity(), other.believed_capacity()) {
            (Some(_), Some(_)) => {
                "The intervals say what the trials of these two searches leave open, and nothing of how the target differs \
                 from one start to the next."
                    .to_owned()
            }
            _ => "Nothing is known about the noise of these capacities: only a search with load.search = \"posterior\" says \
                  how sure it is."
                .to_owned(),
        });
    }
    for run in [one, other] {
        let Some(search) = run.verdict().and_then(|verdict| verdict.search.as_ref()) else { continue };
        let level =
            |level: Option<u32>| level.map_or_else(|| "none".to_owned(), |n| words::count(u64::from(n)));
        said.push(format!(
            "{}: the search passed at {} at most and failed from {} on, in {} trials.",
            run.header.id,
            level(search.highest_pass),
            level(search.lowest_fail),
            search.trials
        ));
    }
    said
}

/// Notes on several searches per side: the result of each pair alone.
pub(super) fn notes_on_pairs(pairs: &[(&Run, &Run)], margin: f64) -> Vec<String> {
    let of = |(n, (one, other)): (usize, &(&Run, &Run))| {
        let (baseline, candidate) = (one.believed_capacity()?, other.believed_capacity()?);
        let found = compare_believed(baseline, candidate, Direction::Higher, margin);
        let (by, interval) = changes(found.ratio, (found.low, found.high));
        Some(format!(
            "Pair {} by itself: {candidate} against {baseline}, capacity {by}, 95 % interval {interval}.",
            n + 1
        ))
    };
    pairs.iter().enumerate().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_whether_the_searches_differ_and_finds_nothing() {
        let said = |value, low, high| {
            let baseline = IntervalEstimate::new(11_100.0, 10_800.0, 11_400.0).unwrap();
            let candidate = IntervalEstimate::new(value, low, high).unwrap();
            let metric =
                MetricRecord { name: "capacity".to_owned(), margin: 0.02, ..MetricRecord::default() };
            let row = of_one_each(RowRecord::default(), (baseline, candidate), 0.02);
            assert_eq!(row.finding, FindingRecord::Undecided);
            sentence(&metric, &row)
        };
        let apart = said(12_900.0, 12_500.0, 13_300.0);
        let differ = "Undecided: the two searches differ by more than their trials leave open (capacity +16.2 %, 95 % interval \
                      +11.5 % to +21.1 %). ";
        assert!(apart.starts_with(differ) && apart.contains("`barograph study` repeats"), "{apart}");
        let open = said(11_400.0, 11_000.0, f64::INFINITY);
        assert!(open.starts_with("Undecided: capacity +2.7 %, 95 % interval "), "{open}");
        assert!(open.contains(" or more by the trials of the two searches."), "{open}");
    }
}

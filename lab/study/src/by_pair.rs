//! In how many pairs of a comparison the difference is beyond the margin, and which way.

use barograph_model::words::{changes, listed};
use barograph_record::{FindingRecord, MetricRecord, RowRecord};
use barograph_spec::study::MetricPlan;
use barograph_stats::compare::is_beyond;
use barograph_stats::rank::median;

/// One sentence per metric whose pairs are counted, about all of its comparisons.
pub(crate) fn sentences(plans: &[MetricPlan], metrics: &[MetricRecord]) -> Vec<String> {
    let counted = plans.iter().zip(metrics).filter(|(plan, _)| plan.by_pair);
    counted.filter_map(|(_, metric)| sentence(metric)).collect()
}

fn sentence(metric: &MetricRecord) -> Option<String> {
    let compared = metric.rows.iter().filter(|row| row.finding != FindingRecord::Baseline);
    let told: Vec<String> =
        compared.filter(|row| !row.ratios.is_empty()).map(|row| told(metric, row)).collect();
    (!told.is_empty()).then(|| format!("{} pair by pair: {}.", metric.called(), told.join("; ")))
}

/// The pairs of one comparison, counted, with the median and both ends of their ratios.
fn told(metric: &MetricRecord, row: &RowRecord) -> String {
    let margin = metric.margin * 100.0;
    let beyond = |ratio: &&f64| is_beyond((**ratio, **ratio), metric.margin);
    let outside: Vec<&f64> = row.ratios.iter().filter(beyond).collect();
    let better = outside.iter().filter(|ratio| (***ratio > 1.0) == metric.more_is_better).count();
    let counts = [
        (outside.len() - better, format!("worse by more than {margin:.1} %")),
        (row.ratios.len() - outside.len(), format!("within ±{margin:.1} %")),
        (better, format!("better by more than {margin:.1} %")),
    ];
    let counts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} in {count}"))
        .collect();
    let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
    let ends = row
        .ratios
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), ratio| (low.min(*ratio), high.max(*ratio)));
    let (by, ends) = changes(median(&row.ratios), ends);
    format!(
        "{} against {} is {} of {} (median {by}, {ends})",
        row.configuration,
        row.baseline,
        listed(&counts),
        row.ratios.len()
    )
}

#[cfg(test)]
mod tests {
    use barograph_spec::study::read;

    use super::*;

    /// The plan of a metric with a margin of 20 % of which less is better, and rows with these ratios.
    fn said(key: &str, rows: &[(&str, &[f64])]) -> Vec<String> {
        let text = format!("question = \"q\"\nplan = \"p\"\n[[metric]]\nof = \"host_cpu\"\n{key}\n");
        let study = read("s.toml", &text).unwrap_or_else(|refused| panic!("{refused}"));
        let row = |(name, ratios): &(&str, &[f64])| RowRecord {
            configuration: (*name).to_owned(),
            baseline: "idle".to_owned(),
            ratios: ratios.to_vec(),
            finding: FindingRecord::Undecided,
            ..RowRecord::default()
        };
        let baseline = RowRecord { finding: FindingRecord::Baseline, ..row(&("idle", &[1.0])) };
        let metric = MetricRecord {
            label: "host_cpu".to_owned(),
            margin: 0.2,
            rows: std::iter::once(baseline).chain(rows.iter().map(row)).collect(),
            ..MetricRecord::default()
        };
        sentences(&study.metrics, &[metric])
    }

    #[test]
    fn pairs_are_counted_by_margin_and_direction() {
        let rows: [(&str, &[f64]); 2] = [("off", &[1.5, 1.7, 1.6]), ("on", &[1.2, 0.7, 1.3, 0.9])];
        assert_eq!(
            said("by_pair = true", &rows),
            [
                "host_cpu pair by pair: off against idle is worse by more than 20.0 % in 3 of 3 (median +60.0 %, +50.0 % to \
                 +70.0 %); on against idle is worse by more than 20.0 % in 1, within ±20.0 % in 2 and better by more than 20.0 % \
                 in 1 of 4 (median +5.0 %, −30.0 % to +30.0 %)."
            ]
        );
    }

    #[test]
    fn only_metrics_that_ask_and_have_pairs_are_counted() {
        assert!(said("", &[("off", &[1.5])]).is_empty());
        assert!(said("by_pair = false", &[("off", &[1.5])]).is_empty());
        assert!(said("by_pair = true", &[("off", &[])]).is_empty());
    }
}

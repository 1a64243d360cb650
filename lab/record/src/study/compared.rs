//! Result of a comparison of runs, as data.

use barograph_stats::compare::IntervalEstimate;

use super::{FindingRecord, MetricRecord, RowRecord};

/// Comparison of runs of a baseline and of a candidate: a study of two configurations whose runs exist
/// already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonRecord {
    /// Names of the runs of the baseline.
    pub baseline: String,
    /// Names of the runs of the candidate.
    pub candidate: String,
    /// The result in one sentence.
    pub sentence: String,
    /// Metrics, judged together. Their rows are the baseline's and the candidate's.
    pub metrics: Vec<MetricRecord>,
    /// Metrics of one side only.
    pub missing: Vec<String>,
    /// Whether the candidate broke a rule where the baseline kept all.
    pub breaks_rules: bool,
    /// Posterior of the capacity of baseline and candidate, for one search per side.
    pub believed: Option<(IntervalEstimate, IntervalEstimate)>,
    /// Noise within the runs, by metric, for one run per side.
    pub within_run: Vec<WithinRunNoise>,
    /// Warnings that weaken the result.
    pub warnings: Vec<String>,
    /// Further notes.
    pub notes: Vec<String>,
}

/// Noise of a ratio within one run per side. It says nothing about differences between runs, the main risk of
/// a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct WithinRunNoise {
    /// Label of the metric.
    pub metric: String,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Blocks of time in the estimate, of the side with fewer.
    pub blocks: usize,
}

impl ComparisonRecord {
    /// Returns the metrics with the findings on the candidate.
    pub fn found(&self) -> impl Iterator<Item = (&MetricRecord, &RowRecord)> {
        self.metrics.iter().filter_map(|metric| Some((metric, metric.rows.get(1)?)))
    }

    /// Counts the metrics with this finding.
    #[must_use]
    pub fn count(&self, finding: FindingRecord) -> usize {
        self.found().filter(|(_, row)| row.finding == finding).count()
    }

    /// Whether there is one run per side, without an interval for its figures.
    #[must_use]
    pub fn is_single(&self) -> bool {
        let one = self.found().all(|(_, row)| row.pairs + row.excluded <= 1);
        one && !self.metrics.is_empty() && self.believed.is_none()
    }

    /// Returns the noise of a metric within one run per side.
    #[must_use]
    pub fn within(&self, metric: &str) -> Option<&WithinRunNoise> {
        self.within_run.iter().find(|within| within.metric == metric)
    }
}

//! What runs say that are held against each other, as data.

use barograph_stats::compare::Believed;

use super::{KeptFinding, KeptMetric, KeptRow};

/// Runs of a baseline and of a candidate, compared: a study of two configurations whose runs are there already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Names of the runs of the baseline.
    pub baseline: String,
    /// Names of the runs of the candidate.
    pub candidate: String,
    /// The result in one sentence.
    pub sentence: String,
    /// The metrics, judged together. Their rows are the baseline's and the candidate's.
    pub metrics: Vec<KeptMetric>,
    /// Metrics that only one side has.
    pub missing: Vec<String>,
    /// The candidate broke a rule where the baseline kept all.
    pub breaks_rules: bool,
    /// Of one search a side: what baseline and candidate believe of their capacity.
    pub believed: Option<(Believed, Believed)>,
    /// Of one run a side: noise inside of them, by metric.
    pub within_run: Vec<WithinRun>,
    /// What makes the result weaker than it looks.
    pub warnings: Vec<String>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

/// What is known of a ratio's noise from inside of one run a side. It says nothing of how runs differ from each other,
/// which is most of what a comparison has to fear.
#[derive(Clone, Debug, PartialEq)]
pub struct WithinRun {
    /// Label of the metric.
    pub metric: String,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Blocks of time it rests on, of the side that has fewer.
    pub blocks: usize,
}

impl Compared {
    /// The metrics with what was found of the candidate.
    pub fn found(&self) -> impl Iterator<Item = (&KeptMetric, &KeptRow)> {
        self.metrics.iter().filter_map(|metric| Some((metric, metric.rows.get(1)?)))
    }

    /// How many metrics came out so.
    #[must_use]
    pub fn count(&self, finding: KeptFinding) -> usize {
        self.found().filter(|(_, row)| row.finding == finding).count()
    }

    /// Is there one run a side that says nothing of how sure its figures are?
    #[must_use]
    pub fn is_single(&self) -> bool {
        let one = self.found().all(|(_, row)| row.pairs + row.excluded <= 1);
        one && !self.metrics.is_empty() && self.believed.is_none()
    }

    /// Noise inside of one run a side.
    #[must_use]
    pub fn within(&self, metric: &str) -> Option<&WithinRun> {
        self.within_run.iter().find(|within| within.metric == metric)
    }
}

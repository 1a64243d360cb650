//! Comparison of operations of one run that were done in rounds: a round is a block.

use barograph_record::{ComparisonRecord, Figure, MetricRecord, RunEnded, RunStarted};

use super::sentence;
use crate::analysis::{self, MetricStatistics, Sides};

/// Operations in rounds.
pub struct RoundsToCompare<'a> {
    /// Names of the operations; the first is the baseline.
    pub names: &'a [&'a str],
    /// Label, name and unit of each metric; less of each is better.
    pub metrics: &'a [[&'a str; 3]],
    /// The operations that succeeded.
    pub figures: &'a [RoundFigures<'a>],
    /// Largest difference, as a share, that does not count.
    pub margin: f64,
}

/// Figures of an operation.
pub struct RoundFigures<'a> {
    /// Number of the round, over all users.
    pub round: u32,
    /// Name of the operation.
    pub name: &'a str,
    /// A figure of each metric.
    pub figures: &'a [f64],
}

impl RoundsToCompare<'_> {
    /// Compares every operation with the first. All metrics of all operations are judged together.
    #[must_use]
    pub fn compare(&self) -> Vec<ComparisonRecord> {
        let runs: Vec<RunEnded> = self.figures.iter().map(|of| self.ended(of)).collect();
        let metrics: Vec<MetricStatistics> = self.metrics.iter().map(|metric| self.metric(metric)).collect();
        let judged = analysis::metrics(&Sides::of_first(self.names), &metrics, &runs);
        let candidates = self.names.iter().enumerate().skip(1);
        candidates.map(|(at, name)| self.comparison(&judged, (at, name))).collect()
    }

    fn comparison(&self, judged: &[MetricRecord], (at, name): (usize, &str)) -> ComparisonRecord {
        let metrics = judged.iter().map(|metric| {
            let rows = [0, at].iter().filter_map(|side| metric.rows.get(*side).cloned()).collect();
            MetricRecord { rows, ..metric.clone() }
        });
        let mut compared = ComparisonRecord {
            baseline: self.names[0].to_owned(),
            candidate: name.to_owned(),
            metrics: metrics.collect(),
            ..ComparisonRecord::default()
        };
        compared.sentence = sentence(&compared, self.margin);
        compared
    }

    fn metric(&self, [label, name, unit]: &[&str; 3]) -> MetricStatistics {
        MetricStatistics {
            label: (*label).to_owned(),
            name: (*name).to_owned(),
            unit: (*unit).to_owned(),
            more_is_better: false,
            margin: self.margin,
            is_capacity: false,
            without: Vec::new(),
        }
    }

    /// An operation in the form of a study's run.
    fn ended(&self, of: &RoundFigures<'_>) -> RunEnded {
        let figures =
            self.metrics.iter().zip(of.figures).map(|([label, ..], value)| Figure::new(*label, *value));
        RunEnded {
            started: RunStarted {
                block: of.round,
                configuration: of.name.to_owned(),
                attempt: 1,
                run: String::new(),
                warm_up: false,
            },
            seconds: f64::NAN,
            valid: true,
            passed: true,
            interrupted: false,
            reasons: Vec::new(),
            figures: figures.collect(),
            at_least: None,
            stolen: None,
            scores: Vec::new(),
            missing: Vec::new(),
            times: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use barograph_record::FindingRecord;

    use super::*;

    fn compared(names: &[&str], figures: &[(u32, &str, [f64; 2])]) -> Vec<ComparisonRecord> {
        let figures: Vec<RoundFigures<'_>> = figures
            .iter()
            .map(|(round, name, figures)| RoundFigures { round: *round, name, figures })
            .collect();
        let metrics = [["elapsed", "elapsed time", "s"], ["peak", "peak memory", "MiB"]];
        RoundsToCompare { names, metrics: &metrics, figures: &figures, margin: 0.01 }.compare()
    }

    #[test]
    fn pairs_are_those_of_one_round() {
        // Both slow down together from round to round, and the candidate takes half as long again.
        let figures: Vec<_> = (1..=10)
            .flat_map(|round| {
                let base = f64::from(round);
                [(round, "a", [base, 5.0]), (round, "b", [1.5 * base, 5.0]), (round, "c", [base, 5.0])]
            })
            .collect();
        let [b, c] = &compared(&["a", "b", "c"], &figures)[..] else { panic!("two candidates") };
        let [elapsed, peak] = [0, 1].map(|at| &b.metrics[at].rows[1]);
        assert_eq!((elapsed.finding, elapsed.pairs), (FindingRecord::Worse, 10));
        assert!(
            (elapsed.ratio - 1.5).abs() < 1e-9 && elapsed.low > 1.49 && elapsed.high < 1.51,
            "{elapsed:?}"
        );
        assert_eq!(peak.finding, FindingRecord::Equivalent);
        assert_eq!((b.candidate.as_str(), c.candidate.as_str(), c.baseline.as_str()), ("b", "c", "a"));
        assert_eq!(c.metrics[0].rows[1].finding, FindingRecord::Equivalent);
        assert!(
            b.sentence.contains("1 worse, 1 equivalent") && b.sentence.contains("10 pairs"),
            "{}",
            b.sentence
        );
    }

    #[test]
    fn a_failed_operation_takes_its_round_out_and_few_rounds_decide_nothing() {
        let mut figures: Vec<_> =
            (1..=3).flat_map(|round| [(round, "a", [1.0, 1.0]), (round, "b", [2.0, 1.0])]).collect();
        figures.remove(3);
        let compared = compared(&["a", "b"], &figures);
        let row = &compared[0].metrics[0].rows[1];
        assert_eq!((row.pairs, row.finding), (2, FindingRecord::Undecided));
    }
}

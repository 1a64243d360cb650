//! A comparison as people and programs read it: text, Markdown, JUnit and JSON; and the comparison of records of runs.

mod figures;
mod json;
mod junit;
mod likeness;
mod markdown;
mod runs;
mod searches;
#[cfg(test)]
mod testing;
mod text;
mod within;

pub use figures::{RunFigure, figures};
pub use json::json;
pub use junit::junit;
pub use likeness::{Difference, differences};
pub use markdown::markdown;
pub use runs::{CompareRuns, NotComparable};
pub use text::text;

use barograph_model::words::changes;
use barograph_stats::compare::{Believed, Comparison, Direction, Finding};

use crate::words;

/// One metric, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// Its name, as in `Search p99`.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// The median of the baseline's figures.
    pub baseline: f64,
    /// The median of the candidate's figures.
    pub candidate: f64,
    /// What the pairs say; of one search a side, what the two intervals say.
    pub comparison: Comparison,
    /// Of the capacity of one search a side: what each of them, baseline and candidate, believes.
    pub believed: Option<(Believed, Believed)>,
}

impl ComparedMetric {
    /// The baseline's figure, with its interval where it has one.
    fn baseline_words(&self) -> String {
        self.believed.map_or_else(|| words::figure(self.baseline), |(one, _)| with_interval(&one))
    }

    /// The candidate's figure, with its interval where it has one.
    fn candidate_words(&self) -> String {
        self.believed.map_or_else(|| words::figure(self.candidate), |(_, other)| with_interval(&other))
    }
}

/// What is known of a ratio's noise from inside of one run a side. It says nothing of how runs differ from each other,
/// which is most of what a comparison has to fear.
#[derive(Clone, Debug, PartialEq)]
pub struct WithinRun {
    /// Name of the metric.
    pub metric: String,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// Blocks of time it rests on, of the side that has fewer.
    pub blocks: usize,
}

/// A candidate and a baseline, compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// What the baseline is: a configuration, or runs.
    pub baseline: String,
    /// What the candidate is.
    pub candidate: String,
    /// The metrics, judged together.
    pub metrics: Vec<ComparedMetric>,
    /// Where there is one run a side: noise inside of them, by metric.
    pub within_run: Vec<WithinRun>,
    /// What a reader should be careful about.
    pub warnings: Vec<String>,
    /// What else there is to know.
    pub notes: Vec<String>,
}

impl Compared {
    /// How many metrics came out so.
    #[must_use]
    pub fn count(&self, finding: Finding) -> usize {
        self.metrics.iter().filter(|metric| metric.comparison.finding == finding).count()
    }

    /// Pairs of the metric that has the most.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.metrics.iter().map(|metric| metric.comparison.pairs).max().unwrap_or(0)
    }

    /// Is there one run a side that says nothing of how sure its figures are?
    #[must_use]
    pub fn is_single(&self) -> bool {
        !self.metrics.is_empty()
            && self.metrics.iter().all(|m| m.believed.is_none() && is_single(&m.comparison))
    }

    /// The result in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        if self.is_single() {
            return "Undecided: one run each. Runs differ from each other by more than what one of them shows; \
                    `barograph study` repeats both in random order, and `barograph compare A1,A2,.. B1,B2,..` compares \
                    runs that are there already, pair by pair."
                .to_owned();
        }
        if let [metric] = &self.metrics[..]
            && metric.believed.is_some()
        {
            return searches::sentence(metric);
        }
        let counted: Vec<String> = Finding::ALL
            .iter()
            .map(|finding| (self.count(*finding), finding.word()))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let (metrics, pairs) = (self.metrics.len(), self.pairs());
        let counted = if counted.is_empty() { "nothing to compare".to_owned() } else { counted.join(", ") };
        let (metric, pair) = (plural(metrics, "metric"), plural(pairs, "pair"));
        let margin = self.metrics.first().map_or_else(String::new, |m| {
            format!("; differences up to {} do not count", words::percent(m.comparison.margin))
        });
        format!("The candidate: {counted} (of {metrics} {metric}, {pairs} {pair}{margin}).")
    }

    /// How much a metric changed, and between what: its 95 % interval, of one run a side the noise within the runs.
    fn changed(&self, metric: &ComparedMetric) -> (String, String) {
        match self.within(&metric.name).filter(|_| self.is_single()) {
            Some(within) => changes(metric.comparison.ratio, (within.low, within.high)),
            None => changed(&metric.comparison),
        }
    }

    fn within(&self, name: &str) -> Option<&WithinRun> {
        self.within_run.iter().find(|within| within.metric == name)
    }
}

/// One run a side, or none that can be used?
fn is_single(comparison: &Comparison) -> bool {
    comparison.pairs + comparison.excluded <= 1
}

/// A figure and its interval, which may be open above: `11,800 (11,500 to 12,100)`, `11,800 (11,500 or more)`.
fn with_interval(figure: &Believed) -> String {
    let low = words::figure(figure.low);
    let between = if figure.high.is_finite() {
        format!("{low} to {}", words::figure(figure.high))
    } else {
        format!("{low} or more")
    };
    format!("{} ({between})", words::figure(figure.value))
}

/// What the last column but one means; it is the least known.
const MEANING_OF_P: &str =
    "p is the probability of such a change by chance alone, corrected for all metrics of the table (Holm).";

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// A finding as a cell of a table: the mark is for those who look, the word for those who read. Where it is undecided,
/// how many pairs would decide.
fn finding(comparison: &Comparison) -> String {
    let mark = words::mark(comparison.finding.into());
    let needed = comparison.pairs_needed.map_or_else(String::new, |n| match n {
        0..10_000 => format!(", needs about {} pairs", words::count(u64::from(n))),
        _ => ", needs more than 10,000 pairs".to_owned(),
    });
    format!("{mark} {}{needed}", comparison.finding.word())
}

/// How much a metric changed, and its 95 % interval.
fn changed(found: &Comparison) -> (String, String) {
    changes(found.ratio, (found.low, found.high))
}

/// A p-value: four decimals, and nothing smaller.
pub(crate) fn p_value(p: f64) -> String {
    if p < 1e-4 { "<0.0001".to_owned() } else { words::fixed(p, 4) }
}

#[cfg(test)]
mod tests {
    use super::testing::{compared, single};
    use super::*;

    #[test]
    fn the_sentence_counts_worst_first() {
        assert_eq!(
            compared().sentence(),
            "The candidate: 1 worse, 1 undecided, 1 equivalent (of 3 metrics, 10 pairs; differences up to 2.00 % do \
             not count)."
        );
        assert!(single().is_single() && single().sentence().starts_with("Undecided: one run each."));
        assert!(Compared::default().sentence().contains("nothing to compare"));
    }
}

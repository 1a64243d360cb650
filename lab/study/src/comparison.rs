//! Comparison of records: a study of two configurations with existing runs. Like is compared with like, pair
//! by pair.

mod figures;
mod likeness;
mod rounds;
mod searches;
mod within;

use barograph_model::{Metric, words};
use barograph_record::{ComparisonRecord, Figure, Run, RunEnded, RunStarted};
use barograph_stats::compare::{Direction, Finding, IntervalEstimate};

pub use likeness::Difference;
pub use rounds::{RoundFigures, RoundsToCompare};

use crate::analysis::{self, MetricStatistics, Sides, breaks_rules};
use figures::{RunFigure, failures, figures};
use likeness::{differences, surroundings};
use within::{RunBlocks, within};

/// The two configurations.
const SIDES: [&str; 2] = ["baseline", "candidate"];

/// Settings of a comparison of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareRuns {
    /// Keys in which the two sides may differ; a key includes all below it.
    pub allow: Vec<String>,
    /// Largest difference, as a share, that does not count.
    pub margin: f64,
}

/// Reason why runs cannot be compared.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ComparisonError {
    /// They are different experiments.
    #[error(
        "compare `{one}` with `{other}`: they differ in what was not allowed to differ\n{}\nIf that is what is \
             compared, allow it: --allow {}",
        lines(.differences),
        keys(.differences)
    )]
    Unlike {
        /// Name of a run.
        one: String,
        /// Name of another.
        other: String,
        /// The keys.
        differences: Vec<Difference>,
    },
    /// They make no pairs.
    #[error(
        "pair {baselines} runs of the baseline with {candidates} of the candidate: name as many on both sides, in \
             the order they were made"
    )]
    Numbers {
        /// Runs of the baseline.
        baselines: usize,
        /// Runs of the candidate.
        candidates: usize,
    },
    /// No pair has two valid runs.
    #[error("compare runs of which no pair can be used:\n  {}", .why.join("\n  "))]
    NothingToBelieve {
        /// The faults, by run.
        why: Vec<String>,
    },
}

fn lines(differences: &[Difference]) -> String {
    let line = |d: &Difference| {
        format!("  {}: {} in the baseline, {} in the candidate", d.key, d.baseline, d.candidate)
    };
    differences.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn keys(differences: &[Difference]) -> String {
    differences.iter().map(|d| d.key.as_str()).collect::<Vec<_>>().join(",")
}

impl CompareRuns {
    /// Compares runs in the given order: the first with the first, and so on. Pairs with an invalid run are
    /// left out, and named.
    ///
    /// # Errors
    /// If the runs are different experiments, make no pairs, or none is valid.
    pub fn compare(&self, baseline: &[Run], candidate: &[Run]) -> Result<ComparisonRecord, ComparisonError> {
        if baseline.len() != candidate.len() || baseline.is_empty() {
            return Err(ComparisonError::Numbers { baselines: baseline.len(), candidates: candidate.len() });
        }
        self.like(baseline, candidate)?;
        let mut why = Vec::new();
        let usable = |(one, other): &(&Run, &Run)| {
            let found: Vec<String> = [one, other].into_iter().filter_map(|run| unusable(run)).collect();
            let usable = found.is_empty();
            why.extend(found);
            usable
        };
        let pairs: Vec<(&Run, &Run)> = baseline.iter().zip(candidate).filter(usable).collect();
        if pairs.is_empty() {
            return Err(ComparisonError::NothingToBelieve { why });
        }
        let mut compared = ComparisonRecord {
            baseline: names(baseline),
            candidate: names(candidate),
            warnings: warnings(&pairs),
            ..ComparisonRecord::default()
        };
        compared.warnings.extend(why.into_iter().map(|why| format!("a pair is left out: {why}")));
        self.judge(&pairs, &mut compared);
        match pairs[..] {
            [(one, other)] => inside(one, other, &mut compared),
            _ => compared.notes.extend(searches::notes_on_pairs(&pairs, self.margin)),
        }
        compared.sentence = sentence(&compared, self.margin);
        if compared.breaks_rules {
            compared.sentence.push_str(" The candidate broke rules that the baseline kept.");
        }
        Ok(compared)
    }

    /// Checks likeness: the two of a pair may differ in the allowed keys; the runs of one side, in their
    /// seed.
    fn like(&self, baseline: &[Run], candidate: &[Run]) -> Result<(), ComparisonError> {
        let seed = vec!["seed".to_owned()];
        let mut held: Vec<(&Run, &Run, &Vec<String>)> =
            baseline.iter().zip(candidate).map(|(one, other)| (one, other, &self.allow)).collect();
        for side in [baseline, candidate] {
            held.extend(side[1..].iter().map(|other| (&side[0], other, &seed)));
        }
        for (one, other, allow) in held {
            let mut found = differences(one, other);
            found.retain(|difference| !difference.is_allowed(allow));
            if !found.is_empty() {
                let (one, other) = (one.header.id.clone(), other.header.id.clone());
                return Err(ComparisonError::Unlike { one, other, differences: found });
            }
        }
        Ok(())
    }

    fn judge(&self, pairs: &[(&Run, &Run)], compared: &mut ComparisonRecord) {
        let all: Vec<(u64, u64)> =
            pairs.iter().flat_map(|(one, other)| [failures(one), failures(other)]).collect();
        let none_failed = all.iter().all(|(failed, _)| *failed == 0);
        if none_failed {
            let all = all.iter().map(|(_, all)| all).sum();
            compared.notes.push(format!("Of {} operations none failed, on either side.", words::count(all)));
        }
        let sides: Vec<[Vec<RunFigure>; 2]> =
            pairs.iter().map(|(one, other)| [figures(one), figures(other)]).collect();
        let (mut metrics, mut runs) = (Vec::new(), Vec::new());
        let counts = |figure: &&RunFigure| !(none_failed && figure.metric == Some(Metric::FailedOperations));
        for figure in distinct(&sides).into_iter().filter(counts) {
            let has = |side: usize| {
                sides.iter().flat_map(|pair| &pair[side]).any(|other| other.label == figure.label)
            };
            match has(0) && has(1) {
                true => metrics.push(self.metric(figure)),
                false => compared.missing.push(figure.name.clone()),
            }
        }
        if !compared.missing.is_empty() {
            compared.notes.push(format!("Only one side has: {}.", compared.missing.join(", ")));
        }
        for (block, ((one, other), figures)) in (1..).zip(pairs.iter().zip(&sides)) {
            runs.extend(
                [one, other]
                    .into_iter()
                    .zip(SIDES)
                    .zip(figures)
                    .map(|((run, side), figures)| ended(run, (block, side), figures)),
            );
        }
        let [baseline, candidate] = SIDES;
        compared.breaks_rules = breaks_rules(&runs, baseline, candidate);
        compared.metrics = analysis::metrics(&Sides::two(baseline, candidate), &metrics, &runs);
        compared.believed = believed(pairs).filter(|_| !compared.metrics.is_empty());
        if let Some(believed) = compared.believed {
            for row in compared.metrics.iter_mut().filter_map(|metric| metric.rows.get_mut(1)) {
                *row = searches::of_one_each(row.clone(), believed, self.margin);
            }
        }
    }

    fn metric(&self, like: &RunFigure) -> MetricStatistics {
        MetricStatistics {
            label: like.label.clone(),
            name: like.name.clone(),
            unit: like.unit.clone(),
            more_is_better: like.direction == Direction::Higher,
            margin: self.margin,
            is_capacity: like.metric == Some(Metric::Capacity),
            without: Vec::new(),
        }
    }
}

/// A run in the form of a study's.
fn ended(run: &Run, (block, side): (u32, &str), figures: &[RunFigure]) -> RunEnded {
    let verdict = run.verdict();
    let bound = verdict.and_then(|verdict| verdict.search.as_ref()).filter(|search| search.at_least);
    let measured = figures.iter().filter(|figure| figure.value.is_finite());
    RunEnded {
        started: RunStarted {
            block,
            configuration: side.to_owned(),
            attempt: 1,
            run: run.header.id.clone(),
            warm_up: false,
        },
        seconds: f64::NAN,
        valid: true,
        passed: verdict.is_some_and(|verdict| verdict.passed),
        interrupted: false,
        reasons: Vec::new(),
        figures: measured.map(|figure| Figure::new(&figure.label, figure.value)).collect(),
        at_least: bound.map(|search| search.bounded_by.clone()),
        stolen: None,
        scores: Vec::new(),
        missing: Vec::new(),
        times: Vec::new(),
    }
}

/// The result in one sentence.
fn sentence(compared: &ComparisonRecord, margin: f64) -> String {
    if compared.is_single() {
        return "Undecided: one run each. Runs differ from each other by more than what one of them shows; \
                `barograph study` repeats both in random order, and `barograph compare A1,A2,.. B1,B2,..` compares \
                runs that are there already, pair by pair."
            .to_owned();
    }
    if let (Some(_), Some((metric, row))) = (compared.believed, compared.found().next()) {
        return searches::sentence(metric, row);
    }
    let counts = Finding::ALL.map(|finding| (compared.count(finding.into()), finding.word()));
    let counted = counts.iter().filter(|(count, _)| *count > 0);
    let counted: Vec<String> = counted.map(|(count, word)| format!("{count} {word}")).collect();
    let metrics = compared.metrics.len();
    let pairs = compared.found().map(|(_, row)| row.pairs).max().unwrap_or(0);
    let (counted, margin) = match metrics {
        0 => ("nothing to compare".to_owned(), String::new()),
        _ => (counted.join(", "), format!("; differences up to {} do not count", words::percent(margin))),
    };
    let (metric, pair) = (plural(metrics, "metric"), plural(pairs as usize, "pair"));
    format!("The candidate: {counted} (of {metrics} {metric}, {pairs} {pair}{margin}).")
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}

/// For one search per side: the posterior of each about its capacity. For several, the pairs show more than
/// any search: the variation between starts of a target.
fn believed(pairs: &[(&Run, &Run)]) -> Option<(IntervalEstimate, IntervalEstimate)> {
    let [(one, other)] = pairs else { return None };
    Some((one.believed_capacity()?, other.believed_capacity()?))
}

/// Each figure once, in the order of the runs.
fn distinct(sides: &[[Vec<RunFigure>; 2]]) -> Vec<&RunFigure> {
    let mut all: Vec<&RunFigure> = Vec::new();
    for figure in sides.iter().flatten().flatten() {
        if all.iter().all(|known| known.label != figure.label) {
            all.push(figure);
        }
    }
    all
}

fn names(runs: &[Run]) -> String {
    runs.iter().map(|run| run.header.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Reason why a run has no valid figures.
fn unusable(run: &Run) -> Option<String> {
    let id = &run.header.id;
    match run.verdict() {
        None => Some(format!("{id} did not come to its end")),
        Some(verdict) if !verdict.valid => {
            let reason = verdict.reasons.first().map_or_else(String::new, |reason| format!(": {reason}"));
            Some(format!("{id} is not valid, its figures say nothing{reason}"))
        }
        Some(_) => None,
    }
}

fn warnings(pairs: &[(&Run, &Run)]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for warning in pairs.iter().flat_map(|(one, other)| surroundings(one, other)) {
        if !said.contains(&warning) {
            said.push(warning);
        }
    }
    let runs = || pairs.iter().flat_map(|(one, other)| [one, other]);
    for run in runs().filter(|run| run.verdict().is_some_and(|verdict| !verdict.passed)) {
        said.push(format!("{} did not keep every rule", run.header.id));
    }
    said.extend(runs().flat_map(|run| searches::warnings(run)));
    let debug = |run: &&&Run| {
        let build = run.disclosure.as_ref().and_then(|told| told.pointer("/tool/build")?.as_str());
        build.is_some_and(|build| build.starts_with("debug"))
    };
    if runs().any(|run| debug(&run)) {
        said.push("made by a debug build, whose figures mean nothing".to_owned());
    }
    let began = |run: &Run| run.header.started_at.clone();
    let (ones, others): (Vec<_>, Vec<_>) =
        pairs.iter().map(|(one, other)| (began(one), began(other))).unzip();
    if pairs.len() > 1 && (ones.iter().max() < others.iter().min() || others.iter().max() < ones.iter().min())
    {
        said.push(
            "all runs of one side were made before all of the other: whatever changed on the machine in between counts \
             as a difference"
                .to_owned(),
        );
    }
    said
}

/// Compares one run per side by the scatter within them.
fn inside(one: &Run, other: &Run, compared: &mut ComparisonRecord) {
    let insides = |run: &Run| run.each_load().iter().map(RunBlocks::of).collect::<Vec<_>>();
    let (insides_one, insides_other) = (insides(one), insides(other));
    let (figures_one, figures_other) = (figures(one), figures(other));
    for metric in &compared.metrics {
        let of = |figures: &[RunFigure]| figures.iter().find(|f| f.label == metric.label).cloned();
        let (Some(a), Some(b)) = (of(&figures_one), of(&figures_other)) else { continue };
        let insides = insides_one.get(a.load).zip(insides_other.get(b.load));
        compared.within_run.extend(insides.and_then(|(one, other)| within((one, &a), (other, &b))));
    }
    let said = searches::notes_on_two(one, other);
    if !compared.within_run.is_empty() {
        compared.notes.push(
            "The interval is of noise within these two runs only (blocks of 10 s, drawn again): another two runs of the same \
             may differ by more."
                .to_owned(),
        );
    } else if said.is_empty() {
        compared.notes.push(
            "Nothing is known about the noise of these figures: the runs are too short, did not settle, or have one figure \
             each."
                .to_owned(),
        );
    }
    compared.notes.extend(said);
}

#[cfg(test)]
mod tests {
    use barograph_record::{FindingRecord, MetricRecord, RowRecord};

    use super::*;

    #[test]
    fn the_sentence_counts_worst_first() {
        let metric = |finding, pairs| {
            let row = RowRecord { finding, pairs, ..RowRecord::default() };
            MetricRecord { rows: vec![RowRecord::default(), row], ..MetricRecord::default() }
        };
        let [worse, undecided, equivalent] =
            [FindingRecord::Worse, FindingRecord::Undecided, FindingRecord::Equivalent];
        let said = |metrics| sentence(&ComparisonRecord { metrics, ..ComparisonRecord::default() }, 0.02);
        assert_eq!(
            said(vec![metric(equivalent, 10), metric(worse, 9), metric(undecided, 10)]),
            "The candidate: 1 worse, 1 undecided, 1 equivalent (of 3 metrics, 10 pairs; differences up to 2.00 % do not count)."
        );
        assert!(said(vec![metric(undecided, 1)]).starts_with("Undecided: one run each."));
        assert_eq!(said(Vec::new()), "The candidate: nothing to compare (of 0 metrics, 0 pairs).");
    }
}

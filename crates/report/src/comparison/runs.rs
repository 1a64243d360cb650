//! Records of runs, compared: like with like, pair by pair.

use barograph_record::Run;
use barograph_stats::compare::{Believed, Pair, compare, judge, weaken};
use barograph_stats::rank::median;

use super::figures::{CAPACITY, FAILURES, failures};
use super::likeness::surroundings;
use super::searches;
use super::within::{Inside, within};
use super::{Compared, ComparedMetric, Difference, RunFigure, differences, figures};
use crate::words;

/// How runs are to be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareRuns {
    /// Keys in which the two sides may differ; a key stands for all below it.
    pub allow: Vec<String>,
    /// Share of a difference that does not count.
    pub margin: f64,
}

/// Why runs cannot be compared.
#[derive(Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotComparable {
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
    /// No pair has two runs that can be believed.
    #[error("compare runs of which no pair can be used:\n  {}", .why.join("\n  "))]
    NothingToBelieve {
        /// What is wrong, run by run.
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
    /// Compares runs in the order given: the first with the first, and so on. Pairs with a run that cannot be believed are
    /// left out, and named.
    ///
    /// # Errors
    /// When the runs are different experiments, make no pairs, or none can be believed.
    pub fn compare(&self, baseline: &[Run], candidate: &[Run]) -> Result<Compared, NotComparable> {
        if baseline.len() != candidate.len() || baseline.is_empty() {
            return Err(NotComparable::Numbers { baselines: baseline.len(), candidates: candidate.len() });
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
            return Err(NotComparable::NothingToBelieve { why });
        }
        let mut compared = Compared {
            baseline: names(baseline),
            candidate: names(candidate),
            warnings: warnings(&pairs),
            ..Compared::default()
        };
        compared.warnings.extend(why.into_iter().map(|why| format!("a pair is left out: {why}")));
        self.metrics(&pairs, &mut compared);
        match pairs[..] {
            [(one, other)] => inside(one, other, &mut compared),
            _ => compared.notes.extend(searches::notes_on_pairs(&pairs, self.margin)),
        }
        Ok(compared)
    }

    /// The two of a pair may differ in what is allowed; the runs of one side, in their seed.
    fn like(&self, baseline: &[Run], candidate: &[Run]) -> Result<(), NotComparable> {
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
                return Err(NotComparable::Unlike { one, other, differences: found });
            }
        }
        Ok(())
    }

    fn metrics(&self, runs: &[(&Run, &Run)], compared: &mut Compared) {
        let sides: Vec<(Vec<RunFigure>, Vec<RunFigure>)> =
            runs.iter().map(|(one, other)| (figures(one), figures(other))).collect();
        let failed: Vec<(u64, u64)> =
            runs.iter().flat_map(|(one, other)| [failures(one), failures(other)]).collect();
        let none_failed = failed.iter().all(|(failed, _)| *failed == 0);
        if none_failed {
            let all = failed.iter().map(|(_, all)| all).sum();
            compared.notes.push(format!("Of {} operations none failed, on either side.", words::count(all)));
        }
        let mut missing = Vec::new();
        for name in metric_names(&sides) {
            if none_failed && name == FAILURES {
                continue;
            }
            let of = |side: &[RunFigure]| side.iter().find(|f| f.name == name).cloned();
            let found: Vec<_> = sides.iter().map(|(one, other)| (of(one), of(other))).collect();
            let figures = |(one, other): &(Option<RunFigure>, Option<RunFigure>)| {
                let value = |f: &Option<RunFigure>| f.as_ref().map_or(f64::NAN, |f| f.value);
                Pair::new(value(one), value(other))
            };
            let one = found.iter().find_map(|(one, _)| one.as_ref());
            let other = found.iter().find_map(|(_, other)| other.as_ref());
            let (Some(like), Some(_)) = (one, other) else {
                missing.push(name);
                continue;
            };
            let believed = believed(runs).filter(|_| name == CAPACITY);
            let pairs: Vec<Pair> = found.iter().map(figures).collect();
            compared.metrics.push(ComparedMetric {
                name,
                unit: like.unit.clone(),
                direction: like.direction,
                baseline: median(&finite(pairs.iter().map(|p| p.baseline))),
                candidate: median(&finite(pairs.iter().map(|p| p.candidate))),
                comparison: match believed {
                    Some((one, other)) => searches::of_one_each(one, other, like.direction, self.margin),
                    None => compare(&pairs, like.direction, self.margin),
                },
                believed,
            });
        }
        if !missing.is_empty() {
            compared.notes.push(format!("Only one side has: {}.", missing.join(", ")));
        }
        // One search a side finds nothing, whatever its p is.
        let mut judged: Vec<_> = compared.metrics.iter_mut().filter(|m| m.believed.is_none()).collect();
        let mut family: Vec<_> = judged.iter().map(|m| (m.direction, m.comparison)).collect();
        judge(&mut family);
        for (metric, (_, found)) in judged.iter_mut().zip(family) {
            metric.comparison = found;
            if metric.name == CAPACITY {
                weaken(&mut metric.comparison, searches::bounded(runs));
            }
        }
    }
}

/// Of one search a side: what each believes about its capacity. Of several, the pairs say more than any search knows: how
/// one start of a target differs from the next.
fn believed(pairs: &[(&Run, &Run)]) -> Option<(Believed, Believed)> {
    let [(one, other)] = pairs else { return None };
    Some((one.believed_capacity()?, other.believed_capacity()?))
}

fn finite(values: impl Iterator<Item = f64>) -> Vec<f64> {
    values.filter(|value| value.is_finite()).collect()
}

/// Names of all metrics, in the order in which runs offer them.
fn metric_names(sides: &[(Vec<RunFigure>, Vec<RunFigure>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in sides.iter().flat_map(|(one, other)| one.iter().chain(other)) {
        if !names.contains(&figure.name) {
            names.push(figure.name.clone());
        }
    }
    names
}

fn names(runs: &[Run]) -> String {
    runs.iter().map(|run| run.header.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Why a run has no figures that count.
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

/// One run a side: what their insides say.
fn inside(one: &Run, other: &Run, compared: &mut Compared) {
    let (inside_one, inside_other) = (Inside::of(one), Inside::of(other));
    let (figures_one, figures_other) = (figures(one), figures(other));
    for metric in &compared.metrics {
        let of = |figures: &[RunFigure]| figures.iter().find(|f| f.name == metric.name).cloned();
        let (Some(a), Some(b)) = (of(&figures_one), of(&figures_other)) else { continue };
        compared.within_run.extend(within((&inside_one, &a), (&inside_other, &b)));
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

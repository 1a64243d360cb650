//! From figures to statements: comparisons with the baseline, the noise floor, and what was left out.

use std::collections::BTreeMap;

use barograph_record::{
    CONCLUSIONS_VERSION, Conclusions, Excluded, KeptConfiguration, KeptFinding, KeptMetric, KeptRow, KeptRun,
    RunEnded,
};
use barograph_spec::study::{MetricPlan, Study};
use barograph_stats::compare::{
    Comparison, Direction, Finding, Pair, SIGNIFICANCE, compare, judge, noise_floor, weaken,
};
use barograph_stats::rank::{median, signed_rank};

use crate::crossing::crossings;
use crate::figures::{of, pairs};
use crate::percentiles::percentiles;
use crate::scaling::scalings;
use crate::{CONTROL, Progress, bounds, measured, places, sentences};

/// What the conclusions say of the study besides its figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name of the study.
    pub id: &'a str,
    /// When it began, as RFC 3339 in UTC.
    pub started_at: &'a str,
    /// Version of the program.
    pub tool: &'a str,
    /// The command that does it again.
    pub repeat: &'a str,
    /// Every run that was wanted has been made.
    pub complete: bool,
}

/// What follows from the runs so far.
#[must_use]
pub fn conclude(study: &Study, progress: &Progress, about: &About<'_>) -> Conclusions {
    let runs = progress.ended();
    let mut conclusions = Conclusions {
        v: CONCLUSIONS_VERSION,
        id: about.id.to_owned(),
        file: study.name.clone(),
        question: study.question.clone(),
        started_at: about.started_at.to_owned(),
        tool: about.tool.to_owned(),
        seed: study.seed,
        blocks: progress.whole_blocks(),
        complete: about.complete,
        sentences: Vec::new(),
        found: Vec::new(),
        warnings: Vec::new(),
        configurations: configurations(study, progress),
        metrics: metrics(study, runs),
        crossings: crossings(study, runs),
        scaling: scalings(study, runs),
        percentiles: percentiles(study, runs),
        runs: used(study, runs),
        excluded: excluded(runs),
        repeat: about.repeat.to_owned(),
    };
    sentences::answer(&mut conclusions);
    conclusions.warnings = sentences::warnings(&conclusions, runs.len());
    conclusions.warnings.extend(bounds::warnings(study, runs));
    conclusions.warnings.extend(measured::warnings(study, runs));
    conclusions
}

/// Can the conclusions be believed: was everything run, and does the control not differ from itself?
#[must_use]
pub fn believable(conclusions: &Conclusions) -> bool {
    conclusions.configurations.iter().all(|c| c.valid > 0)
        && sentences::control_differs(conclusions).is_none()
}

/// Width of the widest 95 % interval of the first metric's ratios, relative; `None` while one of them is not known. That of
/// the control counts where there is nothing else.
pub(crate) fn widest(study: &Study, runs: &[RunEnded]) -> Option<f64> {
    let metric = study.metrics.first()?;
    let compared = compared(study, runs, metric);
    let is_control = |place: usize| place >= study.configurations.len();
    let is_alone = compared.iter().all(|(place, _)| is_control(*place));
    let widths = compared.iter().filter(|(place, _)| is_alone || !is_control(*place));
    let widths: Vec<f64> = widths.map(|(_, comparison)| comparison.high / comparison.low - 1.0).collect();
    let known = !widths.is_empty() && widths.iter().all(|width| width.is_finite());
    known.then(|| widths.into_iter().fold(0.0, f64::max))
}

/// Name of the configuration that a place is held against.
fn baseline_of(study: &Study, place: usize) -> &str {
    let at = match study.configurations.get(place) {
        Some(configuration) => study.baseline_of(configuration).unwrap_or(place),
        None => study.controlled(),
    };
    &study.configurations[at].name
}

/// Every place that is held against another, compared; the control too.
fn compared(study: &Study, runs: &[RunEnded], metric: &MetricPlan) -> Vec<(usize, Comparison)> {
    let names = places(study);
    let candidates = names.iter().enumerate().filter(|(at, name)| baseline_of(study, *at) != name.as_str());
    candidates
        .map(|(at, name)| {
            let pairs = pairs(runs, baseline_of(study, at), name, &metric.label);
            (at, compare(&pairs, direction(metric), metric.margin))
        })
        .collect()
}

fn direction(metric: &MetricPlan) -> Direction {
    if metric.more_is_better { Direction::Higher } else { Direction::Lower }
}

/// All metrics, judged as one family; the control is a family of its own, since what it claims is that nothing differs.
fn metrics(study: &Study, runs: &[RunEnded]) -> Vec<KeptMetric> {
    let floors: Vec<Option<f64>> = study.metrics.iter().map(|metric| floor(study, runs, metric)).collect();
    let (mut family, mut control) = (Vec::new(), Vec::new());
    for (at, metric) in study.metrics.iter().enumerate() {
        for (place, mut comparison) in compared(study, runs, metric) {
            let is_control = place == study.configurations.len();
            // The control is what the floor is from.
            comparison.floor = if is_control { 0.0 } else { floors[at].unwrap_or(0.0) };
            let of = if is_control { &mut control } else { &mut family };
            of.push(((at, place), (direction(metric), comparison)));
        }
    }
    let mut judged = Vec::new();
    for family in [family, control] {
        let (keys, mut compared): (Vec<_>, Vec<_>) = family.into_iter().unzip();
        judge(&mut compared);
        judged.extend(keys.into_iter().zip(compared.into_iter().map(|(_, comparison)| comparison)));
    }
    let names = places(study);
    for ((at, place), comparison) in &mut judged {
        let is_bounded = |name: &str| bounds::bounded(runs, name, &study.metrics[*at]);
        let sides = (is_bounded(baseline_of(study, *place)), is_bounded(&names[*place]));
        weaken(comparison, sides);
    }
    let all = study.metrics.iter().enumerate();
    all.map(|(at, metric)| KeptMetric {
        label: metric.label.clone(),
        name: metric.called(),
        unit: metric.unit(),
        more_is_better: metric.more_is_better,
        noise_floor: floors[at],
        margin: metric.margin,
        sentences: Vec::new(),
        rows: names
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let comparison = judged.iter().find(|(key, _)| *key == (at, place)).map(|(_, c)| c);
                let baseline = baseline_of(study, place);
                let ratios = comparison.map(|_| ratios(&pairs(runs, baseline, name, &metric.label)));
                let row = row(name, baseline, &of_all(runs, name, metric), comparison);
                KeptRow { ratios: ratios.unwrap_or_default(), ..row }
            })
            .collect(),
    })
    .collect()
}

fn floor(study: &Study, runs: &[RunEnded], metric: &MetricPlan) -> Option<f64> {
    let name = &study.configurations[study.controlled()].name;
    let floor = noise_floor(&pairs(runs, name, CONTROL, &metric.label));
    floor.is_finite().then_some(floor)
}

fn of_all(runs: &[RunEnded], name: &str, metric: &MetricPlan) -> Vec<f64> {
    of(runs, name, &metric.label).into_values().collect()
}

fn ratios(pairs: &[Pair]) -> Vec<f64> {
    pairs.iter().filter_map(Pair::ratio).filter(|ratio| ratio.is_finite()).collect()
}

fn row(name: &str, baseline: &str, figures: &[f64], compared: Option<&Comparison>) -> KeptRow {
    KeptRow {
        configuration: name.to_owned(),
        baseline: baseline.to_owned(),
        control: name == CONTROL,
        runs: figures.len() as u32,
        median: median(figures),
        lowest: figures.iter().copied().fold(f64::NAN, f64::min),
        highest: figures.iter().copied().fold(f64::NAN, f64::max),
        pairs: compared.map_or(figures.len(), |c| c.pairs) as u32,
        ratio: compared.map_or(1.0, |c| c.ratio),
        low: compared.map_or(1.0, |c| c.low),
        high: compared.map_or(1.0, |c| c.high),
        p: compared.map_or(f64::NAN, |c| c.p),
        p_holm: compared.map_or(f64::NAN, |c| c.p_holm),
        finding: match compared.map(|c| c.finding) {
            None => KeptFinding::Baseline,
            Some(Finding::Better) => KeptFinding::Better,
            Some(Finding::Worse) => KeptFinding::Worse,
            Some(Finding::Equivalent) => KeptFinding::Equivalent,
            Some(Finding::Undecided) => KeptFinding::Undecided,
        },
        pairs_needed: compared.and_then(|c| c.pairs_needed),
        ratios: Vec::new(),
    }
}

fn configurations(study: &Study, progress: &Progress) -> Vec<KeptConfiguration> {
    let runs = progress.ended();
    let kept = |(place, name): (usize, String)| {
        let at = if place < study.configurations.len() { place } else { study.controlled() };
        let levels = study.factors.iter().zip(&study.configurations[at].levels);
        let of_it: Vec<&RunEnded> = runs.iter().filter(|r| r.started.configuration == name).collect();
        let warm_ups = progress.warmed_up();
        let count = |pick: fn(&RunEnded) -> bool| of_it.iter().filter(|run| pick(run)).count() as u32;
        KeptConfiguration {
            levels: levels.map(|(f, level)| (f.name.clone(), f.levels[*level].name.clone())).collect(),
            baseline: baseline_of(study, place).to_owned(),
            control: place == study.configurations.len(),
            valid: count(|run| run.valid),
            missed: count(|run| run.valid && !run.passed),
            breaks_rules: breaks_rules(runs, baseline_of(study, place), &name),
            dropped: count(|run| !run.valid),
            warm_up: warm_ups.iter().filter(|run| run.started.configuration == name).count() as u32,
            stolen: stolen(&of_it),
            name,
        }
    };
    places(study).into_iter().enumerate().map(kept).collect()
}

/// Did the candidate break a rule where its baseline kept all? In some run, if the baseline broke none, or in more blocks than
/// chance explains.
fn breaks_rules(runs: &[RunEnded], baseline: &str, candidate: &str) -> bool {
    let broken = |name: &str| -> BTreeMap<u32, bool> {
        let valid = runs.iter().filter(|run| run.valid && run.started.configuration == name);
        valid.map(|run| (run.started.block, !run.passed)).collect()
    };
    let (of_baseline, of_candidate) = (broken(baseline), broken(candidate));
    let kept_all = !of_baseline.is_empty() && of_baseline.values().all(|is_broken| !is_broken);
    if kept_all {
        return of_candidate.values().any(|is_broken| *is_broken);
    }
    let as_number = |is_broken: bool| f64::from(u8::from(is_broken));
    let differences: Vec<f64> = of_candidate
        .iter()
        .filter_map(|(block, is_broken)| Some(as_number(*is_broken) - as_number(*of_baseline.get(block)?)))
        .collect();
    let ranks = signed_rank(&differences);
    ranks.p < SIGNIFICANCE && ranks.positive > ranks.negative
}

/// CPU time taken away from the valid ones: the median run, and the one that lost most.
fn stolen(runs: &[&RunEnded]) -> Option<(f64, f64)> {
    let shares: Vec<f64> = runs.iter().filter(|run| run.valid).filter_map(|run| run.stolen).collect();
    (!shares.is_empty()).then(|| (median(&shares), shares.iter().copied().fold(0.0, f64::max)))
}

/// Runs whose figures are used.
fn used(study: &Study, runs: &[RunEnded]) -> Vec<KeptRun> {
    let bounded = |run: &RunEnded| {
        let bounds = study.metrics.iter().filter(|metric| bounds::is_bound(run, metric));
        bounds.map(|metric| metric.label.clone()).collect()
    };
    let kept = |run: &RunEnded| KeptRun {
        run: run.started.run.clone(),
        configuration: run.started.configuration.clone(),
        block: run.started.block,
        passed: run.passed,
        figures: run.figures.clone(),
        bounded: bounded(run),
    };
    runs.iter().filter(|run| run.valid).map(kept).collect()
}

fn excluded(runs: &[RunEnded]) -> Vec<Excluded> {
    let dropped = runs.iter().filter(|run| !run.valid);
    dropped
        .map(|run| Excluded {
            run: run.started.run.clone(),
            configuration: run.started.configuration.clone(),
            block: run.started.block,
            reasons: run.reasons.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use barograph_record::Figure;

    use super::*;
    use crate::figures::made;

    /// Two versions and twelve blocks; what `change` makes of each run, the new version's or the other's.
    fn versions(change: impl Fn(&mut RunEnded, bool)) -> Conclusions {
        let text = "question = \"q\"\nplan = \"p.toml\"\nrepeats = 12\ncontrol = false\n[[factor]]\nname = \"version\"\nlevels = \
                    [{ name = \"old\", set = { seed = 1 } }, { name = \"new\", set = { seed = 2 } }]\n[[metric]]\nof = \
                    \"throughput\"\n[[metric]]\nof = \"response_p99\"\noperation = \"Get\"\n";
        let study = barograph_spec::study::read("s.toml", text).unwrap_or_else(|refused| panic!("{refused}"));
        let mut progress = Progress::new(&study, &[]);
        for (block, is_new) in (1..=12).flat_map(|block| [(block, false), (block, true)]) {
            let name = if is_new { "version new" } else { "version old" };
            let mut run = made(block, name, ("throughput", 100.0));
            run.figures.push(Figure::new("response_p99 of Get", 20.0));
            change(&mut run, is_new);
            progress.add(run);
        }
        conclude(&study, &progress, &About { complete: true, ..About::default() })
    }

    #[test]
    fn a_version_that_does_nothing_is_worse() {
        let said = versions(|run, is_new| {
            if is_new {
                (run.figures[0].value, run.passed) = (0.0, false);
            }
        });
        let row = &said.metrics[0].rows[1];
        assert_eq!((row.finding, row.pairs, row.ratio, row.median), (KeptFinding::Worse, 12, 0.0, 0.0));
        assert_eq!(
            said.found,
            [
                "version new: throughput is worse than with version old: −100 %, 95 % interval −100 %, 12 pairs.",
                "version new: rules were broken in 12 of 12 valid runs, and with version old in 0 of 12.",
            ]
        );
        assert!(said.configurations[1].breaks_rules && !said.configurations[0].breaks_rules);
    }

    #[test]
    fn a_metric_that_one_version_does_not_have_is_without_pairs() {
        let said = versions(|run, is_new| run.figures.truncate(if is_new { 1 } else { 2 }));
        let [baseline, row] = &said.metrics[1].rows[..] else { panic!("{said:?}") };
        assert!(row.is_without_pairs() && row.runs == 0 && !baseline.is_without_pairs(), "{row:?}");
        let told = "version new: nothing can be said about p99 response time of Get; there is no pair with version old.";
        assert_eq!(said.metrics[1].sentences, [told]);
    }

    /// One broken rule is one too many where the baseline broke none; where it did, chance is asked.
    #[test]
    fn rules_that_the_baseline_kept_are_told_from_those_that_both_break() {
        for (of_new, of_old, expected) in [
            (0, 0, false),
            (1, 0, true),
            (12, 0, true),
            (12, 1, true),
            (7, 1, true),
            (6, 1, false),
            (1, 12, false),
            (12, 12, false),
        ] {
            let broken = |is_new: bool| if is_new { of_new } else { of_old };
            let said = versions(|run, is_new| run.passed = run.started.block > broken(is_new));
            let found = said.configurations[1].breaks_rules;
            assert_eq!(found, expected, "{of_new} of the new, {of_old} of the old");
        }
    }
}

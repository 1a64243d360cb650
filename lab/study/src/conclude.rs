//! Conclusions from figures: comparisons with the baseline, the noise floor, and exclusions.

use barograph_record::{
    CONCLUSIONS_VERSION, Conclusions, ConfigurationRecord, ExcludedRun, RunEnded, RunRecord,
};
use barograph_spec::study::Study;
use barograph_stats::rank::median;

use crate::analysis::{self, MetricStatistics, Sides, breaks_rules};
use crate::crossing::crossings;
use crate::percentiles::percentiles;
use crate::scaling::scalings;
use crate::{Progress, bounds, by_pair, equal, measured, sentences};

/// Facts about the study besides its figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// Name of the study.
    pub id: &'a str,
    /// Its begin, as RFC 3339 in UTC.
    pub started_at: &'a str,
    /// Version of the program.
    pub tool: &'a str,
    /// The command that repeats it.
    pub repeat: &'a str,
    /// Whether every requested run has been made.
    pub complete: bool,
}

/// The conclusions from the runs so far.
#[must_use]
pub fn conclude(study: &Study, progress: &Progress, about: &About<'_>) -> Conclusions {
    let runs = progress.ended();
    let sides = Sides::of(study);
    let metrics = MetricStatistics::all(study);
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
        configurations: configurations(study, &sides, progress),
        metrics: analysis::metrics(&sides, &metrics, runs),
        crossings: crossings(study, runs),
        scaling: scalings(study, runs),
        percentiles: percentiles(study, runs),
        runs: used(study, runs),
        excluded: excluded(runs),
        repeat: about.repeat.to_owned(),
    };
    sentences::answer(&mut conclusions);
    conclusions.sentences.extend(by_pair::sentences(&study.metrics, &conclusions.metrics));
    conclusions.sentences.extend(equal::sentences(&study.metrics, &conclusions.metrics, runs));
    conclusions.warnings = sentences::warnings(&conclusions, runs.len());
    conclusions.warnings.extend(bounds::warnings(study, runs));
    conclusions.warnings.extend(measured::warnings(study, runs));
    conclusions
}

/// Whether the conclusions are valid: everything was run, and the control does not differ from itself.
#[must_use]
pub fn believable(conclusions: &Conclusions) -> bool {
    conclusions.configurations.iter().all(|c| c.valid > 0)
        && sentences::control_differs(conclusions).is_none()
}

/// Width of the widest 95 % interval of the first metric's ratios, relative; `None` while one of them is
/// unknown. Without other comparisons that of the control counts.
pub(crate) fn widest(study: &Study, runs: &[RunEnded]) -> Option<f64> {
    let sides = Sides::of(study);
    let compared = sides.compared(runs, MetricStatistics::all(study).first()?);
    let is_control = |place: usize| sides.is_control(place);
    let is_alone = compared.iter().all(|(place, _)| is_control(*place));
    let widths = compared.iter().filter(|(place, _)| is_alone || !is_control(*place));
    let widths: Vec<f64> = widths.map(|(_, comparison)| comparison.high / comparison.low - 1.0).collect();
    let known = !widths.is_empty() && widths.iter().all(|width| width.is_finite());
    known.then(|| widths.into_iter().fold(0.0, f64::max))
}

fn configurations(study: &Study, sides: &Sides, progress: &Progress) -> Vec<ConfigurationRecord> {
    let runs = progress.ended();
    let kept = |(place, name): (usize, &String)| {
        let at = if place < study.configurations.len() { place } else { study.controlled() };
        let levels = study.factors.iter().zip(&study.configurations[at].levels);
        let of_it: Vec<&RunEnded> = runs.iter().filter(|r| r.started.configuration == *name).collect();
        let warm_ups = progress.warmed_up();
        let count = |pick: fn(&RunEnded) -> bool| of_it.iter().filter(|run| pick(run)).count() as u32;
        ConfigurationRecord {
            levels: levels.map(|(f, level)| (f.name.clone(), f.levels[*level].name.clone())).collect(),
            baseline: sides.baseline_of(place).to_owned(),
            control: sides.is_control(place),
            valid: count(|run| run.valid),
            missed: count(|run| run.valid && !run.passed),
            breaks_rules: breaks_rules(runs, sides.baseline_of(place), name),
            dropped: count(|run| !run.valid),
            warm_up: warm_ups.iter().filter(|run| run.started.configuration == *name).count() as u32,
            stolen: stolen(&of_it),
            name: name.clone(),
        }
    };
    sides.names().iter().enumerate().map(kept).collect()
}

/// CPU time stolen from the valid runs: in the median run, and in the one that lost most.
fn stolen(runs: &[&RunEnded]) -> Option<(f64, f64)> {
    let shares: Vec<f64> = runs.iter().filter(|run| run.valid).filter_map(|run| run.stolen).collect();
    (!shares.is_empty()).then(|| (median(&shares), shares.iter().copied().fold(0.0, f64::max)))
}

/// Runs whose figures are used.
fn used(study: &Study, runs: &[RunEnded]) -> Vec<RunRecord> {
    let bounded = |run: &RunEnded| {
        let bounds = study.metrics.iter().filter(|metric| bounds::is_bound(run, metric));
        bounds.map(|metric| metric.label.clone()).collect()
    };
    let kept = |run: &RunEnded| RunRecord {
        run: run.started.run.clone(),
        configuration: run.started.configuration.clone(),
        block: run.started.block,
        passed: run.passed,
        figures: run.figures.clone(),
        bounded: bounded(run),
    };
    runs.iter().filter(|run| run.valid).map(kept).collect()
}

fn excluded(runs: &[RunEnded]) -> Vec<ExcludedRun> {
    let dropped = runs.iter().filter(|run| !run.valid);
    dropped
        .map(|run| ExcludedRun {
            run: run.started.run.clone(),
            configuration: run.started.configuration.clone(),
            block: run.started.block,
            reasons: run.reasons.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use barograph_record::{Figure, FindingRecord};

    use super::*;
    use crate::figures::made;

    /// Two versions and twelve blocks; `change` edits each run, with true for the new version.
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
        assert_eq!((row.finding, row.pairs, row.ratio, row.median), (FindingRecord::Worse, 12, 0.0, 0.0));
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
    fn a_metric_is_compared_among_the_levels_that_have_it() {
        let text = "question = \"q\"\nplan = \"p.toml\"\nrepeats = 12\n[baseline]\nwork = \"same\"\n[[factor]]\nname = \
                    \"work\"\nlevels = [{ name = \"disk\", set = { seed = 1 } }, { name = \"memory\", set = { seed = 2 } \
                    }]\n[[factor]]\nname = \"place\"\nlevels = [{ name = \"here\", set = { seed = 3 } }, { name = \"vm\", \
                    set = { seed = 4 } }]\n[[metric]]\nof = \"throughput\"\nonly = { work = \"disk\" }\n[[metric]]\nof = \
                    \"goodput\"\nonly = { work = \"memory\" }\n";
        let study = barograph_spec::study::read("s.toml", text).unwrap_or_else(|refused| panic!("{refused}"));
        let mut progress = Progress::new(&study, &[]);
        for block in 1..=12 {
            for configuration in &study.configurations {
                let metric = study.metrics.iter().find(|metric| metric.is_of(configuration)).unwrap();
                progress.add(made(block, &configuration.name, (&metric.label, 100.0)));
            }
            progress.add(made(block, crate::CONTROL, ("throughput", 100.0)));
        }
        let said = conclude(&study, &progress, &About { complete: true, ..About::default() });
        let of = |at: usize| -> Vec<(&str, u32)> {
            let rows = said.metrics[at].rows.iter();
            rows.map(|row| (row.configuration.as_str(), row.runs)).collect()
        };
        let here = [("work disk, place here", 12), ("work disk, place vm", 12), (crate::CONTROL, 12)];
        assert_eq!(of(0), here);
        assert_eq!(of(1), [("work memory, place here", 12), ("work memory, place vm", 12)]);
        assert_eq!(said.metrics[1].rows[1].finding, FindingRecord::Equivalent);
        assert_eq!((said.metrics[0].noise_floor.is_some(), said.metrics[1].noise_floor), (true, None));
        assert_eq!(said.sentences.len(), 2, "{:?}", said.sentences);
        let told = "The noise floor of goodput is not known, since the control is of other levels";
        assert!(said.warnings.iter().any(|warning| warning.starts_with(told)), "{:?}", said.warnings);
    }

    #[test]
    fn a_metric_that_one_version_does_not_have_is_without_pairs() {
        let said = versions(|run, is_new| run.figures.truncate(if is_new { 1 } else { 2 }));
        let [baseline, row] = &said.metrics[1].rows[..] else { panic!("{said:?}") };
        assert!(row.is_without_pairs() && row.runs == 0 && !baseline.is_without_pairs(), "{row:?}");
        let told = "version new: nothing can be said about p99 response time of Get; there is no pair with version old.";
        assert_eq!(said.metrics[1].sentences, [told]);
    }

    /// One broken rule counts if the baseline broke none; otherwise chance is considered.
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

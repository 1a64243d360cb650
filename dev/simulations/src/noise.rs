//! Reliability of comparisons on a real machine: a measured study of a thing against itself, cut into smaller
//! ones, and the same with a slow-down multiplied into the figures of one side.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use barograph_model::{BetterWhen, Metric};
use barograph_record::{CONTROL, RunEnded, StudyEntry, read_study};
use barograph_stats::compare::{Comparison, Direction, Finding, Pair, compare, judge};
use rand::SeedableRng;
use rand::seq::index::sample;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::compare::{MARGIN, MOST_FALSE, SLOWER, head, percent, row};
use crate::say::say;

/// The page with the tables.
const PAGE: &str = "docs/reference/noise.md";
/// Fewest pairs for the page. Of 100 some may be dropped.
const FEWEST: usize = 90;
/// Pairs of the smaller studies that it is cut into. Fewer than 8 could find nothing in four metrics judged
/// together.
const CUTS: [usize; 4] = [8, 10, 20, 45];
/// Pairs of the power curve.
const POWER_PAIRS: [usize; 4] = [8, 10, 20, 40];
/// Studies drawn for a cell of the power curve.
const DRAWS: u64 = 2_000;

/// The pairs of one metric, in the order of measurement.
struct MetricPairs {
    label: String,
    direction: Direction,
    pairs: Vec<Pair>,
}

impl MetricPairs {
    /// The pairs with the candidate slower by this share: its throughput divided, its times multiplied.
    fn slower(&self, by: f64) -> Vec<Pair> {
        let factor = match self.direction {
            Direction::Higher => 1.0 / (1.0 + by),
            Direction::Lower => 1.0 + by,
        };
        self.pairs.iter().map(|pair| Pair::new(pair.baseline, pair.candidate * factor)).collect()
    }
}

/// Writes the page from the study in `folder`; true if the number of false verdicts is within its limit.
pub(super) fn noise(root: &Path, folder: &str) -> anyhow::Result<bool> {
    let read = read_study(&root.join(folder))?;
    let study = read.entries.iter().find_map(|entry| match entry {
        StudyEntry::Header(header) => Some(header),
        _ => None,
    });
    let study = study.context("the study has no header")?;
    let runs: Vec<&RunEnded> = read
        .entries
        .iter()
        .filter_map(|entry| match entry {
            StudyEntry::RunEnded(run) if !run.interrupted && !run.started.warm_up => Some(&**run),
            _ => None,
        })
        .collect();
    let all = measured(&runs)?;
    let fewest = all.iter().map(|metric| metric.pairs.len()).min().unwrap_or(0);
    ensure!(fewest >= FEWEST, "`{folder}` has {fewest} pairs; it takes {FEWEST}");
    let dropped = runs.iter().filter(|run| !run.valid).count();
    let (page, is_good) = page(&all, dropped, (&study.id, folder));
    fs::write(root.join(PAGE), &page).with_context(|| format!("write {PAGE}"))?;
    say(&page);
    say(&format!("written to {PAGE}"));
    Ok(is_good)
}

/// The metrics of a study that compares a thing with itself.
fn measured(runs: &[&RunEnded]) -> anyhow::Result<Vec<MetricPairs>> {
    let first = runs.iter().find(|run| run.valid).context("no run of the study is valid")?;
    let labels: Vec<&str> = first.figures.iter().map(|figure| figure.name.as_str()).collect();
    // Runs that have every figure, so that all metrics have the same pairs.
    let whole = |run: &&&RunEnded| run.valid && labels.iter().all(|label| run.figure(label).is_some());
    let mut blocks: BTreeMap<u32, [Option<&RunEnded>; 2]> = BTreeMap::new();
    for run in runs.iter().filter(whole) {
        let side = usize::from(run.started.configuration == CONTROL);
        let other = blocks.entry(run.started.block).or_default()[side].replace(run);
        ensure!(other.is_none(), "block {} has more than one thing besides the control", run.started.block);
    }
    let blocks = blocks.into_values().filter_map(|[one, other]| Some((one?, other?)));
    let blocks: Vec<(&RunEnded, &RunEnded)> = blocks.collect();
    labels
        .iter()
        .map(|label| {
            let figure = |run: &RunEnded| run.figure(label).unwrap_or(f64::NAN);
            let key = label.split(' ').next().unwrap_or(label);
            let metric = Metric::of_name(key).with_context(|| format!("`{key}` is no metric"))?;
            Ok(MetricPairs {
                label: (*label).to_owned(),
                direction: if metric.better() == BetterWhen::Higher {
                    Direction::Higher
                } else {
                    Direction::Lower
                },
                pairs: blocks.iter().map(|(one, other)| Pair::new(figure(one), figure(other))).collect(),
            })
        })
        .collect()
}

fn page(all: &[MetricPairs], dropped: usize, (id, folder): (&str, &str)) -> (String, bool) {
    let pairs = all[0].pairs.len();
    let mut text = format!(
        "# What a comparison is worth on a real machine\n\n\
         This page is written by `cargo xtask simulate noise {folder}`; do not edit it.\n\
         The study `{id}` ran one thing {pairs} times against itself, in randomised pairs; {dropped} runs were dropped. \
         Whatever it finds is the machine's noise.\n\
         The margin is {} everywhere, and no noise floor helps: a floor from the same pairs could only hide false verdicts.\n\n",
        percent(MARGIN)
    );
    whole(&mut text, all);
    let is_good = cut(&mut text, all);
    power(&mut text, all);
    (text, is_good)
}

fn judged(all: &[MetricPairs], of: impl Fn(&MetricPairs) -> Vec<Pair>) -> Vec<Comparison> {
    let mut family: Vec<(Direction, Comparison)> =
        all.iter().map(|metric| (metric.direction, compare(&of(metric), metric.direction, MARGIN))).collect();
    judge(&mut family);
    family.into_iter().map(|(_, found)| found).collect()
}

fn is_verdict(found: &Comparison) -> bool {
    matches!(found.finding, Finding::Better | Finding::Worse)
}

fn whole(text: &mut String, all: &[MetricPairs]) {
    text.push_str("## All pairs in one comparison\n\n");
    head(
        text,
        &["metric", "pairs", "scatter of pairs", "ratio", "95 % interval", "p", "finding"].map(str::to_owned),
    );
    for (metric, found) in all.iter().zip(judged(all, |metric| metric.pairs.clone())) {
        row(
            text,
            &[
                format!("`{}`", metric.label),
                found.pairs.to_string(),
                percent(found.scatter),
                format!("{:.4}", found.ratio),
                format!("{:.4} to {:.4}", found.low, found.high),
                format!("{:.3}", found.p),
                found.finding.word().to_owned(),
            ],
        );
    }
    text.push('\n');
}

/// Smaller studies, one after the other in the order of time; true if few verdicts of every size are false.
fn cut(text: &mut String, all: &[MetricPairs]) -> bool {
    text.push_str(
        "## Cut into smaller studies\n\n\
         The pairs in the order of time, so many to a study, its metrics judged together (Holm). Every verdict is false.\n\
         All sizes are cut from the same pairs, so their counts do not add up, and the metrics of a study are those of the same \
         runs, so what misses does so together.\n\n",
    );
    head(
        text,
        &[
            "pairs a study",
            "studies",
            "comparisons",
            "p below 0.05, not corrected",
            "better or worse",
            "studies with such a verdict",
            "intervals that hold 1",
        ]
        .map(str::to_owned),
    );
    let mut worst = (0usize, 0usize, 0.0);
    for size in CUTS {
        let studies = all[0].pairs.len() / size;
        let part = |metric: &MetricPairs, at: usize| metric.pairs[at * size..(at + 1) * size].to_vec();
        let families: Vec<Vec<Comparison>> =
            (0..studies).map(|at| judged(all, |metric| part(metric, at))).collect();
        let wrong = families.iter().filter(|family| family.iter().any(is_verdict)).count();
        let found: Vec<Comparison> = families.concat();
        let count = |holds: fn(&Comparison) -> bool| {
            let n = found.iter().filter(|one| holds(one)).count();
            format!("{n} ({})", percent(n as f64 / found.len() as f64))
        };
        let verdicts = found.iter().filter(|one| is_verdict(one)).count();
        let share = verdicts as f64 / found.len() as f64;
        if worst.1 == 0 || share > worst.2 {
            worst = (verdicts, found.len(), share);
        }
        row(
            text,
            &[
                size.to_string(),
                studies.to_string(),
                found.len().to_string(),
                count(|one| one.p < 0.05),
                count(is_verdict),
                wrong.to_string(),
                count(|one| one.low <= 1.0 && 1.0 <= one.high),
            ],
        );
    }
    let (verdicts, comparisons, share) = worst;
    let _ = write!(
        text,
        "\nAt the worst size {verdicts} of {comparisons} comparisons ended with a false verdict: {}, of at most {} that may.\n\n",
        percent(share),
        percent(MOST_FALSE)
    );
    share <= MOST_FALSE
}

fn power(text: &mut String, all: &[MetricPairs]) {
    let _ = write!(
        text,
        "## Power\n\n\
         How often a slow-down that was multiplied into the candidate's figures is found to be worse, each metric by itself: \
         {DRAWS} studies a cell, each of so many of the pairs, drawn without putting back. The larger a share of all pairs a \
         study has, the more alike the drawn ones are.\n\n"
    );
    let mut cells = vec!["metric".to_owned(), "slow-down".to_owned()];
    cells.extend(POWER_PAIRS.iter().map(|n| format!("{n} pairs")));
    head(text, &cells);
    for metric in all {
        for by in SLOWER {
            let pairs = metric.slower(by);
            let mut cells = vec![format!("`{}`", metric.label), percent(by)];
            cells.extend(POWER_PAIRS.iter().map(|n| percent(found_worse(&pairs, *n, metric.direction))));
            row(text, &cells);
        }
    }
}

fn found_worse(pairs: &[Pair], size: usize, direction: Direction) -> f64 {
    let worse = (0..DRAWS).filter(|seed| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(*seed);
        let drawn: Vec<Pair> =
            sample(&mut random, pairs.len(), size).into_iter().map(|at| pairs[at]).collect();
        compare(&drawn, direction, MARGIN).finding == Finding::Worse
    });
    worse.count() as f64 / DRAWS as f64
}

#[cfg(test)]
mod tests {
    use barograph_record::{Figure, RunStarted};

    use super::*;

    fn run(block: u32, configuration: &str, throughput: f64, p99: f64) -> RunEnded {
        RunEnded {
            started: RunStarted {
                block,
                configuration: configuration.to_owned(),
                attempt: 1,
                run: format!("{configuration} {block}"),
                warm_up: false,
            },
            seconds: 1.0,
            valid: true,
            passed: true,
            interrupted: false,
            reasons: Vec::new(),
            figures: vec![Figure::new("throughput", throughput), Figure::new("response_p99 of Get", p99)],
            at_least: None,
            stolen: None,
            scores: Vec::new(),
            missing: Vec::new(),
            times: Vec::new(),
        }
    }

    #[test]
    fn pairs_are_of_blocks_that_have_both_and_slower_is_worse_either_way() {
        let mut spoilt = run(2, CONTROL, 1.0, 1.0);
        spoilt.valid = false;
        let runs = [
            run(1, "as planned", 100.0, 10.0),
            run(1, CONTROL, 110.0, 12.0),
            run(2, "as planned", 1.0, 1.0),
            spoilt,
        ];
        let all = measured(&runs.iter().collect::<Vec<_>>()).unwrap();
        let pairs: Vec<(&str, &[Pair])> = all.iter().map(|m| (m.label.as_str(), &m.pairs[..])).collect();
        let expected =
            [("throughput", [Pair::new(100.0, 110.0)]), ("response_p99 of Get", [Pair::new(10.0, 12.0)])];
        assert_eq!(pairs, expected.each_ref().map(|(label, pairs)| (*label, &pairs[..])));
        assert_eq!(all[0].slower(0.1), [Pair::new(100.0, 110.0 * (1.0 / 1.1))]);
        assert_eq!(all[1].slower(0.5), [Pair::new(10.0, 18.0)]);
    }

    #[test]
    fn a_study_of_several_things_is_refused() {
        let runs = [run(1, "nodes 1", 1.0, 1.0), run(1, "nodes 2", 1.0, 1.0)];
        let why = measured(&runs.iter().collect::<Vec<_>>()).err().unwrap().to_string();
        assert_eq!(why, "block 1 has more than one thing besides the control");
    }

    /// Pairs that are all 10 % slower are not noise: every small study finds that, and the page shows it.
    #[test]
    fn false_verdicts_are_counted() {
        let scattered =
            |centre: f64| (0..100).map(move |at| Pair::new(1.0, centre + f64::from(at * 37 % 100) * 1e-4));
        let all = |centre| {
            [MetricPairs {
                label: "throughput".to_owned(),
                direction: Direction::Higher,
                pairs: scattered(centre).collect(),
            }]
        };
        let mut text = String::new();
        assert!(!cut(&mut text, &all(0.9)));
        assert!(text.contains("At the worst size 12 of 12 comparisons ended with a false verdict"), "{text}");
        assert!(cut(&mut text, &all(0.995)));
    }
}

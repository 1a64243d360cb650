//! Reliability of comparisons: false verdicts, coverage of intervals, and detection of planted effects.

mod machine;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context;
use barograph_stats::compare::{Comparison, Direction, Finding, NARROW_LOOKS, compare as compare_pairs};

use crate::say::say;
use machine::{Design, Noise, SimulatedMachine};

/// The page with the tables.
const PAGE: &str = "docs/reference/comparison.md";
/// Comparisons per cell of false verdicts and of coverage: a standard error of 0.3 points at 5 %.
const ROUNDS: u64 = 4_000;
/// Comparisons per cell of the power curve: a standard error of 1.1 points in the middle.
const POWER_ROUNDS: u64 = 2_000;
/// Scatter of one run where only the shape of the noise matters.
const DEVIATION: f64 = 0.10;
/// Pairs in the table of false verdicts.
const PAIRS: [usize; 3] = [6, 10, 20];
/// Pairs in the table of coverage.
const COVERAGE_PAIRS: [usize; 5] = [6, 8, 10, 20, 40];
/// Blocks before the first look, for comparisons that end when the interval is narrow enough.
const FIRST_LOOKS: [usize; 3] = [6, 10, 20];
/// Required widths of the interval: relative distance of its ends.
const WIDTHS: [f64; 4] = [0.40, 0.25, 0.15, 0.10];
/// Most blocks: the default of `most_repeats`.
const MOST_BLOCKS: usize = 40;
/// Pairs of the power curve.
const POWER_PAIRS: [usize; 6] = [6, 8, 10, 20, 40, 80];
/// Scatter of pairs in the power curve.
const PAIR_DEVIATIONS: [f64; 4] = [0.01, 0.02, 0.05, 0.10];
/// Planted slow-downs.
pub(super) const SLOWER: [f64; 3] = [0.02, 0.05, 0.10];
/// Margin of equivalence.
pub(super) const MARGIN: f64 = 0.01;

/// Aims for randomised pairs, the design of studies: largest share of false verdicts …
pub(super) const MOST_FALSE: f64 = 0.05;
/// … plus this many standard errors, since chance alone makes some cells miss it; …
const ERRORS: f64 = 2.0;
/// … and least share of 95 % intervals that hold the truth.
const LEAST_COVERAGE: f64 = 0.93;

/// Shapes of noise, with their names in the tables.
const NOISES: [(Noise, &str); 3] = [
    (Noise::Independent, "independent"),
    (Noise::Autocorrelated, "autocorrelated, 0.55"),
    (Noise::HeavyTailed, "heavy-tailed"),
];
/// Orders of runs, with their names in the tables.
const DESIGNS: [(Design, &str); 3] = [
    (Design::Blocked, "blocked AA..BB"),
    (Design::Alternating, "ABAB"),
    (Design::RandomisedPairs, "randomised pairs"),
];

/// Simulates and writes the page; true if all aims are met.
pub(super) fn compare(root: &Path) -> anyhow::Result<bool> {
    let mut missed = Vec::new();
    let page = page(&mut missed);
    let path = root.join(PAGE);
    fs::write(&path, &page).with_context(|| format!("write `{}`", path.display()))?;
    say(&page);
    say(&format!("written to {PAGE}"));
    missed.iter().for_each(|aim| say(&format!("missed: {aim}")));
    Ok(missed.is_empty())
}

/// Most false verdicts of `rounds` comparisons by chance alone.
fn most_false(rounds: u64) -> f64 {
    MOST_FALSE + ERRORS * (MOST_FALSE * (1.0 - MOST_FALSE) / rounds as f64).sqrt()
}

/// Share of `rounds` comparisons for which `holds`.
fn share(machine: SimulatedMachine, pairs: usize, rounds: u64, holds: impl Fn(&Comparison) -> bool) -> f64 {
    let found = (0..rounds)
        .filter(|seed| holds(&compare_pairs(&machine.pairs(pairs, *seed), Direction::Higher, MARGIN)));
    found.count() as f64 / rounds as f64
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(super) fn row(text: &mut String, cells: &[String]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

pub(super) fn head(text: &mut String, cells: &[String]) {
    row(text, cells);
    let _ = writeln!(text, "|{}", "---|".repeat(cells.len()));
}

fn page(missed: &mut Vec<String>) -> String {
    let mut text = format!(
        "# What a comparison is worth\n\n\
         This page is written by `cargo xtask simulate compare`; do not edit it.\n\
         All draws come from fixed seeds, so it is the same every time.\n\
         Figures of runs are made up on machines whose noise is known ({machines}), and compared as `barograph compare` does.\n\
         *Autocorrelated* noise resembles that of the run before (correlation 0.55); *heavy-tailed* noise is Student's t with two degrees of freedom.\n\
         The margin is {margin} everywhere.\n\n",
        machines = "the code is `dev/simulations/src/compare/machine.rs`",
        margin = percent(MARGIN),
    );
    false_verdicts(&mut text, missed);
    coverage(&mut text, missed);
    until_narrow(&mut text, missed);
    power(&mut text);
    equivalence(&mut text);
    text
}

fn false_verdicts(text: &mut String, missed: &mut Vec<String>) {
    let _ = write!(
        text,
        "## A thing compared with itself\n\n\
         How often the test says at 5 % that there is a difference where there is none, and in brackets how often the finding is better or worse (which asks for more than the margin besides): {ROUNDS} comparisons per cell, scatter of one run {}.\n\n",
        percent(DEVIATION)
    );
    let mut cells = vec!["noise".to_owned(), "order of runs".to_owned()];
    cells.extend(PAIRS.iter().map(|n| format!("{n} pairs")));
    head(text, &cells);
    for (noise, noise_name) in NOISES {
        for (design, design_name) in DESIGNS {
            let machine = SimulatedMachine { noise, deviation: DEVIATION, design, ratio: 1.0 };
            let mut cells = vec![noise_name.to_owned(), design_name.to_owned()];
            cells.extend(PAIRS.iter().map(|n| {
                let test = share(machine, *n, ROUNDS, |found| found.p < 0.05);
                let wrong = |f: &Comparison| matches!(f.finding, Finding::Better | Finding::Worse);
                let found = share(machine, *n, ROUNDS, |found| wrong(found));
                // A verdict requires more than the test, so the aim is for the test.
                if design == Design::RandomisedPairs && test > most_false(ROUNDS) {
                    missed.push(format!(
                        "{noise_name}, {n} pairs: {} false, at most 5 % but for chance",
                        percent(test)
                    ));
                }
                format!("{} ({})", percent(test), percent(found))
            }));
            row(text, &cells);
        }
    }
    text.push_str(
        "\nBelow ten pairs the test has few possible values, so it stays under 5 %.\n\
         Blocks are wrong as soon as runs resemble their neighbours, and more pairs do not mend it.\n\n",
    );
}

fn coverage(text: &mut String, missed: &mut Vec<String>) {
    let _ = write!(
        text,
        "## Coverage of the 95 % interval\n\nHow often it holds the true ratio, in randomised pairs: {ROUNDS} comparisons per cell.\n\n"
    );
    let mut cells = vec!["noise".to_owned()];
    cells.extend(COVERAGE_PAIRS.iter().map(|n| format!("{n} pairs")));
    head(text, &cells);
    for (noise, name) in NOISES {
        let machine =
            SimulatedMachine { noise, deviation: DEVIATION, design: Design::RandomisedPairs, ratio: 0.95 };
        let mut cells = vec![name.to_owned()];
        cells.extend(COVERAGE_PAIRS.iter().map(|n| {
            let holds = |found: &Comparison| found.low <= 0.95 && 0.95 <= found.high;
            let held = share(machine, *n, ROUNDS, holds);
            if held < LEAST_COVERAGE {
                missed.push(format!("{name}, {n} pairs: coverage of {}, at least 93 %", percent(held)));
            }
            percent(held)
        }));
        row(text, &cells);
    }
    text.push('\n');
}

/// Results of comparisons that ended by themselves.
#[derive(Clone, Copy, Default)]
struct EndedComparisons {
    held: u64,
    pairs: u64,
}

fn until_narrow(text: &mut String, missed: &mut Vec<String>) {
    let _ = write!(
        text,
        "## Blocks until the interval is narrow enough\n\n\
         A study with `width` looks after each block and ends when the interval was narrow enough {NARROW_LOOKS} times in a row, after {MOST_BLOCKS} blocks at the latest. \
         How often the interval with which it ends holds the true ratio, and in brackets how many pairs it has then, on the average: \
         {ROUNDS} comparisons per cell, randomised pairs, scatter of one run {}.\n\n",
        percent(DEVIATION)
    );
    let mut cells = vec!["noise".to_owned(), "first look".to_owned()];
    cells.extend(WIDTHS.iter().map(|width| format!("width {}", percent(*width))));
    head(text, &cells);
    for (noise, name) in NOISES {
        let machine =
            SimulatedMachine { noise, deviation: DEVIATION, design: Design::RandomisedPairs, ratio: 0.95 };
        for (first, ended) in FIRST_LOOKS.into_iter().zip(ended(machine)) {
            let mut cells = vec![name.to_owned(), format!("{first} pairs")];
            cells.extend(WIDTHS.iter().zip(ended).map(|(width, EndedComparisons { held, pairs })| {
                let held = held as f64 / ROUNDS as f64;
                if held < LEAST_COVERAGE {
                    let what = format!("{name}, {first} pairs until {}", percent(*width));
                    missed.push(format!("{what}: coverage of {}, at least 93 %", percent(held)));
                }
                format!("{} ({:.0})", percent(held), pairs as f64 / ROUNDS as f64)
            }));
            row(text, &cells);
        }
    }
    text.push('\n');
}

/// Results by first look and width.
fn ended(machine: SimulatedMachine) -> [[EndedComparisons; WIDTHS.len()]; FIRST_LOOKS.len()] {
    let mut all = [[EndedComparisons::default(); WIDTHS.len()]; FIRST_LOOKS.len()];
    for seed in 0..ROUNDS {
        let pairs = machine.pairs(MOST_BLOCKS, seed);
        let looks: Vec<Comparison> =
            (0..=MOST_BLOCKS).map(|n| compare_pairs(&pairs[..n], Direction::Higher, MARGIN)).collect();
        for (first, row) in FIRST_LOOKS.into_iter().zip(&mut all) {
            for (width, ended) in WIDTHS.into_iter().zip(row) {
                let is_narrow = |n: usize| looks[n].high / looks[n].low - 1.0 <= width;
                let is_last = |n: &usize| *n == MOST_BLOCKS || (n + 1 - NARROW_LOOKS..=*n).all(is_narrow);
                let last = (first..=MOST_BLOCKS).find(is_last).unwrap_or(MOST_BLOCKS);
                ended.held +=
                    u64::from(looks[last].low <= machine.ratio && machine.ratio <= looks[last].high);
                ended.pairs += last as u64;
            }
        }
    }
    all
}

fn pairs_of(deviation: f64, ratio: f64) -> SimulatedMachine {
    // A ratio of two runs scatters by the root of two more than one run.
    let deviation = deviation / 2f64.sqrt();
    SimulatedMachine { noise: Noise::Independent, deviation, design: Design::RandomisedPairs, ratio }
}

fn power(text: &mut String) {
    let _ = write!(
        text,
        "## Power\n\nHow often a planted slow-down is found to be worse: {POWER_ROUNDS} comparisons per cell, independent noise.\n\
         *Scatter* is the standard deviation of the logarithm of a pair's ratio, which the A/A control of a study shows.\n\
         The last column is what the formula behind \"about so many pairs\" says for four findings in five.\n\n"
    );
    let mut cells = vec!["slow-down".to_owned(), "scatter of pairs".to_owned()];
    cells.extend(POWER_PAIRS.iter().map(|n| format!("{n} pairs")));
    cells.push("formula".to_owned());
    head(text, &cells);
    for slower in SLOWER {
        for deviation in PAIR_DEVIATIONS {
            let machine = pairs_of(deviation, 1.0 - slower);
            let mut cells = vec![percent(slower), percent(deviation)];
            cells.extend(
                POWER_PAIRS.iter().map(|n| {
                    percent(share(machine, *n, POWER_ROUNDS, |found| found.finding == Finding::Worse))
                }),
            );
            let distance = -(1.0 - slower).ln() - MARGIN.ln_1p();
            cells.push(format!("{:.0}", (7.84 * (deviation / distance).powi(2)).ceil().max(6.0)));
            row(text, &cells);
        }
    }
    text.push('\n');
}

fn equivalence(text: &mut String) {
    let _ = write!(
        text,
        "## Equivalence\n\nHow often a thing is found equivalent to itself within the margin: {POWER_ROUNDS} comparisons per cell, independent noise.\n\
         Below that, it is undecided; where the scatter is large, a margin of {} is out of reach: a wider one has to be stated before, or more pairs made.\n\n",
        percent(MARGIN)
    );
    let mut cells = vec!["scatter of pairs".to_owned()];
    cells.extend(POWER_PAIRS.iter().map(|n| format!("{n} pairs")));
    head(text, &cells);
    for deviation in PAIR_DEVIATIONS {
        let machine = pairs_of(deviation, 1.0);
        let mut cells = vec![percent(deviation)];
        cells.extend(POWER_PAIRS.iter().map(|n| {
            percent(share(machine, *n, POWER_ROUNDS, |found| found.finding == Finding::Equivalent))
        }));
        row(text, &cells);
    }
}

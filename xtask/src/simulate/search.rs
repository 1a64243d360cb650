//! `simulate search`: what each method of search makes of targets whose capacity is known, as tables in docs/reference.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use barograph_stats::search::simulate::{Contender, Edge, Neighbours, Outcome, Target, simulate};

use crate::say::say;

/// What it does and takes.
pub(super) const USAGE: &str = "usage: cargo xtask simulate search [--searches N] [--out FILE]

  Simulates the search for the capacity of made-up targets: our method beside bisection, two of three, and the rules of
  FindMax, on edges of three shapes, with failures for no reason, and with bad neighbours.

  --searches N   searches per line of the tables (default 200)
  --out FILE     page to write (default docs/reference/search.md when N is 200, else none)";

const SEARCHES: u32 = 200;
const PAGE: &str = "docs/reference/search.md";

/// Trials of our method in most tables.
const TRIALS: u32 = 30;

struct Line {
    contender: Contender,
    target: Target,
}

struct Section {
    title: &'static str,
    about: &'static str,
    lines: Vec<Line>,
}

/// Makes the tables.
pub(super) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    let (mut searches, mut out) = (SEARCHES, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("read the value of `{word}`"))?;
        match *word {
            "--searches" => {
                searches = value.parse().with_context(|| format!("read `{value}` as a number"))?
            }
            "--out" => out = Some(root.join(value)),
            other => anyhow::bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    let out = out.or_else(|| (searches == SEARCHES).then(|| root.join(PAGE)));
    let mut page = head(searches);
    for section in sections() {
        write!(page, "\n## {}\n\n{}\n\n{}", section.title, section.about, HEAD)?;
        for (line, outcome) in section.lines.iter().zip(outcomes(&section.lines, searches.max(1))) {
            let row = row(line, &outcome);
            say(&row);
            writeln!(page, "{row}")?;
        }
    }
    if let Some(out) = out {
        std::fs::write(&out, page).with_context(|| format!("write {}", out.display()))?;
        say(&format!("written: {}", out.display()));
    }
    Ok(true)
}

fn head(searches: u32) -> String {
    format!(
        "# What the search for the capacity achieves\n\n\
         This page is written by `cargo xtask simulate search`; do not edit it.\n\
         A made-up target passes a trial with a probability that falls with the load along an edge around its capacity.\n\
         The capacity is the level at which half of the trials pass that do not fail for no reason.\n\
         It is drawn between 8,000 and 60,000, evenly on a logarithmic scale; every search begins at 1,000 and may go up to \
         1,000,000.\n\
         Softness is the width of the edge as a share of the capacity, spurious the share of trials that fail for no \
         reason.\n\
         Each line is made of {searches} searches with fixed seeds, so the same program writes the same page.\n\
         With {searches} searches a share of 95 % has a standard error of {:.1} percentage points.\n\
         Off is the share of searches whose answer is wrong by more than a tenth; a search that finds nothing counts.\n\
         Coverage is the share of 95 % intervals that hold the capacity, and width the median width of the intervals.\n\
         Confirmed is the share of searches whose sequential test came to accept.\n\
         Ours uses all trials it is given, those that confirm and those that are not valid included; the others use as many \
         as their rules take.\n",
        (0.95 * 0.05 / f64::from(searches.max(1))).sqrt() * 100.0
    )
}

const HEAD: &str = "| method | edge | softness | spurious | error, 5 % to 95 % | off | coverage | width | trials | confirmed |\n\
                    |---|---|---|---|---|---|---|---|---|---|\n";

fn sections() -> Vec<Section> {
    let ours = Contender::Posterior { trials: TRIALS };
    let others = [Contender::Bisection, Contender::TwoOfThree, Contender::FindMax];
    let calm = |edge, softness, spurious| Target { edge, softness, spurious, neighbours: Neighbours::None };
    let mixes = || [0.01, 0.03].into_iter().flat_map(|s| [0.0, 0.05, 0.10].map(|l| (s, l)));
    let lines = |contenders: &[Contender], targets: &[Target]| -> Vec<Line> {
        let all = targets.iter().flat_map(|target| contenders.iter().map(move |c| (*c, *target)));
        all.map(|(contender, target)| Line { contender, target }).collect()
    };
    let edges = [Edge::Logistic, Edge::Normal, Edge::Gompertz];
    let all: Vec<Target> = edges.iter().flat_map(|e| mixes().map(move |(s, l)| calm(*e, s, l))).collect();
    let logistic: Vec<Target> = mixes().map(|(s, l)| calm(Edge::Logistic, s, l)).collect();
    let neighbours = |neighbours| [0.01, 0.03].map(|s| Target { neighbours, ..calm(Edge::Logistic, s, 0.0) });
    let everybody: Vec<Contender> = [ours].into_iter().chain(others).collect();
    let budgets: Vec<Contender> = [9, 19, 45].map(|trials| Contender::Posterior { trials }).to_vec();
    vec![
        Section {
            title: "Ours, on edges of three shapes",
            about: "The search believes in a logistic edge; the others show what that costs where it is wrong.",
            lines: lines(&[ours], &all),
        },
        Section {
            title: "The others, on the logistic edge",
            about: "Bisection tries each level once, two of three tries it up to three times, FindMax follows the rules of \
                    Weathervane; all three end at a gap of 1 %.",
            lines: lines(&others, &logistic),
        },
        Section {
            title: "Bad neighbours that nobody notices",
            about: "A fifth of the trials, in stretches of four on the average, finds 15 % less capacity.",
            lines: lines(&everybody, &neighbours(Neighbours::Unnoticed)),
        },
        Section {
            title: "Bad neighbours that a validity gate notices",
            about: "The same, and the trials of a stretch come back as not valid.",
            lines: lines(&everybody, &neighbours(Neighbours::Gated)),
        },
        Section {
            title: "Ours, with other budgets",
            about: "The trials of `quick` and `standard`, and more than `full`; here without the first ramp of a run, which \
                    saves the trials that double the level.",
            lines: lines(&budgets, &[calm(Edge::Logistic, 0.01, 0.05), calm(Edge::Logistic, 0.03, 0.05)]),
        },
    ]
}

/// The outcomes of all lines, made by two threads that take turns.
fn outcomes(lines: &[Line], searches: u32) -> Vec<Outcome> {
    let next = Mutex::new(0..lines.len());
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(at) = next.lock().ok().and_then(|mut next| next.next()) {
            let outcome = simulate(lines[at].contender, &lines[at].target, searches);
            if let Ok(mut done) = done.lock() {
                done.push((at, outcome));
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn row(line: &Line, found: &Outcome) -> String {
    let method = match line.contender {
        Contender::Posterior { trials } => format!("ours, {trials} trials"),
        Contender::Bisection => "bisection".to_owned(),
        Contender::TwoOfThree => "two of three".to_owned(),
        Contender::FindMax => "FindMax".to_owned(),
    };
    let edge = match line.target.edge {
        Edge::Logistic => "logistic",
        Edge::Normal => "normal",
        Edge::Gompertz => "Gompertz",
    };
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let maybe = |share: Option<f64>| share.map_or_else(|| "–".to_owned(), percent);
    let has_interval = found.coverage.is_some();
    format!(
        "| {method} | {edge} | {:.0} % | {:.0} % | {:+.1} to {:+.1} % | {} | {} | {} | {:.1} | {} |",
        line.target.softness * 100.0,
        line.target.spurious * 100.0,
        found.error.0 * 100.0,
        found.error.1 * 100.0,
        percent(found.gross),
        maybe(found.coverage),
        maybe(found.width),
        found.trials,
        maybe(has_interval.then_some(found.confirmed))
    )
}

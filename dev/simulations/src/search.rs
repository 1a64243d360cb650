//! `simulate search`: results of each method of search on targets of known capacity, as tables in
//! docs/reference.

mod aims;
mod contest;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use barograph_model::Share;
use barograph_stats::search::Prior;

use crate::say::say;
use aims::Aim;
use contest::{Cell, Contender, Edge, Neighbours, Outcome, Target, simulate};

/// Usage text.
pub(super) const USAGE: &str = "usage: cargo xtask simulate search [--searches N] [--prior even|soft] [--out FILE]

  Simulates the search for the capacity of made-up targets: our method beside bisection, two of three, and the rules of
  FindMax, on edges of three shapes, with failures for no reason, and with bad neighbours. Fails when an aim is missed.

  --searches N   searches per line of the tables (default 200)
  --prior P      what ours believes at first of the width of the edge (default even, as in runs; soft is a candidate)
  --out FILE     page to write (default docs/reference/search.md when N is 200 and P is even, else none)";

/// Searches per line of the tables, unless an option changes it.
const SEARCHES: u32 = 200;
/// The page with the tables.
const PAGE: &str = "docs/reference/search.md";

/// Trials of the posterior method in most tables.
const TRIALS: u32 = 30;

/// Trials allowed by `quick`, `standard` and `full`.
const BUDGETS: [u32; 3] = [8, 19, 30];

/// Default width of the interval.
const RESOLUTION: Share = Share::percent(5.0);

struct Section {
    title: &'static str,
    about: &'static str,
    lines: Vec<Cell>,
}

/// Makes the tables; true if all aims are met.
pub(super) fn run(root: &Path, words: &[&str]) -> anyhow::Result<bool> {
    let (mut searches, mut prior, mut out) = (SEARCHES, Prior::Even, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("read the value of `{word}`"))?;
        match (*word, *value) {
            ("--searches", value) => {
                searches = value.parse().with_context(|| format!("read `{value}` as a number"))?
            }
            ("--prior", "even") => prior = Prior::Even,
            ("--prior", "soft") => prior = Prior::Soft,
            ("--prior", other) => anyhow::bail!("unknown prior `{other}`\n{USAGE}"),
            ("--out", value) => out = Some(root.join(value)),
            (other, _) => anyhow::bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    let usual = searches == SEARCHES && prior == Prior::Even;
    let out = out.or_else(|| usual.then(|| root.join(PAGE)));
    let searches = searches.max(1);
    let mut page = head(searches, prior);
    let mut all = Vec::new();
    for section in sections(prior) {
        write!(page, "\n## {}\n\n{}\n\n{}", section.title, section.about, HEAD)?;
        for found in section.lines.iter().copied().zip(outcomes(&section.lines, searches)) {
            let row = row(&found.0, &found.1);
            say(&row);
            writeln!(page, "{row}")?;
            all.push(found);
        }
    }
    let aims = aims::of(&all);
    page.push_str(&held_to(&aims));
    if let Some(out) = out {
        std::fs::write(&out, page).with_context(|| format!("write {}", out.display()))?;
        say(&format!("written: {}", out.display()));
    }
    for aim in aims.iter().filter(|aim| !aim.met) {
        say(&format!("missed: {}; found {:.2} %", aim.what, aim.found * 100.0));
    }
    Ok(aims.iter().all(|aim| aim.met))
}

/// The section of the page on the aims.
fn held_to(aims: &[Aim]) -> String {
    let mut text =
        "\n## Aims\n\nThe simulation fails when one is missed.\n\n| aim | found | met |\n|---|---|---|\n"
            .to_owned();
    for aim in aims {
        let met = if aim.met { "yes" } else { "**no**" };
        let _ = writeln!(text, "| {} | {:.2} % | {met} |", aim.what, aim.found * 100.0);
    }
    text
}

fn head(searches: u32, prior: Prior) -> String {
    let other = match prior {
        Prior::Even => "",
        Prior::Soft => "Ours believes in other widths at first than runs do (`--prior soft`).\n",
    };
    format!(
        "# What the search for the capacity achieves\n\n\
         This page is written by `cargo xtask simulate search`; do not edit it.\n\
         A made-up target passes a trial with a probability that falls with the load along an edge around its capacity.\n\
         The capacity is the level at which half of the trials pass that do not fail for no reason.\n\
         It is drawn between 8,000 and 60,000, evenly on a logarithmic scale; a search may go from 1,000 up to 1,000,000.\n\
         Ours begins as in a run: a first ramp gave way somewhere between 5 % below and 20 % above the capacity, where a section does not say otherwise.\n\
         {other}\
         The others begin at 1,000.\n\
         Softness is the width of the edge as a share of the capacity, spurious the share of trials that fail for no \
         reason.\n\
         Each line is made of {searches} searches with fixed seeds of its own, so the same program writes the same page.\n\
         With {searches} searches a share of 95 % has a standard error of {:.1} percentage points.\n\
         Off is the share of searches whose answer is wrong by more than a tenth; a search that finds nothing counts.\n\
         Coverage is the share of 95 % intervals that hold the capacity, and width the median width of the intervals.\n\
         Confirmed is the share of searches whose sequential test came to accept.\n\
         Change is the share of searches that tell a change of the target, which none of these targets has; bad neighbours \
         that nobody notices come and go.\n\
         Where a section does not say otherwise ours uses all trials it is given, those that confirm and those that are not valid included; the others use as many \
         as their rules take, and make trials that are not valid again.\n",
        (0.95 * 0.05 / f64::from(searches)).sqrt() * 100.0
    )
}

/// Head of a table.
const HEAD: &str = "| method | edge | softness | spurious | error, 5 % to 95 % | off | coverage | width | trials | confirmed | change |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|\n";

fn sections(prior: Prior) -> Vec<Section> {
    let with = |trials| Contender::Ramped { trials, prior };
    let ours = with(TRIALS);
    let others = [Contender::Bisection, Contender::TwoOfThree, Contender::FindMax];
    let calm = |edge, softness, spurious| Target { edge, softness, spurious, neighbours: Neighbours::None };
    let mixes = || [0.01, 0.03].into_iter().flat_map(|s| [0.0, 0.05, 0.10].map(|l| (s, l)));
    let lines = |contenders: &[Contender], targets: &[Target]| -> Vec<Cell> {
        let all = targets.iter().flat_map(|target| contenders.iter().map(move |c| (*c, *target)));
        all.map(|(contender, target)| Cell { contender, target, number: 0 }).collect()
    };
    let edges = [Edge::Logistic, Edge::Normal, Edge::Gompertz];
    let all: Vec<Target> = edges.iter().flat_map(|e| mixes().map(move |(s, l)| calm(*e, s, l))).collect();
    let logistic: Vec<Target> = mixes().map(|(s, l)| calm(Edge::Logistic, s, l)).collect();
    let neighbours = |neighbours| [0.01, 0.03].map(|s| Target { neighbours, ..calm(Edge::Logistic, s, 0.0) });
    let soft_and_softer = [0.01, 0.03].map(|softness| calm(Edge::Logistic, softness, 0.05));
    let everybody: Vec<Contender> = [ours].into_iter().chain(others).collect();
    let budgets = [8, 19, 45].map(with);
    let misled = [(0.5, 0.8), (1.5, 2.0)]
        .into_iter()
        .flat_map(|told| [8, 19, TRIALS].map(|trials| Contender::Misled { trials, told }));
    let misled: Vec<Contender> = misled.collect();
    let mut sections = vec![
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
            about: "The trials of `quick` and `standard`, and more than `full`.",
            lines: lines(&budgets, &soft_and_softer),
        },
        Section {
            title: "Ours, where the first ramp misleads",
            about: "A ramp does not wait for the target to settle, and users who just came do less than they will: in three \
                    runs the ramp towards one application node of a tenth of a core told 1.5, 1.8 and 1.9 times what the \
                    search then found. Here it tells half to four fifths of the capacity, or one and a half to twice as \
                    much, and ours believes it as it believes any other.",
            lines: lines(&misled, &soft_and_softer),
        },
        Section {
            title: "Ours, ending as runs do",
            about: "The trials of `quick`, `standard` and `full` at most, and no more when the interval is as narrow as runs \
                    want it, 5 %, and it has been tried whether the safe level holds.",
            lines: lines(&BUDGETS.map(|trials| Contender::Ending { trials, resolution: RESOLUTION }), &all),
        },
    ];
    // Each line has random numbers of its own.
    for (cell, number) in sections.iter_mut().flat_map(|section| &mut section.lines).zip(0..) {
        cell.number = number;
    }
    sections
}

/// The outcomes of all lines, made by two threads in turn.
fn outcomes(lines: &[Cell], searches: u32) -> Vec<Outcome> {
    let next = Mutex::new(0..lines.len());
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(at) = next.lock().ok().and_then(|mut next| next.next()) {
            let outcome = simulate(&lines[at], searches);
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

fn row(line: &Cell, found: &Outcome) -> String {
    let method = match line.contender {
        Contender::Ramped { trials, .. } => format!("ours, {trials} trials"),
        Contender::Misled { trials, told: (from, to) } => {
            format!("ours, {trials} trials, told {:.0} to {:.0} %", from * 100.0, to * 100.0)
        }
        Contender::Ending { trials, .. } => format!("ours, at most {trials} trials"),
        Contender::Posterior { trials } => format!("ours without a ramp, {trials} trials"),
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
        "| {method} | {edge} | {:.0} % | {:.0} % | {:+.1} to {:+.1} % | {} | {} | {} | {:.1} | {} | {} |",
        line.target.softness * 100.0,
        line.target.spurious * 100.0,
        found.error.0 * 100.0,
        found.error.1 * 100.0,
        percent(found.gross),
        maybe(found.coverage),
        maybe(found.width),
        found.trials,
        maybe(has_interval.then_some(found.confirmed)),
        maybe(has_interval.then_some(found.drifted))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_luck_of_its_own_and_ours_begins_as_runs_do() {
        let sections = sections(Prior::Even);
        let lines: Vec<Cell> = sections.iter().flat_map(|section| section.lines.clone()).collect();
        assert!(lines.iter().zip(0..).all(|(line, number)| line.number == number), "{lines:?}");
        assert!(!lines.iter().any(|line| matches!(line.contender, Contender::Posterior { .. })));
        let soft = |line: &Cell| matches!(line.contender, Contender::Ramped { prior: Prior::Soft, .. });
        assert!(!lines.iter().any(soft), "runs believe something else");
    }
}

//! Tables from the runs of all rounds.

use super::wanted::{Cell, words};
use super::{Case, Contest, OURS, Ratio};
use crate::contest::figures::{ratios, with_spread};

/// The word for a ratio of which nothing is wanted.
const NOTHING: &str = "-";

/// One run of one contender in one case.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) case: usize,
    /// Index of the contender in the case.
    pub(super) place: usize,
    pub(super) round: u32,
    pub(super) figures: Vec<Option<f64>>,
}

/// Figures of a contender in a case, with their rounds.
fn of(contest: &Contest, runs: &[Run], (case, name): (usize, &str), figure: usize) -> Vec<(u32, f64)> {
    let contenders = &contest.cases[case].contenders;
    let own = runs.iter().filter(|run| run.case == case && contenders[run.place].name == name);
    own.filter_map(|run| Some((run.round, run.figures[figure]?))).collect()
}

/// The cases that were measured.
fn cases<'a>(contest: &'a Contest, runs: &[Run]) -> impl Iterator<Item = (usize, &'a Case)> {
    let is_measured = |at: usize| runs.iter().any(|run| run.case == at);
    contest.cases.iter().enumerate().filter(move |(at, _)| is_measured(*at))
}

/// Every figure of every contender, a row each, grouped by case.
pub(super) fn figures(contest: &Contest, runs: &[Run]) -> String {
    let titles = ["case", "program", "rounds"].into_iter().chain(contest.figures.iter().map(|f| f.title));
    let mut lines = Vec::new();
    for (at, case) in cases(contest, runs) {
        for contender in &case.contenders {
            let cells: Vec<Vec<(u32, f64)>> = (0..contest.figures.len())
                .map(|figure| of(contest, runs, (at, contender.name), figure))
                .collect();
            let rounds = cells.iter().map(Vec::len).max().unwrap_or(0);
            let mut line = vec![case.name.clone(), contender.name.to_owned(), rounds.to_string()];
            line.extend(cells.iter().zip(contest.figures).enumerate().map(|(number, (cell, figure))| {
                let values: Vec<f64> = cell.iter().map(|(_, value)| *value).collect();
                let wanted = if contender.name == OURS { case.wanted } else { &[] };
                with_spread(&values, figure.digits) + &words(wanted, Cell::Figure(number), &values)
            }));
            lines.push(line);
        }
    }
    markdown(&titles.collect::<Vec<_>>(), &lines)
}

/// Ratios of this product within each round, a row for each case.
pub(super) fn summary(contest: &Contest, runs: &[Run]) -> String {
    let title = |ratio: &Ratio| format!("{} to {}", contest.figures[ratio.figure].title, ratio.base);
    let titles: Vec<String> =
        std::iter::once("case".to_owned()).chain(contest.ratios.iter().map(title)).collect();
    let cell = |at: usize, (number, ratio): (usize, &Ratio)| {
        let figure = |name| of(contest, runs, (at, name), ratio.figure);
        let found = ratios(&figure(OURS), &figure(ratio.base));
        with_spread(&found, 2) + &words(contest.cases[at].wanted, Cell::Ratio(number), &found)
    };
    let mut lines: Vec<Vec<String>> = Vec::new();
    for (at, case) in cases(contest, runs) {
        let cells = contest.ratios.iter().enumerate().map(|ratio| cell(at, ratio));
        lines.push(std::iter::once(case.name.clone()).chain(cells).collect());
    }
    if contest.ratios.iter().any(|ratio| ratio.wanted != NOTHING) {
        let wanted = contest.ratios.iter().map(|ratio| ratio.wanted.to_owned());
        lines.push(std::iter::once("wanted".to_owned()).chain(wanted).collect());
    }
    markdown(&titles.iter().map(String::as_str).collect::<Vec<_>>(), &lines)
}

fn markdown(titles: &[&str], lines: &[Vec<String>]) -> String {
    let rule = format!("|{}\n", "---|".repeat(titles.len()));
    let rows: String = lines.iter().map(|cells| format!("| {} |\n", cells.join(" | "))).collect();
    format!("| {} |\n{rule}{rows}", titles.join(" | "))
}

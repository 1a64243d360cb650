//! A comparison of runs, for people and for programs: text, Markdown, JUnit and JSON.

mod json;
mod junit;
mod markdown;
#[cfg(test)]
mod testing;
mod text;

pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use text::text;

use barograph_model::words::changes;
use barograph_record::{ComparisonRecord, MetricRecord, RowRecord};

use crate::html::Grid;
use crate::words;

/// Heads of columns that hold words.
const WORDS: &[&str] = &["unit", "candidate is"];

/// Head of the column of p-values, which some forms leave out.
const P: &str = "p (Holm)";
/// Head of the column of pairs, which some forms leave out.
const PAIRS: &str = "pairs";

/// Explanation of the p column, the least known one.
const MEANING_OF_P: &str =
    "p is the probability of such a change by chance alone, corrected for all metrics of the table (Holm).";

/// One row per metric, without the columns with these heads.
fn table(compared: &ComparisonRecord, without: &[&str]) -> Grid {
    // The interval of one run per side is a different one, and must not be confused with the usual one.
    let interval_of = if compared.is_single() { "noise within the runs" } else { "95 % interval" };
    let head = ["metric", "unit", "baseline", "candidate", "change", interval_of, P, PAIRS, "candidate is"];
    let is_shown = |at: &usize| !without.contains(&head[*at]);
    let kept = |row: [String; 9]| -> Vec<String> {
        row.into_iter().enumerate().filter(|(at, _)| is_shown(at)).map(|(_, cell)| cell).collect()
    };
    let rows = compared.found().map(|(metric, row)| kept(cells(compared, metric, row))).collect();
    let shown: Vec<&str> = (0..head.len()).filter(is_shown).map(|at| head[at]).collect();
    Grid::new(&shown, rows).with_words(WORDS)
}

fn cells(compared: &ComparisonRecord, metric: &MetricRecord, row: &RowRecord) -> [String; 9] {
    let [baseline, candidate] = figures(compared, metric, row);
    let (by, interval) = match compared.within(&metric.label).filter(|_| compared.is_single()) {
        Some(within) => changes(row.ratio, (within.low, within.high)),
        None => changes(row.ratio, (row.low, row.high)),
    };
    let p = if compared.is_single() { words::NONE.to_owned() } else { p_value(row.p_holm) };
    let (name, unit) = (metric.name.clone(), metric.unit.clone());
    [name, unit, baseline, candidate, by, interval, p, row.pairs.to_string(), finding(row)]
}

/// The figures of both sides, with their intervals if known.
fn figures(compared: &ComparisonRecord, metric: &MetricRecord, row: &RowRecord) -> [String; 2] {
    match compared.believed {
        Some((baseline, candidate)) => [baseline.to_string(), candidate.to_string()],
        None => [metric.rows[0].median, row.median].map(words::figure),
    }
}

/// A finding as a cell of a table: a mark and a word. If undecided, also the number of pairs that would
/// decide.
fn finding(row: &RowRecord) -> String {
    let needed = row.pairs_needed.map_or_else(String::new, |n| match n {
        0..10_000 => format!(", needs about {} pairs", words::count(u64::from(n))),
        _ => ", needs more than 10,000 pairs".to_owned(),
    });
    format!("{} {}{needed}", words::mark(row.finding), row.finding.name())
}

/// A p-value with four decimals, and a lower bound below them.
pub(crate) fn p_value(p: f64) -> String {
    if p < 1e-4 { "<0.0001".to_owned() } else { words::fixed(p, 4) }
}

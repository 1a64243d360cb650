//! A comparison in a terminal.

use comfy_table::{CellAlignment, Table};

use super::{Compared, MEANING_OF_P, finding, p_value};
use crate::table::LINES;

/// The comparison as text that stands on its own.
#[must_use]
pub fn text(compared: &Compared) -> String {
    let mut parts = vec![format!("baseline   {}\ncandidate  {}", compared.baseline, compared.candidate)];
    if !compared.metrics.is_empty() {
        let legend = if compared.is_single() { String::new() } else { format!("\n{MEANING_OF_P}") };
        parts.push(format!("{}{legend}", table(compared)));
    }
    let listed = |title: &str, lines: &[String]| format!("{title}:\n  {}", lines.join("\n  "));
    if !compared.warnings.is_empty() {
        parts.push(listed("Take note", &compared.warnings));
    }
    if !compared.notes.is_empty() {
        parts.push(compared.notes.join("\n"));
    }
    parts.push(compared.sentence());
    parts.join("\n\n")
}

fn table(compared: &Compared) -> String {
    let single = compared.is_single();
    let mut table = Table::new();
    table.load_style(LINES);
    // The interval of one run a side is another thing, and must not be taken for the other.
    let interval_of = if single { "noise within the runs" } else { "95 % interval" };
    let mut head = vec!["metric", "unit", "baseline", "candidate", "change", interval_of];
    if !single {
        head.push("p (Holm)");
    }
    head.push("candidate is");
    let last = head.len() - 1;
    table.set_header(head);
    for metric in &compared.metrics {
        let found = &metric.comparison;
        let (by, interval) = compared.changed(metric);
        let mut row = vec![
            metric.name.clone(),
            metric.unit.clone(),
            metric.baseline_words(),
            metric.candidate_words(),
            by,
            interval,
        ];
        if !single {
            row.push(p_value(found.p_holm));
        }
        row.push(finding(found));
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((u16::from(i == 0), 1));
        if i > 1 && i < last {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, searched, single};
    use super::*;

    #[test]
    fn the_whole_text() {
        insta::assert_snapshot!(text(&compared()));
    }

    #[test]
    fn one_search_a_side_shows_both_intervals_and_no_finding() {
        insta::assert_snapshot!(text(&searched((12_900.0, 12_500.0, 13_300.0))));
    }

    #[test]
    fn one_run_a_side_shows_noise_within_runs_and_no_p_value() {
        insta::assert_snapshot!(text(&single()));
    }
}

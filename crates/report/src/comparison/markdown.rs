//! A comparison for a pull request.

use super::{Compared, MEANING_OF_P, finding, p_value};
use crate::{escape, words};

/// The comparison as Markdown: a sentence, a table, what to take note of.
#[must_use]
pub fn markdown(compared: &Compared) -> String {
    let mut text = format!(
        "**{}**\n\nBaseline: {}\nCandidate: {}\n\n",
        compared.sentence(),
        escape::markdown(&compared.baseline),
        escape::markdown(&compared.candidate)
    );
    let single = compared.is_single();
    let interval_of = if single { "noise within the runs" } else { "95 % interval" };
    text.push_str(&format!(
        "| metric | unit | baseline | candidate | change | {interval_of} | p (Holm) | pairs | candidate is |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|\n"
    ));
    for metric in &compared.metrics {
        let found = &metric.comparison;
        let (by, between) = compared.changed(metric);
        let p = if single { words::NONE.to_owned() } else { p_value(found.p_holm) };
        text.push_str(&format!(
            "| {} | {} | {} | {} | {by} | {between} | {p} | {} | {} |\n",
            escape::markdown(&metric.name),
            escape::markdown(&metric.unit),
            metric.baseline_words(),
            metric.candidate_words(),
            found.pairs,
            finding(found),
        ));
    }
    if !single {
        text.push_str(&format!("\n{MEANING_OF_P}\n"));
    }
    for (title, lines) in [("Take note", &compared.warnings), ("Besides", &compared.notes)] {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n\n"));
            text.extend(lines.iter().map(|line| format!("- {}\n", escape::markdown(line))));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, searched, single};
    use super::*;

    #[test]
    fn the_whole_page() {
        insta::assert_snapshot!(markdown(&compared()));
    }

    #[test]
    fn one_search_a_side_has_both_intervals_and_no_finding() {
        let page = markdown(&searched((10_200.0, 10_000.0, 10_400.0)));
        let row = "| capacity | users | 11,100 (10,800 to 11,400) | 10,200 (10,000 to 10,400) | −8.1 % | −11.1 % to −5.0 % |";
        assert!(page.contains(row) && page.contains("| 1 | ? undecided |"), "{page}");
    }

    #[test]
    fn one_run_a_side_has_no_p_value() {
        let page = markdown(&single());
        assert!(
            page.contains("noise within the runs")
                && page.contains("+20.0 % to +40.0 % | – | 1 | ? undecided |"),
            "{page}"
        );
    }
}

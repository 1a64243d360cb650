//! A comparison in a terminal.

use barograph_record::ComparisonRecord;

use super::{MEANING_OF_P, P, PAIRS, WORDS, table};
use crate::table::plain;

/// The comparison as a complete text.
#[must_use]
pub fn text(compared: &ComparisonRecord) -> String {
    let mut parts = vec![format!("baseline   {}\ncandidate  {}", compared.baseline, compared.candidate)];
    if !compared.metrics.is_empty() {
        let single = compared.is_single();
        let without: &[&str] = if single { &[P, PAIRS] } else { &[PAIRS] };
        let legend = if single { String::new() } else { format!("\n{MEANING_OF_P}") };
        parts.push(format!("{}{legend}", plain(&table(compared, without), WORDS)));
    }
    let listed = |title: &str, lines: &[String]| format!("{title}:\n  {}", lines.join("\n  "));
    if !compared.warnings.is_empty() {
        parts.push(listed("Take note", &compared.warnings));
    }
    if !compared.notes.is_empty() {
        parts.push(compared.notes.join("\n"));
    }
    parts.push(compared.sentence.clone());
    parts.join("\n\n")
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

//! A comparison for a pull request.

use barograph_record::ComparisonRecord;

use super::{MEANING_OF_P, table};
use crate::escape::markdown as safe;
use crate::markdown::{list, table as rows};

/// The comparison as Markdown: a sentence, a table, notes.
#[must_use]
pub fn markdown(compared: &ComparisonRecord) -> String {
    let mut text = format!(
        "**{}**\n\nBaseline: {}\nCandidate: {}\n\n{}",
        compared.sentence,
        safe(&compared.baseline),
        safe(&compared.candidate),
        rows(&table(compared, &[]))
    );
    if !compared.is_single() {
        text.push_str(&format!("\n{MEANING_OF_P}\n"));
    }
    text.push_str(&list("Take note:", &compared.warnings));
    text.push_str(&list("Besides:", &compared.notes));
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

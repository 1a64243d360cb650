//! A comparison for a server that collects test results: one case per metric.

use barograph_stats::compare::Finding;

use super::{Compared, ComparedMetric, changed, p_value, plural};
use crate::junit::{BEGIN, Case, Ending, Suite};

/// The comparison as JUnit XML. A metric that is worse has failed; one that is undecided was skipped, which it says.
#[must_use]
pub fn junit(compared: &Compared) -> String {
    let suite = Suite {
        name: "barograph compare",
        class: "barograph.compare",
        properties: &[("baseline", &compared.baseline), ("candidate", &compared.candidate)],
        cases: compared.metrics.iter().map(case).collect(),
        warnings: &compared.warnings,
    };
    format!("{BEGIN}{}", suite.element())
}

fn case(metric: &ComparedMetric) -> Case {
    let found = &metric.comparison;
    let (by, interval) = changed(found);
    let message = format!(
        "{}: {} {} against {} {}: {by} (95 % interval {interval}, p {}{})",
        found.finding.word(),
        metric.candidate_words(),
        metric.unit,
        metric.baseline_words(),
        metric.unit,
        p_value(found.p_holm),
        match metric.believed {
            Some(_) => " by what two searches believe".to_owned(),
            None => format!(" after Holm, {} {}", found.pairs, plural(found.pairs, "pair")),
        },
    );
    let ending = match found.finding {
        Finding::Worse => Ending::Failed,
        Finding::Undecided => Ending::Skipped,
        Finding::Better | Finding::Equivalent => Ending::Passed,
    };
    Case { name: metric.name.clone(), ending, message }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{compared, searched};
    use super::*;

    #[test]
    fn the_whole_file() {
        insta::assert_snapshot!(junit(&compared()));
    }

    #[test]
    fn one_search_a_side_is_skipped_and_says_what_it_knows() {
        let file = junit(&searched((10_200.0, 10_000.0, 10_400.0)));
        let says = "10,200 (10,000 to 10,400) users against 11,100 (10,800 to 11,400) users: −8.1 % (95 % interval −11.1 % to \
                    −5.0 %, p &lt;0.0001 by what two searches believe)";
        assert!(file.contains(says) && file.contains("<skipped") && !file.contains("<failure"), "{file}");
    }

    #[test]
    fn names_from_outside_break_no_form() {
        let odd = Compared { baseline: "\u{1}<&\"".to_owned(), ..compared() };
        assert!(junit(&odd).contains("name=\"baseline\" value=\" &lt;&amp;&quot;\"/>"), "{}", junit(&odd));
    }
}

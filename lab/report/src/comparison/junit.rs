//! A comparison for a server that collects test results: one case per metric.

use barograph_model::words::changes;
use barograph_record::{ComparisonRecord, FindingRecord, MetricRecord, RowRecord};

use super::{figures, p_value};
use crate::junit::{BEGIN, Case, CaseResult, Suite};

/// The comparison as JUnit XML. A metric that is worse, or has no pair, counts as failed; an undecided one
/// counts as skipped, with a message. Rules that the baseline kept and the candidate broke are a failed case.
#[must_use]
pub fn junit(compared: &ComparisonRecord) -> String {
    let cases = compared.found().map(|(metric, row)| case(compared, metric, row));
    let failed = |name: &str, message: &str| Case {
        name: name.to_owned(),
        ending: CaseResult::Failed,
        message: message.to_owned(),
    };
    let missing = compared.missing.iter().map(|name| failed(name, "only one side has it"));
    let broken = compared.breaks_rules.then(|| failed("rules", "broken, and the baseline kept all"));
    let suite = Suite {
        name: "barograph compare",
        class: "barograph.compare",
        properties: &[("baseline", &compared.baseline), ("candidate", &compared.candidate)],
        cases: cases.chain(missing).chain(broken).collect(),
        warnings: &compared.warnings,
    };
    format!("{BEGIN}{}", suite.element())
}

fn case(compared: &ComparisonRecord, metric: &MetricRecord, row: &RowRecord) -> Case {
    let (by, interval) = changes(row.ratio, (row.low, row.high));
    let [baseline, candidate] = figures(compared, metric, row);
    let unit = &metric.unit;
    let message = format!(
        "{}: {candidate} {unit} against {baseline} {unit}: {by} (95 % interval {interval}, p {}{})",
        row.finding.name(),
        p_value(row.p_holm),
        match compared.believed {
            Some(_) => " by what two searches believe".to_owned(),
            None => format!(" after Holm, {} {}", row.pairs, if row.pairs == 1 { "pair" } else { "pairs" }),
        },
    );
    let ending = match row.finding {
        FindingRecord::Worse => CaseResult::Failed,
        FindingRecord::Undecided if row.is_without_pairs() => CaseResult::Failed,
        FindingRecord::Undecided => CaseResult::Skipped,
        FindingRecord::Better | FindingRecord::Equivalent | FindingRecord::Baseline => CaseResult::Passed,
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
        let odd = ComparisonRecord { baseline: "\u{1}<&\"".to_owned(), ..compared() };
        assert!(junit(&odd).contains("name=\"baseline\" value=\" &lt;&amp;&quot;\"/>"), "{}", junit(&odd));
    }
}

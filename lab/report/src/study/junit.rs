//! A study as JUnit's XML: a suite per metric, a case per comparison; and a suite of configurations that broke rules.

use barograph_record::{Conclusions, FindingRecord, RowRecord};

use crate::escape::xml;
use crate::junit::{BEGIN, Case, CaseResult, Suite};
use crate::words;

/// Name of the suite of configurations that broke rules which their baselines kept. No metric has this name.
const RULES: &str = "rules";

/// The study as JUnit's XML. Failures are metrics worse than the baseline, comparisons without a pair, and
/// configurations that broke rules which their baseline kept. Undecided counts as skipped. A control that
/// differs from itself is a failure too: no other case is valid then.
#[must_use]
pub fn junit(study: &Conclusions) -> String {
    let suite = |name: &str, cases: Vec<Case>| {
        Suite { name, class: "barograph.study", cases, ..Suite::default() }.element()
    };
    let of_metrics = study.metrics.iter().map(|metric| {
        let rows = metric.rows.iter().filter(|row| row.finding != FindingRecord::Baseline);
        suite(&metric.label, rows.map(case).collect())
    });
    let broken: Vec<Case> = study
        .configurations
        .iter()
        .filter(|configuration| configuration.breaks_rules && !configuration.control)
        .map(|configuration| Case {
            name: configuration.name.clone(),
            ending: CaseResult::Failed,
            message: format!(
                "broke rules that {} kept, in {} of {} runs",
                configuration.baseline, configuration.missed, configuration.valid
            ),
        })
        .collect();
    let of_rules = (!broken.is_empty()).then(|| suite(RULES, broken));
    let suites: String = of_metrics.chain(of_rules).collect();
    format!("{BEGIN}<testsuites name=\"{}\">\n{suites}</testsuites>\n", xml(&study.question))
}

fn ending(row: &RowRecord) -> CaseResult {
    if row.differs_from_itself() || row.is_without_pairs() {
        return CaseResult::Failed;
    }
    match row.finding {
        FindingRecord::Better if row.control => CaseResult::Failed,
        FindingRecord::Worse => CaseResult::Failed,
        FindingRecord::Undecided => CaseResult::Skipped,
        FindingRecord::Better | FindingRecord::Equivalent | FindingRecord::Baseline => CaseResult::Passed,
    }
}

fn case(row: &RowRecord) -> Case {
    let message = format!(
        "{}: ratio {} to {}, 95 % interval {} to {}, {} pairs",
        row.finding.name(),
        words::fixed(row.ratio, 3),
        row.baseline,
        words::fixed(row.low, 3),
        words::fixed(row.high, 3),
        row.pairs
    );
    Case { name: row.configuration.clone(), ending: ending(row), message }
}

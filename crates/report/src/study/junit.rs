//! A study as JUnit's XML, which build servers show: a suite per metric, a case per comparison.

use std::fmt::Write as _;

use barograph_record::{Conclusions, KeptFinding, KeptRow};

use crate::escape::xml;
use crate::words;

/// The study as JUnit's XML. Worse than the baseline is a failure, undecided is skipped. A control that differs from
/// itself is a failure too: then no other case can be believed.
#[must_use]
pub fn junit(study: &Conclusions) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = xml(&study.question);
    writeln!(text, "<testsuites name=\"{name}\">").expect("writing to memory cannot fail");
    for metric in &study.metrics {
        let rows: Vec<&KeptRow> =
            metric.rows.iter().filter(|row| row.finding != KeptFinding::Baseline).collect();
        let count = |wanted: Case| rows.iter().filter(|row| case(row) == wanted).count();
        writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">",
            xml(&metric.label),
            rows.len(),
            count(Case::Failure),
            count(Case::Skipped)
        )
        .expect("writing to memory cannot fail");
        for row in &rows {
            write_case(&mut text, row);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    Failure,
    Skipped,
}

fn case(row: &KeptRow) -> Case {
    if row.differs_from_itself() {
        return Case::Failure;
    }
    match row.finding {
        KeptFinding::Better if row.control => Case::Failure,
        KeptFinding::Worse => Case::Failure,
        KeptFinding::Undecided => Case::Skipped,
        KeptFinding::Better | KeptFinding::Equivalent | KeptFinding::Baseline => Case::Passed,
    }
}

fn write_case(text: &mut String, row: &KeptRow) {
    let message = xml(&format!(
        "{}: ratio {} to {}, 95 % interval {} to {}, {} pairs",
        row.finding.name(),
        words::fixed(row.ratio, 3),
        row.baseline,
        words::fixed(row.low, 3),
        words::fixed(row.high, 3),
        row.pairs
    ));
    let name = xml(&row.configuration);
    let inside = match case(row) {
        Case::Passed => format!("<system-out>{message}</system-out>"),
        Case::Failure => format!("<failure message=\"{message}\"/>"),
        Case::Skipped => format!("<skipped message=\"{message}\"/>"),
    };
    writeln!(text, "    <testcase name=\"{name}\">{inside}</testcase>")
        .expect("writing to memory cannot fail");
}

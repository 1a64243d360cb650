//! Results of a study, for people and for programs: a text, a page, Markdown for a pull request, JUnit for a
//! build server.
//!
//! All of it comes from [`Conclusions`], which is data: the same statements as JSON are the study's
//! `study.json`.

mod bars;
mod growth;
mod junit;
mod markdown;
mod page;
mod percentiles;
mod tables;
mod together;

use barograph_record::Conclusions;

pub use junit::junit;
pub use markdown::markdown;
pub use page::page;

use tables::{METRIC_WORDS, about, crossings, excluded, growths, runs, runs_title};

/// Title of the table of crossings.
const WHERE_REACHED: &str = "Where a limit is reached";

/// The study in a terminal: the question, a table per metric, and the answers at the end, where they are
/// visible.
#[must_use]
pub fn text(study: &Conclusions) -> String {
    let mut parts = vec![study.question.clone()];
    let titled = |title: &str, table: &crate::html::Grid| {
        format!("{title}\n{}", crate::table::plain(table, METRIC_WORDS))
    };
    for metric in &study.metrics {
        parts.push(titled(&about(metric), &tables::metric(metric)));
    }
    parts.extend(crossings(study).map(|table| titled(WHERE_REACHED, &table)));
    for (title, table) in growths(study) {
        parts.push(titled(&title, &table));
    }
    for group in together::groups(study) {
        parts.push(titled(&group.title(), &group.table()));
    }
    parts.push(titled(&runs_title(study), &runs(study)));
    parts.extend(excluded(study).map(|table| titled("Runs that were dropped", &table)));
    let listed = |title: &str, lines: &[String]| format!("{title}:\n  {}", lines.join("\n  "));
    if !study.warnings.is_empty() {
        parts.push(listed("Take note", &study.warnings));
    }
    if !study.sentences.is_empty() {
        parts.push(listed("Answers", &study.sentences));
    }
    parts.push(format!("To run it again: {}", study.repeat));
    parts.join("\n\n")
}

#[cfg(test)]
mod tests;

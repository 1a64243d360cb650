//! A study as Markdown, for a pull request.

use barograph_record::Conclusions;

use super::WHERE_REACHED;
use super::tables::{self, about, crossings, excluded, growths, runs, runs_title};
use crate::escape;
use crate::html::Grid;
use crate::markdown::{list, table as rows};

/// The study as Markdown.
#[must_use]
pub fn markdown(study: &Conclusions) -> String {
    let mut text = format!("## {}\n", escape::markdown(&study.question));
    text.push_str(&list("**Answers**", &study.sentences));
    text.push_str(&list("**Take note**", &study.warnings));
    let mut table = |title: &str, grid: &Grid| {
        text.push_str(&format!("\n**{}**\n\n{}", escape::markdown(title), rows(grid)));
    };
    for metric in &study.metrics {
        table(&about(metric), &tables::metric(metric));
    }
    crossings(study).iter().for_each(|grid| table(WHERE_REACHED, grid));
    growths(study).iter().for_each(|(title, grid)| table(title, grid));
    table(&runs_title(study), &runs(study));
    excluded(study).iter().for_each(|grid| table("Runs that were dropped", grid));
    text.push_str(&format!("\nTo run it again: {}\n", escape::markdown_code(&study.repeat)));
    text
}

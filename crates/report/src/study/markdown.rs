//! A study as Markdown, for a pull request.

use std::fmt::Write as _;

use barograph_record::Conclusions;

use super::WHERE_REACHED;
use super::tables::{self, about, crossings, excluded, growths, runs, runs_title};
use crate::escape;
use crate::html::Grid;

/// The study as Markdown.
#[must_use]
pub fn markdown(study: &Conclusions) -> String {
    let mut text = format!("## {}\n", escape::markdown(&study.question));
    let mut list = |title: &str, lines: &[String]| {
        if !lines.is_empty() {
            let lines: Vec<String> =
                lines.iter().map(|line| format!("- {}", escape::markdown(line))).collect();
            write!(text, "\n{title}\n\n{}\n", lines.join("\n")).expect("writing to memory cannot fail");
        }
    };
    list("**Answers**", &study.sentences);
    list("**Take note**", &study.warnings);
    let mut table = |title: &str, grid: &Grid| {
        write!(text, "\n**{}**\n\n{}", escape::markdown(title), rows(grid))
            .expect("writing to memory cannot fail");
    };
    for metric in &study.metrics {
        table(&about(metric), &tables::metric(metric));
    }
    crossings(study).iter().for_each(|grid| table(WHERE_REACHED, grid));
    growths(study).iter().for_each(|(title, grid)| table(title, grid));
    table(&runs_title(study), &runs(study));
    excluded(study).iter().for_each(|grid| table("Runs that were dropped", grid));
    write!(text, "\nTo run it again: {}\n", escape::markdown_code(&study.repeat))
        .expect("writing to memory cannot fail");
    text
}

fn rows(grid: &Grid) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape::markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule: Vec<&str> =
        (0..grid.head.len()).map(|at| if at == 0 || grid.is_words(&at) { "---" } else { "---:" }).collect();
    let mut text = line(&grid.head);
    writeln!(text, "| {} |", rule.join(" | ")).expect("writing to memory cannot fail");
    grid.rows.iter().for_each(|row| text.push_str(&line(row)));
    text
}

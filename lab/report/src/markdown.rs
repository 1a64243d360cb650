//! Tables and lists in Markdown.

use crate::escape::markdown;
use crate::html::Grid;

/// A table.
pub(crate) fn table(grid: &Grid) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| markdown(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let is_left = |at: &usize| *at == 0 || grid.is_words(at);
    let rule: String = (0..grid.head.len()).map(|at| if is_left(&at) { "---|" } else { "--:|" }).collect();
    let rows: String = grid.rows.iter().map(|row| line(row)).collect();
    format!("{}|{rule}\n{rows}", line(&grid.head))
}

/// A list below its title, after an empty line; empty without lines.
pub(crate) fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("- {}\n", markdown(line))).collect();
    format!("\n{title}\n\n{lines}")
}

//! The result of a part: a table, remarks, troubles. On the terminal, in a file, and in the page of the docs.

use std::fs;

use anyhow::Context;

use crate::auction::ground::{BenchSetup, said};
use crate::contest;

/// Path of the page in the workspace.
const PAGE: &str = "docs/reference/auction.md";

/// Beginning of the page.
const TITLE: &str = "# What the auction application does on its stores, buses and proxies\n\n\
This page is written by `cargo xtask bench auction PART --append`; do not edit it.\n\
Everything runs on one machine over the loopback network: driver, nodes, stores and proxies share its cores.\n\
CPU is user and system time of the processes over the measured window, divided by its length.\n";

/// The result of a part.
pub(crate) struct Report {
    /// Names the part; the same title replaces its section in the page.
    pub(crate) title: String,
    /// Sentences about the measurement.
    pub(crate) notes: Vec<String>,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Troubles, in words.
    pub(crate) trouble: Vec<String>,
}

impl Report {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Report {
        let columns = columns.iter().map(|&c| c.to_owned()).collect();
        Report { title: title.to_owned(), notes: Vec::new(), columns, rows: Vec::new(), trouble: Vec::new() }
    }

    /// Adds a row with the measured figures, or the reason for its absence.
    pub(crate) fn add(&mut self, variant: &str, measured: anyhow::Result<Vec<String>>) {
        match measured {
            Ok(cells) => {
                crate::say::say(&format!("    {variant}: {}", cells.join(" | ")));
                self.rows.push([vec![variant.to_owned()], cells].concat());
            }
            Err(why) => {
                let line = format!("{variant}: {why:#}");
                crate::say::say(&format!("    {line}"));
                self.trouble.push(line);
            }
        }
    }

    /// The section, as Markdown.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("## {}\n\n", self.title);
        for note in &self.notes {
            text += &format!("{note}\n");
        }
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        text += "\n";
        text += &row(&self.columns);
        text += &row(&vec!["---".to_owned(); self.columns.len()]);
        for cells in &self.rows {
            text += &row(cells);
        }
        for line in &self.trouble {
            text += &format!("\nNot measured: {}.\n", line.lines().next().unwrap_or_default());
        }
        text
    }

    /// Writes it beside the raw output.
    pub(crate) fn keep(&self, ground: &BenchSetup) -> anyhow::Result<()> {
        fs::write(ground.raw.join("table.md"), self.text()).context("keep the table")
    }

    /// Puts it into the page, in place of the section of the same title.
    pub(crate) fn append(&self, ground: &BenchSetup) -> anyhow::Result<()> {
        let path = ground.root.join(PAGE);
        let page = fs::read_to_string(&path).unwrap_or_else(|_| TITLE.to_owned());
        let section = format!("{}\n{}\n", self.text(), conditions(ground));
        fs::write(&path, with_section(&page, &self.title, &section)).context("write the page")
    }
}

/// Date, machine and versions of the measurement.
fn conditions(ground: &BenchSetup) -> String {
    let first = |program: &str, words: &[&str]| {
        let text = said(std::process::Command::new(program).args(words).current_dir(&ground.root));
        text.map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    format!(
        "Measured {} on {cores} cores, commit {}, load of the machine at the end {}.",
        first("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        contest::commit(),
        load.split(' ').next().unwrap_or("unknown"),
    )
}

/// The page with this section in place of the one of the same title, or at its end.
fn with_section(page: &str, title: &str, section: &str) -> String {
    let mark = format!("## {title}\n");
    let Some(from) = page.find(&mark) else { return format!("{}\n\n{section}", page.trim_end()) };
    let rest = &page[from + mark.len()..];
    let after = rest.find("\n## ").map_or("", |at| &rest[at + 1..]);
    let gap = if after.is_empty() { "" } else { "\n" };
    format!("{}{section}{gap}{after}", &page[..from])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_or_added_and_others_stay() {
        let page = with_section("# T\n\nWords.\n", "One", "## One\n\n1\n");
        assert_eq!(page, "# T\n\nWords.\n\n## One\n\n1\n");
        let page = with_section(&page, "Two", "## Two\n\n2\n");
        assert_eq!(page, "# T\n\nWords.\n\n## One\n\n1\n\n## Two\n\n2\n");
        let page = with_section(&page, "One", "## One\n\n3\n");
        assert_eq!(page, "# T\n\nWords.\n\n## One\n\n3\n\n## Two\n\n2\n");
        let page = with_section(&page, "Two", "## Two\n\n4\n");
        assert_eq!(page, "# T\n\nWords.\n\n## One\n\n3\n\n## Two\n\n4\n");
    }

    #[test]
    fn a_report_is_a_table_with_what_was_in_the_way() {
        let mut report = Report::new("Loads", &["variant", "ops/s"]);
        report.notes.push("A note.".to_owned());
        report.add("one", Ok(vec!["5".to_owned()]));
        report.add("two", Err(anyhow::anyhow!("no room\nmore words")));
        let expected = "## Loads\n\nA note.\n\n| variant | ops/s |\n| --- | --- |\n| one | 5 |\n\nNot measured: two: no room.\n";
        assert_eq!(report.text(), expected);
    }
}

//! The page in docs/reference, and the raw readings beside it.

use super::sections::{Case, Section};
use super::table::{self, Run};
use super::tools::KEYS;
use crate::contest::{DRIVER_CPU, Head, TARGET_CPU};

/// A measured section.
pub(super) struct SectionResult {
    pub(super) section: Section,
    pub(super) seconds: u64,
    pub(super) cases: Vec<Case>,
    /// The command of each driver in its first case.
    pub(super) commands: Vec<(&'static str, String)>,
    pub(super) runs: Vec<Run>,
    /// Load of the machine when the section began and when it ended.
    pub(super) load: (String, String),
    /// Troubles, in words.
    pub(super) trouble: Vec<String>,
}

impl SectionResult {
    pub(super) fn tables(&self) -> String {
        table::tables(self.section, &self.cases, &self.runs)
    }
}

/// The whole page. One sentence per line, as everywhere.
pub(super) fn page(head: &Head, sections: &[SectionResult], raw_name: &str) -> String {
    let mut text = format!(
        "# What the key-value driver costs, beside other load drivers\n\n\
         This page is written by `cargo xtask bench kv`; do not edit it.\n\
         The target is Redis, in memory and without a log, on core {TARGET_CPU}; the driver runs on core {DRIVER_CPU} with one thread, both over the loopback network.\n\
         There are {KEYS} keys, all of them filled and all asked for alike.\n\
         50x30 stands for 50 connections with 30 commands in flight on each.\n\
         Drivers take turns in each case of a round; a figure is the median over the rounds, with the least and the most of them.\n\
         A ratio is the median of the ratios within each round.\n\
         Commands per second are by the driver's own count.\n\
         CPU is user and system time of the whole process from its start to its end, divided by the commands that the store counted; start and end are in it.\n\
         All drivers begin with all their connections at once (of Barograph: load.ramp_s=0); the account of its own that Barograph gives of its CPU is of the window alone, without start and end.\n\
         CPU of stores and proxies is that of the same span, divided in the same way.\n\
         Times of different drivers do not mean the same.\n\
         Only Barograph counts from the instant a command was due, and has times of each command of a pipeline; redis-benchmark and valkey-benchmark give all commands of a pipeline the time of the first reply.\n\
         All readings are in [{raw_name}]({raw_name}).\n\n"
    );
    text += &head.text();
    for measured in sections {
        text += &section(measured);
    }
    text
}

fn section(measured: &SectionResult) -> String {
    let SectionResult { section, .. } = measured;
    let mut text = format!("\n## {}\n\n{}\n\n{}", section.title(), section.note(), measured.tables());
    text += &format!(
        "\nRuns of {} s; load of the machine {} at the beginning and {} at the end.\n",
        measured.seconds, measured.load.0, measured.load.1
    );
    for line in &measured.trouble {
        text += &format!("Not measured: {line}.\n");
    }
    text += "\nCommands of the first case:\n\n";
    for (name, line) in &measured.commands {
        text += &format!("- {name}: `{line}`\n");
    }
    text
}

/// All readings, one line each.
pub(super) fn raw(sections: &[SectionResult]) -> String {
    let mut text = format!("{}\n", table::RAW_TITLES);
    for measured in sections {
        for run in &measured.runs {
            text += &table::raw_line(measured.section, &measured.cases[run.case], run);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::kv::output::ToolReport;
    use crate::kv::tools::{Job, Verb};

    fn measured() -> SectionResult {
        let (verb, folder) = (Verb::Get, PathBuf::new());
        let job = Job {
            port: 1,
            verb,
            value_bytes: 100,
            connections: 50,
            pipeline: 1,
            seconds: 3,
            rate: Some(20_000),
            count: 0,
            folder,
        };
        let run = |tool| {
            let reading = ToolReport { commands: 60_000, per_s: 20_000.0, ..ToolReport::default() };
            let servers_us = [Some(10.0), None, None];
            Run { case: 0, tool, round: 0, reading, served: 60_010, driver_us: 12.0, servers_us }
        };
        SectionResult {
            section: Section::Rate,
            seconds: 3,
            cases: vec![Case { group: String::new(), name: "20000/s".to_owned(), chain: 0, job }],
            commands: vec![("barograph", "barograph kv 127.0.0.1:1".to_owned())],
            runs: vec![run("barograph"), run("memtier_benchmark")],
            load: ("0.10".to_owned(), "1.20".to_owned()),
            trouble: vec!["valkey-benchmark, 20000/s: it printed nothing".to_owned()],
        }
    }

    #[test]
    fn a_page_has_one_title_what_is_missing_and_every_command() {
        let missing = vec![("valkey-benchmark".to_owned(), "make".to_owned())];
        let head = Head::new(vec![("redis-server".to_owned(), "7.0.15".to_owned())], missing);
        let text = page(&head, &[measured()], "kv.csv");
        assert_eq!(text.lines().filter(|l| l.starts_with("# ")).count(), 1);
        for words in [
            "All readings are in [kv.csv](kv.csv).\n",
            "- valkey-benchmark was not found, and is not in the tables; to install it: `make`.\n",
            "## Fixed 20,000 commands per second, 50 connections\n",
            "| 20000/s | barograph | 1 | 20000.0 (20000.0 to 20000.0) | 0.000 |",
            "Runs of 3 s; load of the machine 0.10 at the beginning and 1.20 at the end.\n",
            "Not measured: valkey-benchmark, 20000/s: it printed nothing.\n",
            "- barograph: `barograph kv 127.0.0.1:1`\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn raw_readings_are_all_there() {
        assert_eq!(raw(&[measured(), measured()]).lines().count(), 5);
    }
}

//! The page in docs/reference, and the raw readings beside it.

use super::nginx;
use super::ours::OTHER;
use super::sections::Section;
use super::table::{self, Run};
use crate::contest::{DRIVER_CPU, Head, TARGET_CPU};

/// A measured section.
pub(super) struct SectionResult {
    pub(super) section: Section,
    pub(super) seconds: u64,
    /// The commands, as contender and words.
    pub(super) commands: Vec<(&'static str, String)>,
    pub(super) runs: Vec<Run>,
    /// Load of the machine when the section began and when it ended.
    pub(super) load: (String, String),
    /// Troubles, in words.
    pub(super) trouble: Vec<String>,
}

impl SectionResult {
    /// The base of ratios: the other build of this program, or the first measured one of the section's bases.
    pub(super) fn base(&self) -> Option<&'static str> {
        let mut wishes = [OTHER].into_iter().chain(self.section.bases().iter().copied());
        wishes.find(|name| self.runs.iter().any(|run| run.contender == *name))
    }

    pub(super) fn table(&self) -> String {
        table::table(&self.runs, self.base())
    }
}

/// The whole page. One sentence per line, as everywhere.
pub(super) fn page(head: &Head, sections: &[SectionResult], raw_name: &str) -> String {
    let mut text = format!(
        "# What the driver costs, beside other load drivers\n\n\
         This page is written by `cargo xtask bench driver`; do not edit it.\n\
         The target is nginx with one worker ({settings}) on core {TARGET_CPU}, the driver runs on core {DRIVER_CPU}, both over the loopback network.\n\
         The file has 1 KiB.\n\
         Where one process may not have as many open files as there are users, nginx has more workers, all on the same core.\n\
         Contenders take turns within a round; a figure is the median over the rounds, with the least and the most of them.\n\
         A ratio is the median of the ratios within each round.\n\
         CPU is user and system time of the whole process from its start to its end, divided by the requests it reports; start and end are in it.\n\
         Peak RSS is the most memory the process ever held.\n\
         Times of different tools do not mean the same: only oha (with its correction), wrk2 and Barograph count from the instant a request was due.\n\
         The script for k6 is `k6_script` in dev/bench/src/driver/tools.rs; it discards bodies.\n\
         All readings are in [{raw_name}]({raw_name}).\n\n",
        settings = nginx::SETTINGS,
    );
    text += &head.text();
    for measured in sections {
        text += &section(measured);
    }
    text
}

fn section(measured: &SectionResult) -> String {
    let SectionResult { section, .. } = measured;
    let mut text = format!("\n## {}\n\n{}\n\n{}", section.title(), section.note(), measured.table());
    text += &format!(
        "\nRuns of {} s; load of the machine {} at the beginning and {} at the end.\n",
        measured.seconds, measured.load.0, measured.load.1
    );
    for (name, _) in &measured.commands {
        if let Some(own) = table::own_cpu_us(&measured.runs, name) {
            text += &format!("CPU per request by the account of {name} itself: {own:.1} us.\n");
        }
    }
    for line in &measured.trouble {
        text += &format!("Not measured: {line}.\n");
    }
    text += "\nCommands:\n\n";
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
            text += &table::raw_line(measured.section.name(), run);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::output::ToolReport;

    fn measured() -> SectionResult {
        let reading = ToolReport { requests: 100, requests_per_s: 50.0, ..ToolReport::default() };
        let own = ToolReport { own_cpu_us: Some(7.25), ..reading.clone() };
        let run = |contender, reading| Run { contender, round: 0, reading, cpu_us: 8.0, rss_mib: 4.0 };
        SectionResult {
            section: Section::Rate,
            seconds: 5,
            commands: vec![("h2load", "h2load --h1".to_owned()), ("barograph", "barograph http".to_owned())],
            runs: vec![run("h2load", reading), run("barograph", own)],
            load: ("0.10".to_owned(), "1.20".to_owned()),
            trouble: vec!["oha: it printed nothing".to_owned()],
        }
    }

    #[test]
    fn the_base_is_the_first_wish_that_was_measured() {
        assert_eq!(measured().base(), Some("h2load"));
        assert!(measured().table().contains("| to h2load |"));
        assert_eq!(SectionResult { section: Section::Closed, ..measured() }.base(), None);
    }

    #[test]
    fn a_page_has_one_title_what_is_missing_and_every_command() {
        let missing = vec![("oha".to_owned(), "cargo install oha".to_owned())];
        let head = Head::new(vec![("h2load".to_owned(), "h2load 1.52".to_owned())], missing);
        let text = page(&head, &[measured()], "driver.csv");
        assert_eq!(text.lines().filter(|l| l.starts_with("# ")).count(), 1);
        for words in [
            "- oha was not found, and is not in the tables; to install it: `cargo install oha`.\n",
            "## Fixed 5,000 starts per second, 64 connections\n",
            "Runs of 5 s; load of the machine 0.10 at the beginning and 1.20 at the end.\n",
            "CPU per request by the account of barograph itself: 7.2 us.\n",
            "Not measured: oha: it printed nothing.\n",
            "- h2load: `h2load --h1`\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn raw_readings_are_all_there() {
        assert_eq!(raw(&[measured(), measured()]).lines().count(), 5);
    }
}

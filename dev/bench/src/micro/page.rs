//! The page in docs/reference, and the raw readings beside it.

use std::path::Path;

use anyhow::Context;

use super::table::{self, Run};
use super::{Contest, OURS};
use crate::contest::readings;

/// The runs of earlier measurements, from the readings beside the page.
pub(super) fn earlier(contest: &Contest, out: &Path) -> anyhow::Result<Vec<Run>> {
    let run = |cells: &Vec<String>| {
        let [case, program, round, figures @ ..] = cells.as_slice() else { return None };
        let case = contest.cases.iter().position(|known| known.name == *case)?;
        let place = contest.cases[case].contenders.iter().position(|known| known.name == program)?;
        let mut figures: Vec<Option<f64>> = figures.iter().map(|figure| figure.parse().ok()).collect();
        let is_known = figures.len() <= contest.figures.len();
        // Figures that were added later stand last.
        figures.resize(contest.figures.len(), None);
        is_known.then_some(Run { case, place, round: round.parse().ok()?, figures })
    };
    let of = |cells: &Vec<String>| {
        run(cells).with_context(|| format!("find a case and a program of here in `{}`", cells.join(",")))
    };
    readings(out)?.iter().map(of).collect()
}

/// A contest with its runs.
pub(super) struct Measured {
    pub(super) contest: Contest,
    pub(super) runs: Vec<Run>,
    /// Load of the machine when the first run began and when the last one ended.
    pub(super) load: (String, String),
    /// Failed runs, in words.
    pub(super) trouble: Vec<String>,
}

impl Measured {
    /// Both tables.
    pub(super) fn tables(&self) -> String {
        let (contest, runs) = (&self.contest, &self.runs);
        format!(
            "## Ratios of {OURS}\n\n{}\n## All figures\n\n{}",
            table::summary(contest, runs),
            table::figures(contest, runs)
        )
    }

    /// The whole page. One sentence per line, as everywhere.
    pub(super) fn page(&self, raw_name: &str) -> String {
        let contest = &self.contest;
        let mut text = format!(
            "# {}\n\nThis page is written by `cargo xtask bench {}`; do not edit it.\n{}\
             Programs take turns in each case of a round; a figure is the median over the rounds, with the least and the most of them.\n\
             A ratio is the median of the ratios within each round.\n\
             All readings are in [{raw_name}]({raw_name}).\n\n{}\n{}\n",
            contest.title,
            contest.name,
            contest.about,
            contest.head.text(),
            self.tables(),
        );
        text += &format!(
            "Load of the machine: {} at the beginning and {} at the end.\n",
            self.load.0, self.load.1
        );
        for line in &self.trouble {
            text += &format!("Not measured: {line}.\n");
        }
        text += "\nCommands:\n\n";
        let mut named: Vec<&str> = Vec::new();
        for contender in contest.cases.iter().flat_map(|case| &case.contenders) {
            if !named.contains(&contender.name) {
                named.push(contender.name);
                text += &format!("- {}: `{}`\n", contender.name, contender.pinned.line());
            }
        }
        text
    }

    /// All readings, one line each.
    pub(super) fn raw(&self) -> String {
        let ids: Vec<&str> = self.contest.figures.iter().map(|figure| figure.id).collect();
        let mut text = format!("case,program,round,{}\n", ids.join(","));
        for run in &self.runs {
            let case = &self.contest.cases[run.case];
            text += &format!("\"{}\",\"{}\",{}", case.name, case.contenders[run.place].name, run.round);
            for value in &run.figures {
                text += &value.map_or(",".to_owned(), |value| format!(",{value:.6}"));
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::{Head, PinnedProgram};
    use crate::micro::wanted::{Bound, Cell, Wanted};
    use crate::micro::{Case, Contender, Figure, Ratio};

    fn contender(name: &'static str) -> Contender {
        let arguments = vec!["--file".to_owned(), "/x/data".to_owned()];
        let pinned = PinnedProgram { program: format!("/bin/{name}").into(), arguments, cpu: 1, fine: &[0] };
        Contender { name, pinned, seconds: 1, read: Box::new(|_| Ok(Vec::new())) }
    }

    fn measured() -> Measured {
        let run = |place, round, iops, p50| Run { case: 0, place, round, figures: vec![Some(iops), p50] };
        Measured {
            contest: Contest {
                name: "disk",
                title: "Disks",
                about: "The target is a file.\n".to_owned(),
                figures: &[
                    Figure { id: "kiops", title: "K IOPS", digits: 1 },
                    Figure { id: "p50_us", title: "p50 us", digits: 0 },
                ],
                ratios: &[Ratio { figure: 0, base: "fio", wanted: "0.98 or more" }],
                cases: vec![Case {
                    name: "Read, depth 1".to_owned(),
                    contenders: vec![contender(OURS), contender("fio")],
                    wanted: &[Wanted { of: Cell::Figure(1), bound: Bound::AtMost(45.0) }],
                }],
                head: Head::new(Vec::new(), vec![("fio".to_owned(), "apt-get install fio".to_owned())]),
            },
            runs: vec![
                run(0, 0, 90.0, Some(30.0)),
                run(0, 1, 50.0, Some(50.0)),
                run(1, 0, 100.0, None),
                run(1, 1, 40.0, None),
            ],
            load: ("0.10".to_owned(), "0.20".to_owned()),
            trouble: vec!["fio, Read, depth 1, round 3: it was killed".to_owned()],
        }
    }

    #[test]
    fn a_page_has_ratios_figures_and_commands() {
        let text = measured().page("disk.csv");
        assert_eq!(text.lines().filter(|line| line.starts_with("# ")).count(), 1);
        for words in [
            "| case | K IOPS to fio |\n|---|---|\n| Read, depth 1 | 1.07 (0.90 to 1.25) |\n| wanted | 0.98 or more |\n",
            "| Read, depth 1 | barograph | 2 | 70.0 (50.0 to 90.0) | 40 (30 to 50); wanted 45.0 or less: kept |\n",
            "| Read, depth 1 | fio | 2 | 70.0 (40.0 to 100.0) | - |\n",
            "- fio was not found, and is not in the tables; to install it: `apt-get install fio`.\n",
            "Not measured: fio, Read, depth 1, round 3: it was killed.\n",
            "- fio: `fio --file data`\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }

    #[test]
    fn readings_are_all_there() {
        let expected = "case,program,round,kiops,p50_us\n\
                        \"Read, depth 1\",\"barograph\",0,90.000000,30.000000\n\
                        \"Read, depth 1\",\"barograph\",1,50.000000,50.000000\n\
                        \"Read, depth 1\",\"fio\",0,100.000000,\n\
                        \"Read, depth 1\",\"fio\",1,40.000000,\n";
        let (folder, measured) = (tempfile::tempdir().unwrap(), measured());
        assert_eq!(measured.raw(), expected);
        let out = folder.path().join("disk.md");
        crate::contest::write(&out, |raw| measured.page(raw), expected).unwrap();
        assert_eq!(earlier(&measured.contest, &out).unwrap(), measured.runs);
        crate::contest::write(&out, |_| String::new(), "case\n\"x\",fio,0,1,2\n").unwrap();
        let why = format!("{:#}", earlier(&measured.contest, &out).unwrap_err());
        assert_eq!(why, "find a case and a program of here in `x,fio,0,1,2`");
    }
}

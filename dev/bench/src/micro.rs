//! `cargo xtask bench disk`, `linpack`, `mail`, `sort`, `sql` and `stream`: this product beside other programs that do the same work, as a
//! page with tables.
//!
//! Nothing is installed: a missing program is named with the command that installs it.

mod compiler;
mod disk;
mod linpack;
mod mail;
mod options;
mod page;
mod sort;
mod sql;
mod stream;
mod table;
mod wanted;

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::contest::process::{self, ProgramResult};
use crate::contest::{Head, NOT_WRITTEN, PinnedProgram, load, programs, turns, write};
use crate::say::say;
use options::CommonOptions;
use page::Measured;
use table::Run;
use wanted::Wanted;

pub(crate) use disk::run as disk;
pub(crate) use linpack::run as linpack;
pub(crate) use mail::run as mail;
pub(crate) use sort::run as sort;
pub(crate) use sql::run as sql;
pub(crate) use stream::run as stream;

/// The name of this product in tables.
const OURS: &str = "barograph";

/// Exit codes of this product with figures: passed, a rule broken, not valid. At full load the last is expected.
const FINE: &[i32] = &[0, 4, 9];

/// A measurement of one workload.
struct Contest {
    /// Name of the command and of the page.
    name: &'static str,
    title: &'static str,
    /// Sentences below the title.
    about: String,
    figures: &'static [Figure],
    ratios: &'static [Ratio],
    cases: Vec<Case>,
    head: Head,
}

/// A figure of a run.
struct Figure {
    /// Name in the file of all readings.
    id: &'static str,
    title: &'static str,
    digits: usize,
}

/// A figure of this product divided by that of a base.
struct Ratio {
    /// Index of the figure.
    figure: usize,
    base: &'static str,
    /// The wanted ratio in words; `-` where none is, or where cases have their own.
    wanted: &'static str,
}

/// The same work for several contenders.
struct Case {
    name: String,
    contenders: Vec<Contender>,
    wanted: &'static [Wanted],
}

/// A program with its arguments in a case.
struct Contender {
    name: &'static str,
    pinned: PinnedProgram,
    /// Time after which the program should have ended.
    seconds: u64,
    read: Reader,
}

/// Takes the figures of a run, by index, from its output and resources.
type Reader = Box<dyn Fn(&ProgramResult) -> anyhow::Result<Vec<Option<f64>>>>;

impl Contest {
    /// Measures all cases in rounds; true if every contender gave figures in every round.
    fn measure(self, options: &CommonOptions, folder: &Path) -> anyhow::Result<bool> {
        let began = load();
        let out = options.out(self.name);
        let earlier = out.as_deref().filter(|_| options.add).map(|out| page::earlier(&self, out));
        let (mut runs, mut trouble) = (earlier.transpose()?.unwrap_or_default(), Vec::new());
        let first = runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
        for round in first..first + options.rounds {
            let wanted = self.cases.iter().enumerate().filter(|(_, case)| options.wants(&case.name));
            for (at, case) in wanted {
                for place in turns(round, case.contenders.len()) {
                    let contender = &case.contenders[place];
                    match self.run(case, contender, folder) {
                        Ok(figures) => runs.push(Run { case: at, place, round, figures }),
                        Err(why) => {
                            let line =
                                format!("{}, {}, round {}: {why:#}", contender.name, case.name, round + 1);
                            say(&format!("    {line}"));
                            trouble.push(line);
                        }
                    }
                }
            }
        }
        runs.sort_by_key(|run| (run.case, run.place, run.round));
        let measured = Measured { contest: self, runs, load: (began, load()), trouble };
        say(&format!("\n{}", measured.tables()));
        match out {
            Some(out) => write(&out, |raw| measured.page(raw), &measured.raw())?,
            None => say(NOT_WRITTEN),
        }
        Ok(measured.trouble.is_empty())
    }

    fn run(&self, case: &Case, contender: &Contender, folder: &Path) -> anyhow::Result<Vec<Option<f64>>> {
        let used = process::run(&contender.pinned, contender.seconds, folder)?;
        let figures = (contender.read)(&used).context("read its figures")?;
        let shown =
            self.figures.iter().zip(&figures).filter_map(|(figure, value)| {
                Some(format!("{} {:.*}", figure.title, figure.digits, (*value)?))
            });
        let shown: Vec<String> = shown.collect();
        say(&format!("    {:<28} {:<20} {}", case.name, contender.name, shown.join("  ")));
        Ok(figures)
    }
}

/// The program of this product: of the option, or of an optimised build.
fn ours(options: &CommonOptions) -> anyhow::Result<std::path::PathBuf> {
    let program = options.program.clone().or_else(|| programs::ours(crate::root()));
    match program {
        Some(program) if program.is_file() => Ok(program),
        Some(program) => bail!("`{}` is no program", program.display()),
        None => bail!("there is no program of this product; to build it: {}", programs::BUILD),
    }
}

/// The head of a page: versions of the programs that take part, and what is missing.
fn head(ours: &Path, others: Vec<(String, String)>, missing: Vec<(String, String)>) -> Head {
    let mut versions = vec![(OURS.to_owned(), programs::version(ours, "--version"))];
    versions.extend(others);
    Head::new(versions, missing)
}

/// A program on the first `cores` cores.
///
/// [`PinnedProgram`] pins to one core; `taskset` within it widens that again.
fn on_cores(cores: usize, program: &Path, arguments: &[String]) -> PinnedProgram {
    let mut words = vec!["-c".to_owned(), format!("0-{}", cores - 1), program.display().to_string()];
    words.extend_from_slice(arguments);
    PinnedProgram { program: "taskset".into(), arguments: words, cpu: 0, fine: FINE }
}

/// The thread counts of a contest of processors: one, and one for each core.
fn thread_counts() -> anyhow::Result<Vec<usize>> {
    let cores = std::thread::available_parallelism()?.get();
    Ok(if cores == 1 { vec![1] } else { vec![1, cores] })
}

/// The output of a program as JSON.
fn json(used: &ProgramResult) -> anyhow::Result<Value> {
    // fio prints notes before its JSON.
    let begin = used.stdout.find('{').context("find JSON in its output")?;
    serde_json::from_str(&used.stdout[begin..]).context("read its output as JSON")
}

/// A number in JSON; none for null and for what is not there.
fn number(json: &Value, pointer: &str) -> Option<f64> {
    json.pointer(pointer).and_then(Value::as_f64)
}

/// A measure of this product's JSON.
fn measure(json: &Value, name: &str) -> Option<f64> {
    let all = json.get("measures")?.as_array()?;
    let found = all.iter().find(|measure| measure.get("measure").and_then(Value::as_str) == Some(name))?;
    found.get("value")?.as_f64()
}

/// The error of a run of this product in which operations failed.
fn need_good(json: &Value) -> anyhow::Result<()> {
    match json.get("errors").and_then(Value::as_u64) {
        Some(0) => Ok(()),
        Some(failed) => bail!("{failed} operations failed: {}", json["failures"]),
        None => bail!("it does not say how many operations failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(stdout: &str) -> ProgramResult {
        ProgramResult { stdout: stdout.to_owned(), cpu_s: 1.0, peak_rss_mib: 1.0, elapsed_s: 1.0 }
    }

    #[test]
    fn figures_are_found_in_json_after_notes() {
        let found = json(&result(
            "note: slow\n{\"errors\": 0, \"measures\": [{\"measure\": \"gflops\", \"value\": 2.5}]}",
        ));
        let found = found.unwrap();
        assert_eq!((measure(&found, "gflops"), measure(&found, "peak")), (Some(2.5), None));
        assert_eq!((number(&found, "/errors"), number(&found, "/none")), (Some(0.0), None));
        need_good(&found).unwrap();
        assert!(json(&result("no such file")).is_err());
    }

    #[test]
    fn failed_operations_are_named() {
        let found = serde_json::json!({ "errors": 2, "failures": ["wrong"] });
        let why = need_good(&found).unwrap_err().to_string();
        assert_eq!(why, "2 operations failed: [\"wrong\"]");
    }

    #[test]
    fn a_program_on_several_cores_is_pinned_to_them() {
        let pinned = on_cores(2, Path::new("/x/stream"), &["10".to_owned()]);
        assert_eq!(pinned.line(), "taskset -c 0-1 stream 10");
    }
}

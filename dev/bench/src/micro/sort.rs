//! `cargo xtask bench sort`: sorts of this product on all engines, beside the same jobs by hand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

use super::{Case, Contender, Contest, Figure, OURS, Ratio, head, json, measure, need_good, number};
use super::{on_cores, options, ours};
use crate::contest::process::ProgramResult;
use crate::contest::programs::{self, words};

/// The name of jobs without this product.
const BY_HAND: &str = "by hand";

/// A script that starts a cluster and runs a job.
const SCRIPT: &str = include_str!("sort.sh");

/// Runs the script as the first process of a namespace: with this program or the script ends all of the cluster,
/// containers too, which have sessions of their own.
const TOGETHER: &str = "--pdeathsig KILL unshare --pid --fork --kill-child --mount-proc sh";

/// Longest time of a run, s.
const LONGEST_S: u64 = 1_800;

/// Measures sorts on all engines. It installs nothing: `cargo xtask tools` brings Spark and Hadoop
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench sort")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Records of 100 bytes
    #[arg(long, default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000), value_name = "N")]
    records: u64,
    /// Memory of the sort, in MiB
    #[arg(long, default_value_t = 4_096, value_parser = clap::value_parser!(u64).range(1_024..=1_048_576), value_name = "MIB")]
    memory_mib: u64,
}

const FIGURES: [Figure; 4] = [
    Figure { id: "sort_s", title: "elapsed time of the sort (s)", digits: 2 },
    Figure { id: "sorted_mb_per_s", title: "MB/s", digits: 1 },
    Figure { id: "client_cpu_s", title: "CPU time of the program that hands the job in (s)", digits: 2 },
    Figure { id: "overhead_percent", title: "added by Barograph at the most (%)", digits: 2 },
];

const RATIOS: [Ratio; 1] = [Ratio { figure: 0, base: BY_HAND, wanted: "1.05 or less" }];

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("sort", words)? else { return Ok(true) };
    let ours = ours(&options.common)?;
    let temporary = tempfile::tempdir().context("make a folder for files")?;
    let folder = temporary.path();
    let script = folder.join("sort.sh");
    fs::write(&script, SCRIPT)?;
    let cores = std::thread::available_parallelism()?.get();
    let job = Job { cores, options: &options, tools: crate::root().join("target/tools") };
    let (mut cases, mut versions, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for engine in ["embedded", "spark", "hadoop"] {
        let name = job.name(engine);
        let mut contenders = vec![job.ours(&ours, engine)];
        if engine != "embedded" {
            let program = job.tools.join(engine).join(engine);
            if !program.is_file() {
                missing.push((engine.to_owned(), "cargo xtask tools".to_owned()));
                continue;
            }
            versions.push((engine.to_owned(), programs::version(&program, "--version")));
            contenders.push(job.by_hand(&script, engine));
        }
        cases.push(Case { name, contenders, wanted: &[] });
    }
    let contest = Contest {
        name: "sort",
        title: "Sorts on engines, beside the same jobs by hand",
        about: job.about(),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head: head(&ours, versions, missing),
    };
    contest.measure(&options.common, folder)
}

/// The work of all cases.
struct Job<'o> {
    cores: usize,
    options: &'o Options,
    tools: PathBuf,
}

impl Job<'_> {
    fn name(&self, engine: &str) -> String {
        format!("{engine}, {:.2} GB", self.options.records as f64 * 100.0 / 1e9)
    }

    fn about(&self) -> String {
        format!(
            "Records of 100 bytes are sorted with {} MiB of memory by {} tasks at once, on one worker.\n\
             The time is that of the job from the start of its program to its end, without generation, validation and the start of the cluster.\n\
             Jobs by hand are those of a shell script, with records of TeraGen and the same settings; the script counts the bytes of the result.\n\
             What Barograph adds at the most is its time before and after the program that hands the job in, and all its CPU time meanwhile, as a share of the time of the job.\n\
             {OURS} checks order, number and checksum of every result.\n",
            self.options.memory_mib, self.cores
        )
    }

    fn ours(&self, program: &Path, engine: &str) -> Contender {
        let Options { records, memory_mib, .. } = self.options;
        let arguments = words(&format!(
            "sort --engine {engine} --records {records} --memory-mib {memory_mib} -n 1 --timeout {LONGEST_S}s -q --json"
        ));
        Contender {
            name: OURS,
            pinned: on_cores(self.cores, program, &arguments),
            seconds: LONGEST_S,
            read: Box::new(read_ours),
        }
    }

    fn by_hand(&self, script: &Path, engine: &str) -> Contender {
        let Options { records, memory_mib, .. } = self.options;
        let arguments = [
            script.display().to_string(),
            self.tools.display().to_string(),
            engine.to_owned(),
            records.to_string(),
            self.cores.to_string(),
            memory_mib.to_string(),
        ];
        Contender {
            name: BY_HAND,
            pinned: on_cores(
                self.cores,
                Path::new("setpriv"),
                &[words(TOGETHER).as_slice(), &arguments].concat(),
            ),
            seconds: LONGEST_S,
            read: Box::new(read_by_hand),
        }
    }
}

fn read_ours(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    Ok(FIGURES.iter().map(|figure| measure(&json, figure.id)).collect())
}

fn read_by_hand(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let elapsed = number(&json(used)?, "/sort_s").context("find the time of the job")?;
    Ok(vec![Some(elapsed), None, None, None])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(stdout: &str) -> ProgramResult {
        ProgramResult { stdout: stdout.to_owned(), cpu_s: 1.0, peak_rss_mib: 1.0, elapsed_s: 1.0 }
    }

    #[test]
    fn figures_are_read_from_both() {
        let ours = r#"{"errors": 0, "measures": [{"measure": "sort_s", "value": 2.5}, {"measure": "sorted_mb_per_s", "value": 4.0}, {"measure": "overhead_percent", "value": 0.5}]}"#;
        assert_eq!(read_ours(&result(ours)).unwrap(), [Some(2.5), Some(4.0), None, Some(0.5)]);
        assert!(read_ours(&result(r#"{"errors": 1, "failures": []}"#)).is_err());
        assert_eq!(read_by_hand(&result("{\"sort_s\": 3.25}\n")).unwrap(), [Some(3.25), None, None, None]);
        assert!(read_by_hand(&result("12 bytes came out\n")).is_err());
    }

    mod service {
        use std::path::Path;
        use std::process::{Command, Stdio};
        use std::time::{Duration, Instant};

        use super::super::TOGETHER;

        /// Number of processes with this path in their command line.
        fn processes_with(path: &Path) -> usize {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            let lines = all.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
            lines.filter(|line| String::from_utf8_lossy(line).contains(path.to_str().unwrap())).count()
        }

        fn until(what: &str, condition: impl Fn() -> bool) {
            let deadline = Instant::now() + Duration::from_secs(60);
            while !condition() {
                assert!(Instant::now() < deadline, "{what} did not happen");
                std::thread::yield_now();
            }
        }

        #[expect(clippy::print_stdout, reason = "a skipped test says why")]
        #[test]
        fn a_killed_contest_leaves_no_process_of_its_cluster() {
            if !rustix::process::geteuid().is_root() {
                return println!("skipped: only root makes namespaces of processes");
            }
            let folder = tempfile::tempdir().unwrap();
            let (script, log) = (folder.path().join("cluster.sh"), folder.path().join("log"));
            let daemon = format!("setsid tail -f {} &", log.display());
            std::fs::write(&log, "").unwrap();
            std::fs::write(&script, format!("{daemon} {daemon} wait\n")).unwrap();
            // The contest: a process that starts the script as its child.
            let line = format!("setpriv {TOGETHER} {}; exit", script.display());
            let mut contest = Command::new("sh").args(["-c", &line]).stdout(Stdio::null()).spawn().unwrap();
            until("the start of both daemons", || processes_with(&log) >= 2);
            contest.kill().unwrap();
            contest.wait().unwrap();
            until("the end of all processes", || processes_with(folder.path()) == 0);
        }
    }
}

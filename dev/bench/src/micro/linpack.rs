//! `cargo xtask bench linpack`: this product beside the factorisation of OpenBLAS, and HPL on it.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::Parser;

use super::compiler::{COMPILER, Source};
use super::{Case, Contender, Contest, Figure, OURS, Ratio, head, json, measure, need_good, number};
use super::{on_cores, options, ours, thread_counts};
use crate::contest::PinnedProgram;
use crate::contest::process::ProgramResult;
use crate::contest::programs::{self, words};
use crate::say::say;

/// A program over the library.
const OPENBLAS: &str = "OpenBLAS dgesv";
const INSTALL_OPENBLAS: &str = "apt-get install gcc libopenblas-dev";

/// HPL, as the part of hpcc.
const HPL: &str = "HPL (hpcc)";
const INSTALL_HPL: &str = "apt-get install hpcc libopenblas0-pthread";

/// The residual of a right solution is smaller.
const MOST_RESIDUAL: f64 = 16.0;

/// Operations of this product for one solution.
const STEPS: u32 = 4;

/// Longest time of a run, s. hpcc has other tests besides, which take minutes.
const LONGEST_S: u64 = 1_800;

const SOURCE: Source =
    Source { name: "linpack", text: include_str!("linpack.c"), flags: &["-O2", "-lopenblas", "-lm"] };

/// Measures LINPACK beside others. It installs nothing: gcc, OpenBLAS, hpcc and mpirun are used where they are
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench linpack")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Rows of the systems (may be given often) [default: 2000, 4000 and 8000]
    #[arg(long, value_parser = clap::value_parser!(u32).range(100..=100_000), value_name = "N")]
    order: Vec<u32>,
    /// Solutions of a run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000), value_name = "N")]
    solutions: u32,
}

const FIGURES: [Figure; 3] = [
    Figure { id: "gflops", title: "GFLOPS", digits: 1 },
    Figure { id: "peak_gflops", title: "peak GFLOPS", digits: 1 },
    Figure { id: "share_of_peak", title: "% of peak", digits: 1 },
];

const RATIOS: [Ratio; 2] = [
    Ratio { figure: 0, base: HPL, wanted: "0.75 or more at 8000 on 1 thread" },
    Ratio { figure: 0, base: OPENBLAS, wanted: "-" },
];

const ABOUT: &str = "A system of order n counts 2/3 n³ + 3/2 n² operations, and only factorisation and solution are timed.\n\
     Every solution of every program is checked by the residual of HPL.\n\
     All matrices are in pages of 2 MiB, as far as the system has them; those of HPL are where it puts them.\n\
     The program on OpenBLAS is written for this page and calls its `dgesv` with as many threads as the case has.\n\
     HPL is that of hpcc, in blocks of 128, with a process for each thread and one thread of the BLAS library in each; it solves one system in a run.\n\
     The peak is that of multiplications and additions in registers on the same cores, by Barograph.\n";

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("linpack", words)? else { return Ok(true) };
    let ours = ours(&options.common)?;
    let temporary = tempfile::tempdir().context("make a folder for programs")?;
    let folder = temporary.path();
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    let folders = programs::folders();
    let compiler = programs::find(COMPILER.0, &folders);
    let openblas = compiler.context("find gcc").and_then(|gcc| SOURCE.build(&gcc, folder));
    if let Err(why) = &openblas {
        say(&format!("{OPENBLAS}: {why:#}"));
        missing.push((OPENBLAS.to_owned(), INSTALL_OPENBLAS.to_owned()));
    }
    let hpl = programs::find("hpcc", &folders).zip(programs::find("mpirun", &folders));
    match &hpl {
        Some((hpcc, _)) => versions.push((HPL.to_owned(), library_of(hpcc))),
        None => missing.push((HPL.to_owned(), INSTALL_HPL.to_owned())),
    }
    let orders = if options.order.is_empty() { vec![2_000, 4_000, 8_000] } else { options.order.clone() };
    let mut cases = Vec::new();
    for order in orders {
        for threads in thread_counts()? {
            let job = Job { order, threads, solutions: options.solutions };
            let mut contenders = vec![job.ours(&ours)];
            contenders.extend(openblas.iter().map(|program| job.openblas(program)));
            if let Some((hpcc, mpirun)) = &hpl {
                contenders.push(job.hpl(hpcc, mpirun, folder)?);
            }
            cases.push(Case { name: job.name(), contenders, wanted: &[] });
        }
    }
    let contest = Contest {
        name: "linpack",
        title: "LINPACK, beside HPL and OpenBLAS",
        about: ABOUT.to_owned(),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head: head(&ours, versions, missing),
    };
    contest.measure(&options.common, folder)
}

/// The BLAS library that a program is linked with.
fn library_of(program: &Path) -> String {
    let said = std::process::Command::new("ldd").arg(program).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
    let found =
        said.lines().find(|line| line.contains("blas")).and_then(|line| line.split_whitespace().nth(2));
    let file = found.map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.into()));
    file.map_or_else(|| "BLAS library unknown".to_owned(), |file| format!("with {}", file.display()))
}

/// A case.
struct Job {
    order: u32,
    threads: usize,
    solutions: u32,
}

impl Job {
    fn name(&self) -> String {
        let threads =
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        format!("order {}, {threads}", self.order)
    }

    fn ours(&self, program: &Path) -> Contender {
        let Job { order, threads, solutions } = self;
        let arguments = words(&format!(
            "linpack --order {order} --threads {threads} -n {} --timeout {LONGEST_S}s -q --json",
            solutions * STEPS
        ));
        Contender {
            name: OURS,
            pinned: on_cores(*threads, program, &arguments),
            seconds: LONGEST_S,
            read: Box::new(read_ours),
        }
    }

    fn openblas(&self, program: &Path) -> Contender {
        let Job { order, threads, solutions } = self;
        let mut arguments = words(&format!("OPENBLAS_NUM_THREADS={threads} {}", program.display()));
        arguments.extend([order.to_string(), solutions.to_string()]);
        Contender {
            name: OPENBLAS,
            pinned: on_cores(*threads, Path::new("env"), &arguments),
            seconds: LONGEST_S,
            read: Box::new(read_openblas),
        }
    }

    /// HPL in a folder of its own, where it finds its input and leaves its output.
    fn hpl(&self, hpcc: &Path, mpirun: &Path, folder: &Path) -> anyhow::Result<Contender> {
        let own = tempfile::tempdir_in(folder)?.keep();
        fs::write(own.join("hpccinf.txt"), hpl_input(self.order, self.threads))?;
        let output = own.join("hpccoutf.txt");
        let arguments = words(&format!(
            "--chdir={} OPENBLAS_NUM_THREADS=1 {} --allow-run-as-root --bind-to none -np {} {}",
            own.display(),
            mpirun.display(),
            self.threads,
            hpcc.display()
        ));
        let pinned: PinnedProgram = on_cores(self.threads, Path::new("env"), &arguments);
        let read = move |_: &ProgramResult| {
            let said = fs::read_to_string(&output).with_context(|| format!("read {}", output.display()));
            // The program adds to the file of an earlier run.
            let read = read_hpl(&said?);
            fs::remove_file(&output).with_context(|| format!("remove {}", output.display()))?;
            read
        };
        Ok(Contender { name: HPL, pinned, seconds: LONGEST_S, read: Box::new(read) })
    }
}

/// The input of HPL: a value or a list on each line, in the order that it reads them.
fn hpl_input(order: u32, processes: usize) -> String {
    let lines = [
        "input".to_owned(),
        "of a bench".to_owned(),
        "HPL.out".to_owned(),
        "8 device out".to_owned(),
        "1 number of orders".to_owned(),
        format!("{order} orders"),
        "1 number of block sizes".to_owned(),
        "128 block sizes".to_owned(),
        "0 mapping by rows".to_owned(),
        "1 number of grids".to_owned(),
        "1 rows of processes".to_owned(),
        format!("{processes} columns of processes"),
        "16.0 threshold".to_owned(),
        "1 number of panel factorisations".to_owned(),
        "2 right-looking".to_owned(),
        "1 number of stops of recursion".to_owned(),
        "4 columns".to_owned(),
        "1 number of panels in recursion".to_owned(),
        "2 panels".to_owned(),
        "1 number of recursive factorisations".to_owned(),
        "1 Crout".to_owned(),
        "1 number of broadcasts".to_owned(),
        "1 ring".to_owned(),
        "1 number of depths of look-ahead".to_owned(),
        "1 depth".to_owned(),
        "2 mixed swap".to_owned(),
        "64 threshold of swap".to_owned(),
        "0 first factor transposed".to_owned(),
        "0 second factor transposed".to_owned(),
        "1 equilibration".to_owned(),
        "8 alignment in doubles".to_owned(),
    ];
    lines.join("\n") + "\n"
}

fn read_ours(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    let gflops = measure(&json, "gflops").context("find the rate of solutions")?;
    Ok(vec![Some(gflops), measure(&json, "peak_gflops"), measure(&json, "share_of_peak")])
}

fn read_openblas(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    right(number(&json, "/residual").context("find the residual")?)?;
    Ok(vec![number(&json, "/gflops"), None, None])
}

/// Rate and residual from the summary of hpcc, whose lines are `NAME=VALUE`.
fn read_hpl(said: &str) -> anyhow::Result<Vec<Option<f64>>> {
    let of = |name: &str| -> anyhow::Result<f64> {
        let mut lines = said.lines().filter_map(|line| line.trim().split_once('='));
        let (_, value) = lines.find(|(key, _)| *key == name).with_context(|| format!("find {name}"))?;
        value.parse().with_context(|| format!("read {name}"))
    };
    // HPL says whether each of its residuals passed; hpcc counts those that did not.
    anyhow::ensure!(of("Success")? == 1.0, "hpcc says that a test failed");
    let passed = said.lines().any(|line| line.contains("||Ax-b||") && line.contains("PASSED"));
    anyhow::ensure!(passed, "HPL does not say that its residual passed");
    Ok(vec![Some(of("HPL_Tflops")? * 1e3), None, None])
}

fn right(residual: f64) -> anyhow::Result<()> {
    anyhow::ensure!(residual < MOST_RESIDUAL, "a residual is {residual}, and not below {MOST_RESIDUAL}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_solve_the_same_systems() {
        let job = Job { order: 8_000, threads: 2, solutions: 3 };
        assert_eq!(job.name(), "order 8000, 2 threads");
        assert_eq!(
            job.ours(Path::new("/x/barograph")).pinned.line(),
            "taskset -c 0-1 barograph linpack --order 8000 --threads 2 -n 12 --timeout 1800s -q --json"
        );
        assert_eq!(
            job.openblas(Path::new("/x/linpack")).pinned.line(),
            "taskset -c 0-1 env OPENBLAS_NUM_THREADS=2 linpack 8000 3"
        );
        let input = hpl_input(8_000, 2);
        assert_eq!(input.lines().count(), 31);
        assert!(input.contains("\n8000 orders\n") && input.contains("\n2 columns of processes\n"));
    }

    #[test]
    fn a_rate_without_a_right_solution_is_no_result() {
        let result = |stdout: &str| ProgramResult {
            stdout: stdout.to_owned(),
            cpu_s: 1.0,
            peak_rss_mib: 1.0,
            elapsed_s: 1.0,
        };
        let good = read_openblas(&result(r#"{"gflops": 30.5, "residual": 0.004}"#)).unwrap();
        assert_eq!(good, [Some(30.5), None, None]);
        assert!(read_openblas(&result(r#"{"gflops": 30.5, "residual": 16.0}"#)).is_err());
        assert!(read_openblas(&result(r#"{"gflops": 30.5, "residual": null}"#)).is_err());
        let ours = r#"{"errors": 0, "measures": [{"measure": "gflops", "value": 33.0}]}"#;
        assert_eq!(read_ours(&result(ours)).unwrap(), [Some(33.0), None, None]);
        assert!(read_ours(&result(r#"{"errors": 1, "measures": [], "failures": []}"#)).is_err());
    }

    #[test]
    fn hpl_is_read_from_the_summary() {
        let said = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=  0.0034 ...... PASSED\n\
                    Begin of Summary section.\nSuccess=1\nHPL_Tflops=0.0348\nHPL_time=9.8\n";
        assert_eq!(read_hpl(said).unwrap(), [Some(34.8), None, None]);
        assert!(read_hpl(&said.replace("PASSED", "FAILED")).is_err());
        assert!(read_hpl(&said.replace("Success=1", "Success=0")).is_err());
    }
}

//! `cargo xtask bench stream`: this product beside the same passes in C.

use std::path::Path;

use anyhow::Context;
use clap::Parser;

use super::compiler::{COMPILER, Source};
use super::{Case, Contender, Contest, Figure, OURS, Ratio, head, json, measure, need_good, number};
use super::{on_cores, options, ours, thread_counts};
use crate::contest::process::ProgramResult;
use crate::contest::programs::{self, words};

/// The passes in C.
const C: &str = "C";

const SOURCE: Source = Source {
    name: "stream",
    text: include_str!("stream.c"),
    // A copy that becomes a call of memcpy streams, and is then no cached copy.
    flags: &["-O3", "-march=native", "-fopenmp", "-fno-tree-loop-distribute-patterns", "-lm"],
};

/// Time of this product before its window, in which arrays are made, s.
const WARM_UP_S: u64 = 1;

/// Measures the bandwidth of memory beside a program in C. It installs nothing: gcc is used where it is
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench stream")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Length of a run in seconds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    seconds: u64,
    /// Numbers of each of the three arrays
    #[arg(long, default_value_t = 40_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000_000), value_name = "N")]
    elements: u64,
}

const FIGURES: [Figure; 4] = [
    Figure { id: "copy_mb_per_s", title: "copy MB/s", digits: 0 },
    Figure { id: "scale_mb_per_s", title: "scale MB/s", digits: 0 },
    Figure { id: "add_mb_per_s", title: "add MB/s", digits: 0 },
    Figure { id: "triad_mb_per_s", title: "triad MB/s", digits: 0 },
];

const WANTED: &str = "0.97 or more";

const RATIOS: [Ratio; 4] = [
    Ratio { figure: 0, base: C, wanted: WANTED },
    Ratio { figure: 1, base: C, wanted: WANTED },
    Ratio { figure: 2, base: C, wanted: WANTED },
    Ratio { figure: 3, base: C, wanted: WANTED },
];

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("stream", words)? else { return Ok(true) };
    let ours = ours(&options.common)?;
    let folder = tempfile::tempdir().context("make a folder for programs")?;
    let compiler = programs::find(COMPILER.0, &programs::folders());
    let built = compiler.as_deref().map(|gcc| SOURCE.build(gcc, folder.path())).transpose()?;
    let mut cases = Vec::new();
    for stores in [Stores::Cached, Stores::Streaming] {
        for threads in thread_counts()? {
            let job = Job { elements: options.elements, seconds: options.seconds, stores, threads };
            let of_c = built.as_deref().map(|program| job.c(program));
            let contenders = std::iter::once(job.ours(&ours)).chain(of_c).collect();
            cases.push(Case { name: job.name(), contenders, wanted: &[] });
        }
    }
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    match &compiler {
        Some(gcc) => versions.push((COMPILER.0.to_owned(), programs::version(gcc, "--version"))),
        None => missing.push((COMPILER.0.to_owned(), COMPILER.1.to_owned())),
    }
    let contest = Contest {
        name: "stream",
        title: "The bandwidth of memory, beside C",
        about: about(options.elements),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head: head(&ours, versions, missing),
    };
    contest.measure(&options.common, folder.path())
}

fn about(elements: u64) -> String {
    format!(
        "Three arrays of {elements} numbers of 8 bytes, in pages of 2 MiB as far as the system has them.\n\
         Bytes count by the rules of STREAM: 16 for a number of copy and scale, 24 of add and triad.\n\
         Rates are means over the run, in MB/s of 10⁶ bytes; the first cycle is left out.\n\
         The program in C is written for this page: loops under OpenMP for cached stores, AVX intrinsics for streaming ones, built with `gcc {}`.\n\
         Both programs check all numbers.\n",
        SOURCE.flags.join(" ")
    )
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Cached,
    Streaming,
}

/// A case.
struct Job {
    elements: u64,
    seconds: u64,
    stores: Stores,
    threads: usize,
}

impl Job {
    fn name(&self) -> String {
        let threads =
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        format!("{} stores, {threads}", self.stores.name())
    }

    fn ours(&self, program: &Path) -> Contender {
        let Job { elements, seconds, stores, threads } = self;
        let streaming = if *stores == Stores::Streaming { " --streaming" } else { "" };
        // Small arrays are allowed, as in C: the page says how many numbers they have.
        let arguments = words(&format!(
            "stream --elements {elements} --threads {threads}{streaming} --set stream.caches=0.0 -d {seconds}s \
             --warm-up {WARM_UP_S}s -q --json"
        ));
        Contender {
            name: OURS,
            pinned: on_cores(*threads, program, &arguments),
            seconds: *seconds,
            read: Box::new(read_ours),
        }
    }

    fn c(&self, program: &Path) -> Contender {
        let Job { elements, seconds, stores, threads } = self;
        let arguments = words(&format!(
            "OMP_NUM_THREADS={threads} OMP_PROC_BIND=true {} {elements} {seconds} {}",
            program.display(),
            stores.name()
        ));
        Contender {
            name: C,
            pinned: on_cores(*threads, Path::new("env"), &arguments),
            seconds: *seconds,
            read: Box::new(|used| {
                let json = json(used)?;
                Ok(["/copy", "/scale", "/add", "/triad"].map(|name| number(&json, name)).to_vec())
            }),
        }
    }
}

impl Stores {
    fn name(self) -> &'static str {
        match self {
            Stores::Cached => "cached",
            Stores::Streaming => "streaming",
        }
    }
}

fn read_ours(used: &ProgramResult) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    Ok(FIGURES.iter().map(|figure| measure(&json, figure.id)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_do_the_same_passes() {
        let job = Job { elements: 1_000, seconds: 4, stores: Stores::Streaming, threads: 2 };
        assert_eq!(job.name(), "streaming stores, 2 threads");
        assert_eq!(
            job.ours(Path::new("/x/barograph")).pinned.line(),
            "taskset -c 0-1 barograph stream --elements 1000 --threads 2 --streaming --set stream.caches=0.0 -d 4s \
             --warm-up 1s -q --json"
        );
        assert_eq!(
            job.c(Path::new("/x/stream")).pinned.line(),
            "taskset -c 0-1 env OMP_NUM_THREADS=2 OMP_PROC_BIND=true stream 1000 4 streaming"
        );
        let cached = Job { stores: Stores::Cached, threads: 1, ..job };
        assert!(!cached.ours(Path::new("x")).pinned.line().contains("streaming"));
    }

    #[test]
    fn a_rate_with_failed_checks_is_no_result() {
        let result = |stdout: &str| ProgramResult {
            stdout: stdout.to_owned(),
            cpu_s: 1.0,
            peak_rss_mib: 1.0,
            elapsed_s: 1.0,
        };
        let good = r#"{"errors": 0, "measures": [{"measure": "copy_mb_per_s", "value": 9000.0}]}"#;
        assert_eq!(read_ours(&result(good)).unwrap(), [Some(9000.0), None, None, None]);
        assert!(read_ours(&result(r#"{"errors": 3, "measures": []}"#)).is_err());
    }
}

//! `cargo xtask bench disk`: this product beside fio on one file.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;
use serde_json::Value;

use super::{
    Case, Contender, Contest, FINE, Figure, OURS, Ratio, head, json, need_good, number, options, ours,
};
use crate::contest::process::ProgramResult;
use crate::contest::{DRIVER_CPU, PinnedProgram, need_two_cores, process, programs};
use crate::say::say;

/// fio that submits each operation alone.
const FIO: &str = "fio";

/// fio in a case in which operations follow in batches.
const FIO_BATCHES: &str = "fio in batches";

/// The program by which the authors of io_uring show its most reads per second, of fio's source. It takes no times.
const FLOOR: &str = "t/io_uring";

const INSTALL_FLOOR: &str =
    "`make t/io_uring` in fio's source, as io_uring in the folder BAROGRAPH_BENCH_TOOLS";

/// Operations of a batch.
const BATCH: u32 = 8;

const INSTALL_FIO: &str = "apt-get install fio";

/// Length of the run that makes and fills the file, s. Filling comes before its window.
const FILL_S: u64 = 1;

/// Longest time of a fill, s.
const LONGEST_FILL_S: u64 = 600;

/// Measures disk loads beside fio. It installs nothing: fio is looked for on PATH and in the folder BAROGRAPH_BENCH_TOOLS
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench disk")]
struct Options {
    #[command(flatten)]
    common: options::CommonOptions,
    /// Length of a run in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1_000), value_name = "N")]
    seconds: u64,
    /// Folder on the disk to measure [default: the target folder of the workspace]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Bytes of the file, as in 512m or 2g
    #[arg(long, default_value = "2g", value_name = "BYTES")]
    size: String,
}

const FIGURES: [Figure; 5] = [
    Figure { id: "kiops", title: "K operations/s", digits: 1 },
    Figure { id: "p50_us", title: "p50 us", digits: 0 },
    Figure { id: "p99_us", title: "p99 us", digits: 0 },
    Figure { id: "own_cpu_us", title: "CPU us/operation", digits: 2 },
    Figure { id: "process_cpu_us", title: "CPU us/operation, whole process", digits: 2 },
];

const RATIOS: [Ratio; 5] = [
    Ratio { figure: 0, base: FIO, wanted: "0.98 or more" },
    Ratio { figure: 3, base: FIO, wanted: "0.85 or less" },
    Ratio { figure: 3, base: FIO_BATCHES, wanted: "0.70 or less" },
    Ratio { figure: 3, base: FLOOR, wanted: "1.15 or less" },
    Ratio { figure: 1, base: FIO, wanted: "1.05 or less at depth 1" },
];

/// Reads in percent of all operations; the rest are writes.
type ReadPercent = u32;

/// Programs of others, where they are here.
struct Others {
    fio: Option<PathBuf>,
    floor: Option<PathBuf>,
}

/// What a case does.
struct Job<'a> {
    file: &'a Path,
    size: &'a str,
    seconds: u64,
    reads: ReadPercent,
    depth: u32,
    /// Operations that complete before others follow.
    batch: u32,
}

/// Cases: reads in percent, depth, and batch.
const CASES: [(ReadPercent, u32, u32); 11] = [
    (100, 1, 1),
    (100, 16, 1),
    (100, 16, BATCH),
    (100, 32, 1),
    (100, 32, BATCH),
    (0, 1, 1),
    (0, 16, 1),
    (0, 16, BATCH),
    (0, 32, 1),
    (70, 64, 1),
    (70, 64, BATCH),
];

/// Measures as the arguments say; true if every program gave figures in every round.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<bool> {
    let Some(options) = options::read::<Options>("disk", words)? else { return Ok(true) };
    need_two_cores()?;
    let ours = ours(&options.common)?;
    let folders = programs::folders();
    let others = Others { fio: programs::find("fio", &folders), floor: programs::find("io_uring", &folders) };
    let on = options.folder.clone().unwrap_or_else(|| crate::root().join("target"));
    let folder = tempfile::tempdir_in(&on).with_context(|| format!("make a folder in {}", on.display()))?;
    let file = folder.path().join("disk.data");
    let (size, seconds) = (options.size.as_str(), options.seconds);
    let job = |(reads, depth, batch)| Job { file: &file, size, seconds, reads, depth, batch };
    let cases = CASES.into_iter().map(|case| job(case).case(&ours, &others)).collect();
    let (mut versions, mut missing) = (Vec::new(), Vec::new());
    match &others.fio {
        Some(fio) => versions.push((FIO.to_owned(), programs::version(fio, "--version"))),
        None => missing.push((FIO.to_owned(), INSTALL_FIO.to_owned())),
    }
    if others.floor.is_none() {
        missing.push((FLOOR.to_owned(), INSTALL_FLOOR.to_owned()));
    }
    let contest = Contest {
        name: "disk",
        title: "What disk loads cost, beside fio",
        about: about(&options.size),
        figures: &FIGURES,
        ratios: &RATIOS,
        cases,
        head: head(&ours, versions, missing),
    };
    if options.common.rounds > 0 {
        say("==> the file is filled");
        fill(&job((100, 1, 1)), &ours, folder.path())?;
    }
    contest.measure(&options.common, folder.path())
}

fn about(size: &str) -> String {
    format!(
        "The target is one file of {size}, filled with random data, in random blocks of 4 KiB past the page cache.\n\
         All programs use io_uring with registered buffers and a registered file, one thread on core {DRIVER_CPU}.\n\
         Written blocks get new random contents each time.\n\
         Depth is the number of operations in flight.\n\
         Without batches fio submits each operation alone, and Barograph submits together what completed together.\n\
         In batches both wait until {BATCH} have completed and submit as many together.\n\
         Times are from the instant an operation was due (Barograph) or made (fio) to its completion; a mix has none here.\n\
         CPU is user and system time in the window by each program's own account; beside it is that of the whole process, start and fill check included, over the same operations.\n\
         CPU of the kernel in interrupts falls into it where the interrupt is on that core.\n\
         t/io_uring, of fio's source, reads random blocks in the same way and takes no times: its CPU, of the whole process, is that of the kernel with hardly anything beside it.\n\
         A ratio to fio cannot be below that of t/io_uring to fio.\n"
    )
}

/// Makes the file with this product, whose mark then says whose it is.
fn fill(job: &Job<'_>, ours: &Path, folder: &Path) -> anyhow::Result<()> {
    let arguments = Job { seconds: FILL_S, ..*job }.ours();
    let pinned = PinnedProgram { program: ours.into(), arguments, cpu: DRIVER_CPU, fine: FINE };
    process::run(&pinned, LONGEST_FILL_S, folder).context("fill the file")?;
    Ok(())
}

impl Job<'_> {
    fn name(&self) -> String {
        let what = match self.reads {
            100 => "Read".to_owned(),
            0 => "Write".to_owned(),
            reads => format!("Read {reads}, Write {}", 100 - reads),
        };
        let batches = if self.batch > 1 { ", in batches" } else { "" };
        format!("{what}, depth {}{batches}", self.depth)
    }

    fn case(&self, ours: &Path, others: &Others) -> Case {
        let pinned = |program: &Path, arguments, fine| PinnedProgram {
            program: program.into(),
            arguments,
            cpu: DRIVER_CPU,
            fine,
        };
        let (seconds, is_mix) = (self.seconds, self.reads != 0 && self.reads != 100);
        let mut contenders = vec![Contender {
            name: OURS,
            pinned: pinned(ours, self.ours(), FINE),
            seconds,
            read: Box::new(move |used| read_ours(used, is_mix)),
        }];
        contenders.extend(others.fio.as_deref().map(|fio| Contender {
            name: if self.batch > 1 { FIO_BATCHES } else { FIO },
            pinned: pinned(fio, self.fio(), &[0]),
            seconds,
            read: Box::new(move |used| read_fio(used, is_mix)),
        }));
        let floor = others.floor.as_deref().filter(|_| self.reads == 100 && self.depth > 1);
        contenders.extend(floor.map(|floor| Contender {
            name: FLOOR,
            pinned: pinned(floor, self.floor(), &[0]),
            seconds,
            read: Box::new(move |used| read_floor(used, seconds)),
        }));
        Case { name: self.name(), contenders, wanted: &[] }
    }

    fn ours(&self) -> Vec<String> {
        let mix = match self.reads {
            100 => "Read=1".to_owned(),
            0 => "Write=1".to_owned(),
            reads => format!("Read={reads},Write={}", 100 - reads),
        };
        let Job { file, size, seconds, depth, batch, .. } = self;
        let batches = if *batch > 1 { format!(" --batch {batch}") } else { String::new() };
        programs::words(&format!(
            "disk {} --size {size} --block 4k --mix {mix} -c {depth}{batches} -d {seconds}s --warm-up 0s --workers 1 -q --json",
            file.display()
        ))
    }

    fn fio(&self) -> Vec<String> {
        let Job { file, size, seconds, reads, depth, batch } = self;
        let how = match *reads {
            100 => "--rw=randread".to_owned(),
            0 => "--rw=randwrite --refill_buffers".to_owned(),
            reads => format!("--rw=randrw --rwmixread={reads} --refill_buffers"),
        };
        let line = format!(
            "--name=j --filename={} --size={size} {how} --bs=4k --iodepth={depth} --direct=1 --time_based \
             --runtime={seconds}s --thread --norandommap --randrepeat=0 --ioengine=io_uring --fixedbufs=1 \
             --registerfiles=1 --lat_percentiles=1 --clat_percentiles=0 --output-format=json",
            file.display()
        );
        let batches = format!(
            " --iodepth_batch_submit={batch} --iodepth_batch_complete_min={batch} --iodepth_batch_complete_max={depth}"
        );
        programs::words(&if *batch > 1 { line + &batches } else { line })
    }

    fn floor(&self) -> Vec<String> {
        let Job { file, seconds, depth, batch, .. } = self;
        programs::words(&format!(
            "-d{depth} -s{batch} -c{batch} -b4096 -p0 -B1 -F1 -R1 -n1 -r{seconds} {}",
            file.display()
        ))
    }
}

/// Figures of t/io_uring, which prints a rate every second.
fn read_floor(used: &ProgramResult, seconds: u64) -> anyhow::Result<Vec<Option<f64>>> {
    let rates: Vec<f64> = used.stdout.lines().filter_map(rate).collect();
    anyhow::ensure!(!rates.is_empty(), "it prints no rate");
    let per_s = rates.iter().sum::<f64>() / rates.len() as f64;
    let cpu_us = used.cpu_s * 1e6 / (per_s * seconds as f64);
    Ok(vec![Some(per_s / 1e3), None, None, Some(cpu_us), Some(cpu_us)])
}

/// The operations per second of a line as `IOPS=104.80K, BW=409MiB/s`.
fn rate(line: &str) -> Option<f64> {
    let (number, _) = line.strip_prefix("IOPS=")?.split_once(',')?;
    let (digits, factor) = match number.strip_suffix('K') {
        Some(digits) => (digits, 1e3),
        None => number.strip_suffix('M').map_or((number, 1.0), |digits| (digits, 1e6)),
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// Figures of this product.
fn read_ours(used: &ProgramResult, is_mix: bool) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    need_good(&json)?;
    let operations = number(&json, "/requests").context("find the number of operations")?;
    let time = |name: &str| number(&json, name).filter(|_| !is_mix).map(|ms| ms * 1e3);
    Ok(vec![
        number(&json, "/requests_per_s").map(|per_s| per_s / 1e3),
        time("/p50_ms"),
        time("/p99_ms"),
        number(&json, "/cpu_us_per_request"),
        Some(used.cpu_s * 1e6 / operations),
    ])
}

/// Figures of fio.
fn read_fio(used: &ProgramResult, is_mix: bool) -> anyhow::Result<Vec<Option<f64>>> {
    let json = json(used)?;
    let job = json.pointer("/jobs/0").context("find its job")?;
    let sum = |name: &str| -> f64 {
        ["read", "write"].iter().filter_map(|kind| number(job, &format!("/{kind}/{name}"))).sum()
    };
    let operations = sum("total_ios");
    anyhow::ensure!(operations > 0.0, "not one operation is counted");
    let own_s = |job: &Value| {
        let share = (number(job, "/usr_cpu")? + number(job, "/sys_cpu")?) / 100.0;
        Some(share * number(job, "/job_runtime")? / 1e3)
    };
    let kind = if sum_of(job, "read") > 0.0 { "read" } else { "write" };
    let time = |quantile: &str| {
        let found = number(job, &format!("/{kind}/lat_ns/percentile/{quantile}"));
        found.filter(|_| !is_mix).map(|ns| ns / 1e3)
    };
    Ok(vec![
        Some(sum("iops") / 1e3),
        time("50.000000"),
        time("99.000000"),
        own_s(job).map(|seconds| seconds * 1e6 / operations),
        Some(used.cpu_s * 1e6 / operations),
    ])
}

fn sum_of(job: &Value, kind: &str) -> f64 {
    number(job, &format!("/{kind}/total_ios")).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job((reads, depth, batch): (ReadPercent, u32, u32)) -> Job<'static> {
        Job { file: Path::new("/f/disk.data"), size: "2g", seconds: 3, reads, depth, batch }
    }

    #[test]
    fn all_programs_do_the_same_work() {
        assert_eq!(
            job((100, 1, 1)).ours().join(" "),
            "disk /f/disk.data --size 2g --block 4k --mix Read=1 -c 1 -d 3s --warm-up 0s --workers 1 -q --json"
        );
        let mixed = job((70, 64, BATCH));
        assert!(mixed.ours().join(" ").contains(" --mix Read=70,Write=30 -c 64 --batch 8 "));
        let (one, batches) = (job((70, 64, 1)).fio().join(" "), mixed.fio().join(" "));
        assert!(one.contains("--rw=randrw --rwmixread=70 --refill_buffers --bs=4k --iodepth=64"), "{one}");
        assert!(batches.ends_with(
            "--iodepth_batch_submit=8 --iodepth_batch_complete_min=8 --iodepth_batch_complete_max=64"
        ));
        assert!(!one.contains("batch"));
    }

    #[test]
    fn cases_have_names_of_their_own() {
        let names: Vec<String> = CASES.map(|case| job(case).name()).to_vec();
        assert_eq!(names[0], "Read, depth 1");
        assert_eq!(names[10], "Read 70, Write 30, depth 64, in batches");
        assert!((1..names.len()).all(|at| !names[..at].contains(&names[at])));
    }

    fn result(stdout: String) -> ProgramResult {
        ProgramResult { stdout, cpu_s: 0.5, peak_rss_mib: 1.0, elapsed_s: 1.0 }
    }

    #[test]
    fn figures_of_fio_are_in_the_units_of_the_table() {
        let text = r#"fio: this is a note
            {"jobs": [{"usr_cpu": 10.0, "sys_cpu": 30.0, "job_runtime": 2000,
              "read": {"total_ios": 100000, "iops": 50000.0,
                       "lat_ns": {"percentile": {"50.000000": 150000, "99.000000": 300000}}},
              "write": {"total_ios": 0, "iops": 0.0}}]}"#;
        let figures = read_fio(&result(text.to_owned()), false).unwrap();
        assert_eq!(figures, [Some(50.0), Some(150.0), Some(300.0), Some(8.0), Some(5.0)]);
        assert_eq!(read_fio(&result(text.to_owned()), true).unwrap()[1], None);
        assert!(read_fio(&result(r#"{"jobs": [{"read": {}}]}"#.to_owned()), false).is_err());
    }

    #[test]
    fn rates_of_the_floor_are_a_mean_of_its_seconds() {
        let text = "submitter=0, tid=1\nIOPS=90000, BW=351MiB/s, IOS/call=1/0\nIOPS=110.00K, BW=429MiB/s, IOS/call=1/1\nMaximum IOPS=110.00K\n";
        let figures = read_floor(&result(text.to_owned()), 2).unwrap();
        assert_eq!(figures, [Some(100.0), None, None, Some(2.5), Some(2.5)]);
        assert_eq!(rate("IOPS=1.20M, BW=4687MiB/s"), Some(1.2e6));
        assert!(read_floor(&result("Exiting on timeout\n".to_owned()), 2).is_err());
        assert!(job((100, 32, BATCH)).floor().join(" ").starts_with("-d32 -s8 -c8 -b4096 "));
    }

    #[test]
    fn figures_of_this_product_are_in_the_units_of_the_table() {
        let text = r#"{"requests": 100000, "requests_per_s": 50000.0, "p50_ms": 0.15, "p99_ms": 0.3,
                       "cpu_us_per_request": 4.5, "errors": 0, "measures": []}"#;
        let figures = read_ours(&result(text.to_owned()), false).unwrap();
        assert_eq!(figures, [Some(50.0), Some(150.0), Some(300.0), Some(4.5), Some(5.0)]);
    }
}

//! Runs one test in a process of its own and returns its result.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::job::Job;
use super::{Group, Tally};

/// Far above the longest wait of any test; only a hanging test reaches it.
const LIMIT: Duration = Duration::from_secs(1_500);

/// Beginning of a test's line about a skipped part, with the reason.
const SKIPPED: &str = "skipped";

/// libtest's message after running the one test. A name that matches nothing succeeds, too.
const RAN: &str = "test result: ok. 1 passed";

/// The time of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct TestDuration {
    pub(super) seconds: f64,
    /// Processor time, including all its awaited processes.
    pub(super) cpu_s: f64,
}

/// Result of a test.
#[derive(Debug)]
pub(super) struct TestResult {
    pub(super) job: Job,
    pub(super) passed: bool,
    pub(super) took: TestDuration,
    /// Its whole output.
    pub(super) output: String,
    /// Skipped parts with reasons, each line with the name of the test.
    pub(super) skips: Vec<String>,
}

impl TestResult {
    /// A test that skips a part of itself counts as skipped.
    pub(super) fn tally(&self) -> Tally {
        let (passed, skipped) = (u32::from(self.passed), u32::from(!self.skips.is_empty()));
        Tally { passed: passed - passed.min(skipped), failed: 1 - passed, skipped: skipped * passed }
    }
}

/// Runs a test, with its temporary files in this folder, if any. One that cannot be started has failed, with
/// the reason as its output.
pub(super) fn run(job: Job, folder: Option<&Path>) -> TestResult {
    let began = Instant::now();
    let ended = start(&job, folder).and_then(|(child, output)| end(child, output));
    let seconds = began.elapsed().as_secs_f64();
    let (passed, output, cpu_s) = ended.unwrap_or_else(|error| (false, format!("{error:#}\n"), 0.0));
    let took = TestDuration { seconds, cpu_s };
    let skips = if passed { skips(&job, &output) } else { Vec::new() };
    TestResult { job, passed, took, output, skips }
}

fn start(job: &Job, folder: Option<&Path>) -> anyhow::Result<(Child, File)> {
    let output = tempfile::tempfile().context("make a file for the output of a test")?;
    let [out, err] = [output.try_clone(), output.try_clone()];
    let child = command(job)
        .args([&job.name, "--exact", "--nocapture"])
        .current_dir(&job.binary.folder)
        // As under `cargo test`; this process has that of its own package.
        .env("CARGO_MANIFEST_DIR", &job.binary.folder)
        .envs(temporary(job, folder).map(|folder| ("TMPDIR", folder)))
        .stdin(Stdio::null())
        .stdout(out.context("share the file of a test's output")?)
        .stderr(err.context("share the file of a test's output")?)
        .spawn()
        .with_context(|| format!("start {}", job.binary.path.display()))?;
    Ok((child, output))
}

/// The folder for the temporary files of a test. A guest has a `/dev/shm` of its own, below which this one is
/// not visible.
fn temporary<'f>(job: &Job, folder: Option<&'f Path>) -> Option<&'f Path> {
    folder.filter(|_| job.group != Group::Emulated)
}

/// The command of a test. One that only computes has a lower priority than those that wait for moments.
fn command(job: &Job) -> Command {
    if job.group != Group::Quick {
        return Command::new(&job.binary.path);
    }
    let mut command = Command::new("nice");
    command.arg(&job.binary.path);
    command
}

/// Waits for the end: whether the test was run and passed, its output, and its processor time in seconds.
fn end(mut child: Child, mut output: File) -> anyhow::Result<(bool, String, f64)> {
    let in_time = ends_within(&child, LIMIT).context("wait for a test")?;
    if !in_time {
        kill_family(child.id());
    }
    let cpu_s = cpu_s_of(child.id());
    let status = child.wait().context("wait for a test")?;
    let mut bytes = Vec::new();
    output.rewind().and_then(|()| output.read_to_end(&mut bytes)).context("read the output of a test")?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    let passed = status.success() && text.contains(RAN);
    if !in_time {
        text.push_str(&format!("it was killed after {} s\n", LIMIT.as_secs()));
    } else if !status.success() && !text.contains("test result: ") {
        text.push_str(&format!("it ended by {status}\n"));
    }
    Ok((passed, text, cpu_s))
}

fn ends_within(child: &Child, limit: Duration) -> rustix::io::Result<bool> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a child has a process id");
    let ended: OwnedFd = pidfd_open(pid, PidfdFlags::empty())?;
    let limit = Timespec::try_from(limit).expect("the limit is short");
    loop {
        match poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&limit)) {
            Ok(found) => return Ok(found > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The processor time in seconds of an ended process, including its awaited children.
fn cpu_s_of(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    ticks(&stat) as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// `utime`, `stime`, `cutime` and `cstime` of proc_pid_stat(5), added up.
fn ticks(stat: &str) -> u64 {
    let behind_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    behind_name.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Kills a process and all its descendants.
fn kill_family(pid: u32) {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process has an id");
    // Those that ended meanwhile need no signal.
    let _ = kill_process(pid, Signal::KILL);
    children.split_whitespace().filter_map(|child| child.parse().ok()).for_each(kill_family);
}

fn skips(job: &Job, output: &str) -> Vec<String> {
    let lines = output.lines().filter(|line| line.starts_with(SKIPPED));
    lines.map(|line| format!("{}: {line}", job.key())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::job::tests::job;
    use super::*;

    fn result(passed: bool, skips: &[&str]) -> TestResult {
        let skips = skips.iter().map(|&skip| skip.to_owned()).collect();
        TestResult {
            job: job("p", None, "t"),
            passed,
            took: TestDuration::default(),
            output: String::new(),
            skips,
        }
    }

    #[test]
    fn a_test_counts_once() {
        let tally = |passed, failed, skipped| Tally { passed, failed, skipped };
        assert_eq!(result(true, &[]).tally(), tally(1, 0, 0));
        assert_eq!(result(true, &["a", "b"]).tally(), tally(0, 0, 1));
        assert_eq!(result(false, &[]).tally(), tally(0, 1, 0));
    }

    #[test]
    fn what_is_left_out_is_kept_with_its_reason() {
        let output =
            "running 1 test\nskipped: no KVM\nskipped unshare: needs root\nnot skipped\ntest t ... ok\n";
        let expected = ["p unit t: skipped: no KVM", "p unit t: skipped unshare: needs root"];
        assert_eq!(skips(&job("p", None, "t"), output), expected);
    }

    #[test]
    fn processor_time_is_that_of_the_process_and_of_its_children() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 9 8 0 0 100 20 3 4 20 0 1 0 55";
        assert_eq!((ticks(stat), ticks("")), (127, 0));
    }

    #[test]
    fn a_program_that_runs_no_test_has_failed() {
        let failed = run(job("p", None, "t"), None);
        assert!(!failed.passed && failed.output.contains("exit status: 1"), "{failed:?}");
    }

    #[test]
    fn a_process_that_hangs_is_killed_with_its_children() {
        let mut child = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
        let children = format!("/proc/{0}/task/{0}/children", child.id());
        let deadline = Instant::now() + Duration::from_secs(60);
        let sleeper = loop {
            let found = std::fs::read_to_string(&children).unwrap();
            if let Ok(pid) = found.trim().parse::<i32>() {
                break Pid::from_raw(pid).unwrap();
            }
            assert!(Instant::now() < deadline, "no child");
            std::thread::yield_now();
        };
        let ended = pidfd_open(sleeper, PidfdFlags::empty()).unwrap();
        assert!(!ends_within(&child, Duration::from_millis(1)).unwrap());
        kill_family(child.id());
        let minute = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&minute)), Ok(1));
        assert!(!child.wait().unwrap().success());
    }
}

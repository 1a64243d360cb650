//! Runs a program pinned to one core and measures its resources.
//!
//! CPU time is read from `/proc/PID/stat` after the program has ended and before it is reaped (the kernel
//! keeps it in steps of 10 ms), peak memory from `VmHWM` while it runs. `wait4` would give both in one call,
//! but its peak memory includes the pages of the parent before `exec`, which is more than wrk uses.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use rustix::time::Timespec;

/// Interval of reading peak memory. `VmHWM` only grows, so only the last moment can be missed.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Readings per second: one in each interval of [`LOOK`].
const LOOKS_PER_S: u64 = 20;

/// Time beyond its measurement that a program gets to start, connect and print.
const GRACE_S: u64 = 60;

/// Last lines shown of a program that failed.
const LINES_SHOWN: usize = 4;

/// A program with its arguments, and the core that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PinnedProgram {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) cpu: usize,
    /// Exit codes of a finished measurement.
    pub(crate) fine: &'static [i32],
}

impl PinnedProgram {
    /// The command line. A higher priority is requested and optional: without permission `nice` warns.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("taskset");
        command.args(["-c", &self.cpu.to_string(), "nice", "-n", "-10"]);
        command.arg(&self.program).args(&self.arguments).stdin(Stdio::null());
        command
    }

    /// The command without `taskset` and `nice`, for the page: files without their folders.
    pub(crate) fn line(&self) -> String {
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let shown = |word: &String| match word.split_once('=') {
            _ if Path::new(word).is_absolute() => name(Path::new(word)).unwrap_or_default(),
            Some((option, value)) if Path::new(value).is_absolute() => {
                format!("{option}={}", name(Path::new(value)).unwrap_or_default())
            }
            _ => word.clone(),
        };
        let arguments = self.arguments.iter().map(shown);
        name(&self.program).into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
    }
}

/// Output and resources of a program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProgramResult {
    pub(crate) stdout: String,
    /// User and system time together, s.
    pub(crate) cpu_s: f64,
    pub(crate) peak_rss_mib: f64,
    /// From its start to its end, s.
    pub(crate) elapsed_s: f64,
}

/// Runs a program for about `seconds`. Its output goes through files in `folder`, so that a full pipe cannot
/// slow it down. A program that fails, or takes a minute longer, is an error.
pub(crate) fn run(pinned: &PinnedProgram, seconds: u64, folder: &Path) -> anyhow::Result<ProgramResult> {
    let (out, err) = (folder.join("stdout"), folder.join("stderr"));
    let began = Instant::now();
    let mut child = pinned
        .command()
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .spawn()
        .context("start taskset (Debian package util-linux)")?;
    let used = watch(&mut child, seconds);
    let elapsed_s = began.elapsed().as_secs_f64();
    let status = child.wait()?;
    let (cpu_s, peak_rss_mib) = used.with_context(|| format!("run {}", pinned.line()))?;
    let text = |file: &Path| fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let stdout = text(&out)?;
    if !status.code().is_some_and(|code| pinned.fine.contains(&code)) {
        let said = format!("{stdout}{}", text(&err)?);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let tail = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
        bail!("{status}, and it said: {}", tail.join(" | "));
    }
    Ok(ProgramResult { stdout, cpu_s, peak_rss_mib, elapsed_s })
}

/// Follows a child to its end without reaping it; kills it when it is far too late.
fn watch(child: &mut Child, seconds: u64) -> anyhow::Result<(f64, f64)> {
    let pid = Pid::from_child(child);
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let end = rustix::process::pidfd_open(pid, PidfdFlags::empty()).context("watch the process")?;
    let mut peak_kib = 0;
    for _ in 0..(seconds + GRACE_S) * LOOKS_PER_S {
        let ended = rustix::event::poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&LOOK))? > 0;
        if ended {
            return Ok((cpu_s(child.id())?, peak_kib as f64 / 1024.0));
        }
        if let Ok(status) = fs::read_to_string(proc.join("status")) {
            peak_kib = peak_kib.max(high_water_kib(&status).unwrap_or(0));
        }
    }
    rustix::process::kill_process(pid, Signal::KILL)?;
    bail!("it was still running {GRACE_S} s after its {seconds} s, and was killed")
}

/// User and system time of a process so far, s.
pub(crate) fn cpu_s(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("read what the process used")?;
    let ticks = cpu_ticks(&stat).context("find the CPU time in /proc/PID/stat")?;
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// User and system time of all threads, in clock ticks: the 14th and 15th field. The second field is the program's
/// name in parentheses and may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

/// Peak memory of the process, in KiB.
fn high_water_kib(status: &str) -> Option<u64> {
    status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use barograph_testkit::one_of;

    use super::*;

    fn shell(script: &str) -> PinnedProgram {
        PinnedProgram {
            program: PathBuf::from("sh"),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            cpu: 0,
            fine: &[0],
        }
    }

    #[test]
    fn fields_are_counted_after_a_name_with_spaces_and_parentheses() {
        let stat = "71 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20";
        assert_eq!(cpu_ticks(stat), Some(300));
        assert_eq!(cpu_ticks("71 (short) R 1"), None);
        assert_eq!(high_water_kib("Name:\tx\nVmHWM:\t    5120 kB\n"), Some(5120));
        assert_eq!(high_water_kib("Name:\tx\n"), None);
    }

    #[test]
    fn a_busy_program_is_charged_for_what_it_burns() {
        let folder = tempfile::tempdir().unwrap();
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done";
        // The watcher may get no processor until the program has ended, and then misses its memory.
        let seen = one_of(5, || {
            let done = run(&shell(script), 1, folder.path()).unwrap();
            assert_eq!(done.stdout, "done\n");
            assert!(done.cpu_s > 0.02, "{done:?}");
            if done.peak_rss_mib > 0.3 { Ok(done) } else { Err(format!("its memory was not seen: {done:?}")) }
        });
        assert!(seen.peak_rss_mib < 50.0, "{seen:?}");
    }

    #[test]
    fn a_failing_program_is_an_error_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let why = run(&shell("echo no such host >&2; exit 3"), 1, folder.path()).unwrap_err().to_string();
        assert!(why.contains("exit status: 3") && why.contains("no such host"), "{why}");
        let judged = PinnedProgram { fine: &[0, 3], ..shell("echo result; exit 3") };
        assert_eq!(run(&judged, 1, folder.path()).unwrap().stdout, "result\n");
    }
}

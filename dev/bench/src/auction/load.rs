//! A load on an existing application: `barograph run`, followed through its phases by its record.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use barograph_record::{ReasonRecord, Run, Trial};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};

use crate::auction::ground::BenchSetup;
use crate::auction::options::Timing;
use crate::say::say;

/// Interval of checks for the next phase.
const LOOK: Duration = Duration::from_millis(50);

/// Time that a phase may take beyond its own.
const GRACE: Duration = Duration::from_secs(180);

/// Most findings of a run shown; the record has all of them.
const SHOWN: usize = 8;

/// A run to be made.
pub(crate) struct Job<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a str,
    pub(crate) users: u32,
    pub(crate) timing: Timing,
}

/// A load in progress. It is killed when this is dropped.
pub(crate) struct Load {
    child: Child,
    ends: OwnedFd,
    runs: PathBuf,
    log: PathBuf,
    whole: Duration,
}

/// Result of a run.
pub(crate) struct Outcome {
    /// The verdict in one word: passed, failed or not valid.
    pub(crate) word: &'static str,
    /// Whether the data checks held.
    pub(crate) checks: bool,
    /// The measured trial.
    pub(crate) trial: Trial,
    /// Reasons of the verdict.
    reasons: Vec<String>,
    /// Operations of the window that were not good: outcome, number, first and last second of the window.
    ends: BTreeMap<String, (u64, f64, f64)>,
}

impl Load {
    /// Starts a fixed load.
    pub(crate) fn start(ground: &BenchSetup, job: &Job<'_>) -> anyhow::Result<Load> {
        let runs = ground.raw.join(job.name);
        // A record of an earlier measurement would be mistaken for this one's.
        if runs.exists() {
            fs::remove_dir_all(&runs).context("remove records of an earlier measurement")?;
        }
        fs::create_dir_all(&runs)?;
        let log = runs.join("said.txt");
        let mut command = ground.command(&["run", "plans/auction-fixed.toml"]);
        let Timing { ramp, warm_up, window } = job.timing;
        let mut sets = ground.data_settings();
        sets.extend([
            format!("target.url={}", job.url),
            format!("load.users={}", job.users),
            format!("load.ramp_s={ramp}"),
            format!("load.warm_up_s={warm_up}"),
            format!("load.window_s={window}"),
            format!("runs={}", runs.display()),
        ]);
        for set in &sets {
            command.args(["--set", set]);
        }
        let out = File::create(&log)?;
        let child = command.stdout(out.try_clone()?).stderr(out).spawn().context("start the load")?;
        let ends = watch(&child)?;
        let whole = Duration::from_secs(u64::from(ramp + warm_up + window)) + GRACE;
        Ok(Load { child, ends, runs, log, whole })
    }

    /// Waits for the begin of a phase.
    pub(crate) fn reach(&self, phase: &str) -> anyhow::Result<Instant> {
        let mark = format!(r#""kind":"phase_started","phase":"{phase}""#);
        let deadline = Instant::now() + self.whole;
        let mut ended = false;
        while Instant::now() < deadline {
            // Checked once more after the end: last phases take no time.
            if self.journal().is_some_and(|text| text.contains(&mark)) {
                return Ok(Instant::now());
            }
            if ended {
                bail!("the load ended before its phase `{phase}`: {}", self.said());
            }
            ended = self.ended_within(LOOK)?;
        }
        bail!("the load did not come to its phase `{phase}` in time")
    }

    /// Waits for a time; fails if the load ends meanwhile.
    pub(crate) fn pass(&self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.ended_within(left)? {
                bail!("the load ended too early: {}", self.said());
            }
        }
    }

    /// Waits for the end and reads the result.
    pub(crate) fn end(mut self) -> anyhow::Result<Outcome> {
        let deadline = Instant::now() + self.whole;
        while !self.ended_within(LOOK)? {
            if Instant::now() > deadline {
                bail!("the load did not end in time");
            }
        }
        let status = self.child.wait()?;
        let folder = self.folder().ok_or_else(|| anyhow!("the load left no record: {}", self.said()))?;
        let run = Run::open(&folder)?;
        let trial = run.trials().last().cloned();
        let (Some(verdict), Some(trial)) = (run.verdict(), trial) else {
            bail!("the load ended with {status} and has no verdict: {}", self.said());
        };
        let word = match (verdict.valid, verdict.passed) {
            (false, _) => "not valid",
            (true, true) => "passed",
            (true, false) => "failed",
        };
        let data = verdict.why.iter().any(ReasonRecord::is_about_data);
        let mut why: Vec<&ReasonRecord> = verdict.why.iter().collect();
        // Doubts and faults in the data come before broken rules.
        why.sort_by_key(|reason| !reason.is_doubt());
        let reasons = why.into_iter().take(SHOWN).map(ReasonRecord::words).collect();
        let ends = ends(&run, &trial);
        Ok(Outcome { word, checks: !data, trial, reasons, ends })
    }

    /// The folder of the record, once it exists.
    fn folder(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.runs).ok()?.flatten().map(|entry| entry.path());
        entries.into_iter().find(|path| path.join("run.jsonl").is_file())
    }

    fn journal(&self) -> Option<String> {
        fs::read_to_string(self.folder()?.join("run.jsonl")).ok()
    }

    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(SHOWN)..].join(" | ")
    }

    fn ended_within(&self, time: Duration) -> anyhow::Result<bool> {
        ended_within(&self.ends, time)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Outcomes of operations of a window that were not good.
fn ends(run: &Run, trial: &Trial) -> BTreeMap<String, (u64, f64, f64)> {
    let (from, to) = (trial.window.from_s, trial.window.to_s);
    let mut ends = BTreeMap::new();
    for interval in run.intervals().filter(|i| i.from_s >= from && i.to_s <= to) {
        let at = interval.from_s - from;
        for op in interval.ops.iter().filter(|op| op.failed > 0) {
            for outcome in op.outcomes.iter().filter(|outcome| outcome.name != "good") {
                let end = ends.entry(format!("{} {}", op.op, outcome.name)).or_insert((0, at, at));
                (end.0, end.2) = (end.0 + outcome.count, at);
            }
        }
    }
    ends
}

impl Outcome {
    /// Prints the reasons for a verdict other than passed, and the outcomes.
    pub(crate) fn say_reasons(&self) {
        for reason in &self.reasons {
            say(&format!("      {reason}"));
        }
        for (what, (count, first, last)) in &self.ends {
            say(&format!("      {what}: {count}, from second {first:.0} to {last:.0}"));
        }
    }

    /// Cells of a table: verdict, operations a second, worst operation, failures, data checks.
    pub(crate) fn cells(&self) -> [String; 5] {
        let checks = if self.checks { "held" } else { "did not hold" };
        let ops_s = format!("{:.0}", self.ops_s());
        [self.word.to_owned(), ops_s, self.worst(), self.failures(), checks.to_owned()]
    }

    /// Operations a second that ended well.
    pub(crate) fn ops_s(&self) -> f64 {
        self.trial.window.throughput
    }

    /// The operation nearest to its limit, or farthest beyond.
    pub(crate) fn worst(&self) -> String {
        let share = |op: &&barograph_record::OpRecord| op.limit_share().unwrap_or(0.0);
        let ops = self.trial.window.ops.iter().filter(|op| op.limit_share().is_some());
        match ops.max_by(|a, b| share(a).total_cmp(&share(b))) {
            Some(op) => format!("{} {:.0} ms, {:.0} % of its limit", op.op, op.judged_ms, share(&op) * 100.0),
            None => "nothing judged".to_owned(),
        }
    }

    /// The greatest 99 % quantile of an operation judged by time, in milliseconds.
    pub(crate) fn worst_p99_ms(&self) -> f64 {
        let judged = self.trial.window.ops.iter().filter(|op| op.limit_share().is_some());
        judged.map(|op| op.p99_ms).fold(0.0, f64::max)
    }

    /// Failures, and whether the profile allows them.
    pub(crate) fn failures(&self) -> String {
        let ops = &self.trial.window.ops;
        let failed: u64 = ops.iter().map(|op| op.failed).sum();
        let all: u64 = ops.iter().map(|op| op.count).sum();
        let beyond: Vec<&str> = ops
            .iter()
            .filter(|op| op.judged && op.failed > 0 && !op.failures_ok)
            .map(|op| op.op.as_str())
            .collect();
        let allowed =
            if beyond.is_empty() { "allowed".to_owned() } else { format!("too many {}", beyond.join(", ")) };
        format!("{failed} of {all}, {allowed}")
    }
}

/// A descriptor that becomes readable when a child has ended.
pub(crate) fn watch(child: &Child) -> anyhow::Result<OwnedFd> {
    rustix::process::pidfd_open(Pid::from_child(child), PidfdFlags::empty()).context("watch a process")
}

/// Waits for the end of a process, at most this long.
pub(crate) fn ended_within(ends: &OwnedFd, time: Duration) -> anyhow::Result<bool> {
    let time = Timespec::try_from(time).context("wait for a process")?;
    match rustix::event::poll(&mut [PollFd::new(ends, PollFlags::IN)], Some(&time)) {
        Ok(n) => Ok(n > 0),
        // The caller checks again anyway.
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(why) => Err(why).context("wait for a process"),
    }
}

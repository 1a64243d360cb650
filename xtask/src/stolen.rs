//! Takes the processors away now and then, like a host that gives their turn to another machine: tests that
//! fail beside this depend on how busy a machine is.

use std::fs;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use fastrand::Rng;

/// Milliseconds between two thefts.
const APART_MS: RangeInclusive<u64> = 2_000..=6_000;

/// Milliseconds that a theft lasts.
const LASTS_MS: RangeInclusive<u64> = 100..=1_500;

/// File with the processors allowed to this process.
const STATUS: &str = "/proc/self/status";
/// File with the machine's online processors.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Seed of the times: all processors are taken at about the same moments.
const SEED: u64 = 1;

/// Steals until it is dropped.
pub(crate) struct Thief {
    /// Nothing is sent: dropping them ends the threads.
    stops: Vec<SyncSender<()>>,
    hands: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Thief {
    /// Begins to steal all processors that this process may use. Fails without the rights to do so.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let processors = ours()?;
        processors.iter().try_for_each(|processor| steal(*processor, Duration::from_millis(10)))?;
        let mut thief = Thief { stops: Vec::new(), hands: Vec::new() };
        for processor in processors {
            let (stop, stopped) = sync_channel(0);
            thief.stops.push(stop);
            thief.hands.push(std::thread::spawn(move || steals(processor, &stopped)));
        }
        Ok(thief)
    }

    /// Ends it. Fails if a processor was not taken all the time.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        self.stops.clear();
        self.hands.drain(..).try_for_each(|hand| hand.join().unwrap_or_else(|_| bail!("a thief panicked")))
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.stops.clear();
        for hand in self.hands.drain(..) {
            // A panicked one steals no more either.
            let _ = hand.join();
        }
    }
}

/// The processors that this process may use, which need not be consecutive.
fn ours() -> anyhow::Result<Vec<usize>> {
    let read = |file: &str| fs::read_to_string(file).with_context(|| format!("read {file}"));
    usable(&read(STATUS)?, &read(ONLINE)?)
}

/// Those of the list in `status` that are in `online`, too: the kernel also allows offline processors.
fn usable(status: &str, online: &str) -> anyhow::Result<Vec<usize>> {
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let allowed = allowed.with_context(|| format!("find Cpus_allowed_list in {STATUS}"))?.trim();
    let online = online.trim();
    let (numbers, switched_on) = (numbers(allowed)?, numbers(online)?);
    let both: Vec<usize> = numbers.into_iter().filter(|number| switched_on.contains(number)).collect();
    ensure!(!both.is_empty(), "none of the processors {allowed} is among {online}, which are switched on");
    Ok(both)
}

/// The numbers in a list of the kernel's.
fn numbers(list: &str) -> anyhow::Result<Vec<usize>> {
    let read = |text: &str| text.parse::<u16>().ok().map(usize::from);
    let range = |piece: &str| {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        Some(read(first)?..=read(last)?).filter(|range| !range.is_empty())
    };
    let ranges: Option<Vec<_>> = list.split(',').map(range).collect();
    let ranges =
        ranges.with_context(|| format!("understand `{list}` as a list of processors, as in 0-3,6"))?;
    Ok(ranges.into_iter().flatten().collect())
}

/// Steals one processor until the other end of `stopped` is gone.
fn steals(processor: usize, stopped: &Receiver<()>) -> anyhow::Result<()> {
    let mut random = Rng::with_seed(SEED);
    loop {
        let apart = Duration::from_millis(random.u64(APART_MS));
        let lasts = Duration::from_millis(random.u64(LASTS_MS));
        if stopped.recv_timeout(apart) == Err(RecvTimeoutError::Disconnected) {
            return Ok(());
        }
        steal(processor, lasts)?;
    }
}

/// Runs before everything else on this processor for this long.
fn steal(processor: usize, lasts: Duration) -> anyhow::Result<()> {
    let seconds = format!("{:.3}", lasts.as_secs_f64());
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &processor.to_string()]);
    // The ending process has a higher priority, or it would not get the processor either.
    command.args(["chrt", "--fifo", "11", "timeout", &seconds]);
    command.args(["chrt", "--fifo", "10", "sh", "-c", "while :; do :; done"]);
    let output =
        command.stdin(Stdio::null()).output().context("start taskset, which the package util-linux has")?;
    // 124: ended by timeout, as intended.
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(124),
        "processors cannot be taken away here ({}): run this as root",
        said.trim()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Greater than the number of any machine's processors.
    const NONE: usize = 1_000_000;

    #[test]
    fn processors_are_those_that_are_allowed_and_switched_on() {
        let status = |list: &str| {
            format!("Name:\txtask\nCpus_allowed:\tff\nCpus_allowed_list:\t{list}\nThreads:\t1\n")
        };
        let cases: [(&str, &str, &[usize]); 5] = [
            ("0-1", "0-1\n", &[0, 1]),
            ("2-3,6", "0-7\n", &[2, 3, 6]),
            ("5", "0-7\n", &[5]),
            ("0-127", "0-3\n", &[0, 1, 2, 3]),
            ("0-3", "0,2-3\n", &[0, 2, 3]),
        ];
        for (allowed, online, expected) in cases {
            assert_eq!(usable(&status(allowed), online).unwrap(), expected, "{allowed} of {online}");
        }
        for (status, online, wrong) in [
            (status("4-7"), "0-3\n", "none of the processors 4-7 is among 0-3, which are switched on"),
            (status("3-1"), "0-3\n", "understand `3-1` as a list of processors, as in 0-3,6"),
            (status("0-3"), "all\n", "understand `all` as a list of processors, as in 0-3,6"),
            ("Name:\txtask\n".to_owned(), "0-3\n", "find Cpus_allowed_list in /proc/self/status"),
        ] {
            assert_eq!(usable(&status, online).unwrap_err().to_string(), wrong);
        }
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "what is left out is told")]
    fn a_theft_ends_by_itself_and_a_thief_with_its_owner() {
        let began = Instant::now();
        let processors = ours().unwrap();
        if let Err(why) = steal(processors[0], Duration::from_millis(30)) {
            println!("skipped: {why:#}");
            return;
        }
        assert!(began.elapsed() >= Duration::from_millis(30));
        let thief = Thief::start().unwrap();
        assert_eq!((thief.stops.len(), thief.hands.len()), (processors.len(), processors.len()));
        thief.stop().unwrap();
        assert!(steal(NONE, Duration::from_millis(30)).unwrap_err().to_string().contains("cannot be taken"));
    }
}

//! Takes the processors away now and then, as a host does that gives their turn to another machine: what fails beside this
//! depends on how busy a machine is.

use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Milliseconds between two thefts.
const APART_MS: RangeInclusive<u64> = 2_000..=6_000;

/// Milliseconds that a theft lasts.
const LASTS_MS: RangeInclusive<u64> = 100..=1_500;

/// All processors are taken at about the same moments.
const SEED: u64 = 1;

/// Steals until it is dropped.
pub(crate) struct Thief {
    /// Nothing is sent: their end is heard.
    stops: Vec<SyncSender<()>>,
    hands: Vec<JoinHandle<anyhow::Result<()>>>,
}

impl Thief {
    /// Begins to steal all processors. Fails where this may not be done.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        (0..processors).try_for_each(|processor| steal(processor, Duration::from_millis(10)))?;
        let mut thief = Thief { stops: Vec::new(), hands: Vec::new() };
        for processor in 0..processors {
            let (stop, stopped) = sync_channel(0);
            thief.stops.push(stop);
            thief.hands.push(std::thread::spawn(move || steals(processor, &stopped)));
        }
        Ok(thief)
    }

    /// Ends it. Fails when a processor was not taken all the time.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        self.stops.clear();
        self.hands.drain(..).try_for_each(|hand| hand.join().unwrap_or_else(|_| bail!("a thief panicked")))
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.stops.clear();
        for hand in self.hands.drain(..) {
            // One that panicked steals no more either.
            let _ = hand.join();
        }
    }
}

/// Steals one processor until the other end of `stopped` is gone.
fn steals(processor: usize, stopped: &Receiver<()>) -> anyhow::Result<()> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    loop {
        let apart = Duration::from_millis(random.random_range(APART_MS));
        let lasts = Duration::from_millis(random.random_range(LASTS_MS));
        if stopped.recv_timeout(apart) == Err(RecvTimeoutError::Disconnected) {
            return Ok(());
        }
        steal(processor, lasts)?;
    }
}

/// Runs before everything else on this processor for so long.
fn steal(processor: usize, lasts: Duration) -> anyhow::Result<()> {
    let seconds = format!("{:.3}", lasts.as_secs_f64());
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &processor.to_string()]);
    // Who ends it comes before it, or would not get the processor either.
    command.args(["chrt", "--fifo", "11", "timeout", &seconds]);
    command.args(["chrt", "--fifo", "10", "sh", "-c", "while :; do :; done"]);
    let output =
        command.stdin(Stdio::null()).output().context("start taskset, which the package util-linux has")?;
    // 124: timeout has ended it, as it should.
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

    /// No machine has as many processors.
    const NONE: usize = 1_000_000;

    #[test]
    #[expect(clippy::print_stdout, reason = "what is left out is told")]
    fn a_theft_ends_by_itself_and_a_thief_with_its_owner() {
        let began = Instant::now();
        if let Err(why) = steal(0, Duration::from_millis(30)) {
            println!("skipped: {why:#}");
            return;
        }
        assert!(began.elapsed() >= Duration::from_millis(30));
        let thief = Thief::start().unwrap();
        assert_eq!(thief.stops.len(), thief.hands.len());
        thief.stop().unwrap();
        assert!(steal(NONE, Duration::from_millis(30)).unwrap_err().to_string().contains("cannot be taken"));
    }
}

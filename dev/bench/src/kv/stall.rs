//! A store with stalls, and their effect on response times.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::say::say;

/// Interval between the begins of stalls.
const EVERY: Duration = Duration::from_secs(5);
/// Length of a stall.
const LASTS: Duration = Duration::from_secs(1);
/// Time of the first stall, when every driver has begun.
const FIRST: Duration = Duration::from_secs(2);

/// Length of a run: a whole number of stalls, so that the stalled part is equal for each driver, s.
pub(super) const SECONDS: u64 = 20;

/// Share of the time in which the store stands still.
pub(super) fn share() -> f64 {
    LASTS.as_secs_f64() / EVERY.as_secs_f64()
}

/// The quantile of response time caused by stalls, ms, for commands due at equal distances: one that is due
/// `t` before the end of a stall waits for `t`, all others hardly at all.
pub(super) fn computed_ms(quantile: f64) -> f64 {
    LASTS.as_secs_f64() * 1e3 * (1.0 - (1.0 - quantile) / share()).max(0.0)
}

/// Stops a process repeatedly until this is dropped.
pub(super) struct Stalls {
    going: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Stalls {
    pub(super) fn begin(pid: Pid) -> Stalls {
        let (going, ended) = sync_channel(0);
        let thread = std::thread::spawn(move || {
            if let Err(why) = stall(pid, &ended) {
                say(&format!("    stopping the store failed: {why}"));
            }
        });
        Stalls { going: Some(going), thread: Some(thread) }
    }
}

fn stall(pid: Pid, ended: &Receiver<()>) -> rustix::io::Result<()> {
    let mut next = Instant::now() + FIRST;
    while goes_on_until(next, ended) {
        kill_process(pid, Signal::STOP)?;
        goes_on_until(next + LASTS, ended);
        kill_process(pid, Signal::CONT)?;
        next += EVERY;
    }
    Ok(())
}

/// Waits for an instant; false if the stalls have ended before it.
fn goes_on_until(instant: Instant, ended: &Receiver<()>) -> bool {
    let wait = instant.saturating_duration_since(Instant::now());
    ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
}

impl Drop for Stalls {
    fn drop(&mut self) {
        self.going = None;
        if let Some(thread) = self.thread.take() {
            // The thread has printed its panic itself.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_commands_waits_up_to_a_second() {
        for (quantile, ms) in
            [(0.5, 0.0), (0.8, 0.0), (0.9, 500.0), (0.95, 750.0), (0.99, 950.0), (1.0, 1_000.0)]
        {
            assert!((computed_ms(quantile) - ms).abs() < 1e-9, "{quantile}: {}", computed_ms(quantile));
        }
        assert!(FIRST + EVERY * 3 + LASTS < Duration::from_secs(SECONDS));
    }
}

//! Time axis of a run: seconds since its start, and whether the wall clock kept pace.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use barograph_model::Nanos;
use barograph_platform::BoxFuture;

use crate::HarnessError;
use crate::probes::{Accounts, KernelAccounts};

/// Longest time between reading both clocks; beyond it they are read again. A process held for a tenth of a
/// second between the two would look like a wall clock that was set.
const TOGETHER: Duration = Duration::from_millis(5);

/// Largest number of attempts at reading both clocks, for machines that interrupt every one.
const LOOKS: usize = 10;

/// Readings of both clocks at about the same moment.
#[derive(Clone, Copy, Debug)]
struct ClockReading {
    /// Monotonic time before the wall clock was read.
    before: Instant,
    wall: SystemTime,
    /// Time that the reading took.
    took: Duration,
}

impl ClockReading {
    fn now() -> Self {
        let before = Instant::now();
        let wall = SystemTime::now();
        ClockReading { before, wall, took: before.elapsed() }
    }

    /// Returns the first reading that was quick enough, or the quickest of several.
    fn closest(mut look: impl FnMut() -> Self) -> Self {
        let mut best = look();
        for _ in 1..LOOKS {
            if best.took <= TOGETHER {
                break;
            }
            let again = look();
            if again.took < best.took {
                best = again;
            }
        }
        best
    }

    /// Monotonic time of the wall clock's reading.
    fn at(&self) -> Instant {
        self.before + self.took / 2
    }
}

/// Clocks and accounts of the machine of a run. Tests use a simulated one.
pub(crate) trait HostView: Send + Sync {
    /// Returns the time since the run began.
    fn now(&self) -> Nanos;
    /// Returns the seconds by which the wall clock gained on the monotonic clock since the run began.
    fn wall_ahead_s(&self) -> f64;
    /// Returns the wall clock at the start of the run, in seconds since 1970.
    fn began_s(&self) -> f64;
    /// Returns the folder of the kernel's devices.
    fn sys(&self) -> &Path;
    /// Waits for `span`.
    fn sleep(&self, span: Nanos) -> BoxFuture<'_, ()>;
    /// Returns the accounts of the host and of this process.
    fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError>;
}

/// Time since the start of the run.
#[derive(Clone)]
pub(crate) struct RunClock(Arc<dyn HostView>);

impl RunClock {
    /// Starts on the clocks of this machine.
    pub(crate) fn start() -> Self {
        let look = ClockReading::closest(ClockReading::now);
        RunClock::of(RealHost { began: look.at(), wall: look.wall })
    }

    pub(crate) fn of(ground: impl HostView + 'static) -> Self {
        RunClock(Arc::new(ground))
    }

    /// Returns the time since the run began.
    pub(crate) fn now(&self) -> Nanos {
        self.0.now()
    }

    pub(crate) fn at_s(&self) -> f64 {
        self.now().as_secs_f64()
    }

    /// Returns the seconds by which the wall clock gained on the monotonic clock since the run began.
    pub(crate) fn wall_ahead_s(&self) -> f64 {
        self.0.wall_ahead_s()
    }

    /// Returns the wall clock at the start of the run, in seconds since 1970.
    pub(crate) fn began_s(&self) -> f64 {
        self.0.began_s()
    }

    /// Returns the folder of the kernel's devices.
    pub(crate) fn sys(&self) -> &Path {
        self.0.sys()
    }

    /// Waits for `span`.
    pub(crate) async fn sleep(&self, span: Nanos) {
        self.0.sleep(span).await;
    }

    /// Returns the accounts of the host and of this process.
    pub(crate) fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError> {
        self.0.accounts()
    }
}

/// The folder of the kernel's devices on a real machine.
pub(crate) const SYS: &str = "/sys";

/// The clocks of this machine.
struct RealHost {
    began: Instant,
    wall: SystemTime,
}

impl HostView for RealHost {
    fn now(&self) -> Nanos {
        Nanos::from(self.began.elapsed())
    }

    fn began_s(&self) -> f64 {
        self.wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    }

    fn sys(&self) -> &Path {
        Path::new(SYS)
    }

    fn sleep(&self, span: Nanos) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(span.into()))
    }

    fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError> {
        Ok(Box::new(KernelAccounts::new()?))
    }

    fn wall_ahead_s(&self) -> f64 {
        let look = ClockReading::closest(ClockReading::now);
        let wall = match look.wall.duration_since(self.wall) {
            Ok(on) => on.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        wall - look.at().duration_since(self.began).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chosen reading and the number of readings, if they take `ms` milliseconds one after
    /// another.
    fn taken(ms: &[u64]) -> (u64, usize) {
        let (before, wall) = (Instant::now(), SystemTime::UNIX_EPOCH);
        let mut looks = 0;
        let best = ClockReading::closest(|| {
            looks += 1;
            ClockReading { before, wall, took: Duration::from_millis(ms[looks - 1]) }
        });
        (u64::try_from(best.took.as_millis()).unwrap(), looks)
    }

    #[test]
    fn clocks_between_which_the_process_was_held_are_read_again() {
        assert_eq!(taken(&[1]), (1, 1));
        assert_eq!(taken(&[2_000, 900, 3]), (3, 3));
        assert_eq!(taken(&[70, 60, 50, 40, 30, 20, 30, 40, 50, 60]), (20, 10), "the closest of all");
    }

    #[test]
    fn the_monotonic_clock_is_that_of_the_middle() {
        let look = ClockReading {
            before: Instant::now(),
            wall: SystemTime::UNIX_EPOCH,
            took: Duration::from_millis(4),
        };
        assert_eq!(look.at().duration_since(look.before), Duration::from_millis(2));
    }
}

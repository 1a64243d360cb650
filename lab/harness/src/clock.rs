//! The run's own time axis: seconds since it began, and whether the wall clock kept pace.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use barograph_model::Nanos;
use barograph_platform::Later;

use crate::HarnessError;
use crate::probes::{Accounts, Own};

/// Both clocks were read within this, or the process was held between the two and they are read again. A tenth of a second
/// apart would be taken for a clock that was set.
const TOGETHER: Duration = Duration::from_millis(5);

/// So often they are read at the most: a machine that interrupts every time is not waited for.
const LOOKS: usize = 10;

/// Both clocks at about the same moment.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// Before the wall clock was read.
    before: Instant,
    wall: SystemTime,
    /// Until after it was read.
    took: Duration,
}

impl Look {
    fn now() -> Self {
        let before = Instant::now();
        let wall = SystemTime::now();
        Look { before, wall, took: before.elapsed() }
    }

    /// One that was quick enough, or the quickest of several.
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

    /// The monotonic clock when the wall clock was read.
    fn at(&self) -> Instant {
        self.before + self.took / 2
    }
}

/// What a run reads of the machine it is on: clocks, and what it uses. Tests have one that is simulated.
pub(crate) trait Ground: Send + Sync {
    /// Time since the run began.
    fn now(&self) -> Nanos;
    /// By how many seconds the wall clock went ahead of the monotonic clock since the run began.
    fn wall_ahead_s(&self) -> f64;
    /// Waits.
    fn sleep(&self, span: Nanos) -> Later<'_, ()>;
    /// The accounts of the host and of this process.
    fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError>;
}

/// Counts from the beginning of the run.
#[derive(Clone)]
pub(crate) struct RunClock(Arc<dyn Ground>);

impl RunClock {
    /// The clocks of this machine.
    pub(crate) fn start() -> Self {
        let look = Look::closest(Look::now);
        RunClock::of(Real { began: look.at(), wall: look.wall })
    }

    pub(crate) fn of(ground: impl Ground + 'static) -> Self {
        RunClock(Arc::new(ground))
    }

    /// Time since the run began.
    pub(crate) fn now(&self) -> Nanos {
        self.0.now()
    }

    pub(crate) fn at_s(&self) -> f64 {
        self.now().as_secs_f64()
    }

    /// By how many seconds the wall clock went ahead of the monotonic clock since the run began.
    pub(crate) fn wall_ahead_s(&self) -> f64 {
        self.0.wall_ahead_s()
    }

    /// Waits.
    pub(crate) async fn sleep(&self, span: Nanos) {
        self.0.sleep(span).await;
    }

    /// The accounts of the host and of this process.
    pub(crate) fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError> {
        self.0.accounts()
    }
}

/// This machine.
struct Real {
    began: Instant,
    wall: SystemTime,
}

impl Ground for Real {
    fn now(&self) -> Nanos {
        Nanos::from(self.began.elapsed())
    }

    fn sleep(&self, span: Nanos) -> Later<'_, ()> {
        Box::pin(tokio::time::sleep(span.into()))
    }

    fn accounts(&self) -> Result<Box<dyn Accounts>, HarnessError> {
        Ok(Box::new(Own::new()?))
    }

    fn wall_ahead_s(&self) -> f64 {
        let look = Look::closest(Look::now);
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

    /// The look that is taken when they take so many milliseconds, one after the other, and how many were taken.
    fn taken(ms: &[u64]) -> (u64, usize) {
        let (before, wall) = (Instant::now(), SystemTime::UNIX_EPOCH);
        let mut looks = 0;
        let best = Look::closest(|| {
            looks += 1;
            Look { before, wall, took: Duration::from_millis(ms[looks - 1]) }
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
        let look =
            Look { before: Instant::now(), wall: SystemTime::UNIX_EPOCH, took: Duration::from_millis(4) };
        assert_eq!(look.at().duration_since(look.before), Duration::from_millis(2));
    }
}

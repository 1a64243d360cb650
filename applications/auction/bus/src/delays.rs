//! Waits between attempts to connect again.

use std::time::Duration;

use crate::bounds::{RETRY_CAP, RETRY_FIRST, RETRY_FRESH_CAP, RETRY_FRESH_FOR};

/// The waits after one loss, in order.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    /// The last wait before any cap; `None` before the first attempt.
    last: Option<Duration>,
    /// Total of the waits so far. The attempts are not counted, so no clock is needed; they are short while
    /// the broker is away, because its port is closed.
    waited: Duration,
}

impl Delays {
    /// The wait before the next attempt: none for the first.
    pub(crate) fn next_wait(&mut self) -> Duration {
        let cap = if self.waited < RETRY_FRESH_FOR { RETRY_FRESH_CAP } else { RETRY_CAP };
        let wait = match self.last {
            None => Duration::ZERO,
            Some(Duration::ZERO) => RETRY_FIRST,
            Some(last) => last.saturating_mul(2).min(cap),
        };
        self.last = Some(wait);
        self.waited += wait;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_once_then_often_then_seldom() {
        let mut delays = Delays::default();
        let waits: Vec<f64> = (0..38).map(|_| delays.next_wait().as_secs_f64()).collect();
        assert_eq!(waits[..4], [0.0, 0.5, 1.0, 1.0]);
        // 0.5 s and 30 waits of a second pass the 30 s; from then on it doubles to the cap.
        assert_eq!(waits[4..32], [1.0; 28]);
        assert_eq!(waits[32..], [2.0, 4.0, 8.0, 10.0, 10.0, 10.0]);
    }
}

//! One direction of a relay: frames in order, each with its due time.

use std::collections::VecDeque;

use crate::relay::count::{Lateness, LineCount};

/// Largest number of bytes in a line: a full second of half a gigabit per second. Beyond it the receiver is
/// too slow.
const MOST_BYTES: usize = 64 << 20;

/// Largest number of frames in a line, which bounds small frames.
const MOST_FRAMES: usize = 1 << 17;

/// Treatment of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Setting {
    /// Delay of each frame.
    pub(crate) hold_ns: u64,
    /// Share of frames that are lost, 0 to 1.
    pub(crate) loss: f64,
}

impl Setting {
    /// Whether a frame with this draw, uniform over all numbers, is lost.
    fn loses(&self, draw: u64) -> bool {
        // A float represents 53 bits exactly.
        (draw >> 11) as f64 / ((1_u64 << 53) as f64) < self.loss
    }
}

/// A delay line. Time is in nanoseconds of the caller's clock.
#[derive(Debug)]
pub(crate) struct DelayLine {
    frames: VecDeque<(u64, Box<[u8]>)>,
    held_bytes: usize,
    last_due: u64,
    count: LineCount,
    late: Lateness,
}

impl DelayLine {
    pub(crate) fn new() -> Self {
        DelayLine {
            frames: VecDeque::new(),
            held_bytes: 0,
            last_due: 0,
            count: LineCount::default(),
            late: Lateness::new(),
        }
    }

    /// Adds a frame that arrived at `now` with the random number `draw`.
    pub(crate) fn offer(&mut self, frame: &[u8], now: u64, draw: u64, setting: &Setting) {
        if setting.loses(draw) {
            self.count.lost += 1;
        } else if self.held_bytes + frame.len() > MOST_BYTES || self.frames.len() >= MOST_FRAMES {
            self.count.dropped += 1;
        } else {
            // A shorter delay does not let new frames overtake waiting ones.
            self.last_due = self.last_due.max(now.saturating_add(setting.hold_ns));
            self.held_bytes += frame.len();
            self.frames.push_back((self.last_due, frame.into()));
        }
    }

    /// Returns the due time of the next frame.
    pub(crate) fn due(&self) -> Option<u64> {
        self.frames.front().map(|(due, _)| *due)
    }

    /// Takes the next frame, if it is due. The caller reports the result to [`DelayLine::sent`].
    pub(crate) fn take(&mut self, now: u64) -> Option<Box<[u8]>> {
        let late = now.checked_sub(self.due()?)?;
        let (_, frame) = self.frames.pop_front()?;
        self.late.add(late);
        self.held_bytes -= frame.len();
        Some(frame)
    }

    /// Counts a taken frame by whether the kernel accepted it.
    pub(crate) fn sent(&mut self, bytes: usize, taken: &std::io::Result<usize>) {
        if taken.is_ok() {
            self.count.frames += 1;
            self.count.bytes += bytes as u64;
        } else {
            self.count.dropped += 1;
        }
    }

    pub(crate) fn count(&self) -> LineCount {
        LineCount {
            late_p50_us: self.late.quantile_us(0.5),
            late_p99_us: self.late.quantile_us(0.99),
            late_max_us: self.late.max_us(),
            ..self.count.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(hold_ns: u64, loss: f64) -> Setting {
        Setting { hold_ns, loss }
    }

    #[test]
    fn frames_come_out_in_order_when_due_and_never_before() {
        let mut line = DelayLine::new();
        line.offer(b"one", 100, u64::MAX, &setting(50, 0.0));
        line.offer(b"two", 110, u64::MAX, &setting(50, 0.0));
        assert_eq!(line.due(), Some(150));
        assert_eq!(line.take(149), None);
        assert_eq!(line.take(155).as_deref(), Some(&b"one"[..]));
        assert_eq!(line.take(155), None);
        assert_eq!(line.take(160).as_deref(), Some(&b"two"[..]));
        assert_eq!((line.due(), line.held_bytes), (None, 0));
    }

    #[test]
    fn a_shorter_delay_lets_nothing_overtake() {
        let mut line = DelayLine::new();
        line.offer(b"slow", 0, 0, &setting(1000, 0.0));
        line.offer(b"quick", 10, 0, &setting(0, 0.0));
        assert_eq!(line.take(20), None);
        assert_eq!(line.take(1000).as_deref(), Some(&b"slow"[..]));
        assert_eq!(line.take(1000).as_deref(), Some(&b"quick"[..]));
    }

    #[test]
    fn the_wanted_part_is_lost() {
        let mut line = DelayLine::new();
        let draws = |i: u64| i << 54;
        for i in 0..1024 {
            line.offer(b"x", 0, draws(i), &setting(0, 0.25));
        }
        assert_eq!((line.count().lost, line.frames.len()), (256, 768));
        line.offer(b"x", 0, u64::MAX, &setting(0, 1.0));
        assert_eq!(line.count().lost, 257, "a loss of 1 loses everything");
        line.offer(b"x", 0, 0, &setting(0, 0.0));
        assert_eq!(line.count().lost, 257, "and a loss of 0 nothing");
    }

    #[test]
    fn a_full_line_drops_and_counts() {
        let mut line = DelayLine::new();
        let frame = vec![0; 1 << 20];
        for _ in 0..70 {
            line.offer(&frame, 0, u64::MAX, &setting(10, 0.0));
        }
        assert_eq!((line.frames.len(), line.count().dropped), (64, 6));
        let taken = line.take(10).unwrap();
        line.sent(taken.len(), &Ok(taken.len()));
        line.sent(1, &Err(std::io::ErrorKind::Other.into()));
        assert_eq!((line.count().frames, line.count().bytes, line.count().dropped), (1, 1 << 20, 7));
        let mut small = DelayLine::new();
        for _ in 0..=MOST_FRAMES {
            small.offer(b"", 0, u64::MAX, &setting(10, 0.0));
        }
        assert_eq!(small.count().dropped, 1);
    }
}

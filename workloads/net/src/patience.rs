//! The patience of a stream's receiver: it looks for bytes that are about to come before it sleeps.
//!
//! A sender pays for waking a receiver that sleeps, which one core of a virtual machine does for another at the cost of a
//! message. A receiver that is awake, or that wakes by itself, costs it nothing.

use std::num::NonZeroU64;

use rustix::event::{Timespec, poll};
use rustix::io::{Errno, Result};
use rustix::thread::set_current_timer_slack;

use crate::wire::RunSettings;

/// Looks at an empty socket before a nap, in which a sender in flow comes up with more. Over loopback a hundred carried
/// twice as much in messages of 64 KiB; where bytes come slowly, they would cost the receiver more than wakes do.
const LOOKS_BEFORE_NAP: u32 = 30;

/// Looks where the buffer is too small for a nap. A quarter of them carried less than half in messages of 16 KiB.
const LOOKS_WITHOUT_NAP: u32 = 200;

/// Longest nap.
const LONGEST_NAP_NS: i64 = 50_000;

/// Shortest nap.
const SHORTEST_NAP_NS: i64 = 20_000;

/// Bytes of a receive buffer for each nanosecond of a nap: at 40 Gb/s five come in one, and the system doubles the
/// buffer, so that a third of it fills.
const BUFFER_PER_NAP_NS: i64 = 8;

/// Sleeps without a look after one that found nothing.
const SLEEPS: u32 = 15;

/// Patience of one receiver.
#[derive(Debug)]
pub(crate) struct Patience {
    looks: u32,
    nap: Option<Timespec>,
    /// Sleeps left without a look.
    sleeps: u32,
}

impl Patience {
    /// The patience of a receiver on the calling thread, whose naps become exact.
    pub(crate) fn new(settings: &RunSettings) -> Self {
        // The kernel may otherwise end a nap 50 microseconds late.
        let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
        let nap = nap(settings.receive_buffer);
        let looks = if nap.is_some() { LOOKS_BEFORE_NAP } else { LOOKS_WITHOUT_NAP };
        Patience { looks, nap, sleeps: 0 }
    }

    /// Looks, with a read that does not block, for the bytes of a socket that is empty now.
    ///
    /// # Errors
    /// `AGAIN` if the receiver has to sleep until the system wakes it; otherwise the error of the read.
    pub(crate) fn look(&mut self, read: impl FnMut() -> Result<usize>) -> Result<usize> {
        if self.sleeps > 0 {
            self.sleeps -= 1;
            return Err(Errno::AGAIN);
        }
        let found = self.find(read);
        if found.is_err() {
            self.sleeps = SLEEPS;
        }
        found
    }

    fn find(&self, mut read: impl FnMut() -> Result<usize>) -> Result<usize> {
        for _ in 0..self.looks {
            match read() {
                Err(Errno::AGAIN) => {}
                found => return found,
            }
        }
        let Some(nap) = &self.nap else { return Err(Errno::AGAIN) };
        // Nothing is waited for: a wait for the socket would make the sender wake this thread.
        let _ = poll(&mut [], Some(nap));
        read()
    }
}

/// The nap with a receive buffer of this size, 0 for that of the system; `None` if the buffer would be full before.
fn nap(receive_buffer: u32) -> Option<Timespec> {
    let longest = match receive_buffer {
        0 => LONGEST_NAP_NS,
        bytes => LONGEST_NAP_NS.min(i64::from(bytes) / BUFFER_PER_NAP_NS),
    };
    (longest >= SHORTEST_NAP_NS).then_some(Timespec { tv_sec: 0, tv_nsec: longest })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of reads in turn; the last one stays.
    fn reads<'a>(
        answers: &'a [(u32, Result<usize>)],
        made: &'a mut u32,
    ) -> impl FnMut() -> Result<usize> + 'a {
        move || {
            *made += 1;
            answers.iter().rfind(|(from, _)| *from <= *made).map_or(Err(Errno::AGAIN), |(_, answer)| *answer)
        }
    }

    #[test]
    fn bytes_that_come_soon_are_found() {
        let mut patience = Patience { looks: 10, nap: None, sleeps: 0 };
        for _ in 0..3 {
            let mut made = 0;
            assert_eq!(patience.look(reads(&[(4, Ok(7))], &mut made)), Ok(7));
            assert_eq!(made, 4);
        }
    }

    #[test]
    fn a_nap_is_followed_by_one_look() {
        let mut patience = Patience { looks: 10, nap: nap(0), sleeps: 0 };
        let mut made = 0;
        assert_eq!(patience.look(reads(&[(11, Ok(7))], &mut made)), Ok(7));
        assert_eq!((made, patience.sleeps), (11, 0));
        made = 0;
        assert_eq!(patience.look(reads(&[], &mut made)), Err(Errno::AGAIN));
        assert_eq!((made, patience.sleeps), (11, SLEEPS));
    }

    #[test]
    fn looks_that_find_nothing_are_rare() {
        let mut patience = Patience { looks: 2, nap: None, sleeps: 0 };
        let mut made = 0;
        for _ in 0..4 * (SLEEPS + 1) {
            assert_eq!(patience.look(reads(&[], &mut made)), Err(Errno::AGAIN));
        }
        assert_eq!(made, 4 * 2);
    }

    #[test]
    fn the_end_of_a_stream_and_errors_are_seen_at_once() {
        for answer in [Ok(0), Err(Errno::CONNRESET)] {
            let (mut patience, mut made) = (Patience { looks: 10, nap: nap(0), sleeps: 0 }, 0);
            assert_eq!(patience.look(reads(&[(0, answer)], &mut made)), answer);
            assert_eq!(made, 1);
        }
    }

    #[test]
    fn naps_are_shorter_than_a_buffer_lasts() {
        let ns = |bytes| nap(bytes).map(|nap| nap.tv_nsec);
        assert_eq!(
            [0, 8_192, 65_536, 262_144, 4 << 20].map(ns),
            [Some(50_000), None, None, Some(32_768), Some(50_000)]
        );
    }
}

//! Datagrams: their head, and what a receiver learns from the numbers and times of a flow.

use crate::wire::{DATA, word64};

/// Bytes of a head: key of the run, number in the flow, and time of sending by the clock of the sender in nanoseconds.
pub(crate) const HEAD: usize = 24;

/// Most bytes of a datagram over IPv4.
pub(crate) const LARGEST: u32 = 65_507;

/// Bytes of a datagram of a stream by default: one packet of an Ethernet link, over IPv4 and IPv6.
pub(crate) const USUAL: u64 = 1_448;

/// Marks the end of a flow; the other bits are the number of its datagrams.
pub(crate) const LAST: u64 = 1 << 63;

/// Numbers below the highest among which a datagram may still arrive; one that is missing beyond is lost.
const WINDOW: u64 = 1_024;

/// Largest distance of a number from the one before: a larger one is of no flow.
const LARGEST_GAP: u64 = 1 << 32;

/// The head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) token: u64,
    pub(crate) number: u64,
    pub(crate) sent_ns: u64,
}

impl Head {
    /// Writes it to the beginning of a datagram.
    pub(crate) fn write(self, datagram: &mut [u8]) {
        let words = [self.token ^ u64::from_le_bytes(DATA), self.number, self.sent_ns];
        for (room, word) in datagram[..HEAD].chunks_exact_mut(8).zip(words) {
            room.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads it; `None` if the datagram is too short.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let head = datagram.get(..HEAD)?;
        let token = word64(head, 0) ^ u64::from_le_bytes(DATA);
        Some(Head { token, number: word64(head, 8), sent_ns: word64(head, 16) })
    }
}

/// Counts of datagrams at their receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramCounts {
    /// Datagrams that arrived, each counted once.
    pub(crate) arrived: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Datagrams that did not arrive.
    pub(crate) lost: u64,
    /// Datagrams that arrived after one with a higher number.
    pub(crate) reordered: u64,
    /// Sum over arrivals of the jitter at that moment, in nanoseconds.
    pub(crate) jitter_ns: u64,
    /// Bytes of answers.
    pub(crate) answered: u64,
}

/// What a receiver knows of a flow.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// The number after the highest that arrived.
    next: u64,
    /// Which of the last [`WINDOW`] numbers arrived, by remainder.
    arrived: [u64; (WINDOW / 64) as usize],
    /// Time of the latest datagram between the clocks of both ends.
    transit_ns: Option<i64>,
    /// By RFC 3550, in nanoseconds.
    jitter_ns: f64,
    is_over: bool,
}

impl Flow {
    /// Counts the arrival of a datagram of this many bytes. Whether it is the first copy, and in time.
    pub(crate) fn arrive(
        &mut self,
        head: Head,
        (bytes, now_ns): (usize, u64),
        counts: &mut DatagramCounts,
    ) -> bool {
        let number = head.number;
        if self.is_over || number.saturating_sub(self.next) > LARGEST_GAP {
            return false;
        }
        let is_behind = number < self.next;
        if !is_behind {
            counts.lost += self.advance(number + 1);
        } else if number + WINDOW < self.next || self.has(number) {
            return false;
        }
        self.arrived[Self::word(number)] |= 1 << (number % 64);
        counts.reordered += u64::from(is_behind);
        counts.arrived += 1;
        counts.bytes += bytes as u64;
        counts.jitter_ns += self.jitter(now_ns.wrapping_sub(head.sent_ns) as i64);
        true
    }

    /// Ends the flow, of which `sent` datagrams were sent, and counts what is missing. Whether it was not over before.
    pub(crate) fn end(&mut self, sent: u64, counts: &mut DatagramCounts) -> bool {
        if self.is_over || sent.saturating_sub(self.next) > LARGEST_GAP {
            return false;
        }
        counts.lost += self.advance(sent.max(self.next));
        let open = self.next.saturating_sub(WINDOW)..self.next;
        counts.lost += open.filter(|number| !self.has(*number)).count() as u64;
        self.is_over = true;
        true
    }

    /// Moves the window up to the number before `next`. Returns how many datagrams are lost by it.
    fn advance(&mut self, next: u64) -> u64 {
        let steps = next - self.next;
        let mut lost = steps.saturating_sub(WINDOW);
        for number in self.next..self.next + steps.min(WINDOW) {
            // The number that had this place.
            lost += u64::from(number >= WINDOW && !self.has(number));
            self.arrived[Self::word(number)] &= !(1 << (number % 64));
        }
        self.next = next;
        lost
    }

    fn has(&self, number: u64) -> bool {
        self.arrived[Self::word(number)] & 1 << (number % 64) != 0
    }

    fn word(number: u64) -> usize {
        (number % WINDOW / 64) as usize
    }

    /// The jitter after a datagram: a sixteenth of the distance to the last difference is added each time.
    fn jitter(&mut self, transit_ns: i64) -> u64 {
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            let difference = transit_ns.wrapping_sub(before).unsigned_abs() as f64;
            self.jitter_ns += (difference - self.jitter_ns) / 16.0;
        }
        self.jitter_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts after datagrams with these numbers, sent and received at one distance, and after the end of `sent`.
    fn counts(numbers: &[u64], sent: Option<u64>) -> DatagramCounts {
        let (mut flow, mut counts) = (Flow::default(), DatagramCounts::default());
        for number in numbers {
            let head = Head { token: 1, number: *number, sent_ns: 0 };
            flow.arrive(head, (10, 5), &mut counts);
        }
        if let Some(sent) = sent {
            assert!(flow.end(sent, &mut counts));
            assert!(!flow.end(sent, &mut counts), "a flow ends once");
        }
        counts
    }

    #[test]
    fn numbers_tell_what_is_lost_and_what_came_late() {
        let of = |numbers: &[u64], sent| {
            let counts = counts(numbers, sent);
            assert_eq!(counts.bytes, 10 * counts.arrived);
            (counts.arrived, counts.lost, counts.reordered)
        };
        assert_eq!(of(&[], Some(3)), (0, 3, 0));
        assert_eq!(of(&[0, 1, 2], Some(3)), (3, 0, 0));
        assert_eq!(of(&[0, 2], None), (2, 0, 0), "it may still come");
        assert_eq!(of(&[0, 2], Some(3)), (2, 1, 0));
        assert_eq!(of(&[0, 2, 1, 1, 2], Some(3)), (3, 0, 1), "copies do not count");
        assert_eq!(of(&[2, 1, 0], Some(5)), (3, 2, 2));
        assert_eq!(of(&[0, 5_000], None), (2, 4_999 - 1_023, 0));
        assert_eq!(of(&[0, 5_000], Some(5_001)), (2, 4_999, 0));
        assert_eq!(of(&[0, 1_024, 1], None), (3, 0, 1));
        assert_eq!(of(&[0, 1_026, 1], None), (2, 2, 0), "it is lost already");
        assert_eq!(of(&[0, 1 << 40], Some(1)), (1, 0, 0), "it is of no flow");
        let all: Vec<u64> = (0..10_000).filter(|number| number % 10 != 3).collect();
        assert_eq!(of(&all, Some(10_000)), (9_000, 1_000, 0));
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let (mut flow, mut counts) = (Flow::default(), DatagramCounts::default());
        let mut arrive = |number, sent_ns, now_ns| {
            let before = counts.jitter_ns;
            assert!(flow.arrive(Head { token: 1, number, sent_ns }, (24, now_ns), &mut counts));
            counts.jitter_ns - before
        };
        // Clocks may be far apart.
        assert_eq!(arrive(0, u64::MAX - 999, 5_000), 0);
        assert_eq!(arrive(1, 1_000, 7_000), 0);
        assert_eq!(arrive(2, 2_000, 9_600), 1_600 / 16);
        assert_eq!(arrive(3, 3_000, 9_000), 100 + (1_600 - 100) / 16);
    }

    #[test]
    fn a_head_reads_back() {
        let head = Head { token: 7, number: LAST | 9, sent_ns: u64::MAX };
        let mut datagram = [0; 100];
        head.write(&mut datagram);
        assert_eq!((Head::read(&datagram), Head::read(&datagram[..23])), (Some(head), None));
    }
}

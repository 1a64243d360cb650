//! Encoding of an interval for its way from a driver to the harness: whole histograms, so that merging loses
//! nothing.
//!
//! Numbers are little-endian. Histograms are in HdrHistogram's own second form, which is big-endian and
//! contains its length. The bytes come from another process, perhaps on another machine: any fault in them is
//! an error.

use std::sync::OnceLock;

use barograph_model::{Counters, Nanos, Outcome};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};

use crate::interval::{Histogram, Interval, OpStats, histogram};

/// First byte of an interval: the version of the encoding.
const FORM: u8 = 6;

/// Bytes of a histogram before its counts.
const HEAD: usize = 40;

/// Position of the length of the counts in the head.
const LENGTH: std::ops::Range<usize> = 4..8;

/// Bytes that are not a valid interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct DecodeError {
    /// The fault.
    pub what: &'static str,
    /// Its position, counted from the first byte of the interval.
    pub at: usize,
}

impl Interval {
    /// Appends the encoding of this interval.
    pub fn write_to(&self, bytes: &mut Vec<u8>) {
        let mut writer = Writer { bytes, histograms: V2Serializer::new() };
        writer.bytes.push(FORM);
        for number in [self.from.0, self.to.0, self.starts, self.late, self.dropped, self.skipped] {
            writer.whole(number);
        }
        writer.whole(self.users.into());
        for seconds in [self.in_flight_s, self.aged_s, self.worker_cpu_s, self.busiest_worker_cpu_s] {
            writer.fraction(seconds);
        }
        for count in self.counters.values() {
            writer.whole(*count);
        }
        writer.histogram(&self.lag);
        writer.whole(self.ops.len() as u64);
        for op in &self.ops {
            writer.op(op);
        }
    }

    /// Decodes an interval that fills all of `bytes` and has exactly `ops` operations.
    ///
    /// # Errors
    /// If the bytes are anything else.
    pub fn read_from(bytes: &[u8], ops: usize) -> Result<Interval, DecodeError> {
        let mut reader = Reader { bytes, at: 0 };
        if reader.take(1)? != [FORM] {
            return Err(DecodeError { what: "another form of interval", at: 0 });
        }
        let (from, to) = (Nanos(reader.whole()?), Nanos(reader.whole()?));
        let [starts, late, dropped, skipped] = reader.wholes()?;
        let users = reader.whole()?;
        let users = u32::try_from(users).map_err(|_| reader.damaged("too many users"))?;
        let mut read = Interval { from, to, starts, late, dropped, skipped, users, ..Interval::new(0) };
        read.in_flight_s = reader.fraction()?;
        read.aged_s = reader.difference()?;
        read.worker_cpu_s = reader.fraction()?;
        read.busiest_worker_cpu_s = reader.fraction()?;
        read.counters = Counters::new(reader.wholes()?);
        read.lag = reader.histogram()?;
        if reader.whole()? != ops as u64 {
            return Err(reader.damaged("another number of operations"));
        }
        for _ in 0..ops {
            read.ops.push(reader.op()?);
        }
        if reader.at != bytes.len() {
            return Err(reader.damaged("more bytes than an interval has"));
        }
        if to < from {
            return Err(reader.damaged("an interval that ends before it begins"));
        }
        Ok(read)
    }
}

struct Writer<'b> {
    bytes: &'b mut Vec<u8>,
    histograms: V2Serializer,
}

impl Writer<'_> {
    fn whole(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn fraction(&mut self, number: f64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn histogram(&mut self, histogram: &Histogram) {
        self.histograms
            .serialize(histogram, self.bytes)
            .expect("counts of 32 bits fit the form, and memory takes what is written");
    }

    fn op(&mut self, op: &OpStats) {
        let counts = [op.over_limit, op.good_in_time, op.requests];
        for number in op.outcomes.into_iter().chain(counts).chain(op.over_further) {
            self.whole(number);
        }
        self.fraction(op.response_sum_s);
        self.fraction(op.service_sum_s);
        self.fraction(op.cancelled_sum_s);
        self.histogram(&op.response);
        self.histogram(&op.service);
    }
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    fn damaged(&self, what: &'static str) -> DecodeError {
        DecodeError { what, at: self.at }
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], DecodeError> {
        let end = self.at.checked_add(length);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.damaged("bytes that end early"))?;
        self.at += length;
        Ok(taken)
    }

    fn eight(&mut self) -> Result<[u8; 8], DecodeError> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.take(8)?);
        Ok(eight)
    }

    fn whole(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_le_bytes(self.eight()?))
    }

    fn wholes<const N: usize>(&mut self) -> Result<[u64; N], DecodeError> {
        let mut all = [0; N];
        for number in &mut all {
            *number = self.whole()?;
        }
        Ok(all)
    }

    /// Reads seconds that are finite and not negative.
    fn fraction(&mut self) -> Result<f64, DecodeError> {
        match self.difference()? {
            number if number >= 0.0 => Ok(number),
            _ => Err(self.damaged("a sum of seconds that is none")),
        }
    }

    /// Reads seconds of either sign.
    fn difference(&mut self) -> Result<f64, DecodeError> {
        let number = f64::from_le_bytes(self.eight()?);
        number.is_finite().then_some(number).ok_or_else(|| self.damaged("a sum of seconds that is none"))
    }

    fn op(&mut self) -> Result<OpStats, DecodeError> {
        let outcomes: [u64; Outcome::ALL.len()] = self.wholes()?;
        let [over_limit, good_in_time, requests] = self.wholes()?;
        let over_further = self.wholes()?;
        let (response_sum_s, service_sum_s, cancelled_sum_s) =
            (self.fraction()?, self.fraction()?, self.fraction()?);
        let (response, service) = (self.histogram()?, self.histogram()?);
        Ok(OpStats {
            response,
            service,
            outcomes,
            over_limit,
            over_further,
            good_in_time,
            requests,
            response_sum_s,
            service_sum_s,
            cancelled_sum_s,
        })
    }

    fn histogram(&mut self) -> Result<Histogram, DecodeError> {
        let begins = self.at;
        let (head, expected) = (self.take(HEAD)?, &shape().head);
        // Other bounds could request any amount of memory.
        if head[..LENGTH.start] != expected[..LENGTH.start] || head[LENGTH.end..] != expected[LENGTH.end..] {
            return Err(DecodeError { what: "a histogram of another kind", at: begins });
        }
        let length = u32::from_be_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let counts_at = self.at;
        let counts = self.take(length)?;
        are_counts(counts).map_err(|what| DecodeError { what, at: counts_at })?;
        let whole = &self.bytes[begins..self.at];
        Deserializer::new()
            .deserialize(&mut &*whole)
            .map_err(|_| DecodeError { what: "counts that are no histogram", at: counts_at })
    }
}

/// Head of every histogram of a run, and its number of counts.
struct Shape {
    head: Vec<u8>,
    places: u64,
}

fn shape() -> &'static Shape {
    static SHAPE: OnceLock<Shape> = OnceLock::new();
    SHAPE.get_or_init(|| {
        let (empty, mut head) = (histogram(), Vec::new());
        V2Serializer::new().serialize(&empty, &mut head).expect("an empty histogram has a form");
        head.truncate(HEAD);
        Shape { head, places: empty.distinct_values() as u64 }
    })
}

/// Checks encoded counts: each is a count or, if negative, a number of places without one. The library that
/// reads them does not check numbers and may overflow, so they are checked first.
fn are_counts(bytes: &[u8]) -> Result<(), &'static str> {
    let (mut at, mut place) = (0, 0_u64);
    while at < bytes.len() {
        let (mut number, mut shift) = (0_u64, 0);
        loop {
            let byte = *bytes.get(at).ok_or("a count that ends early")?;
            at += 1;
            // The ninth byte has no mark of its own: all its bits count.
            if shift == 56 {
                number |= u64::from(byte) << shift;
                break;
            }
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
        }
        let is_skip = number & 1 == 1;
        // Zig-zag: -1 is 1, -2 is 3; 1 is 2, 2 is 4.
        let (skipped, count) = (u128::from(number).div_ceil(2), number / 2);
        if is_skip {
            let skipped = u64::try_from(skipped).map_err(|_| "places that do not exist")?;
            place = place.saturating_add(skipped);
        } else {
            u32::try_from(count).map_err(|_| "a count that is too large")?;
            place += 1;
        }
        if place > shape().places {
            return Err("places that do not exist");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use barograph_model::{MOST_COUNTERS, MOST_FURTHER_LIMITS};
    use proptest::prelude::*;

    use super::*;
    use crate::interval::HIGHEST_MICROS;

    fn times() -> impl Strategy<Value = Histogram> {
        let time = prop_oneof![0_u64..3_000, 0_u64..=HIGHEST_MICROS];
        prop::collection::vec((time, 1_u32..50_000), 0..40).prop_map(|times| {
            let mut all = histogram();
            for (time, count) in times {
                all.saturating_record_n(time, count);
            }
            all
        })
    }

    prop_compose! {
        fn op()(
            response in times(),
            service in times(),
            outcomes in any::<[u64; Outcome::ALL.len()]>(),
            counts in any::<[u64; 3]>(),
            over_further in any::<[u64; MOST_FURTHER_LIMITS]>(),
            sums in prop::array::uniform3(0.0_f64..1e12),
        ) -> OpStats {
            let [over_limit, good_in_time, requests] = counts;
            let [response_sum_s, service_sum_s, cancelled_sum_s] = sums;
            OpStats {
                response,
                service,
                outcomes,
                over_limit,
                over_further,
                good_in_time,
                requests,
                response_sum_s,
                service_sum_s,
                cancelled_sum_s,
            }
        }
    }

    prop_compose! {
        fn interval()(
            times in any::<[u64; 2]>(),
            counts in any::<[u64; 4]>(),
            users: u32,
            sums in prop::array::uniform3(0.0_f64..1e12),
            aged_s in -1e12_f64..1e12,
            counters in any::<[u64; MOST_COUNTERS]>(),
            lag in times(),
            ops in prop::collection::vec(op(), 0..5),
        ) -> Interval {
            let [starts, late, dropped, skipped] = counts;
            let [in_flight_s, worker_cpu_s, busiest_worker_cpu_s] = sums;
            let (from, to) = (Nanos(times[0].min(times[1])), Nanos(times[0].max(times[1])));
            let counters = Counters::new(counters);
            Interval {
                from, to, ops, counters, lag, starts, late, dropped, skipped, users, in_flight_s, aged_s, worker_cpu_s,
                busiest_worker_cpu_s,
            }
        }
    }

    fn bytes_of(interval: &Interval) -> Vec<u8> {
        let mut bytes = Vec::new();
        interval.write_to(&mut bytes);
        bytes
    }

    #[test]
    fn an_empty_interval_takes_little_room() {
        let bytes = bytes_of(&Interval::new(0));
        assert_eq!(bytes.len(), 1 + 7 * 8 + 4 * 8 + MOST_COUNTERS * 8 + HEAD + 1 + 8);
    }

    #[test]
    fn numbers_that_reach_beyond_the_counts_are_damage() {
        let skip = |places: u64| {
            let mut zigzag = (u128::from(places) * 2 - 1) as u64;
            let mut bytes = Vec::new();
            while bytes.len() < 8 && zigzag >= 0x80 {
                bytes.push((zigzag & 0x7f) as u8 | 0x80);
                zigzag >>= 7;
            }
            bytes.push(zigzag as u8);
            bytes
        };
        let places = shape().places;
        assert_eq!(are_counts(&skip(places)), Ok(()));
        assert_eq!(are_counts(&skip(places + 1)), Err("places that do not exist"));
        assert_eq!(are_counts(&skip(1 << 63)), Err("places that do not exist"));
        // 2^32 as a count.
        assert_eq!(are_counts(&[0x80, 0x80, 0x80, 0x80, 0x20]), Err("a count that is too large"));
        assert_eq!(are_counts(&[0x80]), Err("a count that ends early"));
    }

    proptest! {
        #[test]
        fn an_interval_comes_back_as_it_was(interval in interval()) {
            let bytes = bytes_of(&interval);
            let read = Interval::read_from(&bytes, interval.ops.len()).unwrap();
            // Encoded again it is identical, sums of seconds included.
            prop_assert_eq!(&bytes_of(&read), &bytes);
            prop_assert_eq!(&read.lag, &interval.lag);
            prop_assert_eq!(read.counters, interval.counters);
            for (a, b) in read.ops.iter().zip(&interval.ops) {
                prop_assert_eq!((&a.response, &a.service), (&b.response, &b.service));
                prop_assert_eq!((a.outcomes, a.over_further), (b.outcomes, b.over_further));
            }
            prop_assert!(Interval::read_from(&bytes, interval.ops.len() + 1).is_err());
        }

        #[test]
        fn damage_is_an_error_or_another_interval_and_never_a_panic(
            interval in interval(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = bytes_of(&interval);
            let cut = cut.index(bytes.len());
            prop_assert!(Interval::read_from(&bytes[..cut], interval.ops.len()).is_err());
            for (at, to) in changes {
                let at = at.index(bytes.len());
                bytes[at] = to;
            }
            let _ = Interval::read_from(&bytes, interval.ops.len());
        }

        #[test]
        fn noise_is_no_interval(noise in prop::collection::vec(any::<u8>(), 0..300), counts in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Interval::read_from(&noise, 1).is_err());
            // Noise where counts are checked.
            let mut bytes = bytes_of(&Interval::new(0));
            let at = bytes.len() - 9 - HEAD;
            bytes.truncate(at + HEAD);
            bytes[at + 4..at + 8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
            bytes.extend_from_slice(&counts);
            bytes.extend_from_slice(&0_u64.to_le_bytes());
            let _ = Interval::read_from(&bytes, 0);
        }
    }
}

//! Instants, and the dates and times of day that the protocol has for them.

/// Microseconds of a day and of a second.
const DAY_US: i64 = 86_400_000_000;
const SECOND_US: i64 = 1_000_000;

/// Days from 0000-03-01 to 1970-01-01. Years that begin in March have their leap day at the end.
const EPOCH_DAYS: i64 = 719_468;

/// Days of 400, 100, 4 years and one year without a leap day, as they repeat in the calendar.
const DAYS_400: i64 = 146_097;
const DAYS_100: i64 = 36_524;
const DAYS_4: i64 = 1_461;
const DAYS_1: i64 = 365;

/// An instant to the microsecond in the years 0 to 9999. A `timestamp` is in the time zone of the session, a `datetime`
/// in none: both are taken for UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant in microseconds after the beginning of 1970 (UTC); `None` outside of the years 0 to 9999.
    #[must_use]
    pub fn from_unix_us(us: i64) -> Option<Self> {
        const FIRST: i64 = -719_528 * DAY_US;
        const END: i64 = 2_932_897 * DAY_US;
        (FIRST..END).contains(&us).then_some(Timestamp(us))
    }

    /// Microseconds since the beginning of 1970 (UTC).
    #[must_use]
    pub fn unix_us(self) -> i64 {
        self.0
    }

    /// Year, month, day, time of day and microseconds as the protocol has them.
    pub(crate) fn bytes(self) -> [u8; 11] {
        let (year, month, day) = date(self.0.div_euclid(DAY_US));
        let [low, high] = (year as u16).to_le_bytes();
        let of_day = self.0.rem_euclid(DAY_US);
        let seconds = of_day / SECOND_US;
        let [a, b, c, d] = ((of_day % SECOND_US) as u32).to_le_bytes();
        let time = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map(|part| part as u8);
        [low, high, month as u8, day as u8, time[0], time[1], time[2], a, b, c, d]
    }

    /// The instant in bytes of the protocol, of which those of the time may be missing; `None` where there is no such
    /// day, as 0000-00-00.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        if !matches!(bytes.len(), 4 | 7 | 11) {
            return None;
        }
        let mut all = [0; 11];
        all[..bytes.len()].copy_from_slice(bytes);
        let [low, high, month, day, hour, minute, second, a, b, c, d] = all;
        let year = i64::from(u16::from_le_bytes([low, high]));
        let us = u32::from_le_bytes([a, b, c, d]);
        if hour > 23 || minute > 59 || second > 59 || us > 999_999 {
            return None;
        }
        let asked = (year, month.into(), day.into());
        let days = days(asked);
        let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
        let us = days * DAY_US + seconds * SECOND_US + i64::from(us);
        // A day that its month does not have is another one in the calendar.
        Self::from_unix_us(us).filter(|_| date(days) == asked)
    }
}

/// Days from 1970-01-01 to a date.
fn days((year, month, day): (i64, i64, i64)) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_year = (153 * month + 2) / 5 + day - 1;
    let leap = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * DAYS_1 + leap + of_year - EPOCH_DAYS
}

/// The date at a number of days after 1970-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let of_400 = days.rem_euclid(DAYS_400);
    let year = (of_400 - of_400 / (DAYS_4 - 1) + of_400 / DAYS_100 - of_400 / (DAYS_400 - 1)) / DAYS_1;
    let of_year = of_400 - (DAYS_1 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = year + days.div_euclid(DAYS_400) * 400;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_the_calendar() {
        let mut expected = (-1, 12, 31);
        for number in days(expected)..=days((10_000, 1, 1)) {
            assert_eq!((date(number), days(expected)), (expected, number));
            let (year, month, day) = expected;
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let last = match month {
                2 => 28 + i64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            expected = match (month, day == last) {
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
        assert_eq!(days((1970, 1, 1)), 0);
    }

    #[test]
    fn an_instant_is_its_date_and_time() {
        let of = |us| Timestamp::from_unix_us(us).unwrap();
        assert_eq!(of(0).bytes(), [0xb2, 7, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of(-1).bytes(), [0xb1, 7, 12, 31, 23, 59, 59, 0x3f, 0x42, 0x0f, 0]);
        assert_eq!(Timestamp::read(&[0xd0, 7, 2, 29]), Some(of(951_782_400_000_000)));
        assert_eq!(Timestamp::read(&[0xd0, 7, 2, 29, 0, 1, 2]), Some(of(951_782_462_000_000)));
        for none in [
            &[][..],
            &[0, 0, 0, 0],
            &[0xd1, 7, 2, 29],
            &[0xd0, 7, 13, 1],
            &[0xd0, 7, 1, 0],
            &[0xd0, 7, 1, 1, 24, 0, 0],
            &[0xd0, 7, 1],
            &[0x10, 0x27, 1, 1],
            &[0xd0, 7, 1, 1, 0, 0, 0, 0x40, 0x42, 0x0f, 0],
        ] {
            assert_eq!(Timestamp::read(none), None, "{none:?}");
        }
        let first = days((0, 1, 1)) * DAY_US;
        let end = days((10_000, 1, 1)) * DAY_US;
        assert_eq!(
            [first - 1, first, end - 1, end].map(|us| Timestamp::from_unix_us(us).is_some()),
            [false, true, true, false]
        );
    }
}

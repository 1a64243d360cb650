//! The dates of cookies, as browsers read them: RFC 6265, section 5.1.1.

use barograph_model::Nanos;
use jiff::civil::DateTime;

/// First letters of the months, in lower case.
const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// Time of a date since 1970; zero before. The day of the week and the zone are ignored.
pub(super) fn parse(text: &[u8]) -> Option<Nanos> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for word in text.split(|b| is_delimiter(*b)).filter(|word| !word.is_empty()) {
        // Each word is the first missing field that it fits.
        let is_other = fill(&mut time, || clock(word))
            || fill(&mut day, || number(word, 1..=2))
            || fill(&mut month, || month_of(word));
        if !is_other {
            fill(&mut year, || number(word, 2..=4));
        }
    }
    let (hour, minute, second) = time?;
    let year = match year? {
        short @ 70..=99 => short + 1900,
        short @ 0..=69 => short + 2000,
        year => year,
    };
    if year < 1601 {
        return None;
    }
    let small = |number: i16| i8::try_from(number).ok();
    let date = DateTime::new(
        year,
        month?,
        small(day?)?,
        small(hour)?,
        small(minute)?,
        // jiff allows leap seconds, cookies do not.
        small(second).filter(|s| *s < 60)?,
        0,
    );
    let since = date.ok()?.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)).as_secs();
    Some(Nanos(u64::try_from(since).unwrap_or(0).saturating_mul(1_000_000_000)))
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'/' | b';'..=b'@' | b'['..=b'`' | b'{'..=b'~')
}

/// Fills an empty field; returns whether there was a value for it.
fn fill<T>(place: &mut Option<T>, found: impl FnOnce() -> Option<T>) -> bool {
    place.is_none() && {
        *place = found();
        place.is_some()
    }
}

/// The number at the beginning of a word, if it has that many digits.
fn number(word: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i16> {
    let length = word.iter().take_while(|b| b.is_ascii_digit()).count();
    let number = word[..length]
        .iter()
        .fold(0_i16, |n, digit| n.wrapping_mul(10).wrapping_add(i16::from(digit - b'0')));
    digits.contains(&length).then_some(number)
}

/// Hours, minutes and seconds.
fn clock(word: &[u8]) -> Option<(i16, i16, i16)> {
    let mut parts = word.splitn(3, |b| *b == b':');
    let mut exact = || parts.next().filter(|part| part.iter().all(u8::is_ascii_digit));
    let (hour, minute) = (number(exact()?, 1..=2)?, number(exact()?, 1..=2)?);
    Some((hour, minute, number(parts.next()?, 1..=2)?))
}

fn month_of(word: &[u8]) -> Option<i8> {
    let begin = word.get(..3)?;
    let at = MONTHS.iter().position(|name| begin.eq_ignore_ascii_case(*name))?;
    i8::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_read_in_every_form_that_browsers_read() {
        for text in [
            "Sat, 01 Mar 2025 08:49:37 GMT",
            "Sat, 01-Mar-2025 08:49:37 GMT",
            "Saturday, 01-Mar-25 08:49:37 GMT",
            "Sat Mar  1 08:49:37 2025",
            "Mon, 01 Mar 2025 08:49:37 GMT",
            "Sat, 01 Mar 2025 08:49:37 UTC",
            "Sat, 01 Mar 2025 08:49:37 +0300",
            "01 Mar 2025 08:49:37",
            "08:49:37 1 March 2025",
            "\"1/mar/2025 8:49:37\"",
            "2025 Mar 1 08:49:37.123",
            "sat,01-MAR-2025 08:49:37Z",
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Nanos::from_secs(1_740_818_977)), "{text}");
        }
        for (text, seconds) in [
            ("Thu, 01-Jan-1970 00:00:00 GMT", 0),
            ("Thu, 01-Jan-70 00:00:01 GMT", 1),
            ("Sun, 31 Dec 1899 00:00:00 GMT", 0),
            ("Fri, 01 Jan 69 00:00:00 GMT", 3_124_224_000),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(Nanos::from_secs(seconds)), "{text}");
        }
        assert_eq!(parse(b"Fri, 31 Dec 9999 23:59:59 GMT"), Some(Nanos(u64::MAX)));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "0",
            "whenever",
            "01 Mar 2025",
            "Mar 2025 08:49:37",
            "01 08:49:37 2025",
            "01 Mar 08:49:37",
            "30 Feb 2025 08:49:37",
            "01 Mar 2025 24:00:00",
            "01 Mar 2025 08:60:00",
            "01 Mar 2025 08:49:60",
            "32 Mar 2025 08:49:37",
            "00 Mar 2025 08:49:37",
            "01 Mar 1600 08:49:37",
            "01 Mar 20255 08:49:37",
            "01 Mar 2025 08:49",
            "01 Mar 2025 008:49:37",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9:a-zA-Z ,/+-]{0,40}|.{0,30}") {
            parse(text.as_bytes());
        }
    }
}

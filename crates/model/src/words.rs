//! Numbers and errors in sentences, as every crate words them.

use std::error::Error;

use crate::{LoadUnit, Nanos, Offered};

/// `1234567` as `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many users.
#[must_use]
pub fn users(n: u32) -> String {
    if n == 1 { "1 user".to_owned() } else { format!("{} users", count(n.into())) }
}

/// A load: `30,000 users`, `12,300 starts/s`.
#[must_use]
pub fn offered(load: Offered) -> String {
    match load.unit {
        LoadUnit::Users => users(load.level),
        LoadUnit::PerSecond => format!("{} {}", count(load.level.into()), load.unit.name()),
    }
}

/// Milliseconds with three digits that count: `0.05 ms`, `1.5 ms`, `250 ms`.
#[must_use]
pub fn millis(ms: f64) -> String {
    let digits = match ms.abs() {
        x if x >= 100.0 => 0,
        x if x >= 10.0 => 1,
        x if x >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{ms:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} ms")
}

/// A span of time as a person says it: `250 ms`, `48 s`, `5 min 12 s`.
#[must_use]
pub fn span(time: Nanos) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 {
        return millis(seconds * 1e3);
    }
    if seconds < 60.0 && !time.0.is_multiple_of(1_000_000_000) {
        return format!("{} s", (seconds * 10.0).round() / 10.0);
    }
    let whole = time.0.div_ceil(1_000_000_000);
    if whole < 60 { format!("{whole} s") } else { format!("{} min {:02} s", whole / 60, whole % 60) }
}

/// Names as a person lists them.
#[must_use]
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [begin @ .., last] => format!("{} and {last}", begin.join(", ")),
    }
}

/// An error with all its causes, in one line.
#[must_use]
pub fn in_one_line(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart_and_one_user_is_no_users() {
        assert_eq!(
            [7, 999, 1_000, 11_818, 1_234_567].map(count),
            ["7", "999", "1,000", "11,818", "1,234,567"]
        );
        assert_eq!([1, 2, 30_000].map(users), ["1 user", "2 users", "30,000 users"]);
        assert_eq!([listed(&["a"]), listed(&["a", "b", "c"])], ["a", "a, b and c"]);
    }

    #[test]
    fn a_load_is_said_in_its_unit() {
        let load = |unit, level| offered(Offered { unit, level });
        assert_eq!(load(LoadUnit::Users, 1), "1 user");
        assert_eq!(load(LoadUnit::PerSecond, 12_300), "12,300 starts/s");
    }

    #[test]
    fn times_have_the_digits_that_matter() {
        assert_eq!(
            [0.0, 0.05, 0.254, 1.0, 1.54, 12.34, 100.4].map(millis),
            ["0 ms", "0.05 ms", "0.254 ms", "1 ms", "1.54 ms", "12.3 ms", "100 ms"]
        );
        assert_eq!(
            [250, 1_500, 48_000, 60_000, 312_000].map(|ms| span(Nanos::from_millis(ms))),
            ["250 ms", "1.5 s", "48 s", "1 min 00 s", "5 min 12 s"]
        );
    }
}

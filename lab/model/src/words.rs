//! Numbers and errors in sentences, formatted alike in all crates.

use std::error::Error;

use crate::{LoadUnit, Nanos, OfferedLoad};

/// Formats `1234567` as `1,234,567`.
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

/// Text for a missing figure.
pub const NONE: &str = "–";

/// Formats a figure with three significant digits below a thousand, and with separated thousands above.
#[must_use]
pub fn figure(x: f64) -> String {
    match x {
        _ if !x.is_finite() || x < 0.0 => NONE.to_owned(),
        _ if x == 0.0 => "0".to_owned(),
        _ if x >= 99.95 => count(x.round() as u64),
        _ if x >= 9.995 => format!("{x:.1}"),
        _ if x >= 0.9995 => format!("{x:.2}"),
        _ => format!("{x:.3}"),
    }
}

/// Formats a share as a percentage: `2.35 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", figure(share * 100.0))
}

/// Formats a number of things: `1 trial`, `12,000 trials`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Formats a number of users.
#[must_use]
pub fn users(n: u32) -> String {
    counted(n.into(), "user")
}

/// Formats a load: `30,000 users`, `12,300 starts/s`.
#[must_use]
pub fn offered(load: OfferedLoad) -> String {
    match load.unit {
        LoadUnit::Users => users(load.level.whole()),
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => format!("{} {}", load.level, load.noun()),
    }
}

/// Formats milliseconds with three significant digits: `0.05 ms`, `1.5 ms`, `250 ms`.
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

/// Names a quantile: 0.99 is `p99`, 0.999 is `p99.9`.
#[must_use]
pub fn quantile(share: f64) -> String {
    // Six decimals tell p99.9999 from p100, and hide binary rounding.
    format!("p{}", (share * 1e8).round() / 1e6)
}

/// Formats a value with its unit and six significant digits, so that one near a limit is not rounded to it:
/// `94.99 %`, `1,204.5 MB/s`. A share has no unit and is formatted in percent.
#[must_use]
pub fn amount(value: f64, unit: &str) -> String {
    let (value, unit) = if unit.is_empty() { (value * 100.0, "%") } else { (value, unit) };
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let whole = value.abs().log10().floor().max(0.0) as usize;
    let text = format!("{:.*}", 5_usize.saturating_sub(whole), value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let sign = if value < 0.0 { "−" } else { "" };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    format!("{sign}{whole}{} {unit}", rest.trim_end_matches('0').trim_end_matches('.'))
}

/// Formats a span of time: `250 ms`, `48 s`, `5 min 12 s`.
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

/// Joins names as a list in a sentence.
#[must_use]
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [begin @ .., last] => format!("{} and {last}", begin.join(", ")),
    }
}

/// Ratio from which changes are formatted as factors.
const AS_TIMES: f64 = 3.0;

/// Formats a ratio and its interval as changes, all in the same form: `+3.2 %` and `−10.0 % to +12.0 %`, or
/// `3.40 times` and `2.10 times to 5.00 times`. An end that is zero below or infinite above is open:
/// `+10.0 % or more`. NaN is `–`; a ratio of zero is `−100 %`, and an infinite one `from 0`.
#[must_use]
pub fn changes(ratio: f64, (low, high): (f64, f64)) -> (String, String) {
    let as_times = [ratio, low, high].iter().any(|ratio| ratio.is_finite() && *ratio >= AS_TIMES);
    let change = |ratio| change(ratio, as_times);
    let interval = match (low > 0.0, high < f64::INFINITY) {
        _ if low.is_nan() || high.is_nan() => change(f64::NAN),
        _ if high == 0.0 || low == f64::INFINITY => change(low),
        (true, true) => format!("{} to {}", change(low), change(high)),
        (true, false) => format!("{} or more", change(low)),
        (false, true) => format!("{} or less", change(high)),
        (false, false) => "anything".to_owned(),
    };
    (change(ratio), interval)
}

/// Formats one ratio as a change, in percent or as a factor.
fn change(ratio: f64, as_times: bool) -> String {
    if !ratio.is_finite() {
        return if ratio == f64::INFINITY { "from 0" } else { "–" }.to_owned();
    }
    if as_times {
        return format!("{ratio:.2} times");
    }
    let percent = (ratio - 1.0) * 100.0;
    let digits = usize::from(percent.abs() < 99.95);
    let text = format!("{:.digits$}", percent.abs());
    let sign = match text.bytes().all(|b| matches!(b, b'0' | b'.')) {
        true => "±",
        false if percent < 0.0 => "−",
        false => "+",
    };
    format!("{sign}{text} %")
}

/// Formats an error with all its causes in one line.
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
        let load = |unit, level: u32| offered(OfferedLoad { unit, level: level.into() });
        assert_eq!(load(LoadUnit::Users, 1), "1 user");
        assert_eq!(load(LoadUnit::PerSecond, 12_300), "12,300 starts/s");
    }

    #[test]
    fn a_change_and_its_interval_are_told_in_one_form() {
        for (ratio, (low, high), by, interval) in [
            (1.032, (0.98, 1.08), "+3.2 %", "−2.0 % to +8.0 %"),
            (2.5, (1.2, 3.4), "2.50 times", "1.20 times to 3.40 times"),
            (0.99999, (0.8, 2.5), "±0.0 %", "−20.0 % to +150 %"),
            (1.2, (1.1, f64::INFINITY), "+20.0 %", "+10.0 % or more"),
            (0.8, (0.0, 0.9), "−20.0 %", "−10.0 % or less"),
            (1.0, (0.0, f64::INFINITY), "±0.0 %", "anything"),
            (4.25, (f64::NAN, 1.0), "4.25 times", "–"),
            (f64::NAN, (f64::NAN, f64::NAN), "–", "–"),
            (0.0, (0.0, 0.0), "−100 %", "−100 %"),
            (f64::INFINITY, (f64::INFINITY, f64::INFINITY), "from 0", "from 0"),
            (f64::INFINITY, (2.0, f64::INFINITY), "from 0", "+100 % or more"),
        ] {
            assert_eq!(changes(ratio, (low, high)), (by.to_owned(), interval.to_owned()));
        }
    }

    #[test]
    fn quantiles_are_named_and_never_rounded_up_to_all() {
        for (share, name) in [
            (0.5, "p50"),
            (0.29, "p29"),
            (0.99, "p99"),
            (0.999, "p99.9"),
            (0.99999, "p99.999"),
            (1.0, "p100"),
        ] {
            assert_eq!(quantile(share), name);
        }
    }

    #[test]
    fn an_amount_near_a_limit_is_not_rounded_to_it() {
        for (value, unit, text) in [
            (94.99, "%", "94.99 %"),
            (0.9499, "", "94.99 %"),
            (95.0, "%", "95 %"),
            (0.0, "MB/s", "0 MB/s"),
            (1_204.5, "MB/s", "1,204.5 MB/s"),
            (1_234_567.8, "operations/s", "1,234,568 operations/s"),
            (0.012_345_6, "ms", "0.01235 ms"),
            (-2.5, "K", "−2.5 K"),
            (f64::NAN, "ms", "–"),
        ] {
            assert_eq!(amount(value, unit), text);
        }
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

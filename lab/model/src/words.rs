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

/// Significant digits of a figure.
const DIGITS: usize = 3;

/// Most significant digits of a limit, and of a figure beside one.
const MOST_DIGITS: usize = 6;

/// Most decimals of a figure; smaller ones are zero.
const MOST_DECIMALS: i32 = 12;

/// Formats a figure with three significant digits, and from 1,000 on as a whole number: `0.0000614`, `0.312`,
/// `21.9`, `12,346`. All figures for people have this form; data have all digits.
#[must_use]
pub fn figure(x: f64) -> String {
    fixed(x, decimals(x, DIGITS))
}

/// Rounds to significant digits.
fn rounded(x: f64, digits: usize) -> f64 {
    format!("{x:.*e}", digits - 1).parse().unwrap_or(x)
}

/// Decimals of a figure with this many significant digits; none is left out before the point.
fn decimals(x: f64, digits: usize) -> usize {
    let size = rounded(x, digits).abs();
    if size == 0.0 || !size.is_finite() {
        return 0;
    }
    // The logarithm of a power of ten may be a hair below a whole number.
    const HAIR: f64 = 1e-9;
    let exponent = (size.log10() + HAIR).floor() as i32;
    (digits as i32 - 1 - exponent).clamp(0, MOST_DECIMALS) as usize
}

/// Formats a figure with exactly this many decimals and separated thousands.
#[must_use]
pub fn fixed(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        return NONE.to_owned();
    }
    let text = format!("{:.decimals$}", x.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    let sign = if x < 0.0 && !is_zero { "−" } else { "" };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    format!("{sign}{whole}{rest}")
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

/// Formats a limit with its unit, without superfluous digits: `95 %`, `1,204.5 MB/s`. A share has no unit and is
/// formatted in percent.
#[must_use]
pub fn amount(value: f64, unit: &str) -> String {
    trimmed(value, unit, MOST_DIGITS)
}

/// Formats an expected value, or its tolerance, in the same way as a figure: `10 pictures`, `0.0993 s`, `15 %`.
#[must_use]
pub fn expected(value: f64, unit: &str) -> String {
    trimmed(value, unit, DIGITS)
}

fn trimmed(value: f64, unit: &str, digits: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let (value, unit) = in_unit(value, unit);
    let text = fixed(value, decimals(value, digits));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

/// Formats a value with its unit beside a limit: a figure, with further digits where it would be rounded to the
/// limit or beyond: `21.9 %`, but `94.99 %` beside 95 %.
#[must_use]
pub fn beside(value: f64, limit: f64, unit: &str) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let ((value, unit), (limit, _)) = (in_unit(value, unit), in_unit(limit, unit));
    let shown = |digits: usize| {
        let decimals = decimals(value, digits);
        format!("{value:.decimals$}").parse().unwrap_or(value)
    };
    let is_kept_apart = |digits: &usize| shown(*digits).partial_cmp(&limit) == value.partial_cmp(&limit);
    let digits = (DIGITS..MOST_DIGITS).find(is_kept_apart).unwrap_or(MOST_DIGITS);
    format!("{} {unit}", fixed(value, decimals(value, digits)))
}

/// A value in its unit; a share, which has none, in percent.
fn in_unit(value: f64, unit: &str) -> (f64, &str) {
    // Twelve digits hide binary rounding: 0.07 is 7 %.
    if unit.is_empty() { (rounded(value * 100.0, 12), "%") } else { (value, unit) }
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
    fn figures_have_three_significant_digits() {
        for (x, text) in [
            (0.0, "0"),
            (0.000_061_44, "0.0000614"),
            (0.000_999_6, "0.00100"),
            (0.031_24, "0.0312"),
            (0.1, "0.100"),
            (0.999_6, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (21.896_3, "21.9"),
            (99.96, "100"),
            (999.6, "1,000"),
            (12_345.6, "12,346"),
            (-0.5, "−0.500"),
            (-1e-20, "0.000000000000"),
            (f64::INFINITY, NONE),
        ] {
            assert_eq!(figure(x), text, "{x}");
        }
        assert_eq!([fixed(-0.04, 1), fixed(-1_234.56, 1)], ["0.0", "−1,234.6"]);
    }

    #[test]
    fn limits_have_the_digits_that_they_were_given() {
        for (value, unit, text) in [
            (0.9499, "", "94.99 %"),
            (95.0, "%", "95 %"),
            (0.07, "", "7 %"),
            (0.0, "MB/s", "0 MB/s"),
            (1_200.0, "MB/s", "1,200 MB/s"),
            (1_204.5, "MB/s", "1,204.5 MB/s"),
            (1_234_567.8, "operations/s", "1,234,568 operations/s"),
            (0.012_345_6, "ms", "0.0123456 ms"),
            (-2.5, "K", "−2.5 K"),
            (f64::NAN, "ms", "–"),
        ] {
            assert_eq!(amount(value, unit), text);
        }
        for (value, unit, text) in [
            (10.0, "pictures", "10 pictures"),
            (0.099_345_4, "s", "0.0993 s"),
            (0.149_658, "", "15 %"),
            (1_204.5, "MB/s", "1,204 MB/s"),
            (f64::NAN, "s", "–"),
        ] {
            assert_eq!(expected(value, unit), text);
        }
    }

    #[test]
    fn a_value_near_a_limit_is_not_rounded_to_it() {
        for (value, limit, unit, text) in [
            (21.896_3, 30.0, "%", "21.9 %"),
            (94.99, 95.0, "%", "94.99 %"),
            (0.9499, 0.95, "", "94.99 %"),
            (0.07, 0.07, "", "7.00 %"),
            (95.000_01, 95.0, "%", "95.0000 %"),
            (250.4, 250.0, "ms", "250.4 ms"),
            (1_204.6, 2_000.0, "MB/s", "1,205 MB/s"),
            (f64::NAN, 1.0, "ms", "–"),
        ] {
            assert_eq!(beside(value, limit, unit), text);
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

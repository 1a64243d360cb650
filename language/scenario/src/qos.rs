//! Notation of limits, shares and spans of time.

use barograph_model::{Nanos, Share};

/// Units of time, longest name first so that none hides another.
const UNITS: [(&str, f64); 6] =
    [("min", 60e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9), ("h", 3600e9)];

/// Longest span: a day. No user pauses longer, and sums of spans stay far from overflow.
pub(crate) const LONGEST: Nanos = Nanos::from_secs(86_400);

/// Notation of a span of time, for refusals.
pub(crate) const SPAN: &str = "a number with a unit (ns, us, ms, s, min, h), at most a day, as in \"250 ms\"";

/// Notation of a share, for refusals.
pub(crate) const SHARE: &str = "a percentage as in \"0.5 %\", or a number from 0 to 1";

/// Parses a span of time.
pub(crate) fn span(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let (unit, scale) = UNITS.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = number(text.strip_suffix(unit)?)?;
    let nanos = number * scale;
    (nanos.is_finite() && nanos <= LONGEST.0 as f64).then_some(Nanos(nanos.round() as u64))
}

/// Parses a share.
pub(crate) fn share(text: &str) -> Option<Share> {
    let text = text.trim();
    let share = match text.strip_suffix('%') {
        Some(percent) => hundredths(percent)?,
        None => number(text)?,
    };
    Share::new(share).ok()
}

/// Parses a limit such as `p99 < 250 ms`.
pub(crate) fn limit(text: &str) -> Option<(Share, Nanos)> {
    let (quantile, limit) = text.split_once('<')?;
    let quantile = hundredths(quantile.trim().strip_prefix('p')?)?;
    let limit = span(limit.strip_prefix('=').unwrap_or(limit))?;
    let quantile = Share::new(quantile).ok()?;
    (quantile.get() > 0.0 && quantile.get() < 1.0 && limit > Nanos::ZERO).then_some((quantile, limit))
}

/// A hundredth of a plain number, with the exact decimals: 99.9 gives 0.999.
fn hundredths(text: &str) -> Option<f64> {
    number(text)?;
    format!("{}e-2", text.trim()).parse().ok()
}

/// Parses a plain number that is not negative.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        for (text, nanos) in [
            ("250 ms", Some(250_000_000)),
            ("1.25s", Some(1_250_000_000)),
            ("7 us", Some(7_000)),
            ("2 min", Some(120_000_000_000)),
            ("24 h", Some(86_400_000_000_000)),
            ("25 h", None),
            ("0 ns", Some(0)),
            ("-1 s", None),
            ("1e3 s", None),
            ("5", None),
            ("ms", None),
            ("1..2 s", None),
        ] {
            assert_eq!(span(text), nanos.map(Nanos), "{text}");
        }
        assert_eq!(share("0.5 %").map(Share::get), Some(0.005));
        assert_eq!(share("0.25").map(Share::get), Some(0.25));
        assert_eq!(share("101 %"), None);
        assert_eq!(limit("p99.9 < 2 s"), Some((Share::new(0.999).unwrap(), Nanos::from_secs(2))));
        assert_eq!(limit("p50<=10 ms"), Some((Share::new(0.5).unwrap(), Nanos::from_millis(10))));
        for wrong in ["p100 < 1 s", "p0 < 1 s", "99 < 1 s", "p99 > 1 s", "p99 < 0 s", "p99", ""] {
            assert_eq!(limit(wrong), None, "{wrong}");
        }
    }
}

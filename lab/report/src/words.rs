//! Numbers and findings in words for people. NaN becomes a dash.

/// Placeholder for a missing number.
pub(crate) const NONE: &str = "–";

/// Prefix of a figure that may be higher.
pub(crate) const AT_LEAST: &str = "≥ ";

/// Note for a window with so few operations that chance allows their share to be anything.
pub(crate) const TOO_FEW: &str = "too few to tell";

/// Verdict where no operation ended that rules could judge, and none had to.
pub(crate) const NO_OPERATIONS: &str = "no operations";

pub(crate) use barograph_model::words::{count, counted, figure, fixed, offered, quantile};
use barograph_record::FindingRecord;

/// A count: whole numbers without decimals.
pub(crate) fn size(n: f64) -> String {
    if n.fract() == 0.0 { fixed(n, 0) } else { figure(n) }
}

/// A round figure without superfluous digits: `0.3`, `1`, `10,000`.
pub(crate) fn figure_short(x: f64) -> String {
    // A tenth whose binary form is slightly below is 0.1, not 0.10.
    const HAIR: f64 = 1e-9;
    let size = x.abs();
    fixed(x, if size >= 1.0 || size == 0.0 { 0 } else { (-size.log10() - HAIR).ceil() as usize })
}

/// A figure that may be absent.
pub(crate) fn maybe(x: Option<f64>) -> String {
    x.map_or_else(|| NONE.to_owned(), figure)
}

/// Milliseconds without the unit: one decimal below ten, none above.
pub(crate) fn ms(x: f64) -> String {
    fixed(x, if x.abs() < 9.95 { 1 } else { 0 })
}

/// Milliseconds without the unit, with about three digits: response and service time stand side by side, and
/// their small difference matters.
pub(crate) fn ms_fine(x: f64) -> String {
    fixed(x, if x.abs() < 9.995 { 2 } else { usize::from(x.abs() < 99.95) })
}

/// Milliseconds in the most readable unit.
pub(crate) fn time(ms: f64) -> String {
    match ms {
        _ if !ms.is_finite() => NONE.to_owned(),
        _ if ms >= 1000.0 => format!("{} s", fixed(ms / 1e3, if ms < 9_995.0 { 2 } else { 1 })),
        _ if ms >= 0.995 => format!("{} ms", figure(ms)),
        _ => format!("{} µs", fixed(ms * 1e3, 0)),
    }
}

/// Seconds as `48 s`, `5 min 12 s`, `1 h 03 min`.
pub(crate) fn duration(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        return NONE.to_owned();
    }
    if seconds < 9.95 {
        return format!("{} s", fixed(seconds, 1));
    }
    let whole = seconds.round() as u64;
    match whole {
        0..120 => format!("{whole} s"),
        120..3600 if whole.is_multiple_of(60) => format!("{} min", whole / 60),
        120..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Seconds as the clock of a figure: `4:30`.
pub(crate) fn clock(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NONE.to_owned();
    }
    let sign = if seconds < -0.5 { "−" } else { "" };
    let whole = seconds.abs().round() as u64;
    match whole / 3600 {
        0 => format!("{sign}{}:{:02}", whole / 60, whole % 60),
        hours => format!("{sign}{hours}:{:02}:{:02}", whole % 3600 / 60, whole % 60),
    }
}

/// A share as a percentage: `2.35 %`, `98.1 %`, `100 %`.
pub(crate) fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NONE.to_owned();
    }
    let x = share * 100.0;
    let digits = match x.abs() {
        a if a >= 99.95 => 0,
        a if a >= 9.995 => 1,
        0.0 => 0,
        _ => 2,
    };
    format!("{} %", fixed(x, digits))
}

/// A share of the mix: a percentage with two decimals, like in rules. Half a hundredth rounds up even if its
/// binary form is slightly below: a tolerance of 10 % of 10.95 % is 1.095 % and gives 1.10 %.
pub(crate) fn mix(share: f64) -> String {
    const HAIR: f64 = 1e-9;
    if share.is_finite() { format!("{} %", fixed(share * 100.0 + HAIR, 2)) } else { NONE.to_owned() }
}

/// The mark for a finding beside its word, so that colour is never needed.
pub(crate) fn mark(finding: FindingRecord) -> &'static str {
    match finding {
        FindingRecord::Baseline => "◆",
        FindingRecord::Better => "▲",
        FindingRecord::Worse => "▼",
        FindingRecord::Equivalent => "=",
        FindingRecord::Undecided => "?",
    }
}

/// Bytes in the most readable unit.
pub(crate) fn bytes(n: f64) -> String {
    if !n.is_finite() {
        return NONE.to_owned();
    }
    let mut rest = n;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if rest.abs() < 1024.0 {
            return format!("{} {unit}", if unit == "B" { fixed(rest, 0) } else { figure(rest) });
        }
        rest /= 1024.0;
    }
    format!("{} TiB", figure(rest))
}

/// Difference of `measured` from `expected` with its sign: `+1.2 %`.
pub(crate) fn difference(measured: f64, expected: f64) -> String {
    let ratio = measured / expected - 1.0;
    if !ratio.is_finite() {
        return NONE.to_owned();
    }
    let text = fixed(ratio * 100.0, 1);
    let plus = if ratio > 0.0 && text != "0.0" { "+" } else { "" };
    format!("{plus}{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let got = [
            count(0),
            count(999),
            count(1_234_567),
            figure(12_345.6),
            figure(0.999_96),
            figure(0.031_24),
            fixed(-0.04, 1),
            fixed(-1234.56, 1),
            ms(4.26),
            ms(2412.4),
            ms_fine(0.264),
            ms_fine(42.64),
            ms_fine(2412.4),
            time(0.42),
            time(83.4),
            time(2412.0),
            duration(4.2),
            duration(300.0),
            duration(312.0),
            duration(3800.0),
            clock(75.0),
            clock(-3.0),
            percent(0.0235),
            percent(0.981),
            percent(1.0),
            bytes(900.0),
            bytes(11_776.0),
            bytes(3.4e9),
            difference(1.012, 1.0),
            difference(0.5, 1.0),
        ];
        assert_eq!(
            got.join(" | "),
            "0 | 999 | 1,234,567 | 12,346 | 1.00 | 0.0312 | 0.0 | −1,234.6 | 4.3 | 2,412 | 0.26 | 42.6 | 2,412 | 420 µs | 83.4 ms | \
             2.41 s | 4.2 s | 5 min | 5 min 12 s | 1 h 03 min | 1:15 | −0:03 | 2.35 % | 98.1 % | 100 % | 900 B | \
             11.5 KiB | 3.17 GiB | +1.2 % | −50.0 %"
        );
    }

    #[test]
    fn round_figures_have_no_digits_that_say_nothing() {
        for (figure, text) in [
            (0.3, "0.3"),
            (0.003 * 100.0, "0.3"),
            (0.1, "0.1"),
            (0.1_f64.next_down(), "0.1"),
            (0.05, "0.05"),
            (0.002, "0.002"),
            (1.0_f64.next_down(), "1"),
            (0.0, "0"),
            (50.0, "50"),
            (10_000.0, "10,000"),
            (-0.5, "−0.5"),
            (f64::NAN, NONE),
        ] {
            assert_eq!(figure_short(figure), text, "{figure}");
        }
    }

    #[test]
    fn what_is_not_a_number_is_a_dash() {
        for text in [
            figure(f64::NAN),
            ms(f64::INFINITY),
            time(f64::NAN),
            duration(f64::NAN),
            clock(f64::NAN),
            percent(f64::NAN),
            bytes(f64::INFINITY),
            difference(1.0, 0.0),
            maybe(None),
        ] {
            assert_eq!(text, NONE);
        }
    }
}

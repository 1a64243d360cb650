//! Figures in words for screen and summary. Values that are not numbers become a dash.

pub(crate) use barograph_model::words::{NONE, count, figure, percent};

/// Formats milliseconds with a suitable unit.
pub(crate) fn time(ms: f64) -> String {
    match ms {
        _ if !ms.is_finite() || ms < 0.0 => NONE.to_owned(),
        _ if ms >= 999.5 => format!("{} s", figure(ms / 1e3)),
        _ if ms >= 0.9995 => format!("{} ms", figure(ms)),
        _ => format!("{:.0} µs", ms * 1e3),
    }
}

/// Formats bytes with a suitable unit.
pub(crate) fn bytes(n: f64) -> String {
    const STEP: f64 = 1_024.0;
    if n < STEP {
        return format!("{} B", figure(n.round()));
    }
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let step = ((n.log(STEP)) as usize).clamp(1, units.len());
    format!("{} {}", figure(n / STEP.powi(step as i32)), units[step - 1])
}

/// Formats a span of time in the syntax of the command line: `10s`, `1m30s`, `250ms`.
pub(crate) fn span(nanos: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let (seconds, rest) = (nanos / SECOND, nanos % SECOND);
    match (seconds / 60, seconds % 60) {
        (0, 0) => format!("{}ms", rest / 1_000_000),
        (0, s) if rest == 0 => format!("{s}s"),
        (0, s) => format!("{:.1}s", s as f64 + rest as f64 / 1e9),
        (m, 0) => format!("{m}m"),
        (m, s) => format!("{m}m{s}s"),
    }
}

/// Wraps a sentence at `width` characters, with `indent` before all lines but the first. Longer words stay
/// whole.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let long = word.chars().count();
        if length > 0 && length + 1 + long > width {
            lines.push('\n');
            lines.push_str(indent);
            length = indent.chars().count();
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += long;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        let figures = [0.0, 0.0312, 0.9996, 9.99, 12.34, 99.96, 12_345.6].map(figure);
        assert_eq!(figures, ["0", "0.0312", "1.00", "9.99", "12.3", "100", "12,346"]);
        let times = [0.0004, 0.42, 0.9996, 83.41, 999.6, 2_412.0].map(time);
        assert_eq!(times, ["0 µs", "420 µs", "1.00 ms", "83.4 ms", "1.00 s", "2.41 s"]);
        assert_eq!([0.0, 0.0235, 1.0].map(percent), ["0 %", "2.35 %", "100 %"]);
        let sizes = [900.0, 11_776.0, 3.4e9].map(bytes);
        assert_eq!(sizes, ["900 B", "11.5 KiB", "3.17 GiB"]);
        let spans = [250_000_000, 10_000_000_000, 1_500_000_000, 90_000_000_000, 120_000_000_000].map(span);
        assert_eq!(spans, ["250ms", "10s", "1.5s", "1m30s", "2m"]);
    }

    #[test]
    fn sentences_are_wrapped_between_words() {
        assert_eq!(wrapped("one two  three four", 9, "  "), "one two\n  three\n  four");
        assert_eq!(wrapped("extraordinarily long", 4, ""), "extraordinarily\nlong");
        assert_eq!(wrapped("", 4, "  "), "");
    }

    #[test]
    fn what_is_not_a_number_is_a_dash() {
        assert_eq!([f64::NAN, f64::INFINITY].map(figure), [NONE; 2]);
        assert_eq!([time(f64::NAN), percent(f64::NAN)], ["–", "– %"]);
    }
}

//! Text format of Prometheus and OpenMetrics: `name{label="value",...} number`, with optional additions.

use std::borrow::Cow;

use crate::sums::Sums;

/// Parses all lines; lines that are not samples, or have other names, are skipped.
pub(super) fn read(text: &str, sums: &mut Sums<'_>) {
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = &line[..line.find(['{', ' ', '\t']).unwrap_or(line.len())];
        if sums.wants(name)
            && let Some((labels, value)) = sample(&line[name.len()..])
        {
            let of = |label: &str| labels.iter().find(|(name, _)| *name == label).map(|(_, value)| &**value);
            sums.add_labelled(name, of, value);
        }
    }
}

type Labels<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// Parses what follows a name: labels and a number. A timestamp or an exemplar is ignored.
fn sample(rest: &str) -> Option<(Labels<'_>, f64)> {
    let mut labels = Vec::new();
    let mut rest = rest.trim_start();
    if let Some(mut inside) = rest.strip_prefix('{') {
        loop {
            inside = inside.trim_start_matches([',', ' ']);
            if let Some(after) = inside.strip_prefix('}') {
                rest = after;
                break;
            }
            let (name, after) = inside.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((name, value));
            inside = after;
        }
    }
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    Some((labels, value))
}

/// Parses a text up to its closing quote, and returns what follows.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let mut escaped = false;
    let end = text.char_indices().find_map(|(at, c)| match c {
        '"' if !escaped => Some(at),
        _ => {
            escaped = c == '\\' && !escaped;
            None
        }
    })?;
    let (inside, after) = (&text[..end], &text[end + 1..]);
    if !inside.contains('\\') {
        return Some((Cow::Borrowed(inside), after));
    }
    let mut plain = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => plain.push('\n'),
                Some(other) => plain.push(other),
                None => {}
            },
            (c, false) => plain.push(c),
        }
    }
    Some((Cow::Owned(plain), after))
}

#[cfg(test)]
mod tests {
    use crate::Form;
    use crate::form::tests::of;

    const TEXT: &str = "# HELP hits Questions answered\n# TYPE hits counter\n\
        hits_total{cache=\"items\"} 3\nhits_total{cache=\"a,b}\\\"c\",zone=\"1\"} 4 1700000000\n\
        up 1\nempty{} 5\nodd{a=\"b} 6\nnot_a_number NaN\nbig 1.5e+06\nwith_exemplar 2 # {id=\"x\"} 9\n# EOF\n";

    fn found(names: &[&str]) -> Vec<Option<f64>> {
        of(Form::Prometheus, TEXT, names).unwrap()
    }

    #[test]
    fn values_of_a_name_are_added_where_labels_fit() {
        let names =
            ["hits_total", "hits_total{cache=\"items\"}", "hits_total{zone=\"1\"}", "hits_total{zone=\"2\"}"];
        assert_eq!(found(&names), [Some(7.0), Some(3.0), Some(4.0), Some(0.0)]);
    }

    #[test]
    fn other_shapes_are_read_or_passed_over() {
        let names = ["up", "empty", "odd", "not_a_number", "big", "with_exemplar", "hits"];
        let wanted = [Some(1.0), Some(5.0), None, None, Some(1.5e6), Some(2.0), None];
        assert_eq!(found(&names), wanted);
    }
}

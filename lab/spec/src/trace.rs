//! A trace: the instants at which operations start, one per line.

use barograph_model::{Nanos, Refusal};

/// Most instants of one trace: 80 MB of them.
const MOST_INSTANTS: usize = 10_000_000;

/// Latest instant: a day.
const LATEST_S: f64 = 86_400.0;

/// Parses the instants of a trace, in seconds from the start of the load and in rising order. Empty lines,
/// and text after a `#`, are ignored. A refusal names the file, the line and its text; the caller adds the
/// key.
pub fn trace(name: &str, text: &str) -> Result<Vec<Nanos>, Refusal> {
    let mut instants: Vec<Nanos> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let word = line.split('#').next().unwrap_or("").trim();
        if word.is_empty() {
            continue;
        }
        let refuse = |allowed: String, remedy: &str| Refusal {
            place: format!("{name}:{}", at + 1),
            key: "load.trace".to_owned(),
            value: word.to_owned(),
            allowed,
            remedy: remedy.to_owned(),
        };
        let seconds = word.parse::<f64>().ok().filter(|s| (0.0..=LATEST_S).contains(s));
        let Some(seconds) = seconds else {
            let allowed =
                format!("one instant per line: seconds from the start of the load, 0 to {LATEST_S}");
            return Err(refuse(allowed, "correct the line"));
        };
        let instant = Nanos::from_secs_f64(seconds);
        if let Some(last) = instants.last().filter(|last| instant < **last) {
            let allowed = format!("an instant not before the one above it, {}", last.as_secs_f64());
            return Err(refuse(allowed, "sort the file (sort -n)"));
        }
        if instants.len() == MOST_INSTANTS {
            return Err(refuse(format!("at most {MOST_INSTANTS} instants"), "split the trace"));
        }
        instants.push(instant);
    }
    if instants.is_empty() {
        return Err(Refusal {
            place: name.to_owned(),
            key: "load.trace".to_owned(),
            value: "no instant".to_owned(),
            allowed: "at least one line with an instant in seconds".to_owned(),
            remedy: "write one instant per line".to_owned(),
        });
    }
    Ok(instants)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        trace("t.txt", text).unwrap_err().to_string()
    }

    #[test]
    fn a_trace_is_read_and_refused_by_its_line() {
        let instants = trace("t.txt", "# recorded\n0\n0.5 # first\n\n0.5\n2e0\n").unwrap();
        assert_eq!(instants, [0, 500, 500, 2_000].map(Nanos::from_millis));
        assert_eq!(
            refused("1\nsoon\n"),
            "t.txt:2: `load.trace` = soon\n  allowed: one instant per line: seconds from the start of the load, 0 to \
             86400\n  to do:   correct the line"
        );
        assert_eq!(
            refused("2\n1.5\n"),
            "t.txt:2: `load.trace` = 1.5\n  allowed: an instant not before the one above it, 2\n  to do:   sort the \
             file (sort -n)"
        );
        assert!(
            refused("-1").starts_with("t.txt:1: `load.trace` = -1\n") && refused("nan").contains("= nan")
        );
        assert!(refused("# nothing\n").starts_with("t.txt: `load.trace` = no instant\n"));
    }
}

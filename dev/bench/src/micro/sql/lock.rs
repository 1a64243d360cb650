//! A table lock that is held again and again, and its effect on response times.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

/// Transactions per second: few, since all that wait for the lock are done at once after it.
pub(super) const RATE: u32 = 100;

/// Sessions: more than wait for a lock.
pub(super) const SESSIONS: u32 = 150;

/// Interval between the begins of locks, s.
pub(super) const EVERY_S: u64 = 5;

/// Length of a lock, s.
pub(super) const LASTS_S: u64 = 1;

/// Load before the window, s: two locks, at which all sessions are opened.
pub(super) const WARM_UP_S: u64 = 10;

/// Length of the window, s: a whole number of locks.
pub(super) const WINDOW_S: u64 = 20;

/// Quantiles that are compared, by their key in this product's output.
const QUANTILES: [(&str, f64); 3] = [("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99)];

/// The statements of the program that holds the lock, by the clock of the server.
pub(super) fn sql() -> String {
    let mut sql = "SELECT clock_timestamp() + interval '2 s' AS t \\gset\n".to_owned();
    let until = |s: u64| {
        format!(
            "SELECT pg_sleep(extract(epoch FROM :'t'::timestamptz + interval '{s} s' - clock_timestamp()))"
        )
    };
    for lock in 0..(WARM_UP_S + WINDOW_S) / EVERY_S {
        let (begin, end) = (lock * EVERY_S, lock * EVERY_S + LASTS_S);
        // Writing into a text cannot fail.
        let _ =
            writeln!(sql, "{};\nBEGIN; LOCK TABLE pgbench_accounts; {}; COMMIT;", until(begin), until(end));
    }
    sql
}

/// Arguments of a shell that runs psql with a file of statements beside this product, whose exit code it returns.
pub(super) fn beside(
    (psql, port, file): (&Path, u16, &Path),
    (ours, arguments): (&Path, &[String]),
) -> Vec<String> {
    let script = "psql=$1 port=$2 file=$3; shift 3; \
                  \"$psql\" -q -h 127.0.0.1 -p \"$port\" -U postgres -f \"$file\" pgbench >/dev/null & \
                  \"$@\"; code=$?; kill $!; wait; exit $code";
    let mut words = vec!["-c".to_owned(), script.to_owned(), "sh".to_owned()];
    words.extend([psql.display().to_string(), port.to_string()]);
    words.extend([file, ours].map(|path| path.display().to_string()));
    words.extend_from_slice(arguments);
    words
}

/// The exact quantile of response times, ms, for transactions due at equal distances: one that is due `t` before the end of a
/// lock waits for `t`, all others hardly at all.
fn exact_ms(quantile: f64) -> f64 {
    let share = LASTS_S as f64 / EVERY_S as f64;
    LASTS_S as f64 * 1e3 * (1.0 - (1.0 - quantile) / share).max(0.0)
}

/// The largest difference to the exact quantiles, in units of 1 % + 1 ms. Starts are a step apart and begin anywhere in it, so
/// the exact value is a range of a step.
pub(super) fn error(json: &Value) -> anyhow::Result<f64> {
    let (mut largest, step_ms) = (0.0_f64, 1e3 / f64::from(RATE));
    for (key, quantile) in QUANTILES {
        let exact = exact_ms(quantile);
        let found = json.get(key).and_then(Value::as_f64).with_context(|| format!("no number at {key}"))?;
        let beyond = (exact - found).max(found - exact - step_ms).max(0.0);
        largest = largest.max(beyond / (exact / 100.0 + 1.0));
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fifth_of_the_transactions_waits_up_to_a_second() {
        for (quantile, ms) in [(0.5, 0.0), (0.8, 0.0), (0.9, 500.0), (0.95, 750.0), (0.99, 950.0)] {
            assert!((exact_ms(quantile) - ms).abs() < 1e-9, "{quantile}");
        }
        let of = |p90: f64| error(&json!({ "p90_ms": p90, "p95_ms": 755.0, "p99_ms": 960.0 })).unwrap();
        assert!(of(510.0).abs() < 1e-9 && (of(497.0) - 0.5).abs() < 1e-9 && (of(516.0) - 1.0).abs() < 1e-9);
        assert!(error(&json!({ "p90_ms": 500.0 })).is_err());
        assert_eq!((WINDOW_S % EVERY_S, WARM_UP_S % EVERY_S), (0, 0));
    }

    #[test]
    fn the_lock_is_held_by_the_clock_of_the_server() {
        let sql = sql();
        assert_eq!(sql.matches("LOCK TABLE pgbench_accounts;").count(), 6);
        assert!(sql.contains("interval '25 s'") && sql.contains("interval '26 s'"), "{sql}");
    }
}

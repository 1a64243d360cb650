//! Traffic in a measured window: bytes and connections.

use barograph_model::words::millis;
use barograph_record::{IntervalRow, Run};
use serde::Serialize;

use crate::words::{bytes, count};

/// Bytes and connections of a window, from the counters of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Traffic {
    /// Bytes received, without those of TLS itself.
    pub(crate) received_bytes: u64,
    pub(crate) received_bytes_per_s: f64,
    /// Bytes sent, without those of TLS itself.
    pub(crate) sent_bytes: u64,
    pub(crate) sent_bytes_per_s: f64,
    /// Connections made.
    pub(crate) connections_made: u64,
    /// TLS handshakes that succeeded.
    pub(crate) tls_handshakes: u64,
    /// Mean time to make a connection, of all that the load made; absent where none was made or timed.
    pub(crate) connect_mean_ms: Option<f64>,
    /// Mean time of a TLS handshake, of the same.
    pub(crate) tls_mean_ms: Option<f64>,
}

impl Traffic {
    /// Traffic in a window of a run; `None` if its workload does not count it.
    pub(crate) fn of(run: &Run, rows: &[&IntervalRow]) -> Option<Self> {
        let all: Vec<&IntervalRow> = run.intervals().collect();
        Self::counted(&run.expected()?.counters, rows, &all)
    }

    fn counted(names: &[String], rows: &[&IntervalRow], all: &[&IntervalRow]) -> Option<Self> {
        let sum_of = |rows: &[&IntervalRow], name: &str| {
            let at = names.iter().position(|own| own == name)?;
            Some(rows.iter().filter_map(|row| row.counters.get(at)).sum::<u64>())
        };
        let sum = |name| sum_of(rows, name);
        let mean_ms = |spent, count| {
            let count = sum_of(all, count).filter(|count| *count > 0)?;
            Some(sum_of(all, spent)? as f64 / count as f64 / 1e6)
        };
        let seconds: f64 = rows.iter().map(|row| row.to_s - row.from_s).sum();
        let (received, sent) = (sum("received_bytes")?, sum("sent_bytes")?);
        Some(Traffic {
            received_bytes: received,
            received_bytes_per_s: received as f64 / seconds,
            sent_bytes: sent,
            sent_bytes_per_s: sent as f64 / seconds,
            connections_made: sum("connections_made")?,
            tls_handshakes: sum("tls_handshakes")?,
            connect_mean_ms: mean_ms("connect_ns", "connections_made"),
            tls_mean_ms: mean_ms("tls_handshake_ns", "tls_handshakes"),
        })
    }

    /// Parts of its line in the table.
    pub(crate) fn line(&self) -> Vec<String> {
        let mut parts = vec![
            format!("received {}/s", bytes(self.received_bytes_per_s)),
            format!("sent {}/s", bytes(self.sent_bytes_per_s)),
            format!("connections made {}", count(self.connections_made)),
        ];
        if self.tls_handshakes > 0 {
            parts.push(format!("TLS handshakes {}", count(self.tls_handshakes)));
        }
        parts.extend(self.connect_mean_ms.map(|ms| format!("connect mean {}", millis(ms))));
        parts.extend(self.tls_mean_ms.map(|ms| format!("TLS handshake mean {}", millis(ms))));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(from_s: f64, counters: &str) -> IntervalRow {
        let text = format!(
            r#"{{"from_s":{from_s},"to_s":{},"users":1,"starts":1,"lag_p50_ms":0,"lag_p99_ms":0,"in_flight":1,
            "worker_cpu":0,"busiest_worker":0,"ops":[],"counters":[{counters}]}}"#,
            from_s + 1.0
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn counters_of_the_window_are_added_up() {
        let names = ["received_bytes", "sent_bytes", "connections_made", "tls_handshakes"];
        let names = names.into_iter().chain(["connect_ns", "tls_handshake_ns"]);
        let names: Vec<String> = names.map(str::to_owned).collect();
        let rows =
            [row(0.0, "0,0,1,0,3500000,0"), row(1.0, "4096,100"), row(2.0, "0,100,3,2,500000,3000000")];
        let all: Vec<&IntervalRow> = rows.iter().collect();
        let rows = &all[1..];
        let traffic = Traffic::counted(&names, rows, &all).unwrap();
        assert_eq!(
            traffic.line(),
            [
                "received 2.00 KiB/s",
                "sent 100 B/s",
                "connections made 3",
                "TLS handshakes 2",
                "connect mean 1 ms",
                "TLS handshake mean 1.5 ms"
            ]
        );
        let older = Traffic::counted(&names[..4], rows, &all).unwrap();
        assert_eq!((older.connect_mean_ms, older.tls_mean_ms), (None, None));
        assert_eq!((traffic.received_bytes, traffic.sent_bytes), (4_096, 200));
        assert_eq!(Traffic::counted(&names[..1], rows, &all), None);
    }
}

//! Traffic in a measured window: bytes and connections.

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
}

impl Traffic {
    /// Traffic in a window of a run; `None` if its workload does not count it.
    pub(crate) fn of(run: &Run, rows: &[&IntervalRow]) -> Option<Self> {
        Self::counted(&run.expected()?.counters, rows)
    }

    fn counted(names: &[String], rows: &[&IntervalRow]) -> Option<Self> {
        let sum = |name: &str| {
            let at = names.iter().position(|own| own == name)?;
            Some(rows.iter().filter_map(|row| row.counters.get(at)).sum::<u64>())
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
        let names = ["received_bytes", "sent_bytes", "connections_made", "tls_handshakes"].map(str::to_owned);
        let rows = [row(1.0, "4096,100"), row(2.0, "0,100,3,2")];
        let rows: Vec<&IntervalRow> = rows.iter().collect();
        let traffic = Traffic::counted(&names, &rows).unwrap();
        assert_eq!(
            traffic.line(),
            ["received 2.00 KiB/s", "sent 100 B/s", "connections made 3", "TLS handshakes 2"]
        );
        assert_eq!((traffic.received_bytes, traffic.sent_bytes), (4_096, 200));
        assert_eq!(Traffic::counted(&names[..1], &rows), None);
    }
}

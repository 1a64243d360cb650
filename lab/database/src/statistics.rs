//! Statistics of databases that studies compare: times without a commit, sessions by what they wait for, log and checkpoints.

use barograph_model::{BetterWhen, Joined, StatisticMetric};

/// The tier of servers.
const SERVER: &str = "database";

/// The longest time without a commit of any user.
pub const LONGEST_GAP: StatisticMetric = StatisticMetric {
    id: "longest_gap_ms",
    title: "longest time without a commit",
    unit: "ms",
    better: BetterWhen::Lower,
    tier: "",
    of: &["longest_gap_ms"],
    joined: Joined::Highest,
};

/// All of them; a database in the program of the driver has the first one only.
pub static STATISTICS: [StatisticMetric; 11] = [
    LONGEST_GAP,
    sessions("sessions_running", "sessions with a statement that waits for nothing", &["running/"]),
    sessions("sessions_in_locks", "sessions that wait for locks", &["lock/"]),
    sessions("sessions_in_io", "sessions that read or write", &["io/"]),
    sessions("sessions_in_lwlocks", "sessions that wait for shared structures", &["lwlock/"]),
    sessions("sessions_in_commits", "sessions that commit", &["commit/"]),
    sessions("sessions_in_clients", "sessions that wait for their client in a transaction", &["client/"]),
    rate("log_bytes_per_s", "log written", "bytes/s", &["wal_bytes", "log_bytes"]),
    rate("log_syncs_per_s", "log forced to the disk", "syncs/s", &["wal_syncs"]),
    rate("checkpoints_per_s", "checkpoints", "checkpoints/s", &["checkpoints"]),
    rate("deadlocks_per_s", "deadlocks at the server", "deadlocks/s", &["deadlocks"]),
];

const fn sessions(id: &'static str, title: &'static str, of: &'static [&'static str]) -> StatisticMetric {
    StatisticMetric {
        id,
        title,
        unit: "sessions",
        better: BetterWhen::Lower,
        tier: SERVER,
        of,
        joined: Joined::Mean,
    }
}

const fn rate(
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    of: &'static [&'static str],
) -> StatisticMetric {
    StatisticMetric { id, title, unit, better: BetterWhen::Lower, tier: SERVER, of, joined: Joined::Mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_classes_are_told_from_names() {
        for (at, one) in STATISTICS.iter().enumerate() {
            assert!(STATISTICS[..at].iter().all(|other| other.id != one.id), "{}", one.id);
            assert_eq!(one.is_of_states(), one.unit == "sessions", "{}", one.id);
        }
        let [_, running, locks, ..] = &STATISTICS;
        assert!(locks.is_of("lock/row") && !locks.is_of("lwlock/WALWrite") && !running.is_of("running"));
        assert!(LONGEST_GAP.is_of("longest_gap_ms") && !LONGEST_GAP.is_of("longest_gap_ms_x"));
    }
}

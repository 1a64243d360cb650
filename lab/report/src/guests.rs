//! Figures of virtual machines from inside, beside the use of their emulators on this machine.

use barograph_record::{ProbeRow, Run, WindowRecord};

use crate::answer::{mean, mean_cores, samples};
use crate::html::Grid;
use crate::words;

/// Prefix of the names of a guest's rows.
const GUEST: &str = "guest-";

/// Means over the deciding window, a row for each guest and each unit in it; `None` without figures of
/// guests.
pub(crate) fn table(run: &Run) -> Option<Grid> {
    let window = &run.deciding_trial()?.window;
    let mut subjects: Vec<&str> = Vec::new();
    for row in run.probes.iter().filter(|row| row.subject.starts_with(GUEST)) {
        if !subjects.contains(&row.subject.as_str()) {
            subjects.push(&row.subject);
        }
    }
    // A guest before its units.
    subjects.sort_unstable();
    let rows: Vec<_> = subjects.into_iter().filter_map(|subject| row(run, subject, window)).collect();
    let head = [
        "Guest",
        "Cores",
        "Emulator's cores",
        "Idle",
        "Stolen",
        "Memory",
        "CPU pressure",
        "Disk pressure",
        "Received/s",
        "Sent/s",
        "Resent/s",
    ];
    (!rows.is_empty()).then(|| Grid::new(&head, rows))
}

fn row(run: &Run, subject: &str, window: &WindowRecord) -> Option<Vec<String>> {
    let cores = mean_cores(run, subject, window)?;
    let of = |get: fn(&ProbeRow) -> Option<f64>| mean(samples(run, subject, window).filter_map(get));
    let worded =
        |value: Option<f64>, word: fn(f64) -> String| value.map_or_else(|| words::NONE.to_owned(), word);
    let percent = |value: f64| format!("{} %", words::figure(value));
    let two = |value: f64| words::fixed(value, 2);
    let name = subject.trim_start_matches(GUEST);
    // Units stand below their guest, which has the figures of the machine.
    let (name, outside) = match name.split_once('/') {
        Some((_, unit)) => (format!("· {unit}"), None),
        None => (name.to_owned(), emulator(run, name, window)),
    };
    Some(vec![
        name,
        two(cores),
        worded(outside, two),
        worded(of(|row| row.cpu_idle_cores), two),
        worded(of(|row| Some(row.steal_share? * 100.0)), percent),
        worded(of(|row| row.rss_bytes.map(|bytes| bytes as f64)), words::bytes),
        worded(of(|row| row.psi_cpu), percent),
        worded(of(|row| row.psi_io), percent),
        worded(of(|row| row.net_rx_bytes_s), words::bytes),
        worded(of(|row| row.net_tx_bytes_s), words::bytes),
        worded(resent(run, subject, window), words::figure),
    ])
}

/// TCP segments sent again per second: each row has their number since the previous row.
fn resent(run: &Run, subject: &str, window: &WindowRecord) -> Option<f64> {
    let counted = samples(run, subject, window).filter_map(|row| row.tcp_retransmits);
    let (sum, rows) = counted.fold((0, 0), |(sum, rows), segments| (sum + segments, rows + 1));
    (rows > 0).then(|| sum as f64 / window.seconds())
}

/// Use of the machine around a guest on this host: counted with the first of its parts.
fn emulator(run: &Run, guest: &str, window: &WindowRecord) -> Option<f64> {
    let parts = run.topology()?.parts.iter().filter(|part| part.host == guest);
    parts.filter_map(|part| mean_cores(run, &part.name, window)).reduce(|sum, cores| sum + cores)
}

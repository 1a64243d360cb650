//! Resource samples: `probe.csv`, one row per sample and subject.

use std::fmt::Write as _;
use std::path::Path;

use crate::RecordError;

/// Subject for all application nodes together.
pub const APPLICATION: &str = "app";

/// Subject for the application nodes of one of several deploying loads.
#[must_use]
pub fn application_of(load: &str) -> String {
    format!("{load}/{APPLICATION}")
}

/// Subject for a source of power.
#[must_use]
pub fn power_of(source: &str) -> String {
    format!("{POWER}{source}")
}

/// Beginning of the subjects for sources of power.
pub(crate) const POWER: &str = "power/";

/// Resource use of a subject since its previous sample. Figures that do not apply or could not be read are
/// absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProbeRow {
    /// Seconds since the run began.
    pub at_s: f64,
    /// Subject: `host`, `driver`, `app` (all nodes of the application together), `LOAD/app` (nodes of the
    /// application of one of several deploying loads), the name of a part, or `guest-HOST` and
    /// `guest-HOST/UNIT` for figures from the kernel of a virtual machine and its units; `guest-HOST/agent`
    /// is the agent that reads them. `power/SOURCE` is a source of power, whose name begins with its scope.
    pub subject: String,
    /// Cores used in user mode since the previous sample.
    pub cpu_user_cores: Option<f64>,
    /// Cores used in the kernel since the previous sample; for the host, interrupts included.
    pub cpu_system_cores: Option<f64>,
    /// Resident memory in bytes; for the host, memory in use.
    pub rss_bytes: Option<u64>,
    /// Page cache charged to the subject, in bytes.
    pub page_cache_bytes: Option<u64>,
    /// Seconds per second for which the limit of CPU time held it back, summed over cores.
    pub throttled_s: Option<f64>,
    /// Seconds per second for which its threads could run and waited for a core, summed over threads.
    pub run_delay_s: Option<f64>,
    /// Number of threads.
    pub threads: Option<u64>,
    /// Number of open file descriptors.
    pub fds: Option<u64>,
    /// Context switches per second.
    pub ctx_switches_s: Option<f64>,
    /// Bytes received per second.
    pub net_rx_bytes_s: Option<f64>,
    /// Bytes sent per second.
    pub net_tx_bytes_s: Option<f64>,
    /// Packets received per second.
    pub net_rx_packets_s: Option<f64>,
    /// Packets sent per second.
    pub net_tx_packets_s: Option<f64>,
    /// Bytes read from disk per second.
    pub disk_read_bytes_s: Option<f64>,
    /// Bytes written to disk per second.
    pub disk_write_bytes_s: Option<f64>,
    /// Share of CPU time taken away by the hypervisor, 0 to 1.
    pub steal_share: Option<f64>,
    /// CPU pressure: percentage of the time in which something waited for CPU; for the host over the last 10
    /// s, for a part since the previous sample.
    pub psi_cpu: Option<f64>,
    /// Memory pressure, in the same way.
    pub psi_memory: Option<f64>,
    /// Disk pressure, in the same way.
    pub psi_io: Option<f64>,
    /// TCP segments retransmitted since the previous sample.
    pub tcp_retransmits: Option<u64>,
    /// For the host: cores busy with interrupts since the previous sample, a part of those in the kernel.
    /// Older records lack this and the next two.
    pub cpu_irq_cores: Option<f64>,
    /// For the host: cores idle while waiting for a disk, since the previous sample.
    pub cpu_iowait_cores: Option<f64>,
    /// For the host: other idle cores, since the previous sample.
    pub cpu_idle_cores: Option<f64>,
    /// For a source of power: watts, as read or as the mean since the previous sample. Older records lack this
    /// and the next.
    pub watts: Option<f64>,
    /// For a source of power: joules since its first sample; absent if unknown since the previous sample.
    pub energy_j: Option<f64>,
}

impl ProbeRow {
    /// Returns the cores used, in user mode and the kernel together.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        match (self.cpu_user_cores, self.cpu_system_cores) {
            (None, None) => None,
            (user, system) => Some(user.unwrap_or(0.0) + system.unwrap_or(0.0)),
        }
    }
}

impl ProbeRow {
    /// Returns the names of the figures in a row, as in the header of `probe.csv`.
    pub fn figure_names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(name, ..)| *name)
    }

    /// Returns the figures, in the order of [`Self::figure_names`].
    pub fn figures(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        COLUMNS.iter().map(|(_, get, _)| get(self))
    }
}

type ProbeField = fn(&ProbeRow) -> Option<f64>;
type Set = fn(&mut ProbeRow, f64);

/// Columns after `at_s,subject`, in the order written. They are read by name, so columns may be added and
/// moved.
const COLUMNS: [(&str, ProbeField, Set); 25] = [
    ("cpu_user_cores", |r| r.cpu_user_cores, |r, x| r.cpu_user_cores = Some(x)),
    ("cpu_system_cores", |r| r.cpu_system_cores, |r, x| r.cpu_system_cores = Some(x)),
    ("rss_bytes", |r| whole(r.rss_bytes), |r, x| r.rss_bytes = Some(x as u64)),
    ("page_cache_bytes", |r| whole(r.page_cache_bytes), |r, x| r.page_cache_bytes = Some(x as u64)),
    ("throttled_s", |r| r.throttled_s, |r, x| r.throttled_s = Some(x)),
    ("threads", |r| whole(r.threads), |r, x| r.threads = Some(x as u64)),
    ("fds", |r| whole(r.fds), |r, x| r.fds = Some(x as u64)),
    ("ctx_switches_s", |r| r.ctx_switches_s, |r, x| r.ctx_switches_s = Some(x)),
    ("net_rx_bytes_s", |r| r.net_rx_bytes_s, |r, x| r.net_rx_bytes_s = Some(x)),
    ("net_tx_bytes_s", |r| r.net_tx_bytes_s, |r, x| r.net_tx_bytes_s = Some(x)),
    ("net_rx_packets_s", |r| r.net_rx_packets_s, |r, x| r.net_rx_packets_s = Some(x)),
    ("net_tx_packets_s", |r| r.net_tx_packets_s, |r, x| r.net_tx_packets_s = Some(x)),
    ("disk_read_bytes_s", |r| r.disk_read_bytes_s, |r, x| r.disk_read_bytes_s = Some(x)),
    ("disk_write_bytes_s", |r| r.disk_write_bytes_s, |r, x| r.disk_write_bytes_s = Some(x)),
    ("steal_share", |r| r.steal_share, |r, x| r.steal_share = Some(x)),
    ("psi_cpu", |r| r.psi_cpu, |r, x| r.psi_cpu = Some(x)),
    ("psi_memory", |r| r.psi_memory, |r, x| r.psi_memory = Some(x)),
    ("psi_io", |r| r.psi_io, |r, x| r.psi_io = Some(x)),
    ("run_delay_s", |r| r.run_delay_s, |r, x| r.run_delay_s = Some(x)),
    ("tcp_retransmits", |r| whole(r.tcp_retransmits), |r, x| r.tcp_retransmits = Some(x as u64)),
    ("cpu_irq_cores", |r| r.cpu_irq_cores, |r, x| r.cpu_irq_cores = Some(x)),
    ("cpu_iowait_cores", |r| r.cpu_iowait_cores, |r, x| r.cpu_iowait_cores = Some(x)),
    ("cpu_idle_cores", |r| r.cpu_idle_cores, |r, x| r.cpu_idle_cores = Some(x)),
    ("watts", |r| r.watts, |r, x| r.watts = Some(x)),
    ("energy_j", |r| r.energy_j, |r, x| r.energy_j = Some(x)),
];

/// Exact up to 2^53, far above any count or size here.
fn whole(count: Option<u64>) -> Option<f64> {
    count.map(|n| n as f64)
}

/// Returns the header row.
pub(crate) fn header() -> String {
    let mut line = "at_s,subject".to_owned();
    for (name, ..) in COLUMNS {
        line.push(',');
        line.push_str(name);
    }
    line.push('\n');
    line
}

/// Formats a row. A subject is a plain word; characters that would break the row are replaced.
pub(crate) fn line(row: &ProbeRow) -> String {
    let subject = row.subject.replace([',', '"', '\n', '\r'], "_");
    let mut line = format!("{:.3},{subject}", row.at_s);
    for (_, get, _) in COLUMNS {
        line.push(',');
        if let Some(x) = get(row).filter(|x| x.is_finite()) {
            // Four decimals: a ten-thousandth of a core is below the kernel's resolution.
            let rounded = (x * 1e4).round() / 1e4;
            write!(line, "{rounded}").expect("writing to a string does not fail");
        }
    }
    line.push('\n');
    line
}

/// Parses the rows of a file, and lists those that are invalid.
pub(crate) fn read(path: &Path, text: &str) -> (Vec<ProbeRow>, Vec<RecordError>) {
    let mut lines = text.split_inclusive('\n').enumerate();
    let Some((_, first)) = lines.next() else { return (Vec::new(), Vec::new()) };
    let setters: Vec<Option<Set>> = first
        .trim_end()
        .split(',')
        .map(|name| COLUMNS.iter().find(|(known, ..)| *known == name).map(|(_, _, set)| *set))
        .collect();
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    for (i, text) in lines {
        match row(text, &setters) {
            Ok(row) => rows.push(row),
            Err(why) => bad.push(RecordError::bad_line(path, i + 1, why)),
        }
    }
    (rows, bad)
}

fn row(text: &str, setters: &[Option<Set>]) -> Result<ProbeRow, String> {
    let Some(whole) = text.strip_suffix('\n') else { return Err("the line is cut".to_owned()) };
    let fields: Vec<&str> = whole.trim_end().split(',').collect();
    if fields.len() != setters.len() || fields.len() < 2 {
        return Err(format!("{} fields where the header has {}", fields.len(), setters.len()));
    }
    let number = |text: &str| text.parse::<f64>().map_err(|why| format!("`{text}`: {why}"));
    let mut row = ProbeRow { at_s: number(fields[0])?, subject: fields[1].to_owned(), ..ProbeRow::default() };
    for (field, set) in fields.iter().zip(setters) {
        if let (Some(set), false) = (set, field.is_empty()) {
            set(&mut row, number(field)?);
        }
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_absent_stays_absent() {
        let row = ProbeRow {
            at_s: 12.5,
            subject: "app".to_owned(),
            cpu_user_cores: Some(1.25),
            rss_bytes: Some(3_000_000_123),
            tcp_retransmits: Some(0),
            cpu_iowait_cores: Some(0.25),
            cpu_idle_cores: Some(1.5),
            ..ProbeRow::default()
        };
        let text = header() + &line(&row) + "13.0,app,1";
        let (rows, bad) = read(Path::new("probe.csv"), &text);
        assert_eq!(rows, [row]);
        assert_eq!(bad.len(), 1);
        assert_eq!(bad[0].to_string(), "understand `probe.csv` line 3");
    }

    #[test]
    fn columns_are_found_by_name() {
        let text = "at_s,subject,colour,threads\n1,driver,blue,7\n";
        let (rows, bad) = read(Path::new("x"), text);
        assert!(bad.is_empty());
        assert_eq!((rows[0].threads, rows[0].fds), (Some(7), None));
    }
}

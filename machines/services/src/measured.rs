//! Measured cost of an idle service.

use serde::Deserialize;

/// Figures with the conditions of their measurement. `cargo xtask bench services` takes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredFigures {
    /// Date, as `YYYY-MM-DD`.
    pub date: String,
    /// Description of the machine.
    pub machine: String,
    /// Measured version.
    pub version: String,
    /// Figures with the product's defaults.
    pub vanilla: Figures,
    /// Figures when sized for the machine.
    pub tuned: Figures,
}

/// Figures of one flavour.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// Median time from the request to readiness, including steps of preparation, over several starts, in
    /// seconds.
    pub ready_s: f64,
    /// Median time from the request to stop until the end, in seconds.
    pub stop_s: f64,
    /// Resident memory of all its processes when idle, with shared pages counted in each, in MiB.
    pub rss_mib: f64,
    /// Resident memory of all its processes when idle, with shared pages counted once, in MiB.
    pub pss_mib: f64,
    /// CPU of all its processes when idle, in thousandths of a core.
    pub idle_millicores: f64,
    /// Number of processes.
    pub processes: u32,
}

//! What a service was measured to cost when nobody asks anything of it.

use serde::Deserialize;

/// Figures with the conditions they were taken under. `cargo xtask bench services` takes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// When, as `YYYY-MM-DD`.
    pub date: String,
    /// On what.
    pub machine: String,
    /// The version that was measured.
    pub version: String,
    /// With its own defaults.
    pub vanilla: Figures,
    /// Sized for the machine.
    pub tuned: Figures,
}

/// Figures of one flavour.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// From the wish to readiness, with its steps of preparation: the median of several starts, in seconds.
    pub ready_s: f64,
    /// From the wish to stop until its end: the median, in seconds.
    pub stop_s: f64,
    /// Resident memory of all its processes when idle, shared pages counted in each, in MiB.
    pub rss_mib: f64,
    /// Resident memory of all its processes when idle, shared pages counted once, in MiB.
    pub pss_mib: f64,
    /// CPU of all its processes when idle, in thousandths of a core.
    pub idle_millicores: f64,
    /// Processes.
    pub processes: u32,
}

//! The phases of a run, in order; only a target that is filled through its address is filled after it was deployed.

/// A phase of a run. Each leaves an entry in the record when it starts and when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Is the plan possible on this machine?
    Check,
    /// Put the data in place, or reuse it.
    Fill,
    /// Make the units exist and wait until they are ready.
    Deploy,
    /// Load grows on purpose, nothing is judged but the first sign of failure.
    Ramp,
    /// Load as in measurement, kept but not counted.
    WarmUp,
    /// Measured windows.
    Hold,
    /// No new starts; wait for those in flight.
    Drain,
    /// Is the data still right?
    Verify,
    /// Logs, configurations and facts into the record.
    Collect,
    /// Nothing stays behind.
    Remove,
}

impl Phase {
    /// The name in records, screens and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Check => "check",
            Phase::Fill => "fill",
            Phase::Deploy => "deploy",
            Phase::Ramp => "ramp",
            Phase::WarmUp => "warm-up",
            Phase::Hold => "hold",
            Phase::Drain => "drain",
            Phase::Verify => "verify",
            Phase::Collect => "collect",
            Phase::Remove => "remove",
        }
    }
}

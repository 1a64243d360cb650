//! Phases of a run, in order. A target that is filled through its address is filled after it was deployed.

/// A phase of a run. Each has entries in the record at its start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Checks that the plan is possible on this machine.
    Check,
    /// Puts the data in place, or reuses them.
    Fill,
    /// Creates the units and waits until they are ready.
    Deploy,
    /// Load grows on purpose; only the first sign of failure is judged.
    Ramp,
    /// Load as in measurement, kept and not counted.
    WarmUp,
    /// Measured windows.
    Hold,
    /// No new starts, while operations in flight end.
    Drain,
    /// Checks that the data are still right.
    Verify,
    /// Copies logs, configurations and facts into the record.
    Collect,
    /// Removes everything that was created.
    Remove,
}

impl Phase {
    /// Returns the name in records, screens and reports.
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

//! Counters of a guest's kernel.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Counters of a guest's kernel at one instant, as text: the reader parses them, so that a guest does as
/// little as possible for a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCounters {
    /// Time of the sample, by a monotonic clock of the guest.
    pub at: Duration,
    /// Ticks of CPU time per second.
    pub hz: u64,
    /// Names of its whole disks: partitions are listed too, and would count twice.
    pub disks: Vec<String>,
    /// Name below `/proc` (as `stat`, `net/dev`, `pressure/cpu`) and text of each existing file.
    pub files: Vec<(String, String)>,
    /// CPU time of the agent in the guest, for this and all other work.
    pub agent: Duration,
    /// Units with a control group.
    pub units: Vec<UnitCounters>,
}

impl GuestCounters {
    /// Returns the text of a file below `/proc`.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

/// Counters of a unit's control group in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCounters {
    /// Name of the unit.
    pub unit: String,
    /// Name (as `cpu.stat`, `memory.current`) and text of each existing file.
    pub files: Vec<(String, String)>,
}

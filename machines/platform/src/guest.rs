//! What the kernel of a guest counts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The counters of a guest's kernel at one instant, in its own words: whoever reads them has the means to understand those of
/// this machine, and a guest should do as little as it can for being looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestCounters {
    /// When, by a clock of the guest that nobody sets.
    pub at: Duration,
    /// Ticks of CPU time in a second.
    pub hz: u64,
    /// Names of its whole disks: partitions of them are listed too, and would count twice.
    pub disks: Vec<String>,
    /// Name below `/proc` (as `stat`, `net/dev`, `pressure/cpu`) and text of each file that is there.
    pub files: Vec<(String, String)>,
    /// CPU time that the one who reads them in the guest has used, for this and all else.
    pub agent: Duration,
    /// Its units that have a control group.
    pub units: Vec<UnitCounters>,
}

impl GuestCounters {
    /// The text of a file below `/proc`.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.files.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }
}

/// The counters of a unit's control group in a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitCounters {
    /// The unit's name.
    pub unit: String,
    /// Name (as `cpu.stat`, `memory.current`) and text of each file that is there.
    pub files: Vec<(String, String)>,
}

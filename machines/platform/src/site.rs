//! What a site is to be: hosts, links between them, and what all of them see.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Limits;

/// The host that every site has without asking: the machine that runs Barograph.
pub const HERE: &str = "here";

/// A set of hosts that belong together: everything one run deploys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteSpec {
    /// Tells this site's things from those of other runs: lower-case letters, digits and `-`, 24 at the most.
    pub id: String,
    /// An empty or absent folder of the site's own, for what its hosts keep. The platform makes and removes it.
    pub folder: PathBuf,
    /// The hosts, by name.
    pub hosts: Vec<HostSpec>,
    /// Folders and files of this machine that every host sees under the same path and cannot change.
    pub shared: Vec<PathBuf>,
    /// Folders of this machine that every host sees under the same path and may change.
    pub writable: Vec<PathBuf>,
    /// Settings of one kind of platform, by name: `("network", "host")`.
    pub options: Vec<(String, String)>,
    /// Units whose working folder lies on a file system of its own, so that it can be full and nothing else is.
    #[serde(default)]
    pub disks: Vec<DiskSpec>,
}

/// A file system for the working folder of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// The unit's name.
    pub unit: String,
    /// Its size; what the file system needs for itself counts.
    pub bytes: u64,
}

impl SiteSpec {
    /// The value of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// How large the file system of a unit is to be; `None` when it has none of its own.
    #[must_use]
    pub fn disk(&self, unit: &str) -> Option<u64> {
        self.disks.iter().find(|disk| disk.unit == unit).map(|disk| disk.bytes)
    }
}

/// One host of a site. Where the platform has no hosts of its own, all are the machine itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Lower-case letters, digits and `-`, 12 at the most.
    pub name: String,
    /// What all its units together may use. A virtual machine is made with so much.
    pub limits: Limits,
    /// How it hangs on the network.
    pub link: LinkSpec,
}

/// The way between a host and the site's switch. The default is as quick as the platform can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Most bits per second, each way.
    pub bits_per_second: Option<u64>,
    /// Time a packet takes longer, each way.
    pub delay: Duration,
    /// Part of the packets that get lost, each way, 0 to 1.
    pub loss: f64,
}

impl LinkSpec {
    /// Whether packets go as quickly as the platform can.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == LinkSpec::default()
    }
}

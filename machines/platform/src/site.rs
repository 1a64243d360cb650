//! Description of a site: hosts, links between them, and shared folders.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Limits;

/// The host that every site has: the machine that runs Barograph.
pub const HERE: &str = "here";

/// A set of hosts that belong together: the whole deployment of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteSpec {
    /// Distinguishes this site's things from those of other runs: at most 24 lower-case letters, digits and
    /// `-`.
    pub id: String,
    /// An empty or absent folder for the files of its hosts. The platform creates and removes it.
    pub folder: PathBuf,
    /// The hosts, by name.
    pub hosts: Vec<HostSpec>,
    /// Folders and files of this machine that every host sees under the same path, read-only.
    pub shared: Vec<PathBuf>,
    /// Folders of this machine that every host sees under the same path, with write access.
    pub writable: Vec<PathBuf>,
    /// Settings of one kind of platform, by name: `("network", "host")`.
    pub options: Vec<(String, String)>,
    /// Units whose working folder is on a file system of its own, which can fill up alone.
    #[serde(default)]
    pub disks: Vec<DiskSpec>,
}

/// A file system for the working folder of one unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Name of the unit.
    pub unit: String,
    /// Size in bytes, including what the file system itself needs.
    pub bytes: u64,
}

impl SiteSpec {
    /// Returns the value of an option.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the size of a unit's file system in bytes; `None` if it has none of its own.
    #[must_use]
    pub fn disk(&self, unit: &str) -> Option<u64> {
        self.disks.iter().find(|disk| disk.unit == unit).map(|disk| disk.bytes)
    }
}

/// A host of a site. On platforms without hosts, all are the machine itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Name: at most 12 lower-case letters, digits and `-`.
    pub name: String,
    /// Limits for all its units together. A virtual machine is created with this size.
    pub limits: Limits,
    /// Its link to the network.
    pub link: LinkSpec,
    /// Offloads of its end of the link, as in plans; empty if all are left to the system.
    #[serde(default)]
    pub offloads: String,
}

/// The link between a host and the site's switch. By default it is as fast as the platform allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Bandwidth in bits per second, each way.
    pub bits_per_second: Option<u64>,
    /// Additional delay of a packet, each way.
    pub delay: Duration,
    /// Share of packets that are lost, each way, 0 to 1.
    pub loss: f64,
}

impl LinkSpec {
    /// Whether packets are neither limited, delayed nor lost.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == LinkSpec::default()
    }
}

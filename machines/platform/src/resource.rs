//! Kinds of things that a platform creates, as named in the ledger.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Identity of a process: a number alone may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Process number.
    pub pid: u32,
    /// Start time, in ticks since the start of the machine (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

impl ProcessId {
    /// Returns the identity of the living process `pid`. An ended process that was not collected yet does not
    /// live; a process lives as long as one of its threads does.
    #[must_use]
    pub fn of(pid: u32) -> Option<ProcessId> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(ProcessId { pid, start_ticks: start_ticks(&text)? })
    }

    /// Whether it lives, and its number was not reused.
    #[must_use]
    pub fn lives(self) -> bool {
        ProcessId::of(self.pid) == Some(self)
    }
}

/// Field 22, counted from behind the name, which may contain anything. `None` for an ended process: its state
/// is that of its first thread, so field 20 must show that no other thread is left.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let first_has_ended = matches!(fields.next()?, "Z" | "X");
    let threads: u64 = fields.nth(16)?.parse().ok()?;
    if first_has_ended && threads <= 1 {
        return None;
    }
    fields.nth(1)?.parse().ok()
}

/// A created thing that must be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resource {
    /// A process that leads its own process group.
    Process {
        /// Path of the program.
        program: PathBuf,
        /// Identity of the process; unknown before it is created.
        id: Option<ProcessId>,
    },
    /// A folder with its content.
    Directory {
        /// Absolute path.
        path: PathBuf,
    },
    /// A control group, by the folder in its hierarchy.
    Cgroup {
        /// Absolute path.
        path: PathBuf,
    },
    /// A network namespace mounted under a name in `/run/netns`.
    Namespace {
        /// Name of the namespace.
        name: String,
    },
    /// A network device of the machine's own namespace.
    Link {
        /// Name of the device.
        name: String,
    },
    /// A mounted file system.
    Mount {
        /// Mount point.
        path: PathBuf,
    },
    /// A setting of the machine's kernel that a run changed.
    Setting {
        /// Its file.
        path: PathBuf,
        /// Its value before the run.
        before: String,
    },
    /// A setting of a network device of this machine that a run changed.
    DeviceSetting {
        /// Name of the device.
        device: String,
        /// Name of the setting, as `rx-usecs`.
        name: String,
        /// Its value before the run.
        before: String,
    },
    /// A container engine started by a run, with everything in it.
    Engine {
        /// Folder of its sockets and settings. Every process of the engine has it among its arguments.
        folder: PathBuf,
        /// Folder of its images and containers.
        data: PathBuf,
        /// Name of the control group above its containers.
        group: String,
    },
    /// A container of a container engine.
    Container {
        /// Address of the engine, as `unix:///run/docker.sock`.
        engine: String,
        /// Name of the container.
        name: String,
    },
    /// A network of a container engine.
    ContainerNetwork {
        /// Address of the engine.
        engine: String,
        /// Name of the network.
        name: String,
    },
    /// Everything of a site in a cluster.
    Cluster {
        /// File by which clients reach the cluster; `None` for the usual one.
        access: Option<PathBuf>,
        /// Context in that file; `None` for the current one.
        context: Option<String>,
        /// Namespace of its objects.
        namespace: String,
        /// The site, which labels its objects.
        site: String,
        /// Whether the namespace is the site's own, and goes with it.
        own: bool,
    },
    /// An image of a container engine.
    Image {
        /// Address of the engine.
        engine: String,
        /// Name and tag of the image.
        name: String,
    },
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Process { program, id: Some(id) } => {
                write!(f, "process {} ({})", id.pid, program.display())
            }
            Resource::Process { program, id: None } => {
                write!(f, "process of unknown number ({})", program.display())
            }
            Resource::Directory { path } => write!(f, "folder {}", path.display()),
            Resource::Cgroup { path } => write!(f, "control group {}", path.display()),
            Resource::Namespace { name } => write!(f, "network namespace {name}"),
            Resource::Link { name } => write!(f, "network device {name}"),
            Resource::Mount { path } => write!(f, "mount {}", path.display()),
            Resource::Setting { path, before } => {
                write!(f, "change of {} from {before}", path.display())
            }
            Resource::DeviceSetting { device, name, before } => {
                write!(f, "change of {name} of {device} from {before}")
            }
            Resource::Engine { folder, .. } => write!(f, "container engine in {}", folder.display()),
            Resource::Container { engine, name } => write!(f, "container {name} of {engine}"),
            Resource::ContainerNetwork { engine, name } => write!(f, "container network {name} of {engine}"),
            Resource::Cluster { namespace, own: true, .. } => write!(f, "namespace {namespace} of a cluster"),
            Resource::Cluster { namespace, site, .. } => {
                write!(f, "objects of site {site} in namespace {namespace} of a cluster")
            }
            Resource::Image { engine, name } => write!(f, "image {name} of {engine}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_found_behind_any_name_and_an_ended_process_has_none() {
        let line = |state: &str, threads: u32| {
            format!("42 (a) b) {state} 1 42 42 0 -1 41 1 0 0 0 2 5 7 7 20 0 {threads} 0 119573 31 38\n")
        };
        assert_eq!(start_ticks(&line("S", 13)), Some(119_573));
        assert_eq!(start_ticks(&line("Z", 2)), Some(119_573), "another thread goes on");
        for ended in [line("Z", 1), line("Z", 0), line("X", 1)] {
            assert_eq!(start_ticks(&ended), None, "{ended}");
        }
        for text in ["", "42 (a", "42 (a) S 1 2"] {
            assert_eq!(start_ticks(text), None, "{text:?}");
        }
        let own = ProcessId::of(std::process::id()).unwrap();
        assert!(own.start_ticks > 0 && own.lives());
        assert!(!ProcessId { start_ticks: own.start_ticks + 1, ..own }.lives(), "its number was another's");
        assert_eq!(ProcessId::of(u32::MAX), None);
    }
}

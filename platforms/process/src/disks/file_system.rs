//! Kind of file system for units on this machine.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use barograph_platform::{MissingRequirement, SiteSpec, in_user_namespace};
use rustix::process::geteuid;

use crate::preflight::program_of_system;

/// Option of a site for the kind: `ext4` or `tmpfs`. By default the best one is used.
const OPTION: &str = "disks";

/// Device that allocates loop devices.
const LOOP_DEVICES: &str = "/dev/loop-control";

/// Divisor of the available memory for file systems in memory, which leaves room for everything else.
const ROOM: u64 = 2;

/// A kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSystemKind {
    /// In a sparse file of this machine. Writes reach the disk as others do.
    Ext4,
    /// In memory: faster than a disk, and syncing takes no time.
    Tmpfs,
}

impl FileSystemKind {
    /// Returns a description for users.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            FileSystemKind::Ext4 => "ext4 in a file",
            FileSystemKind::Tmpfs => "tmpfs, in memory",
        }
    }

    /// Chooses the requested kind, or the best one of this machine; creates nothing.
    pub(crate) fn choose(spec: &SiteSpec) -> Result<FileSystemKind, MissingRequirement> {
        let whose = spec.disks.first().map_or("", |disk| disk.unit.as_str());
        if !may_mount() {
            return Err(MissingRequirement {
                what: format!(
                    "unit `{whose}` is to have a file system of its own, which this user may not mount"
                ),
                hint: "run as root, or set platform = \"namespace\", which needs only user namespaces"
                    .to_owned(),
            });
        }
        match spec.option(OPTION) {
            Some("ext4") => no_ext4().map_or(Ok(FileSystemKind::Ext4), Err),
            Some("tmpfs") => in_memory(spec),
            Some(other) => Err(MissingRequirement {
                what: format!("option `{OPTION}` cannot be `{other}`"),
                hint: "set it to ext4 or tmpfs, or leave it out".to_owned(),
            }),
            None if no_ext4().is_none() => Ok(FileSystemKind::Ext4),
            None => in_memory(spec),
        }
    }
}

/// Returns the program that makes an ext4.
pub(super) fn maker() -> Option<PathBuf> {
    program_of_system("mkfs.ext4", "e2fsprogs").ok()
}

/// Tries to mount in a temporary namespace, as only that shows whether it is allowed.
fn may_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--", "true"]);
    let tried = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    geteuid().is_root() && tried.is_ok_and(|status| status.success())
}

/// Returns the missing requirement of an ext4 in a file.
fn no_ext4() -> Option<MissingRequirement> {
    if in_user_namespace() {
        return Some(MissingRequirement {
            what: "an ext4 may not be mounted in a user namespace".to_owned(),
            hint: "run as root of the machine".to_owned(),
        });
    }
    if let Err(why) = OpenOptions::new().read(true).write(true).open(LOOP_DEVICES) {
        return Some(MissingRequirement {
            what: format!("files cannot be mounted: {LOOP_DEVICES}: {why}"),
            hint: "modprobe loop".to_owned(),
        });
    }
    program_of_system("mkfs.ext4", "e2fsprogs").err()
}

/// Checks the memory: all of the space may become used, and must not displace measured programs.
fn in_memory(spec: &SiteSpec) -> Result<FileSystemKind, MissingRequirement> {
    let bytes: u64 = spec.disks.iter().map(|disk| disk.bytes).sum();
    match available_memory().filter(|free| *free / ROOM < bytes) {
        None => Ok(FileSystemKind::Tmpfs),
        Some(free) => Err(MissingRequirement {
            what: format!(
                "file systems of {} MiB for units would be in memory here, and {} MiB are available",
                bytes >> 20,
                free >> 20
            ),
            hint: "make them smaller (deploy.TIER_disk_mib), or run as root with loop devices, where they are files"
                .to_owned(),
        }),
    }
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use barograph_platform::DiskSpec;

    use super::*;

    #[test]
    fn more_than_memory_has_is_refused_with_both_sizes() {
        let disk = |bytes| SiteSpec {
            disks: vec![DiskSpec { unit: "db".to_owned(), bytes }],
            ..SiteSpec::default()
        };
        let missing = in_memory(&disk(1 << 60)).unwrap_err();
        assert!(missing.what.contains("1099511627776 MiB for units"), "{missing}");
        assert_eq!(in_memory(&disk(1 << 20)), Ok(FileSystemKind::Tmpfs));
    }
}

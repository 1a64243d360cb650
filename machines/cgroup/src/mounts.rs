//! Mounted control group file systems, and the group of this process in them, parsed from text.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::{Controller, Version};

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HierarchyMount {
    pub(crate) version: Version,
    /// For version 1: the known controllers of this hierarchy.
    pub(crate) controllers: Vec<Controller>,
    pub(crate) mount: PathBuf,
    /// Folder of this process's group below `mount`, if it is visible there.
    pub(crate) own: Option<PathBuf>,
}

/// Parses `/proc/self/mountinfo` and `/proc/self/cgroup`. A hierarchy mounted in several places counts once;
/// one without known controllers does not count.
pub(crate) fn parse(mountinfo: &str, cgroup: &str) -> Vec<HierarchyMount> {
    let mut found: Vec<HierarchyMount> = Vec::new();
    for line in mountinfo.lines() {
        let Some(mounted) = one(line, cgroup) else { continue };
        let known = found
            .iter()
            .any(|other| other.version == mounted.version && other.controllers == mounted.controllers);
        if !known {
            found.push(mounted);
        }
    }
    found
}

/// Fields: number, parent, device, root, mount point, options, optional ones, `-`, type, source, options of
/// the type.
fn one(line: &str, cgroup: &str) -> Option<HierarchyMount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let (kind, options) = (kind.next()?, kind.nth(1).unwrap_or_default());
    let (version, controllers) = match kind {
        "cgroup2" => (Version::Two, Vec::new()),
        "cgroup" => (Version::One, options.split(',').filter_map(Controller::of_version_1).collect()),
        _ => return None,
    };
    if version == Version::One && controllers.is_empty() {
        return None;
    }
    let own = own_path(cgroup, version, &controllers)
        .and_then(|own| Path::new(own).strip_prefix(&root).ok().map(|below| mount.join(below)));
    Some(HierarchyMount { version, controllers, mount, own })
}

/// Lines: number, controllers, path of the group.
fn own_path<'a>(cgroup: &'a str, version: Version, controllers: &[Controller]) -> Option<&'a str> {
    cgroup.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, names, path) = (fields.next()?, fields.next()?, fields.next()?);
        let ours = match version {
            Version::Two => number == "0" && names.is_empty(),
            Version::One => names.split(',').any(|n| Controller::of_version_1(n) == Some(controllers[0])),
        };
        ours.then_some(path)
    })
}

/// Decodes a path in `/proc/PID/mountinfo`: blanks and similar characters are a backslash and three octal
/// digits.
#[must_use]
pub fn unescape(text: &str) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let escaped = (*first == b'\\')
            .then(|| others.get(..3))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match escaped {
            Some(byte) => {
                plain.push(byte);
                rest = &others[3..];
            }
            None => {
                plain.push(*first);
                rest = others;
            }
        }
    }
    OsString::from_vec(plain).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hybrid_machine_has_trees_of_both_versions() {
        let mounts = "\
            27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n\
            36 31 0:33 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n\
            40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let own = "4:memory:/user/1:2\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/a\n";
        let found = parse(mounts, own);
        let shown: Vec<_> = found
            .iter()
            .map(|m| (m.version, m.controllers.clone(), m.own.clone().unwrap().display().to_string()))
            .collect();
        let expected = [
            (Version::One, vec![Controller::Cpu, Controller::CpuAccounts], "/sys/fs/cgroup/cpu,cpuacct/"),
            (Version::One, vec![Controller::Memory], "/sys/fs/cgroup/memory/user/1:2"),
            (Version::Two, vec![], "/sys/fs/cgroup/unified/a"),
        ];
        assert_eq!(shown, expected.map(|(v, c, own)| (v, c, own.to_owned())));
    }

    #[test]
    fn a_part_of_a_tree_and_blanks_in_its_place_are_understood() {
        let mounts = "41 31 0:38 /docker/x /mnt/my\\040groups rw - cgroup2 cgroup2 rw\n\
                      42 31 0:38 / /again rw - cgroup2 cgroup2 rw\n";
        let inside = parse(mounts, "0::/docker/x/y\n");
        assert_eq!(inside.len(), 1, "the same tree counts once");
        assert_eq!(inside[0].mount, Path::new("/mnt/my groups"));
        assert_eq!(inside[0].own.as_deref(), Some(Path::new("/mnt/my groups/y")));
        assert_eq!(parse(mounts, "0::/elsewhere\n")[0].own, None, "our own group is not in what is mounted");
        assert_eq!(parse("nonsense\n1 2 3\n - cgroup2\n", "0::/\n"), []);
    }
}

//! Mounted hierarchies, and the groups of a process in all of them, as container engines use them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mounts::unescape;

/// A mounted hierarchy of control groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Where it is mounted.
    pub mount: PathBuf,
    /// Part of the hierarchy that is mounted there.
    root: PathBuf,
    /// As in `/proc/PID/cgroup`; empty for version 2.
    controllers: Vec<String>,
}

/// Returns all hierarchies of control groups, those of version 2 first.
#[must_use]
pub fn trees() -> Vec<Tree> {
    trees_in(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn trees_in(mountinfo: &str) -> Vec<Tree> {
    let mut trees: Vec<Tree> = mountinfo.lines().filter_map(tree).collect();
    trees.sort_by_key(|tree| !tree.controllers.is_empty());
    trees.dedup_by(|later, first| later.controllers == first.controllers);
    trees
}

/// Fields: number, parent, device, root, mount point, options, optional ones, `-`, type, source, options of
/// the type.
fn tree(line: &str) -> Option<Tree> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mount) = (unescape(place.next()?), unescape(place.next()?));
    let mut kind = kind.split(' ');
    let controllers = match (kind.next()?, kind.nth(1).unwrap_or_default()) {
        ("cgroup2", _) => Vec::new(),
        ("cgroup", options) => options
            .split(',')
            .filter(|option| !matches!(*option, "rw" | "ro" | "xattr" | "noprefix" | "clone_children"))
            .filter(|option| !option.starts_with("release_agent="))
            .map(str::to_owned)
            .collect(),
        _ => return None,
    };
    Some(Tree { mount, root, controllers })
}

/// Returns the folders of a process's control groups in all hierarchies, version 2 first.
#[must_use]
pub fn groups_of(pid: u32) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    groups_in(&trees(), &text)
}

fn groups_in(trees: &[Tree], cgroup: &str) -> Vec<PathBuf> {
    let path_in = |tree: &Tree| {
        cgroup.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (names, path) = (fields.next()?, fields.next()?);
            let named = names.split(',').filter(|name| !name.is_empty());
            let same = if names.is_empty() {
                tree.controllers.is_empty()
            } else {
                named.into_iter().any(|name| tree.controllers.iter().any(|other| other == name))
            };
            let below = Path::new(path).strip_prefix(&tree.root).ok()?;
            same.then(|| tree.mount.join(below))
        })
    };
    // The root group belongs to all processes and would count their use.
    trees.iter().filter_map(|tree| path_in(tree).filter(|folder| *folder != tree.mount)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        33 31 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n\
        34 31 0:31 /ours /sys/fs/cgroup/unified rw shared:3 - cgroup2 cgroup2 rw\n";

    #[test]
    fn groups_are_found_in_every_tree_but_never_the_top() {
        let trees = trees_in(MOUNTS);
        assert_eq!(trees.len(), 3);
        let cgroup = "4:cpu,cpuacct:/bg-x/app/0a\n1:name=systemd:/\n0::/ours/bg-x/app\n";
        let found = groups_in(&trees, cgroup);
        let wanted = ["/sys/fs/cgroup/unified/bg-x/app", "/sys/fs/cgroup/cpu/bg-x/app/0a"];
        assert_eq!(found, wanted.map(PathBuf::from));
    }
}

//! Resources of the machine that this program may use.

use std::path::{Path, PathBuf};

use barograph_harness::Machine;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// Limit of open files to ask for: more than any run needs.
const WANTED_FILES: u64 = 1_000_000;

/// Raises the limit of open files as far as allowed, for this process and its units. Returns the limit.
pub(crate) fn raise_open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(u64::MAX);
    // Root may raise the maximum itself; other users are refused, and the maximum stays.
    for wanted in [WANTED_FILES, 500_000, 200_000, most] {
        let limit = Rlimit { current: Some(wanted), maximum: Some(wanted.max(most)) };
        if now.current.is_none_or(|c| c >= wanted) || setrlimit(Resource::Nofile, limit).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Facts about the machine for a check. `data` need not exist.
pub(crate) fn facts(data: &Path) -> Machine {
    let system = rustix::system::sysinfo();
    Machine {
        open_files: raise_open_files(),
        free_bytes: free_bytes(data),
        memory_bytes: Some(system.totalram.saturating_mul(u64::from(system.mem_unit))),
        cores: cores(),
    }
}

/// Free bytes at the nearest existing folder.
fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find(|p| p.exists())?;
    let fs = rustix::fs::statvfs(existing).ok()?;
    Some(fs.f_bavail * fs.f_frsize)
}

/// Number of cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Names of this machine, its user and private folders; `record` is the folder of a record.
pub(crate) fn names(record: &Path) -> barograph_share::Machine {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let here = [Some(std::env::temp_dir()), std::env::home_dir(), std::env::current_dir().ok()];
    let folders = here.into_iter().chain([std::path::absolute(record).ok(), std::env::current_exe().ok()]);
    let folders = folders.flatten().filter_map(|folder| private_part(&folder));
    barograph_share::Machine {
        host,
        user: user().unwrap_or_default(),
        folders: folders.map(|folder| folder.display().to_string()).collect(),
    }
}

/// Name of the user in the table of users; names of a directory service are unknown.
fn user() -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let id = getuid().as_raw().to_string();
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then(|| name.to_owned())
    })
}

/// The folder directly below the root that contains a path; the path itself if every machine has that folder.
fn private_part(folder: &Path) -> Option<PathBuf> {
    let below: PathBuf = folder.components().take(2).collect();
    let is_of_system =
        ["/usr", "/opt", "/var", "/run", "/etc", "/bin", "/sbin"].iter().any(|of| below == Path::new(of));
    match is_of_system {
        _ if below.components().count() < 2 => None,
        // Programs are installed there, but no files of users.
        true if !folder.starts_with("/var") => None,
        true => Some(folder.to_owned()),
        false => Some(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_system_are_private_only_where_they_hold_files_of_a_user() {
        for (folder, part) in [
            ("/home/me/bench", Some("/home")),
            ("/work", Some("/work")),
            ("/var/lib/jenkins", Some("/var/lib/jenkins")),
            ("/usr/bin/barograph", None),
            ("/", None),
        ] {
            assert_eq!(private_part(Path::new(folder)), part.map(PathBuf::from), "{folder}");
        }
    }
}

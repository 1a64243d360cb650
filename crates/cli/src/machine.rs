//! What this program may use of the machine.

use std::path::Path;

use barograph_harness::Machine;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More open files than any run needs.
const WANTED_FILES: u64 = 1_000_000;

/// Raises the limit of open files as far as allowed, for this process and the units it starts; gives the limit.
pub(crate) fn raise_open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.unwrap_or(u64::MAX);
    // Root may raise the maximum itself; for anybody else that is refused and the maximum stays.
    for wanted in [WANTED_FILES, 500_000, 200_000, most] {
        let limit = Rlimit { current: Some(wanted), maximum: Some(wanted.max(most)) };
        if now.current.is_none_or(|c| c >= wanted) || setrlimit(Resource::Nofile, limit).is_ok() {
            break;
        }
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The machine as a check wants it. `data` need not exist.
pub(crate) fn facts(data: &Path) -> Machine {
    Machine { open_files: raise_open_files(), free_bytes: free_bytes(data), cores: cores() }
}

/// Free bytes at the nearest folder that exists.
fn free_bytes(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find(|p| p.exists())?;
    let fs = rustix::fs::statvfs(existing).ok()?;
    Some(fs.f_bavail * fs.f_frsize)
}

/// Cores this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

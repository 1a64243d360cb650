//! Connections and files that the driver has open, over all tables of open files of its threads.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Counts the open sockets of this process. `None` if the kernel does not list them.
pub(crate) fn open() -> Option<u64> {
    let tables = FileTables::read()?;
    // A thread that has ended meanwhile has nothing open.
    let others = tables.others.iter().filter_map(|table| sockets(table)).sum::<u64>();
    Some(sockets(Path::new(OWN))? + others)
}

/// Counts the open files of this process. `None` on kernels before 6.2, where counting means listing them.
pub(crate) fn files() -> Option<u64> {
    let tables = FileTables::read()?;
    let size = |table: &Path| fs::metadata(table).ok().map(|table| table.len());
    let own = size(Path::new(OWN)).filter(|files| *files > 0)?;
    // The marker is not counted.
    Some(own - 1 + tables.others.iter().filter_map(|table| size(table)).sum::<u64>())
}

/// Table of the calling thread.
const OWN: &str = "/proc/thread-self/fd";

/// The tables of open files of this process.
///
/// A thread may have its own table; a table shared by several threads must be counted once. A file opened
/// here is the marker: only tables shared with this thread show it. Other threads are assumed to have one
/// table each, as the engine creates them.
struct FileTables {
    /// Tables other than this thread's.
    others: Vec<PathBuf>,
    /// Open as long as tables are counted, so that its number is not reused.
    _mark: File,
}

impl FileTables {
    fn read() -> Option<Self> {
        let mark = File::open("/proc/self/stat").ok()?;
        let number = mark.as_raw_fd().to_string();
        let own = fs::read_link(Path::new(OWN).join(&number)).ok()?;
        let tables = fs::read_dir("/proc/self/task").ok()?.flatten().map(|task| task.path().join("fd"));
        let is_other = |table: &PathBuf| fs::read_link(table.join(&number)).map_or(true, |link| link != own);
        Some(FileTables { others: tables.filter(is_other).collect(), _mark: mark })
    }
}

fn sockets(table: &Path) -> Option<u64> {
    let is_socket = |entry: &fs::DirEntry| {
        fs::read_link(entry.path())
            .is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(b"socket:"))
    };
    Some(fs::read_dir(table).ok()?.flatten().filter(is_socket).count() as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn sockets_and_files_are_counted_once() {
        let before = (super::open().unwrap(), super::files());
        let pairs: Vec<_> = (0..300).map(|_| std::os::unix::net::UnixStream::pair().unwrap()).collect();
        let after = (super::open().unwrap(), super::files());
        // Other tests of this process may open and close files of their own.
        let right = |before: u64, after: u64| {
            assert!(
                (500..700).contains(&after.saturating_sub(before)),
                "{before} before, {after} with {} pairs",
                pairs.len()
            );
        };
        right(before.0, after.0);
        match (before.1, after.1) {
            (Some(before), Some(after)) => right(before, after),
            (before, after) => assert_eq!(before, after, "the kernel tells it always or never"),
        }
    }
}

//! Repeated readings of a group's resource use.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::Usage;

/// Files with figures, ordered so that a total precedes its parts.
const FILES: &[&str] = &[
    "cpu.stat",
    "cpuacct.usage",
    "cpuacct.usage_user",
    "cpuacct.usage_sys",
    "memory.current",
    "memory.usage_in_bytes",
    "memory.peak",
    "memory.max_usage_in_bytes",
    "memory.stat",
    "memory.events",
    "memory.oom_control",
    "io.stat",
    "blkio.throttle.io_service_bytes_recursive",
    "pids.current",
    "cpu.pressure",
    "memory.pressure",
    "io.pressure",
];

/// Bytes read of each file, more than any of them has; only the list of block devices can be longer, and is
/// cut off.
const LARGEST: usize = 32 * 1024;

/// Accounts of one group, kept open so that reading them is cheap. Works for any group, including a
/// container's, and returns nothing once the group has been removed.
#[derive(Debug)]
pub struct Meter {
    files: Vec<(&'static str, File)>,
}

impl Meter {
    /// Opens all existing files in these folders, which belong to one group. Figures of an earlier folder
    /// have priority.
    #[must_use]
    pub fn open(folders: &[PathBuf]) -> Self {
        let mut files = Vec::new();
        for folder in folders {
            for name in FILES {
                if let Ok(file) = File::open(folder.join(name)) {
                    files.push((*name, file));
                }
            }
        }
        Meter { files }
    }

    /// Whether there is nothing to read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Reads all files now.
    #[must_use]
    pub fn read(&self) -> Usage {
        let mut usage = Usage::default();
        self.each(|name, text| usage.take_in(name, text));
        usage
    }

    /// Reads all files now, as name and text, for [`Usage::of_texts`] elsewhere.
    #[must_use]
    pub fn texts(&self) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        self.each(|name, text| texts.push((name.to_owned(), text.to_owned())));
        texts
    }

    fn each(&self, mut take: impl FnMut(&'static str, &str)) {
        let mut bytes = vec![0; LARGEST];
        for (name, file) in &self.files {
            let length = read_whole(file, &mut bytes);
            if let Ok(text) = std::str::from_utf8(&bytes[..length]) {
                take(name, text);
            }
        }
    }
}

/// Reads from the beginning, for which the kernel generates the file again. Empty if it cannot be read.
fn read_whole(file: &File, bytes: &mut [u8]) -> usize {
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) | Err(_) => break,
            Ok(more) => length += more,
        }
    }
    length
}

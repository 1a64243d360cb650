//! Facts from `/proc`: processes of this machine, and what is mounted.

use std::fs;
use std::path::{Path, PathBuf};

use barograph_cgroup::unescape;

/// Lists all processes but this one, by number.
pub(crate) fn all() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|pid| *pid != std::process::id()).collect()
}

/// Returns the words of a process's command line.
pub(crate) fn words(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Returns the name of the program of a process.
pub(crate) fn program(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    let name = path.file_name()?.to_string_lossy().into_owned();
    // A program that was replaced while it runs.
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

/// Lists everything mounted in or below a folder, the newest first.
pub(crate) fn mounted_below(folder: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = text.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut found: Vec<PathBuf> = points.filter(|point| point.starts_with(folder)).collect();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_has_words() {
        let own = std::process::id();
        assert!(!words(own).is_empty() && program(own).is_some());
        assert!(!all().contains(&own));
        assert!(mounted_below(Path::new("/no/such/folder")).is_empty());
    }
}

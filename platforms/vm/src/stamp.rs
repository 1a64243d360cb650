//! Stamps: identity of a set of files without reading them, from names, sizes, times and owners. Equal stamps
//! mean equal images.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Block size of the images in bytes.
const BLOCK: u64 = 4096;

/// Summary of many files.
#[derive(Default)]
pub(crate) struct Stamp {
    hash: Sha256,
    /// Total size of the content in whole blocks, in bytes.
    pub(crate) bytes: u64,
    /// Number of files, folders and other entries.
    pub(crate) entries: u64,
}

impl Stamp {
    /// Adds a file, or a folder with its content, without excluded paths.
    pub(crate) fn add(&mut self, path: &Path, left_out: &[PathBuf]) -> io::Result<()> {
        let facts = fs::symlink_metadata(path)?;
        self.note(path, &facts);
        if !facts.is_dir() || left_out.iter().any(|out| out == path) {
            return Ok(());
        }
        let items = fs::read_dir(path)?.map(|item| item.map(|item| item.path()));
        let mut items = items.collect::<io::Result<Vec<_>>>()?;
        items.sort();
        for item in &items {
            match self.add(item, left_out) {
                // It was removed meanwhile; then the next stamp differs.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn note(&mut self, path: &Path, facts: &Metadata) {
        self.entries += 1;
        let content = if facts.is_file() { facts.len() } else { 0 };
        self.bytes += content.next_multiple_of(BLOCK) + if facts.is_dir() { BLOCK } else { 0 };
        self.hash.update(path.as_os_str().as_bytes());
        let (mode, uid, gid) = (facts.mode(), facts.uid(), facts.gid());
        let time = facts.mtime_nsec();
        self.hash.update(format!("\0{mode} {uid} {gid} {content} {}.{time}\n", facts.mtime()));
    }

    /// Returns the stamp as 16 digits.
    pub(crate) fn text(self) -> String {
        self.hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(path: &Path, left_out: &[PathBuf]) -> (String, u64) {
        let mut stamp = Stamp::default();
        stamp.add(path, left_out).unwrap();
        let bytes = stamp.bytes;
        (stamp.text(), bytes)
    }

    #[test]
    fn a_changed_file_changes_the_stamp_and_one_left_out_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("out");
        fs::create_dir(&inner).unwrap();
        fs::write(folder.path().join("a"), "12345").unwrap();
        fs::write(inner.join("b"), "1").unwrap();
        let left_out = [inner.clone()];
        let first = stamp(folder.path(), &left_out);
        assert_eq!(first, stamp(folder.path(), &left_out));
        assert_eq!(first.1, 3 * BLOCK, "two folders and a file");
        let with = stamp(folder.path(), &[]);
        assert_ne!(with.0, first.0);
        fs::write(folder.path().join("a"), "123456").unwrap();
        assert_ne!(stamp(folder.path(), &left_out).0, first.0);
    }
}

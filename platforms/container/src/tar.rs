//! Writer of archives in the ustar format, for images of an engine and files of a container.

use std::io;

/// Size of an archive's blocks in bytes.
const BLOCK: usize = 512;

/// Longest name of an entry in bytes.
const NAME: usize = 100;
/// Longest folder before the name in bytes.
const PREFIX: usize = 155;

/// An archive in progress.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    bytes: Vec<u8>,
}

/// Kind of an entry, as in the format.
#[derive(Clone, Copy)]
enum EntryKind {
    File = b'0' as isize,
    Link = b'2' as isize,
    Folder = b'5' as isize,
}

impl Archive {
    /// Adds a folder. Paths have no leading slash.
    pub(crate) fn folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        self.head(&format!("{path}/"), "", EntryKind::Folder, mode, 0)
    }

    /// Adds a symbolic link.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.head(path, target, EntryKind::Link, 0o777, 0)
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
        self.head(path, "", EntryKind::File, mode, bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        self.fill();
        Ok(())
    }

    /// Returns the whole archive, which ends with two empty blocks.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.resize(self.bytes.len() + 2 * BLOCK, 0);
        self.bytes
    }

    /// Writes a header. Everything belongs to root, and times are zero, so that equal entries give equal
    /// archives.
    fn head(&mut self, path: &str, target: &str, kind: EntryKind, mode: u32, size: usize) -> io::Result<()> {
        let (prefix, name) = split(path)?;
        if target.len() > NAME {
            return Err(too_long(target));
        }
        let mut head = [0_u8; BLOCK];
        let mut put = |at: usize, text: &str| head[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, name);
        put(100, &format!("{:07o}", mode & 0o7777));
        put(108, "0000000");
        put(116, "0000000");
        put(124, &format!("{size:011o}"));
        put(136, "00000000000");
        // For the checksum its own field contains blanks.
        put(148, "        ");
        put(157, target);
        put(257, "ustar\u{0}00");
        put(345, prefix);
        head[156] = kind as u8;
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\u{0} ").as_bytes());
        self.bytes.extend_from_slice(&head);
        Ok(())
    }

    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(BLOCK), 0);
    }
}

/// Splits a path at a slash into the folder and name fields of a header.
fn split(path: &str) -> io::Result<(&str, &str)> {
    if path.len() <= NAME {
        return Ok(("", path));
    }
    let fits = |at: &usize| *at <= PREFIX && path.len() - at - 1 <= NAME && path.len() - at > 1;
    let at = path.match_indices('/').map(|(at, _)| at).find(fits).ok_or_else(|| too_long(path))?;
    Ok((&path[..at], &path[at + 1..]))
}

fn too_long(path: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("path `{path}` is too long for an archive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn tar_reads_what_is_written() {
        let deep = format!("{}/{}/file", "a".repeat(120), "b".repeat(60));
        let mut archive = Archive::default();
        archive.folder("tmp", 0o1777).unwrap();
        archive.link("bin", "usr/bin").unwrap();
        archive.file("etc/one", b"hello", 0o640).unwrap();
        archive.file(&deep, &[7; 600], 0o755).unwrap();
        let bytes = archive.finish();
        assert_eq!(bytes.len() % BLOCK, 0);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x.tar"), bytes).unwrap();
        let listed = Command::new("tar")
            .args(["--numeric-owner", "-tvf", "x.tar"])
            .current_dir(dir.path())
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.status.success());
        let words: Vec<Vec<&str>> = text.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!((words[0][0], words[0][1], words[0][5]), ("drwxrwxrwt", "0/0", "tmp/"));
        assert_eq!((words[1][0], words[1][5], words[1][7]), ("lrwxrwxrwx", "bin", "usr/bin"));
        assert_eq!((words[2][0], words[2][2], words[2][5]), ("-rw-r-----", "5", "etc/one"));
        assert_eq!((words[3][2], words[3][5]), ("600", deep.as_str()));
    }

    #[test]
    fn a_path_that_cannot_be_written_is_refused() {
        let mut archive = Archive::default();
        assert!(archive.file(&"x".repeat(101), b"", 0o644).is_err());
        assert!(archive.file(&format!("{}/{}", "a".repeat(156), "b".repeat(10)), b"", 0o644).is_err());
        assert!(archive.file(&"x".repeat(100), b"", 0o644).is_ok());
    }
}

//! Reads a shared file. It may be malicious, so a member is refused unless it is a plain file below the
//! folder of the record, and sizes are counted while reading.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crate::ShareError;

/// Limits of a record in a shared file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Total number of files.
    pub files: u64,
    /// Bytes of one file, which is in memory while it is packed.
    pub file_bytes: u64,
    /// Total bytes of all files.
    pub bytes: u64,
}

impl Default for Limits {
    /// A study of ten thousand runs with some files each; logs of a long run; the usual size of a temporary
    /// folder.
    fn default() -> Self {
        Limits { files: 200_000, file_bytes: 1 << 30, bytes: 8 << 30 }
    }
}

impl Limits {
    pub(crate) fn check(
        &self,
        path: &Path,
        files: u64,
        file_bytes: u64,
        bytes: u64,
    ) -> Result<(), ShareError> {
        let bound = match () {
            () if files > self.files => format!("{} files", self.files),
            () if file_bytes > self.file_bytes => format!("{} bytes in one file", self.file_bytes),
            () if bytes > self.bytes => format!("{} bytes in all", self.bytes),
            () => return Ok(()),
        };
        Err(ShareError::TooLarge { path: path.to_owned(), bound })
    }

    /// The most bytes of a whole archive: each file has a head and is filled up to whole blocks.
    fn archive_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.files.saturating_mul(2 * BLOCK)).saturating_add(END)
    }
}

/// Size of a block of a tar archive.
const BLOCK: u64 = 512;

/// Bytes after the last member: two empty blocks, filled up to a record of twenty.
const END: u64 = 20 * BLOCK;

/// Most parts of a member's name, as in `STUDY/runs/RUN/loads/LOAD/run.jsonl`.
const DEEPEST: usize = 6;

/// Unpacks `file` into the empty folder `into`; returns the folder of the record in it.
///
/// # Errors
/// If the file cannot be read, exceeds `limits`, or has a member that belongs to no record.
pub fn unpack(file: &Path, into: &Path, limits: &Limits) -> Result<PathBuf, ShareError> {
    let read = |why| ShareError::read(file, why);
    let packed = File::open(file).and_then(zstd::Decoder::new).map_err(read)?;
    // One byte more, to distinguish an archive that is too large from one that ends there.
    let mut unpacked = packed.take(limits.archive_bytes() + 1);
    let mut archive = tar::Archive::new(&mut unpacked);
    let (mut root, mut files, mut bytes) = (None, 0, 0);
    // Raw: long names and other extensions appear as members of their own, and are refused.
    for member in archive.entries().map_err(read)?.raw(true) {
        let mut member = member.map_err(read)?;
        let size = member.header().size().map_err(read)?;
        files += 1;
        bytes += size.min(limits.bytes + 1);
        limits.check(file, files, size, bytes)?;
        let path = path_of(&member, &mut root).map_err(|(member, what)| ShareError::Foreign {
            path: file.to_owned(),
            member,
            what,
        })?;
        let to = into.join(path);
        let write = |why| ShareError::write(&to, why);
        to.parent().map_or(Ok(()), fs::create_dir_all).map_err(write)?;
        let mut out = OpenOptions::new().write(true).create_new(true).open(&to).map_err(write)?;
        let copied = io::copy(&mut member, &mut out).map_err(read)?;
        if copied < size {
            return Err(read(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    // To the end, so that the check sum of the file is verified.
    io::copy(&mut unpacked, &mut io::sink()).map_err(read)?;
    if unpacked.limit() == 0 {
        limits.check(file, 0, 0, u64::MAX)?;
    }
    root.map(|root| into.join(root)).ok_or_else(|| ShareError::NoRecord { folder: file.to_owned() })
}

/// The path of a member below `root`, the folder of the first one; otherwise its name and the fault.
fn path_of<R: Read>(
    member: &tar::Entry<'_, R>,
    root: &mut Option<String>,
) -> Result<PathBuf, (String, &'static str)> {
    let bytes = member.path_bytes();
    let name = String::from_utf8_lossy(&bytes).into_owned();
    if member.header().entry_type() != tar::EntryType::Regular {
        return Err((name, "is no plain file"));
    }
    if std::str::from_utf8(&bytes).is_err() || name.contains(['\\', '\0']) {
        return Err((name, "has a name that no file of a record has"));
    }
    let path = PathBuf::from(&name);
    let parts: Vec<Component<'_>> = path.components().collect();
    let is_below = parts.iter().all(|part| matches!(part, Component::Normal(_)));
    if !is_below || !(2..=DEEPEST).contains(&parts.len()) {
        return Err((name, "is not below the folder of the record"));
    }
    let first = parts[0].as_os_str().to_string_lossy().into_owned();
    if root.get_or_insert_with(|| first.clone()) != &first {
        return Err((name, "is of another record than the first"));
    }
    Ok(path)
}

//! Writes a record as one file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use barograph_record::draft_of;

use crate::{Limits, RecordFile, ShareError};

/// Level of the compression: logs and histograms shrink to a tenth, at tens of MB a second.
const LEVEL: i32 = 9;

/// Writes `members` into `file` below a folder called `name`, whole or not at all. Only names and bytes of
/// files are kept, so the same record gives the same file.
///
/// # Errors
/// If a file cannot be read or written, or the record exceeds `limits`.
pub fn pack(name: &str, members: &[RecordFile], file: &Path, limits: &Limits) -> Result<(), ShareError> {
    limits.check(file, members.len() as u64, 0, 0)?;
    let draft = draft_of(file);
    let write = |why| ShareError::write(file, why);
    let packed = File::create(&draft).map_err(write).and_then(|out| {
        let out = zstd::Encoder::new(BufWriter::new(out), LEVEL).map_err(write)?;
        let mut archive = tar::Builder::new(out);
        let mut total = 0;
        for member in members {
            total += add(&mut archive, name, member, file, limits)?;
            limits.check(file, 0, 0, total)?;
        }
        let out = archive.into_inner().and_then(zstd::Encoder::finish);
        out.and_then(|mut out| out.flush()).map_err(write)
    });
    let renamed = packed.and_then(|()| fs::rename(&draft, file).map_err(write));
    if renamed.is_err() {
        // The remains are useless, and the first error is more specific.
        let _ = fs::remove_file(&draft);
    }
    renamed
}

/// Adds a file; returns its size in bytes.
fn add(
    archive: &mut tar::Builder<impl Write>,
    name: &str,
    member: &RecordFile,
    file: &Path,
    limits: &Limits,
) -> Result<u64, ShareError> {
    let read = |why| ShareError::read(&member.path, why);
    let mut bytes = Vec::new();
    let from = File::open(&member.path).map_err(read)?;
    from.take(limits.file_bytes + 1).read_to_end(&mut bytes).map_err(read)?;
    limits.check(&member.path, 0, bytes.len() as u64, 0)?;
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(bytes.len() as u64);
    let named = header.set_path(format!("{name}/{}", member.name));
    header.set_cksum();
    let added = named.and_then(|()| archive.append(&header, io::Cursor::new(&bytes)));
    added.map_err(|why| ShareError::write(file, why))?;
    Ok(bytes.len() as u64)
}

//! What the target is, and whether a plan may load it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::SeekFrom;

use crate::error::DiskError;
use crate::mark::Mark;
use crate::plan::DiskPlan;
use crate::{device, signature};

/// What the target is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// A file that is not there yet.
    New,
    /// A file that Barograph made.
    Own(Mark),
    /// A file of others, only to be read.
    File { length: u64 },
    /// A device, only to be read.
    Device { length: u64 },
    /// A device to be written to.
    Claimable { length: u64 },
}

impl Target {
    /// Looks at a target and at what a plan would do to it. Nothing is changed.
    ///
    /// # Errors
    /// What the plan may not do, or cannot.
    pub(crate) fn of(path: &Path, plan: &DiskPlan) -> Result<Target, DiskError> {
        let unfit = |why: &str| DiskError::Unfit { path: path.to_owned(), why: why.to_owned() };
        let kind = match path.metadata() {
            Ok(facts) => facts.file_type(),
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Target::New),
            Err(why) => return Err(DiskError::file("look at", path)(why)),
        };
        if !kind.is_file() && !kind.is_block_device() {
            return Err(unfit("is neither a file nor a block device"));
        }
        let file = File::open(path).map_err(DiskError::file("open", path))?;
        let failed = || DiskError::file("read", path);
        let length = device::length(&file).map_err(failed())?;
        let target = match kind.is_block_device() {
            true if plan.writes() => {
                device::claim(path, &plan.device_again)?;
                Target::Claimable { length }
            }
            true => Target::Device { length },
            false => match Mark::of(&file).map_err(failed())? {
                Some(mark) => own(path, &file, mark)?,
                None if plan.writes() => return Err(of_others(path, &file, length)?),
                None => Target::File { length },
            },
        };
        if let Target::File { length } = target
            && first_hole(&file).map_err(failed())? < length
        {
            return Err(unfit("has holes, which are read without the disk"));
        }
        if plan.verify && !target.is_filled_by_us() {
            return Err(unfit("is not filled by this load, so nothing in it can be verified (disk.verify)"));
        }
        if target.span(plan) < plan.largest() {
            return Err(unfit("is smaller than a block"));
        }
        if matches!(target, Target::Claimable { length } if length < plan.size) {
            return Err(unfit("is smaller than disk.size"));
        }
        Ok(target)
    }

    /// Whether a load fills it first.
    pub(crate) fn is_filled_by_us(self) -> bool {
        matches!(self, Target::New | Target::Own(_) | Target::Claimable { .. })
    }

    /// Bytes that are loaded. Of a target that is only read these are all, or as many as the plan says.
    pub(crate) fn span(self, plan: &DiskPlan) -> u64 {
        match self {
            Target::New | Target::Own(_) | Target::Claimable { .. } => plan.size,
            Target::File { length } | Target::Device { length } => {
                let bytes = length.min(plan.size);
                bytes - bytes % plan.largest()
            }
        }
    }
}

/// A file with our mark. A file system may have been made in it since.
fn own(path: &Path, file: &File, mark: Mark) -> Result<Target, DiskError> {
    let not_ours = |why: String| DiskError::NotOurs { path: path.to_owned(), why };
    if let Some(device) = device::loop_of(path) {
        return Err(not_ours(format!("is the image of {}", device.display())));
    }
    match signature::find(file, mark.size).map_err(DiskError::file("read", path))? {
        Some(found) => Err(not_ours(format!("was made by Barograph and holds {found} now"))),
        None => Ok(Target::Own(mark)),
    }
}

/// Why a file without our mark is not written to.
fn of_others(path: &Path, file: &File, length: u64) -> Result<DiskError, DiskError> {
    let found = signature::find(file, length).map_err(DiskError::file("read", path))?;
    let holds = found.map_or_else(String::new, |found| format!(" and holds {found}"));
    Ok(DiskError::NotOurs { path: path.to_owned(), why: format!("Barograph has not made{holds}") })
}

/// Offset of the first hole of a file: its length where it has none.
pub(crate) fn first_hole(file: &File) -> io::Result<u64> {
    match rustix::fs::seek(file, SeekFrom::Hole(0)) {
        Ok(at) => Ok(at),
        // An empty file, or a file system that does not know.
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::INVAL) => device::length(file),
        Err(why) => Err(why.into()),
    }
}

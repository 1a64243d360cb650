//! Makes the target and fills it, unless that was done before.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use barograph_ring::Buffers;
use barograph_workload::{FillProgress, OnProgress};

use crate::access::Access;
use crate::contents::{Contents, random_part};
use crate::device;
use crate::error::DiskError;
use crate::mark::{self, Mark};
use crate::plan::DiskPlan;
use crate::program::salt;
use crate::size::shown;
use crate::target::{Target, first_hole};

/// Bytes of a write, or those of a larger block.
const PIECE: u64 = 1 << 20;

/// Bytes that are counted as one for people.
pub(crate) const COUNTED: u64 = 1 << 20;

/// Blocks of which the entropy of a file is estimated, and bytes of each.
const SAMPLES: (u64, u64) = (64, 4_096);

/// Difference of an estimate to the stated entropy that is accepted.
const TOLERANCE: f64 = 0.05;

/// A target that no other run may use while this lives.
#[derive(Debug)]
pub(crate) struct Guard(#[expect(dead_code, reason = "a lock, or a claim")] File);

/// A fill, and its settings.
pub(crate) struct Fill<'a> {
    pub(crate) path: &'a Path,
    pub(crate) plan: &'a DiskPlan,
    pub(crate) seed: u64,
    pub(crate) stopped: &'a AtomicBool,
    pub(crate) progress: &'a OnProgress,
}

impl Fill<'_> {
    /// Takes the target and fills it; whether it was filled before.
    ///
    /// # Errors
    /// A target that may not be written to, and is not changed; no space; a stop, after which a new file is removed.
    pub(crate) fn take(&self) -> Result<(Guard, bool), DiskError> {
        match Target::of(self.path, self.plan)? {
            Target::New => self.make().map(|guard| (guard, false)),
            Target::Own(_) => self.own(),
            _ => {
                let claimed = device::claim(self.path, &self.plan.device_again)?;
                self.write()?;
                Ok((Guard(claimed), false))
            }
        }
    }

    /// A new file.
    fn make(&self) -> Result<Guard, DiskError> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(DiskError::file("make the folder", folder))?;
            self.check_space(folder)?;
        }
        let made = OpenOptions::new().read(true).write(true).create_new(true).open(self.path);
        let file = locked(self.path, made.map_err(DiskError::file("make", self.path))?)?;
        match self.whole(&file) {
            Ok(()) => Ok(Guard(file)),
            Err(why) => {
                // A file that cannot be removed has its mark, so the next fill goes on with it.
                let _ = std::fs::remove_file(self.path);
                Err(why)
            }
        }
    }

    /// A file of ours. The mark is read again under the lock.
    fn own(&self) -> Result<(Guard, bool), DiskError> {
        let opened = OpenOptions::new().read(true).write(true).open(self.path);
        let file = locked(self.path, opened.map_err(DiskError::file("open", self.path))?)?;
        let mark = Mark::of(&file).map_err(DiskError::file("read", self.path))?.ok_or_else(|| {
            DiskError::NotOurs { path: self.path.to_owned(), why: "Barograph has not made".to_owned() }
        })?;
        let DiskPlan { size, verify, .. } = *self.plan;
        let entropy = Contents::new(self.plan.entropy).entropy();
        let is_same = mark == Mark { size, entropy, is_filled: true };
        if is_same && !verify && self.defect(&file)?.is_none() {
            return Ok((Guard(file), true));
        }
        self.whole(&file)?;
        Ok((Guard(file), false))
    }

    /// Fills a file of ours with everything around it.
    fn whole(&self, file: &File) -> Result<(), DiskError> {
        let failed = || DiskError::file("write to", self.path);
        let size = self.plan.size;
        let entropy = Contents::new(self.plan.entropy).entropy();
        let begun = Mark { size, entropy, is_filled: false };
        file.set_len(size + mark::BYTES).map_err(failed())?;
        begun.write(file).map_err(failed())?;
        self.write()?;
        file.sync_all().map_err(failed())?;
        match self.defect(file)? {
            Some(why) => Err(DiskError::Unfit { path: self.path.to_owned(), why }),
            None => Mark { is_filled: true, ..begun }.write(file).map_err(failed()),
        }
    }

    /// Writes all blocks.
    fn write(&self) -> Result<(), DiskError> {
        let DiskPlan { size, direct, verify, .. } = *self.plan;
        let contents = Contents::new(self.plan.entropy);
        let opened = Access { writes: true, direct, durable: false }.open(self.path)?;
        self.plan.check_alignment(self.path, opened.alignment)?;
        let block = self.plan.largest();
        let piece = (PIECE / block).max(1) * block;
        let mut buffers = Buffers::new(1, piece as usize)?;
        let mut offset = 0;
        while offset < size {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(DiskError::Stopped);
            }
            let length = piece.min(size - offset);
            let buffer = &mut buffers.get_mut(0)[..length as usize];
            for (at, block_of) in buffer.chunks_mut(block as usize).enumerate() {
                let number = offset / block + at as u64;
                match verify {
                    true => contents.fill_verifiable(block_of, number, (0, salt(self.seed))),
                    false => contents.fill(block_of, number),
                }
            }
            let written = opened.file.write_all_at(buffer, offset);
            written.map_err(DiskError::file("write to", self.path))?;
            offset += length;
            let (done, total) = (offset / COUNTED, size / COUNTED);
            (self.progress)(FillProgress { stage: "MiB".to_owned(), done, total });
        }
        opened.file.sync_all().map_err(DiskError::file("write to", self.path))
    }

    /// What makes a filled file another one than its mark says; `None` where nothing does.
    fn defect(&self, file: &File) -> Result<Option<String>, DiskError> {
        let failed = || DiskError::file("read", self.path);
        let DiskPlan { size, verify, .. } = *self.plan;
        if first_hole(file).map_err(failed())? < size {
            return Ok(Some("has holes after its fill, which are read without the disk".to_owned()));
        }
        // Heads of blocks are no random bytes.
        if verify {
            return Ok(None);
        }
        let stated = Contents::new(self.plan.entropy).entropy();
        let found = sampled(file, size).map_err(failed())?;
        let is_near = (found - stated).abs() <= TOLERANCE;
        Ok((!is_near).then(|| format!("holds {found:.2} of random bytes instead of {stated:.2}")))
    }

    fn check_space(&self, folder: &Path) -> Result<(), DiskError> {
        let facts =
            rustix::fs::statvfs(folder).map_err(|why| DiskError::file("look at", folder)(why.into()))?;
        let free = facts.f_bavail.saturating_mul(facts.f_frsize);
        if free < self.plan.size + mark::BYTES {
            let why = format!("needs {} on a disk with {free} bytes free", shown(self.plan.size));
            return Err(DiskError::Unfit { path: self.path.to_owned(), why });
        }
        Ok(())
    }
}

/// Locks a file for this run.
fn locked(path: &Path, file: File) -> Result<File, DiskError> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DiskError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(why)) => Err(DiskError::file("lock", path)(why)),
    }
}

/// The random part of a file, of blocks that are spread over it.
fn sampled(file: &File, size: u64) -> io::Result<f64> {
    let (count, bytes) = SAMPLES;
    let bytes = bytes.min(size);
    let mut block = vec![0; bytes as usize];
    let mut sum = 0.0;
    for sample in 0..count {
        let at = (size - bytes) / count * sample / bytes * bytes;
        file.read_exact_at(&mut block, at)?;
        sum += random_part(&block);
    }
    Ok(sum / count as f64)
}

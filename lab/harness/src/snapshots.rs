//! Snapshots of loaded stores on disk: found by a key, written under a temporary name, bounded in number and
//! size.
//!
//! `data.dir/snapshots/KEY/` has a folder for each store below `units`, folders of the whole site below
//! `folders`, and as its last file the marker `snapshot.json`, without which a folder is not a snapshot. A
//! draft is named `KEY.RUN.part`. Writing or removing a folder needs an exclusive file lock on it, copying
//! from it a shared one. Locks end with their process, so an unlocked folder without marker is rubbish.

mod apart;
mod copy;

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use barograph_platform::{Entry, Ledger, LedgerError};
use barograph_record::RunId;
use barograph_spec::DataPlan;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(crate) use apart::apart;
pub(crate) use copy::{CopyMethod, bytes_of, copy};

/// Folder of all snapshots, in the folder of the data.
const FOLDER: &str = "snapshots";

/// Marker of a complete snapshot.
const MARKER: &str = "snapshot.json";

/// Ending of a draft's name.
const PART: &str = ".part";

/// Hexadecimal digits at the end of a key.
const DIGITS: usize = 16;

/// Key of a recipe: the size of the data, for readers, and a digest.
pub(crate) fn key(size: &str, recipe: &[String]) -> String {
    format!("{size}-{}", digest(recipe.join("\n").as_bytes()))
}

/// Short digest of some bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// Description of a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// All parts of the key, which show why two snapshots differ.
    pub(crate) recipe: Vec<String>,
    /// Run that made it.
    pub(crate) run: String,
    /// Names of its parts.
    pub(crate) parts: Vec<String>,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// Duration of loading in seconds.
    pub(crate) load_s: f64,
}

/// Folder of snapshots, with its bounds.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotStore {
    folder: PathBuf,
    most: usize,
    most_bytes: u64,
}

/// A complete snapshot, locked against removal while this value exists.
#[derive(Debug)]
pub(crate) struct CompleteSnapshot {
    pub(crate) dir: PathBuf,
    pub(crate) marker: Marker,
    _lock: File,
}

/// A snapshot in progress, locked exclusively while this value exists.
#[derive(Debug)]
pub(crate) struct SnapshotDraft {
    pub(crate) dir: PathBuf,
    whole: PathBuf,
    entry: Entry,
    ledger: Ledger,
    _lock: File,
}

/// Result of removing all snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RemovedSnapshots {
    /// Removed snapshots.
    pub removed: Vec<PathBuf>,
    /// Snapshots that a run uses, which were kept.
    pub in_use: Vec<PathBuf>,
}

/// Removes every snapshot in the folder of data sets, complete or not, unless a run uses it.
///
/// # Errors
/// If the folder cannot be read or an entry cannot be removed.
pub fn remove_snapshots(data: &Path) -> io::Result<RemovedSnapshots> {
    let folder = data.join(FOLDER);
    let mut done = RemovedSnapshots::default();
    let Some(_door) = door(&folder)? else { return Ok(done) };
    for path in entries(&folder)? {
        if remove(&path)? { done.removed.push(path) } else { done.in_use.push(path) }
    }
    Ok(done)
}

impl SnapshotStore {
    /// Shelf of a plan; `None` if the plan wants no snapshots.
    pub(crate) fn of(plan: &DataPlan) -> Option<Self> {
        let folder = plan.dir.join(FOLDER);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let most_bytes = (plan.snapshots_gb * 1e9) as u64;
        let most = plan.snapshots as usize;
        (most > 0 && most_bytes > 0).then_some(SnapshotStore { folder, most, most_bytes })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Finds the complete snapshot of a key and locks it.
    pub(crate) fn find(&self, key: &str) -> Option<CompleteSnapshot> {
        let dir = self.folder.join(key);
        let lock = File::open(&dir).ok()?;
        // An exclusive lock means that it is being removed.
        lock.try_lock_shared().ok()?;
        let text = fs::read(dir.join(MARKER)).ok()?;
        // Another folder may have this name by now.
        let same = lock.metadata().ok()?.ino() == fs::metadata(&dir).ok()?.ino();
        let marker = serde_json::from_slice(&text).ok().filter(|_| same)?;
        Some(CompleteSnapshot { dir, marker, _lock: lock })
    }

    /// Reason why a snapshot of `bytes` bytes cannot be stored; `None` if it can.
    pub(crate) fn no_room(&self, bytes: u64) -> Option<String> {
        let gb = |bytes: u64| bytes as f64 / 1e9;
        if bytes > self.most_bytes {
            let (is, most) = (gb(bytes), gb(self.most_bytes));
            return Some(format!("{is:.2} GB are more than data.snapshots_gb = {most}"));
        }
        let existing = self.folder.ancestors().find(|path| path.exists())?;
        let disk = rustix::fs::statvfs(existing).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        // The run itself needs room for its record, logs and new data.
        (free / 2 < bytes)
            .then(|| format!("{:.2} GB are more than half of the {:.2} GB free", gb(bytes), gb(free)))
    }

    /// Begins a draft, with a ledger entry first. Abandoned drafts of earlier runs are removed before.
    pub(crate) fn begin(
        &self,
        key: &str,
        run: &RunId,
        ledger: &Ledger,
    ) -> Result<SnapshotDraft, LedgerError> {
        let dir = self.folder.join(format!("{key}.{run}{PART}"));
        let failed = |source| LedgerError::MakeDirectory { path: dir.clone(), source };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let _door = door(&self.folder).map_err(failed)?;
        for path in entries(&self.folder).map_err(failed)? {
            if !path.join(MARKER).is_file() {
                // A folder that cannot be removed takes space and does no other harm.
                let _ = remove(&path);
            }
        }
        let entry = ledger.make_directory(&dir)?;
        let lock = File::open(&dir).and_then(|file| file.lock().map(|()| file)).map_err(failed)?;
        let (ledger, whole) = (ledger.clone(), self.folder.join(key));
        Ok(SnapshotDraft { dir, whole, entry, ledger, _lock: lock })
    }

    /// Syncs a draft to disk, writes its marker and gives it its name. Removes the least recently used
    /// snapshots if the bounds are exceeded. Returns false if another run was faster with the same key.
    /// Consumes the draft in any case.
    pub(crate) fn finish(&self, draft: SnapshotDraft, marker: &Marker) -> io::Result<bool> {
        match self.name(&draft, marker) {
            Ok(true) => Ok(true),
            other => {
                draft.abandon().map_err(io::Error::other)?;
                other
            }
        }
    }

    fn name(&self, draft: &SnapshotDraft, marker: &Marker) -> io::Result<bool> {
        let is_there = || draft.whole.join(MARKER).is_file();
        if is_there() {
            // Another run was faster; no room is needed for this one.
            return Ok(false);
        }
        sync(&draft.dir)?;
        let mut file = File::create_new(draft.dir.join(MARKER))?;
        serde_json::to_writer_pretty(&mut file, marker)?;
        file.sync_all()?;
        let _door = door(&self.folder)?;
        // Checked again under the lock.
        if is_there() {
            return Ok(false);
        }
        self.make_room(marker.bytes)?;
        fs::rename(&draft.dir, &draft.whole)?;
        draft.ledger.removed(draft.entry).map_err(io::Error::other)?;
        Ok(true)
    }

    /// Removes the least recently used snapshots until one more of `bytes` bytes is within the bounds.
    fn make_room(&self, bytes: u64) -> io::Result<()> {
        let mut all: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for path in entries(&self.folder)? {
            let is_draft = path.to_string_lossy().ends_with(PART);
            let marker = path.join(MARKER);
            let (Ok(about), false) = (fs::metadata(&marker), is_draft) else { continue };
            let size = fs::read(&marker).ok().and_then(|text| serde_json::from_slice::<Marker>(&text).ok());
            all.push((about.modified()?, size.map_or(0, |marker| marker.bytes), path));
        }
        all.sort();
        let mut sum: u64 = all.iter().map(|(_, bytes, _)| bytes).sum();
        let mut count = all.len();
        for (_, size, path) in all {
            if count < self.most && sum + bytes <= self.most_bytes {
                break;
            }
            if remove(&path)? {
                (count, sum) = (count - 1, sum - size);
            }
        }
        Ok(())
    }
}

impl CompleteSnapshot {
    /// Removes an unusable snapshot so that it is made again, unless another run copies from it.
    pub(crate) fn condemn(self) -> io::Result<()> {
        let CompleteSnapshot { dir, _lock: lock, .. } = self;
        drop(lock);
        remove(&dir).map(drop)
    }

    /// Marks it as the most recently used.
    pub(crate) fn used(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        // Without permission it only looks older than it is.
        let _ = utimensat(CWD, self.dir.join(MARKER), &times, AtFlags::empty());
    }
}

impl SnapshotDraft {
    /// Removes the draft.
    pub(crate) fn abandon(self) -> Result<(), LedgerError> {
        self.ledger.remove_directory(self.entry)
    }
}

/// Locks the folder, so that no new draft is taken for rubbish before it is locked itself. `None` if the
/// folder does not exist.
fn door(folder: &Path) -> io::Result<Option<File>> {
    let file = match File::open(folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    file.lock()?;
    Ok(Some(file))
}

/// All snapshots and drafts in the folder, by their names; other entries are left alone.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    all.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours));
    Ok(all)
}

/// Whether a name is a key, alone or with the run that is writing it.
fn is_ours(name: &str) -> bool {
    let key = match name.strip_suffix(PART) {
        Some(draft) => draft.split_once('.').map_or("", |(key, _)| key),
        None => name,
    };
    let digits = key.rsplit_once('-').map_or("", |(_, digits)| digits);
    digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Syncs a folder to disk, file by file: `syncfs` would also wait for the writes of other processes.
fn sync(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    // Then the names in it.
    File::open(folder)?.sync_all()
}

/// Removes an unlocked snapshot; its marker first, so that it never looks complete again.
fn remove(path: &Path) -> io::Result<bool> {
    let lock = File::open(path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(why)) => return Err(why),
    }
    match fs::remove_file(path.join(MARKER)) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        _ => fs::remove_dir_all(path).map(|()| true),
    }
}

#[cfg(test)]
mod tests;

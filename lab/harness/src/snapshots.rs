//! Snapshots of loaded stores on the disk: found by a key, made under another name, kept within a bound.
//!
//! `data.dir/snapshots/KEY/` has a folder for each store below `units`, folders of the whole site below `folders`, and
//! last of all the marker `snapshot.json`: without it a folder is no snapshot. What is being written is `KEY.RUN.part`
//! until it is whole. Who writes or removes a folder holds the system's lock on it alone, who copies from it shares the
//! lock; the lock goes with the process, however that ends, and so what nobody holds and has no marker is rubbish.

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
pub(crate) use copy::{How, bytes_of, copy};

/// The folder of all snapshots, in that of the data.
const FOLDER: &str = "snapshots";

/// The marker of a whole one.
const MARKER: &str = "snapshot.json";

/// How a name ends that is not whole yet.
const PART: &str = ".part";

/// Hexadecimal digits at the end of a key.
const DIGITS: usize = 16;

/// The key of everything in a recipe: the size of the data, for people, and a digest.
pub(crate) fn key(size: &str, recipe: &[String]) -> String {
    format!("{size}-{}", digest(recipe.join("\n").as_bytes()))
}

/// A short digest of some bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

/// What a snapshot is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// Everything the key is made of, for people who wonder why there are two.
    pub(crate) recipe: Vec<String>,
    /// The run that made it.
    pub(crate) run: String,
    /// Names of the parts in it.
    pub(crate) parts: Vec<String>,
    /// Bytes of all files.
    pub(crate) bytes: u64,
    /// How long loading took, in seconds.
    pub(crate) load_s: f64,
}

/// Where snapshots are, and how many there may be.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    folder: PathBuf,
    most: usize,
    most_bytes: u64,
}

/// A whole snapshot. Nobody removes it while this lives.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) dir: PathBuf,
    pub(crate) marker: Marker,
    _lock: File,
}

/// A snapshot that is being written. Nobody else touches it while this lives.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) dir: PathBuf,
    whole: PathBuf,
    entry: Entry,
    ledger: Ledger,
    _lock: File,
}

/// What became of all snapshots that somebody wanted to be removed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RemovedSnapshots {
    /// Removed.
    pub removed: Vec<PathBuf>,
    /// Left, because a run uses them.
    pub in_use: Vec<PathBuf>,
}

/// Removes every snapshot in the folder of data sets, whole or not, unless a run uses it.
///
/// # Errors
/// When the folder cannot be read or something in it cannot be removed.
pub fn remove_snapshots(data: &Path) -> io::Result<RemovedSnapshots> {
    let folder = data.join(FOLDER);
    let mut done = RemovedSnapshots::default();
    let Some(_door) = door(&folder)? else { return Ok(done) };
    for path in entries(&folder)? {
        if remove(&path)? { done.removed.push(path) } else { done.in_use.push(path) }
    }
    Ok(done)
}

impl Shelf {
    /// That of a plan; none where the plan wants no snapshots.
    pub(crate) fn of(plan: &DataPlan) -> Option<Self> {
        let folder = plan.dir.join(FOLDER);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let most_bytes = (plan.snapshots_gb * 1e9) as u64;
        let most = plan.snapshots as usize;
        (most > 0 && most_bytes > 0).then_some(Shelf { folder, most, most_bytes })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The whole snapshot of this key, held.
    pub(crate) fn find(&self, key: &str) -> Option<Whole> {
        let dir = self.folder.join(key);
        let lock = File::open(&dir).ok()?;
        // Whoever holds it alone is removing it.
        lock.try_lock_shared().ok()?;
        let text = fs::read(dir.join(MARKER)).ok()?;
        // Another one may be there under this name by now.
        let same = lock.metadata().ok()?.ino() == fs::metadata(&dir).ok()?.ino();
        let marker = serde_json::from_slice(&text).ok().filter(|_| same)?;
        Some(Whole { dir, marker, _lock: lock })
    }

    /// Why a snapshot of so many bytes cannot be kept.
    pub(crate) fn no_room(&self, bytes: u64) -> Option<String> {
        let gb = |bytes: u64| bytes as f64 / 1e9;
        if bytes > self.most_bytes {
            let (is, most) = (gb(bytes), gb(self.most_bytes));
            return Some(format!("{is:.2} GB are more than data.snapshots_gb = {most}"));
        }
        let existing = self.folder.ancestors().find(|path| path.exists())?;
        let disk = rustix::fs::statvfs(existing).ok()?;
        let free = disk.f_bavail * disk.f_frsize;
        // What the run itself writes wants room too: the record, logs, new data.
        (free / 2 < bytes)
            .then(|| format!("{:.2} GB are more than half of the {:.2} GB free", gb(bytes), gb(free)))
    }

    /// Begins one, noted before it is made. What runs that are no more have left half done is removed first.
    pub(crate) fn begin(&self, key: &str, run: &RunId, ledger: &Ledger) -> Result<Draft, LedgerError> {
        let dir = self.folder.join(format!("{key}.{run}{PART}"));
        let failed = |source| LedgerError::MakeDirectory { path: dir.clone(), source };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let _door = door(&self.folder).map_err(failed)?;
        for path in entries(&self.folder).map_err(failed)? {
            if !path.join(MARKER).is_file() {
                // What cannot be removed takes room and does no other harm.
                let _ = remove(&path);
            }
        }
        let entry = ledger.make_directory(&dir)?;
        let lock = File::open(&dir).and_then(|file| file.lock().map(|()| file)).map_err(failed)?;
        let (ledger, whole) = (ledger.clone(), self.folder.join(key));
        Ok(Draft { dir, whole, entry, ledger, _lock: lock })
    }

    /// Brings a draft to the disk, gives it its marker and its name, and removes what was not used for longest where
    /// there are too many or too large ones now. False when another run was faster with the same. Whatever comes of it,
    /// the draft is no more.
    pub(crate) fn finish(&self, draft: Draft, marker: &Marker) -> io::Result<bool> {
        match self.name(&draft, marker) {
            Ok(true) => Ok(true),
            other => {
                draft.abandon().map_err(io::Error::other)?;
                other
            }
        }
    }

    fn name(&self, draft: &Draft, marker: &Marker) -> io::Result<bool> {
        let is_there = || draft.whole.join(MARKER).is_file();
        if is_there() {
            // Another run was faster; nothing has to make room for this one.
            return Ok(false);
        }
        sync(&draft.dir)?;
        let mut file = File::create_new(draft.dir.join(MARKER))?;
        serde_json::to_writer_pretty(&mut file, marker)?;
        file.sync_all()?;
        let _door = door(&self.folder)?;
        // Asked again now that nobody else can come in between.
        if is_there() {
            return Ok(false);
        }
        self.make_room(marker.bytes)?;
        fs::rename(&draft.dir, &draft.whole)?;
        draft.ledger.removed(draft.entry).map_err(io::Error::other)?;
        Ok(true)
    }

    /// Removes what was not used for longest until one more of `bytes` bytes is within the bounds.
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

impl Whole {
    /// It is of no use: removes it, unless another run copies from it, so that it is made anew.
    pub(crate) fn condemn(self) -> io::Result<()> {
        let Whole { dir, _lock: lock, .. } = self;
        drop(lock);
        remove(&dir).map(drop)
    }

    /// It is the one that was used last from now on.
    pub(crate) fn used(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        // Where that is not allowed, it only looks older than it is.
        let _ = utimensat(CWD, self.dir.join(MARKER), &times, AtFlags::empty());
    }
}

impl Draft {
    /// Removes it.
    pub(crate) fn abandon(self) -> Result<(), LedgerError> {
        self.ledger.remove_directory(self.entry)
    }
}

/// Held by whoever makes or removes folders here, so that none is taken for rubbish before it is locked itself. `None`
/// where there is no such folder.
fn door(folder: &Path) -> io::Result<Option<File>> {
    let file = match File::open(folder) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    file.lock()?;
    Ok(Some(file))
}

/// Everything of ours in the folder, by its name; what somebody else has put there is left alone.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    all.retain(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_ours));
    Ok(all)
}

/// A key, alone or with the run that is making it.
fn is_ours(name: &str) -> bool {
    let key = match name.strip_suffix(PART) {
        Some(draft) => draft.split_once('.').map_or("", |(key, _)| key),
        None => name,
    };
    let digits = key.rsplit_once('-').map_or("", |(_, digits)| digits);
    digits.len() == DIGITS && digits.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Brings a folder to the disk, file by file: `syncfs` would wait for what everybody else writes, too.
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

/// Removes one that nobody holds; its marker first, so that it is never taken for whole again.
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

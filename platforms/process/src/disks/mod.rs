//! File systems of their own for units: created before the unit starts, filled and freed on request, and
//! recorded.
//!
//! Only these can be full: the machine's own disk is never filled.

mod ballast;
mod file_system;
mod mounted;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, PoisonError};

use barograph_platform::{DiskFill, DiskSpec, Entry, Fault, Ledger, Resource, SiteSpec, Unit};
use tokio::process::Command;

use crate::folders::Folders;
pub(crate) use file_system::FileSystemKind;
pub(crate) use mounted::unmount;

/// File systems of a site.
#[derive(Debug)]
pub(crate) struct Disks {
    ledger: Ledger,
    wanted: Vec<DiskSpec>,
    /// `None` if the site has none, or this machine supports none.
    kind: Option<FileSystemKind>,
    /// Folder of the files that contain them; it is removed with the site.
    images: PathBuf,
    made: Mutex<BTreeMap<String, Disk>>,
}

/// A file system that exists, or is about to be created.
#[derive(Clone, Debug)]
struct Disk {
    folder: PathBuf,
    bytes: u64,
    entry: Entry,
    /// Whether it is mounted; otherwise mounting is in progress, or was abandoned.
    is_there: bool,
}

/// Cause of a fault.
type Cause = Box<dyn std::error::Error + Send + Sync>;

impl Disks {
    pub(crate) fn new(spec: &SiteSpec, ledger: &Ledger) -> Self {
        Disks {
            ledger: ledger.clone(),
            wanted: spec.disks.clone(),
            kind: spec.disks.first().and_then(|_| FileSystemKind::choose(spec).ok()),
            images: spec.folder.clone(),
            made: Mutex::default(),
        }
    }

    /// Whether no unit has a file system.
    pub(crate) fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    fn made(&self) -> MutexGuard<'_, BTreeMap<String, Disk>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Mounts the file system of a unit at its working folder, if it is to have one and has none yet.
    pub(crate) async fn make(&self, unit: &Unit, folders: &Folders) -> Result<(), Fault> {
        let Some(disk) = self.wanted.iter().find(|disk| disk.unit == unit.name) else { return Ok(()) };
        if self.made().get(&unit.name).is_some_and(|disk| disk.is_there) {
            // The unit is started again, with its files.
            return Ok(());
        }
        folders.ensure(&unit.name, &unit.workdir)?;
        let failed = |source: Cause| Fault::Unit {
            unit: unit.name.clone(),
            act: "make a file system for".to_owned(),
            source,
        };
        let kind = self.kind.ok_or_else(|| failed("this machine cannot".into()))?;
        let folder = empty_folder(&unit.workdir).map_err(|error| failed(error.into()))?;
        let image = self.images.join(format!("{}.disk", unit.name));
        if kind == FileSystemKind::Ext4 {
            make_image(&self.ledger, &image, disk.bytes).await.map_err(failed)?;
        }
        let note = |source| Fault::Note { unit: unit.name.clone(), source };
        let thing = Resource::Mount { path: folder.clone() };
        let entry = self.ledger.will(thing.clone()).map_err(note)?;
        let mut made = Disk { folder: folder.clone(), bytes: disk.bytes, entry, is_there: false };
        self.made().insert(unit.name.clone(), made.clone());
        // If this fails, or is abandoned, the next start retries.
        mount(&self.ledger, kind, (&image, &folder), disk.bytes).await.map_err(failed)?;
        made.is_there = true;
        self.made().insert(unit.name.clone(), made);
        self.ledger.done(entry, thing).map_err(note)
    }

    fn find(&self, unit: &Unit, act: &str) -> Result<Disk, Fault> {
        let there = self.made().get(&unit.name).filter(|disk| disk.is_there).cloned();
        there.ok_or_else(|| Fault::Unit {
            unit: unit.name.clone(),
            act: act.to_owned(),
            source: "it has no file system of its own".into(),
        })
    }

    /// Fills the file system to the last byte.
    pub(crate) async fn fill(&self, unit: &Unit) -> Result<DiskFill, Fault> {
        const ACT: &str = "fill the disk of";
        let Disk { folder, bytes, .. } = self.find(unit, ACT)?;
        let bytes = self.blocking(unit, ACT, move || ballast::fill(&folder, bytes)).await?;
        let kind = self.kind.map_or_else(String::new, |kind| kind.describe().to_owned());
        Ok(DiskFill { bytes, kind })
    }

    /// Frees the filled space.
    pub(crate) async fn free(&self, unit: &Unit) -> Result<(), Fault> {
        const ACT: &str = "free the disk of";
        let Disk { folder, .. } = self.find(unit, ACT)?;
        self.blocking(unit, ACT, move || ballast::free(&folder)).await
    }

    /// Unmounts all file systems, after their units have ended.
    pub(crate) async fn close(&self) -> Result<(), Cause> {
        loop {
            let next = self.made().iter().next().map(|(unit, disk)| (unit.clone(), disk.clone()));
            let Some((unit, disk)) = next else { return Ok(()) };
            unmount(&disk.folder).await?;
            // An abandoned mount may still be completed: then a sweep finds it.
            if disk.is_there {
                self.ledger.removed(disk.entry)?;
            }
            self.made().remove(&unit);
        }
    }

    /// Runs disk work on a blocking thread. The thread holds the ledger, so that nothing is unmounted during
    /// its work, even if the caller has given up.
    async fn blocking<T: Send + 'static>(
        &self,
        unit: &Unit,
        act: &str,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let held = self.ledger.clone();
        let work = move || {
            let done = work();
            drop(held);
            done
        };
        let done = match tokio::task::spawn_blocking(work).await {
            Ok(done) => done.map_err(Cause::from),
            Err(error) => Err(error.into()),
        };
        done.map_err(|source| Fault::Unit { unit: unit.name.clone(), act: act.to_owned(), source })
    }
}

/// Refuses a folder with content, which would be hidden.
fn empty_folder(folder: &Path) -> io::Result<PathBuf> {
    let folder = folder.canonicalize()?;
    match fs::read_dir(&folder)?.next() {
        None => Ok(folder),
        Some(_) => Err(io::Error::other(format!(
            "folder `{}` is not empty, and a file system there would hide what is in it",
            folder.display()
        ))),
    }
}

/// Makes a file with an empty ext4, without blocks reserved for root and without deferred initialisation.
async fn make_image(ledger: &Ledger, image: &Path, bytes: u64) -> Result<(), Cause> {
    let maker = file_system::maker().ok_or("mkfs.ext4 is not there")?;
    if let Some(folder) = image.parent() {
        fs::create_dir_all(folder)?;
    }
    // A file of a failed attempt is emptied.
    File::create(image)?.set_len(bytes)?;
    let now = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    let words = ["-q", "-F", "-m", "0", "-E", now].map(OsString::from);
    run(ledger, maker.as_os_str(), words.into_iter().chain([image.into()])).await
}

async fn mount(
    ledger: &Ledger,
    kind: FileSystemKind,
    (image, folder): (&Path, &Path),
    bytes: u64,
) -> Result<(), Cause> {
    let (name, options, source) = match kind {
        FileSystemKind::Ext4 => ("ext4", "loop,nosuid,nodev".to_owned(), image.as_os_str()),
        FileSystemKind::Tmpfs => {
            ("tmpfs", format!("size={bytes},mode=0755,nosuid,nodev"), OsStr::new("barograph"))
        }
    };
    let words = ["-t".into(), name.into(), "-o".into(), options.into(), source.into(), folder.into()];
    run(ledger, OsStr::new("mount"), words).await
}

/// Runs a tool to its end, even if the caller gives up: it holds the ledger, so a sweep follows its work. Its
/// messages are the error.
async fn run(
    ledger: &Ledger,
    program: &OsStr,
    args: impl IntoIterator<Item = OsString>,
) -> Result<(), Cause> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null());
    let held = ledger.clone();
    let ended = tokio::spawn(async move {
        let said = command.output().await;
        drop(held);
        said
    });
    let said = ended.await??;
    if said.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&said.stderr).trim().to_owned();
    Err(format!("{} ended with {}: {why}", program.display(), said.status).into())
}

#[cfg(test)]
mod tests {
    use std::task::Poll;
    use std::time::Duration;

    use barograph_platform::Readiness;

    use super::*;

    /// Longer than any mount takes.
    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test]
    #[expect(clippy::print_stdout, reason = "a skipped test says why")]
    async fn what_was_given_up_while_it_was_mounted_stays_noted_until_a_sweep() {
        let dir = tempfile::tempdir().unwrap();
        let spec = SiteSpec {
            folder: dir.path().join("site"),
            disks: vec![DiskSpec { unit: "db".to_owned(), bytes: 1 << 20 }],
            options: vec![("disks".to_owned(), "tmpfs".to_owned())],
            ..SiteSpec::default()
        };
        if let Err(missing) = FileSystemKind::choose(&spec) {
            println!("skipped: {missing}");
            return;
        }
        let ledger = Ledger::open(dir.path().join("ledger")).unwrap();
        let (disks, folders) = (Disks::new(&spec, &ledger), Folders::new(&spec, &ledger));
        let workdir = dir.path().join("db");
        let unit = Unit { workdir: workdir.clone(), ..Unit::new("db", "/bin/true".into(), Readiness::Runs) };
        // Polled once and dropped: its mount was requested, and happens when this test first waits.
        let mut asked = Box::pin(disks.make(&unit, &folders));
        let first = std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await;
        assert!(first.is_pending());
        drop(asked);
        disks.close().await.unwrap();
        drop((disks, folders));
        let begun = tokio::time::Instant::now();
        while ledger.is_shared() {
            assert!(begun.elapsed() < LIMIT, "whoever mounts has the ledger");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let left = ledger.left();
        assert!(left.iter().any(|left| matches!(left.thing, Resource::Mount { .. })), "{left:?}");
        let swept = crate::sweep::sweep(&ledger).await.unwrap();
        assert!(swept.failed.is_empty() && ledger.left().is_empty(), "{swept:?}");
        assert!(!unmount(&workdir).await.unwrap(), "nothing is mounted");
    }
}

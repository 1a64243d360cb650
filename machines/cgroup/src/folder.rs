//! Operations on any folder of a control group: list, kill, remove.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, files};

/// Longest wait for a group to freeze before its processes are killed. A process reading from a slow disk
/// takes a moment, and is killed nevertheless.
const FREEZE_WAIT: Duration = Duration::from_millis(200);

/// Largest number of rounds to empty a group one process at a time. Each round kills all processes present;
/// processes created meanwhile are frozen.
const ROUNDS: u32 = 50;

/// Lists the folder with all groups below it, the deepest first. A group that vanishes meanwhile has none.
pub(crate) fn tree(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.append(&mut tree(&entry.path()));
        }
    }
    all.push(folder.to_owned());
    all
}

/// Lists the living processes of a group and of all groups below it, without processes of another process
/// namespace, which have no number here.
#[must_use]
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let mut pids: Vec<u32> = tree(folder)
        .iter()
        .filter_map(|group| fs::read_to_string(group.join("cgroup.procs")).ok())
        .flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>())
        .filter(|&pid| pid != 0)
        .collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Kills everything in a group and in all groups below it. The kernel does it at once where it can (version 2
/// since Linux 5.14); otherwise the group is frozen, so that no process is created while they are killed one
/// by one. Succeeds if the group is gone.
pub fn kill_folder(folder: &Path) -> Result<(), Error> {
    let at_once = folder.join("cgroup.kill");
    if at_once.exists() {
        return match files::write(&at_once, "1") {
            // The folder of a group in removal stays for a moment.
            Err(Error::Write { source, .. })
                if source.raw_os_error() == Some(Errno::NODEV.raw_os_error()) =>
            {
                Ok(())
            }
            Err(_) if !folder.exists() => Ok(()),
            other => other,
        };
    }
    for _ in 0..ROUNDS {
        let pids = processes_in(folder);
        if pids.is_empty() {
            return Ok(());
        }
        // Without a freezer, processes are killed nevertheless, perhaps in more rounds.
        let _ = freeze(folder, FREEZE_WAIT);
        let killed = processes_in(folder).into_iter().try_for_each(|pid| kill_one(folder, pid));
        let _ = thaw(folder);
        killed?;
    }
    Ok(())
}

fn kill_one(folder: &Path, pid: u32) -> Result<(), Error> {
    let Some(number) = i32::try_from(pid).ok().filter(|&n| n > 1).and_then(Pid::from_raw) else {
        return Ok(());
    };
    match kill_process(number, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(Error::Kill { path: folder.to_owned(), pid, source: error.into() }),
    }
}

/// Removes a group and all groups below it, after waiting up to `within` for them to be empty. Succeeds if
/// the group is gone.
pub fn remove_folder(folder: &Path, within: Duration) -> Result<(), Error> {
    let mut why = None;
    let done = files::until(within, || match try_remove(folder) {
        Ok(()) => Ok(true),
        Err(Error::Remove { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
            why = Some(source);
            Ok(false)
        }
        Err(error) => Err(error),
    })?;
    match (done, why) {
        (true, _) => Ok(()),
        (false, Some(source)) => Err(Error::Remove { path: folder.to_owned(), source }),
        (false, None) => Err(Error::Late { act: "remove", path: folder.to_owned(), within }),
    }
}

/// Removes everything that can be removed now.
pub(crate) fn try_remove(folder: &Path) -> Result<(), Error> {
    for group in tree(folder) {
        match fs::remove_dir(&group) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Remove { path: group, source }),
        }
    }
    Ok(())
}

/// Whether groups in this folder can be frozen.
pub(crate) fn has_freezer(folder: &Path) -> bool {
    folder.join("cgroup.freeze").exists() || folder.join("freezer.state").exists()
}

/// Freezes the group and waits until its processes are stopped.
pub(crate) fn freeze(folder: &Path, within: Duration) -> Result<(), Error> {
    let (version_2, version_1) = (folder.join("cgroup.freeze"), folder.join("freezer.state"));
    let stands = if version_2.exists() {
        files::write(&version_2, "1")?;
        let events = folder.join("cgroup.events");
        files::until(within, || Ok(files::read(&events)?.lines().any(|line| line == "frozen 1")))?
    } else {
        files::write(&version_1, "FROZEN")?;
        files::until(within, || Ok(files::read(&version_1)? == "FROZEN"))?
    };
    if stands { Ok(()) } else { Err(Error::Late { act: "freeze", path: folder.to_owned(), within }) }
}

/// Thaws the group.
pub(crate) fn thaw(folder: &Path) -> Result<(), Error> {
    let version_2 = folder.join("cgroup.freeze");
    if version_2.exists() {
        return files::write(&version_2, "0");
    }
    files::write(&folder.join("freezer.state"), "THAWED")
}

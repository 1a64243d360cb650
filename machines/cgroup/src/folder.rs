//! What can be done with any folder of a control group: list, kill, remove.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use crate::{Error, files};

/// So long is waited for a group to be frozen before its processes are killed; a process in the middle of a read from
/// a slow disk takes a moment, and is killed all the same.
const FREEZE_WAIT: Duration = Duration::from_millis(200);

/// How often a group is emptied one process after the other; each time kills all that were there, and a process that
/// was born meanwhile is frozen.
const ROUNDS: u32 = 50;

/// The folder with all groups below it, the deepest first. A group that vanishes meanwhile has none.
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

/// The living processes of a group and of all groups below it. A process of another process namespace, which has no
/// number here, is left out.
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

/// Kills everything in a group and in all groups below it. The kernel does it at once where it can (version 2 since
/// Linux 5.14); else the group is frozen, so that nothing is born while its processes are killed one by one. A group
/// that is gone is fine.
pub fn kill_folder(folder: &Path) -> Result<(), Error> {
    let at_once = folder.join("cgroup.kill");
    if at_once.exists() {
        return match files::write(&at_once, "1") {
            // A group that is being removed has its folder for a moment longer.
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
        // What cannot be frozen (no freezer here) is killed all the same, perhaps in more rounds.
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

/// Removes a group and all groups below it, after waiting so long for them to be empty. A group that is gone is fine.
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

/// Removes what can be removed now.
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

/// Whether groups of this folder's kind can be frozen.
pub(crate) fn has_freezer(folder: &Path) -> bool {
    folder.join("cgroup.freeze").exists() || folder.join("freezer.state").exists()
}

/// Freezes the group and waits until it stands still.
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

/// Lets the group go on.
pub(crate) fn thaw(folder: &Path) -> Result<(), Error> {
    let version_2 = folder.join("cgroup.freeze");
    if version_2.exists() {
        return files::write(&version_2, "0");
    }
    files::write(&folder.join("freezer.state"), "THAWED")
}

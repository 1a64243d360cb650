//! End of an engine of this platform in any state: its processes, its containers, its mounts.

use std::path::Path;
use std::time::Duration;

use barograph_cgroup::{kill_folder, remove_folder};
use barograph_platform::ProcessId;
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::deadline::Deadline;
use crate::groups;
use crate::proc_fs::{all, mounted_below, program, words};

/// Longest wait for an orderly end. An engine without containers ends within a second; others end containers
/// first.
const ORDERLY: Duration = Duration::from_secs(20);

/// Longest wait for the end of killed processes.
const KILLED: Duration = Duration::from_secs(10);

/// Interval between polls.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Programs of an engine, and the one that enters its namespace.
const PROGRAMS: [&str; 7] =
    ["dockerd", "containerd", "containerd-shim", "containerd-shim-runc-v2", "runc", "docker-init", "nsenter"];

/// Ends the engine of `folder` and everything in it, in order if it still listens, and unmounts everything
/// below that and below `data`. Returns whether anything was there. Afterwards its remaining files may be
/// removed.
pub(crate) async fn end_engine(folder: &Path, data: &Path, group: &str) -> Result<bool, String> {
    let there = !processes(folder).is_empty() || groups::folders(group).iter().any(|path| path.is_dir());
    let daemons: Vec<u32> =
        processes(folder).into_iter().filter(|pid| program(*pid).as_deref() == Some("dockerd")).collect();
    if !daemons.is_empty() {
        daemons.iter().try_for_each(|pid| signal(*pid, Signal::TERM))?;
        until_none(folder, ORDERLY).await;
    }
    kill_rest(folder).await?;
    end_group(group).await?;
    let mounts = [mounted_below(folder), mounted_below(data)].concat();
    let there = there || !mounts.is_empty();
    for mount in mounts {
        unmount(&mount, UnmountFlags::DETACH)
            .or_else(|error| if error == Errno::INVAL { Ok(()) } else { Err(error) })
            .map_err(|error| format!("unmount `{}`: {error}", mount.display()))?;
    }
    Ok(there)
}

/// Lists the living processes of the engine itself, without containers.
pub(crate) fn processes(folder: &Path) -> Vec<u32> {
    let mark = folder.display().to_string();
    let is_its = |pid: &u32| {
        ProcessId::of(*pid).is_some()
            && program(*pid).is_some_and(|name| PROGRAMS.contains(&name.as_str()))
            && words(*pid).iter().any(|word| word.contains(&mark))
    };
    all().into_iter().filter(is_its).collect()
}

/// Waits up to `within` until none of its processes lives. Returns whether that is so.
async fn until_none(folder: &Path, within: Duration) -> bool {
    let deadline = Deadline::after(within);
    while !processes(folder).is_empty() {
        if deadline.has_passed() {
            return false;
        }
        sleep(LOOK_EVERY).await;
    }
    true
}

async fn kill_rest(folder: &Path) -> Result<(), String> {
    let deadline = Deadline::after(KILLED);
    loop {
        let left = processes(folder);
        if left.is_empty() {
            return Ok(());
        }
        if deadline.has_passed() {
            return Err(format!("process {} of it still runs {KILLED:?} after it was killed", left[0]));
        }
        left.into_iter().try_for_each(|pid| signal(pid, Signal::KILL))?;
        sleep(LOOK_EVERY).await;
    }
}

/// Kills everything below the control group of its containers, and removes the group.
pub(crate) async fn end_group(group: &str) -> Result<(), String> {
    for folder in groups::folders(group) {
        let deadline = Deadline::after(KILLED);
        while let Err(error) = end_folder(&folder) {
            if deadline.has_passed() {
                return Err(error);
            }
            sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

fn end_folder(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Ok(());
    }
    kill_folder(folder)
        .and_then(|()| remove_folder(folder, Duration::ZERO))
        .map_err(|error| format!("control group `{}`: {error}", folder.display()))
}

fn signal(pid: u32, signal: Signal) -> Result<(), String> {
    let Some(number) = i32::try_from(pid).ok().filter(|number| *number > 1).and_then(Pid::from_raw) else {
        return Ok(());
    };
    match kill_process(number, signal) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(format!("signal process {pid}: {error}")),
    }
}

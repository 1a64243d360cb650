//! Removes what a ledger still names.

use std::path::Path;
use std::time::Duration;

use barograph_cgroup::{kill_folder, remove_folder};
use barograph_platform::{Ledger, LedgerError, Left, ProcessId, Swept, Thing};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use crate::disks::unmount;
use crate::groups::PREFIX;
use crate::proc_fs::{marked, signal_group, signal_one};

/// A killed process is given this long to end: one with gigabytes of memory, as a QEMU, takes seconds on a busy machine.
const END_WAIT: Duration = Duration::from_secs(15);

/// How often a killed process is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What became of one thing.
enum Fate {
    Removed,
    AlreadyGone,
    Failed(String),
}

/// Goes through the ledger, newest thing first. What could not be removed stays noted.
pub(crate) async fn sweep(ledger: &Ledger) -> Result<Swept, LedgerError> {
    let mut swept = Swept::default();
    for Left { entry, thing } in ledger.left() {
        let fate = match &thing {
            Thing::Process { id, .. } => end_process(*id, &ledger.mark(entry)).await,
            Thing::Directory { path } => {
                match (path.symlink_metadata().is_ok(), ledger.remove_directory(entry)) {
                    (true, Ok(())) => Fate::Removed,
                    (false, Ok(())) => Fate::AlreadyGone,
                    (_, Err(error)) => Fate::Failed(with_cause(&error)),
                }
            }
            Thing::Cgroup { path } => end_group(path).await,
            Thing::Mount { path } => match unmount(path).await {
                Ok(true) => Fate::Removed,
                Ok(false) => Fate::AlreadyGone,
                Err(error) => Fate::Failed(error.to_string()),
            },
            // Made by another kind of platform, which sweeps it.
            _ => continue,
        };
        match fate {
            Fate::Failed(why) => {
                swept.failed.push((thing, why));
                continue;
            }
            Fate::Removed => swept.removed.push(thing),
            Fate::AlreadyGone => swept.already_gone.push(thing),
        }
        ledger.removed(entry)?;
    }
    Ok(swept)
}

fn with_cause(error: &LedgerError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Kills the group of the noted process, if it is still the same process, and everything that carries the mark:
/// children that changed their group, or a process whose number was never noted.
async fn end_process(id: Option<ProcessId>, mark: &str) -> Fate {
    let deadline = Instant::now() + END_WAIT;
    let mut seen = false;
    loop {
        let leader = id.filter(|id| ProcessId::of(id.pid) == Some(*id));
        let others = marked(mark);
        if leader.is_none() && others.is_empty() {
            return if seen { Fate::Removed } else { Fate::AlreadyGone };
        }
        seen = true;
        let group = leader.map_or(Ok(()), |id| signal_group(id.pid, Signal::KILL));
        let killed = others.iter().try_fold((), |(), &pid| signal_one(pid, Signal::KILL));
        if let Err(error) = group.and(killed) {
            return Fate::Failed(error.to_string());
        }
        if timeout_at(deadline, sleep(LOOK_EVERY)).await.is_err() {
            return Fate::Failed(format!("it still runs {END_WAIT:?} after it was killed"));
        }
    }
}

/// Kills what is in a group and in those below it, and removes them. One that does not look like ours is left alone:
/// the ledger may be from another machine.
async fn end_group(path: &Path) -> Fate {
    let ours = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    if !path.is_dir() {
        return Fate::AlreadyGone;
    }
    if !ours || !path.join("cgroup.procs").exists() {
        return Fate::Failed("it is no control group of ours".to_owned());
    }
    let deadline = Instant::now() + END_WAIT;
    loop {
        let ended = kill_folder(path).and_then(|()| remove_folder(path, Duration::ZERO));
        let Err(error) = ended else { return Fate::Removed };
        if timeout_at(deadline, sleep(LOOK_EVERY)).await.is_err() {
            return Fate::Failed(match std::error::Error::source(&error) {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            });
        }
    }
}

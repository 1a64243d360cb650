//! Sweeps processes, folders and groups that a ledger still names.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use barograph_cgroup::{kill_folder, remove_folder};
use barograph_platform::{Ledger, LedgerError, Leftover, ProcessId, Resource, SweepResult};
use rustix::process::Signal;
use tokio::time::{Instant, sleep, timeout_at};

use crate::disks::unmount;
use crate::groups::PREFIX;
use crate::proc_fs::{Namespace, StuckProcesses, ending_in_group, marked, name, signal_group, signal_one};

/// Longest wait for the end of a killed process: one with gigabytes of memory, such as QEMU, takes seconds on
/// a busy machine, and the first process of a namespace waits for all others in it.
const END_WAIT: Duration = Duration::from_secs(30);

/// Interval between polls of a killed process.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Consecutive looks that must find nothing: a single one misses a process that passes its work to a child
/// and ends while the list of processes is read, as daemons do.
const EMPTY_LOOKS: u32 = 2;

/// Largest number of processes named in a message; the others are counted.
const NAMED: usize = 8;

/// Result for one thing.
enum RemovalOutcome {
    Removed,
    AlreadyGone,
    Failed(String),
}

/// Sweeps the ledger, newest thing first. Things that could not be removed stay recorded.
pub(crate) async fn sweep(ledger: &Ledger) -> Result<SweepResult, LedgerError> {
    let (mut swept, mut stuck) = (SweepResult::default(), StuckProcesses::default());
    for Leftover { entry, thing } in ledger.left() {
        let fate = match &thing {
            Resource::Process { id, .. } => end_process(*id, &ledger.mark(entry), &mut stuck).await,
            Resource::Directory { path } => {
                match (path.symlink_metadata().is_ok(), ledger.remove_directory(entry)) {
                    (true, Ok(())) => RemovalOutcome::Removed,
                    (false, Ok(())) => RemovalOutcome::AlreadyGone,
                    (_, Err(error)) => RemovalOutcome::Failed(with_cause(&error)),
                }
            }
            Resource::Cgroup { path } => end_group(path).await,
            Resource::Mount { path } => match unmount(path).await {
                Ok(true) => RemovalOutcome::Removed,
                Ok(false) => RemovalOutcome::AlreadyGone,
                Err(error) => RemovalOutcome::Failed(error.to_string()),
            },
            Resource::Setting { path, before } => set_back(path, before),
            Resource::DeviceSetting { device, name, before } => set_device_back(device, name, before),
            // Created by another kind of platform, which sweeps it.
            _ => continue,
        };
        match fate {
            RemovalOutcome::Failed(why) => {
                swept.failed.push((thing, why));
                continue;
            }
            RemovalOutcome::Removed => swept.removed.push(thing),
            RemovalOutcome::AlreadyGone => swept.already_gone.push(thing),
        }
        ledger.removed(entry)?;
    }
    Ok(swept)
}

/// Gives a setting of the kernel its former value.
fn set_back(path: &Path, before: &str) -> RemovalOutcome {
    let set = std::fs::read_to_string(path).and_then(|now| match now.trim() == before {
        true => Ok(RemovalOutcome::AlreadyGone),
        false => std::fs::write(path, before).map(|()| RemovalOutcome::Removed),
    });
    set.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => RemovalOutcome::AlreadyGone,
        _ => RemovalOutcome::Failed(error.to_string()),
    })
}

/// Gives a setting of a network device its former value. A device that is gone has taken it along.
fn set_device_back(device: &str, name: &str, before: &str) -> RemovalOutcome {
    if !Path::new("/sys/class/net").join(device).exists() {
        return RemovalOutcome::AlreadyGone;
    }
    let set = barograph_ethtool::read(device, name).and_then(|now| match now.as_deref() == Some(before) {
        true => Ok(RemovalOutcome::AlreadyGone),
        false => barograph_ethtool::write(device, name, before).map(|()| RemovalOutcome::Removed),
    });
    set.unwrap_or_else(|error| RemovalOutcome::Failed(error.to_string()))
}

fn with_cause(error: &LedgerError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Processes of one entry. Each is kept from its discovery until it has ended: an exiting process has lost
/// its environment and so its mark, but may still hold files, ports and a whole process namespace.
struct EntryProcesses<'a> {
    /// The recorded process.
    leader: Option<ProcessId>,
    mark: &'a str,
    /// Processes for which a search waited in vain, for this or another entry.
    stuck: &'a mut StuckProcesses,
    /// Processes with the mark.
    ours: Vec<ProcessId>,
    /// Exiting processes of its group, which others ended. They are awaited and not killed: the group may
    /// have been reused by strangers.
    ending: Vec<ProcessId>,
}

impl EntryProcesses<'_> {
    /// Adds new processes, and removes ended ones.
    fn look(&mut self) {
        keep_new(&mut self.ours, marked(self.mark, self.stuck));
        // While the leader lives, its group is killed as a whole. If its number is reused, so is the group.
        if let Some(leader) = self.leader.filter(|leader| ProcessId::of(leader.pid).is_none()) {
            keep_new(&mut self.ending, ending_in_group(leader.pid));
        }
        self.ours.retain(|id| id.lives());
        self.ending.retain(|id| id.lives());
    }

    fn living_leader(&self) -> Option<ProcessId> {
        self.leader.filter(|leader| leader.lives())
    }

    fn is_empty(&self) -> bool {
        self.living_leader().is_none() && self.ours.is_empty() && self.ending.is_empty()
    }

    /// Tries to kill every one; returns the first error.
    fn kill(&self) -> io::Result<()> {
        let mut killed = self.living_leader().map_or(Ok(()), |leader| signal_group(leader.pid, Signal::KILL));
        for id in self.ours.iter().filter(|id| id.lives()) {
            killed = killed.and(signal_one(id.pid, Signal::KILL));
        }
        killed
    }

    /// Returns its processes by number and name, with those that the first process of a namespace waits for.
    fn names(&self) -> String {
        let found = self.living_leader().into_iter().chain(self.ours.iter().chain(&self.ending).copied());
        let mut pids = BTreeSet::new();
        for id in found {
            // Checked again once it is open, as the number may have been reused before.
            let namespace = Namespace::led_by(id.pid).filter(|_| id.lives());
            pids.extend(namespace.iter().flat_map(Namespace::processes));
            pids.insert(id.pid);
        }
        named(pids.iter().map(|pid| format!("{pid} ({})", name(*pid))).collect())
    }
}

fn keep_new(known: &mut Vec<ProcessId>, found: Vec<ProcessId>) {
    let new: Vec<ProcessId> = found.into_iter().filter(|id| !known.contains(id)).collect();
    known.extend(new);
}

/// Names the first of them, and the number of others.
fn named(mut all: Vec<String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    let first = all.join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}

/// Kills the group of the recorded process, if it is still the same process, and everything with the mark:
/// children that changed their group, or a process whose number was never recorded. Waits until all of them
/// have ended, and so their process namespaces, whose first process ends after all others.
async fn end_process(id: Option<ProcessId>, mark: &str, stuck: &mut StuckProcesses) -> RemovalOutcome {
    let deadline = Instant::now() + END_WAIT;
    let mut found = EntryProcesses { leader: id, mark, stuck, ours: Vec::new(), ending: Vec::new() };
    let (mut seen, mut empty_looks) = (false, 0);
    while empty_looks < EMPTY_LOOKS {
        found.look();
        if found.is_empty() {
            empty_looks += 1;
            continue;
        }
        (seen, empty_looks) = (true, 0);
        if let Err(error) = found.kill() {
            return RemovalOutcome::Failed(error.to_string());
        }
        if timeout_at(deadline, sleep(LOOK_EVERY)).await.is_err() {
            let names = found.names();
            return RemovalOutcome::Failed(format!(
                "processes {names} still run {END_WAIT:?} after they were killed: clean again when they have ended"
            ));
        }
    }
    if seen { RemovalOutcome::Removed } else { RemovalOutcome::AlreadyGone }
}

/// Kills the processes of a group and of those below it, and removes the groups. A group without Barograph's
/// prefix is left alone, as the ledger may be from another machine.
async fn end_group(path: &Path) -> RemovalOutcome {
    let ours = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    if !path.is_dir() {
        return RemovalOutcome::AlreadyGone;
    }
    if !ours || !path.join("cgroup.procs").exists() {
        return RemovalOutcome::Failed("it is no control group of ours".to_owned());
    }
    let deadline = Instant::now() + END_WAIT;
    loop {
        let ended = kill_folder(path).and_then(|()| remove_folder(path, Duration::ZERO));
        let Err(error) = ended else { return RemovalOutcome::Removed };
        if timeout_at(deadline, sleep(LOOK_EVERY)).await.is_err() {
            return RemovalOutcome::Failed(match std::error::Error::source(&error) {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_some_processes_and_counts_the_rest() {
        let all = |count: u32| (1..=count).map(|pid| format!("{pid} (a)")).collect::<Vec<_>>();
        assert_eq!(named(all(2)), "1 (a), 2 (a)");
        assert!(named(all(8)).ends_with("7 (a), 8 (a)"));
        assert!(named(all(11)).ends_with("7 (a), 8 (a) and 3 more"));
    }

    #[test]
    fn what_was_found_once_is_not_kept_twice() {
        let id = |pid| ProcessId { pid, start_ticks: 5 };
        let mut known = vec![id(1), id(2)];
        keep_new(&mut known, vec![id(2), id(3), ProcessId { start_ticks: 6, ..id(1) }]);
        assert_eq!(known, [id(1), id(2), id(3), ProcessId { start_ticks: 6, ..id(1) }]);
    }

    #[tokio::test]
    async fn a_setting_has_its_former_value_after_a_sweep() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scaling_governor");
        std::fs::write(&path, "performance\n").unwrap();
        let ledger = Ledger::open(folder.path().join("ledger.jsonl")).unwrap();
        let thing = Resource::Setting { path: path.clone(), before: "powersave".to_owned() };
        ledger.will(thing.clone()).unwrap();
        ledger.will(Resource::Setting { path: folder.path().join("gone"), before: String::new() }).unwrap();
        let gone = Resource::DeviceSetting {
            device: "no-such-device".to_owned(),
            name: "rx-gro".to_owned(),
            before: "off".to_owned(),
        };
        ledger.will(gone).unwrap();
        let swept = sweep(&ledger).await.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "powersave");
        assert_eq!((swept.removed, swept.already_gone.len()), (vec![thing], 2));
        assert!(swept.failed.is_empty() && ledger.left().is_empty());
    }
}

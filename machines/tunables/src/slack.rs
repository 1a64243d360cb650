//! Timer slack of servers: the time by which a wait may end later than asked, so that one interrupt ends several waits.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use barograph_platform::ProcessId;

use crate::place::same;
use crate::settings::Change;

/// The slack in dense mode, in nanoseconds: far below limits of response time, and twenty times the kernel's own.
const DENSE_NS: &str = "1000000";

/// Deepest control group, and longest line of descent, in which processes of a server are looked for.
const DEEPEST: u32 = 16;

/// Timer slack of threads. It ends with its thread, so no ledger names it.
#[derive(Debug, Default)]
pub struct TimerSlack {
    /// Threads with a changed slack, and their slack before.
    changed: Vec<(ProcessId, String)>,
}

impl TimerSlack {
    /// Whether this kernel lets the slack of others be changed.
    #[must_use]
    pub fn is_there() -> bool {
        place(std::process::id()).is_file()
    }

    /// Changes the slack of threads. Returns the changes in one, and the reason if the kernel did not take some.
    pub fn switch_on(&mut self, threads: &BTreeSet<u32>) -> (Option<Change>, Option<String>) {
        let (mut before, mut refused) = (BTreeSet::new(), None);
        let known = self.changed.len();
        for thread in threads {
            // It may have ended.
            let Some(id) = ProcessId::of(*thread) else { continue };
            let file = place(*thread);
            let Ok(now) = fs::read_to_string(&file) else { continue };
            if same(&now, DENSE_NS) {
                continue;
            }
            match fs::write(&file, DENSE_NS) {
                Ok(()) => {
                    let now = now.trim().to_owned();
                    before.insert(now.clone());
                    self.changed.push((id, now));
                }
                Err(why) => refused = Some(format!("timer slack: {why}")),
            }
        }
        let count = self.changed.len() - known;
        let what = format!("timer slack of {count} threads of servers in ns");
        let before: Vec<String> = before.into_iter().collect();
        let change = Change { what, before: before.join(" or "), now: DENSE_NS.to_owned() };
        (Some(change).filter(|_| count > 0), refused)
    }

    /// Sets the slack of threads that still live back.
    pub fn switch_off(&mut self) {
        for (id, before) in self.changed.drain(..) {
            if id.lives() {
                // A thread that ends meanwhile takes its slack along.
                let _ = fs::write(place(id.pid), before);
            }
        }
    }
}

/// The file of a thread's slack.
fn place(thread: u32) -> PathBuf {
    PathBuf::from(format!("/proc/{thread}/timerslack_ns"))
}

/// The threads of all processes in control groups, by their folders, and below a process.
#[must_use]
pub fn threads(groups: &[PathBuf], root: Option<u32>) -> BTreeSet<u32> {
    let mut processes = BTreeSet::new();
    for group in groups {
        of_group(group, DEEPEST, &mut processes);
    }
    if let Some(root) = root {
        of_tree(root, DEEPEST, &mut processes);
    }
    processes.iter().flat_map(|process| numbers_in(&PathBuf::from(format!("/proc/{process}/task")))).collect()
}

fn of_group(group: &Path, depth: u32, processes: &mut BTreeSet<u32>) {
    let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    processes.extend(text.split_whitespace().filter_map(|number| number.parse::<u32>().ok()));
    let below = fs::read_dir(group).into_iter().flatten().flatten();
    for folder in below.filter(|entry| depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        of_group(&folder.path(), depth - 1, processes);
    }
}

fn of_tree(process: u32, depth: u32, processes: &mut BTreeSet<u32>) {
    if !processes.insert(process) || depth == 0 {
        return;
    }
    let tasks = PathBuf::from(format!("/proc/{process}/task"));
    for task in numbers_in(&tasks) {
        let text = fs::read_to_string(tasks.join(format!("{task}/children"))).unwrap_or_default();
        for child in text.split_whitespace().filter_map(|number| number.parse().ok()) {
            of_tree(child, depth - 1, processes);
        }
    }
}

/// Entries of a folder that are numbers.
fn numbers_in(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn the_slack_of_a_server_and_its_children_is_changed_and_set_back() {
        if !TimerSlack::is_there() {
            println!("skipped: this kernel has no timer slack of others");
            return;
        }
        // A shell with a child; both end with their input.
        let mut shell = Command::new("sh")
            .args(["-c", "cat; :"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let tree = (0..1_000_000).map(|_| threads(&[], Some(shell.id()))).find(|tree| tree.len() == 2);
        let tree = tree.expect("the shell starts its child");
        let slack = || -> Vec<String> {
            tree.iter().map(|thread| fs::read_to_string(place(*thread)).unwrap().trim().to_owned()).collect()
        };
        let before = slack();
        let mut changed = TimerSlack::default();
        let (change, refused) = changed.switch_on(&tree);
        let Some(change) = change else {
            println!("skipped: {}", refused.unwrap_or_default());
            drop(shell.stdin.take());
            shell.wait().unwrap();
            return;
        };
        assert_eq!(refused, None);
        assert_eq!(change.what, "timer slack of 2 threads of servers in ns");
        assert_eq!(slack(), [DENSE_NS, DENSE_NS]);
        assert_eq!(changed.switch_on(&tree), (None, None), "they have it");
        changed.switch_off();
        assert_eq!(slack(), before);
        drop(shell.stdin.take());
        shell.wait().unwrap();
        let mut changed = TimerSlack::default();
        assert_eq!(changed.switch_on(&tree), (None, None), "threads that have ended are left out");
    }

    #[test]
    fn processes_of_groups_are_those_of_groups_below_too() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("app/inner");
        fs::create_dir_all(&below).unwrap();
        fs::write(root.path().join("cgroup.procs"), "11\n12\n").unwrap();
        fs::write(below.join("cgroup.procs"), "13\n").unwrap();
        let mut processes = BTreeSet::new();
        of_group(root.path(), DEEPEST, &mut processes);
        assert_eq!(processes, BTreeSet::from([11, 12, 13]));
        assert!(threads(&[root.path().join("none")], None).is_empty());
        assert!(threads(&[], Some(std::process::id())).contains(&std::process::id()));
    }
}

//! What a ledger still names is swept, and nothing else.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use barograph_platform::{Ended, ProcessId, Thing};

use crate::place::{Place, lives, start_ticks, until_environ_has};

pub(crate) fn shell(pid: u32, start_ticks: u64) -> Thing {
    Thing::Process { program: "/bin/sh".into(), id: Some(ProcessId { pid, start_ticks }) }
}

fn bystander() -> Child {
    Command::new("/bin/cat").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0).spawn().unwrap()
}

#[tokio::test]
async fn a_sweep_removes_what_is_left_and_twice_is_fine() {
    let place = Place::new();
    let mut left = bystander();
    let folder = place.dir.path().join("data");
    place.ledger.make_directory(&folder).unwrap();
    fs::write(folder.join("file"), "x").unwrap();
    let gone = place.ledger.make_directory(&place.dir.path().join("gone")).unwrap();
    fs::remove_dir(place.dir.path().join("gone")).unwrap();
    let thing = shell(left.id(), start_ticks(left.id()));
    let entry = place.ledger.will(Thing::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, thing.clone()).unwrap();
    let swept = place.sweep().await;
    assert_eq!(swept.removed, [thing, Thing::Directory { path: folder.clone() }], "the process goes first");
    assert_eq!(swept.already_gone.len(), 1);
    assert!(swept.failed.is_empty() && !folder.exists() && gone.number() < entry.number());
    assert_eq!(Ended::from(left.wait().unwrap()), Ended::Signal(9));
    assert!(place.sweep().await.is_empty());
    assert!(place.ledger.left().is_empty());
}

#[tokio::test]
async fn a_number_that_was_given_to_another_process_is_left_alone() {
    let place = Place::new();
    let mut other = bystander();
    let entry = place.ledger.will(Thing::Process { program: "/bin/sh".into(), id: None }).unwrap();
    place.ledger.done(entry, shell(other.id(), start_ticks(other.id()) - 1)).unwrap();
    let swept = place.sweep().await;
    assert_eq!((swept.removed.len(), swept.already_gone.len()), (0, 1));
    assert!(lives(other.id()) && other.try_wait().unwrap().is_none());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn a_process_whose_number_was_never_noted_is_found_by_its_mark() {
    let place = Place::new();
    let entry = place.ledger.will(Thing::Process { program: "/bin/cat".into(), id: None }).unwrap();
    let mark = |n: u64| format!("{}#{n}", place.ledger.path().display());
    let start = |mark: String| {
        let mut command = Command::new("/bin/cat");
        command.env("BAROGRAPH_MARK", &mark).stdin(Stdio::piped()).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        until_environ_has(child.id(), &format!("BAROGRAPH_MARK={mark}"));
        child
    };
    let (mut ours, mut theirs) = (start(mark(entry.number())), start(mark(entry.number() + 1)));
    assert_eq!(place.sweep().await.removed.len(), 1);
    assert_eq!(Ended::from(ours.wait().unwrap()), Ended::Signal(9));
    assert!(theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

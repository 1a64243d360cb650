//! Guests that are moved, copied and saved while a service in them is in use.

use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use barograph_platform::{LogTail, MachineOperation, Readiness, Resource, Site, UnitHandle, ignore_lines};

use crate::back;
use crate::echo::{self, EchoLoop};
use crate::often::is_seen_inside;
use crate::site::{LIMIT, TestSite, say};

/// One after another on the same guest, so that each also works after the others.
pub(crate) async fn all(opened: &TestSite) {
    let echo = echo::start(opened, "a").await;
    let address = echo.address().unwrap();
    let machines = opened.vm.machines().unwrap();
    let before = echo.accounts().pid;

    let asking = EchoLoop::begin(address);
    let moved = machines.migrate("a").await.unwrap();
    show("live migration", moved, asking.end());
    let first = moved;
    assert!(moved.bytes > 1 << 20 && moved.downtime < moved.took);
    assert_ne!(echo.accounts().pid, before, "another emulator");
    still_there(opened, "a", echo.as_ref()).await;

    let asking = EchoLoop::begin(address);
    let moved = machines.mirror("a").await.unwrap();
    show("disk moved to another file", moved, asking.end());
    still_there(opened, "a", echo.as_ref()).await;

    both_at_once(opened, (&*echo, address)).await;

    let asking = EchoLoop::begin(address);
    let moved = machines.snapshot("a", "kept").await.unwrap();
    show("snapshot of memory and disk", moved, asking.end());
    assert!(moved.bytes > 10 << 20);
    still_there(opened, "a", echo.as_ref()).await;
    back::all(opened, "a", (echo.as_ref(), "kept")).await;
    still_there(opened, "a", echo.as_ref()).await;

    let file = opened.spec.folder.join("mine");
    opened.script("write", "a", &format!("echo of a >{}", file.display())).await;
    let asking = EchoLoop::begin(address);
    let moved = machines.clone_host("a", "c").await.unwrap();
    show("clone, booted", moved, asking.end());
    let (read, write) = (format!("cat {}", file.display()), format!("echo of c >{}", file.display()));
    assert_eq!(opened.script("read", "c", &read).await, ["of a"]);
    opened.script("write", "c", &write).await;
    assert_eq!(opened.script("read", "a", &read).await, ["of a"], "a clone has its own disk");
    assert!(opened.vm.address("c").is_some() && opened.vm.address("c") != opened.vm.address("a"));
    machines.clone_host("a", "c").await.unwrap_err();
    a_gone_guest_cannot_be_moved(opened, "c").await;
    machines.restore("a", "kept").await.map(drop).unwrap_err();
    machines.snapshot("a", "late").await.unwrap();

    let asking = EchoLoop::begin(address);
    let moved = machines.migrate("a").await.unwrap();
    show("live migration, once more", moved, asking.end());
    // A machine that stands still may come between a stop and its event.
    let agrees = [first, moved].iter().any(is_seen_inside);
    assert!(agrees, "what the guest's clock lost is what QEMU says: {first:?}, {moved:?}");
    still_there(opened, "a", echo.as_ref()).await;
    // In another emulator than that of the snapshot.
    let moved = machines.restore("a", "late").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    say(&format!("back to a snapshot from before the move: {moved:?}"));
    still_there(opened, "a", echo.as_ref()).await;
    // Network faults apply to the guest at its new place.
    let network = opened.vm.network().unwrap();
    network.partition(&["a".to_owned()]).await.unwrap();
    echo::once(address, "hej", Duration::from_millis(300)).unwrap_err();
    network.heal().await.unwrap();
    assert_eq!(echo::once(address, "hej", LIMIT).unwrap(), "hej");
    echo.stop(LIMIT).await.unwrap();
    assert_eq!(echo.logs().unwrap().tail(5), LogTail::default());
}

/// The machine moves with its disk, and what was on that is there.
pub(crate) async fn both_at_once(opened: &TestSite, (echo, address): (&dyn UnitHandle, SocketAddr)) {
    let file = opened.spec.folder.join("carried").display().to_string();
    opened.script("write", "a", &format!("echo before >{file}; sync {file}")).await;
    let disks = || std::fs::read_dir(opened.spec.folder.join(".disks")).unwrap().count();
    let before = disks();
    let asking = EchoLoop::begin(address);
    let moved = opened.vm.machines().unwrap().relocate("a").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    show("machine and disk moved at once", moved, asking.end());
    assert!(moved.bytes > 1 << 20 && moved.downtime < moved.took, "{moved:?}");
    assert_eq!(disks(), before, "the old file is gone");
    // What the guest has in memory is no proof.
    let read = format!("echo 3 >/proc/sys/vm/drop_caches; cat {file}");
    assert_eq!(opened.script("read", "a", &read).await, ["before"]);
    opened.script("write", "a", &format!("echo after >{file}; sync {file}")).await;
    still_there(opened, "a", echo).await;
}

pub(crate) fn show(what: &str, moved: MachineOperation, (count, longest): (u64, Duration)) {
    say(&format!("{what}: {moved:?}; {count} exchanges meanwhile, the longest took {longest:?}"));
    assert!(count > 0);
}

/// A failed move leaves nothing behind, not even until a sweep.
async fn a_gone_guest_cannot_be_moved(opened: &TestSite, host: &str) {
    let is_process = |thing: &Resource| matches!(thing, Resource::Process { .. });
    let processes = || opened.ledger.left().iter().filter(|left| is_process(&left.thing)).count();
    let before = processes();
    let mut sleep = opened.unit("sleep", host, "/bin/sleep", &["1000"]);
    sleep.ready = Readiness::Runs;
    let running = opened.create(&sleep, ignore_lines()).await;
    let emulator = running.accounts().pid.unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &emulator]).status().unwrap().success());
    let begun = Instant::now();
    while processes() == before {
        assert!(begun.elapsed() < LIMIT, "{:?}", opened.ledger.left());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    opened.vm.machines().unwrap().migrate(host).await.unwrap_err();
    assert_eq!(processes(), before - 1, "{:?}", opened.ledger.left());
}

/// Checks that new connections and new units work, too.
pub(crate) async fn still_there(opened: &TestSite, host: &str, echo: &dyn UnitHandle) {
    assert_eq!(echo::once(echo.address().unwrap(), "hej", LIMIT).unwrap(), "hej");
    let unit = opened.unit("still", host, "/bin/true", &[]);
    opened.create(&unit, ignore_lines()).await;
}

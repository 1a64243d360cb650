//! A guest that libvirt runs: the operations are the same, through its daemons.

use barograph_platform::Site;

use crate::back;
use crate::echo::{self, EchoLoop};
use crate::moves::{both_at_once, show, still_there};
use crate::often::is_seen_inside;
use crate::site::{LIMIT, open, say};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libvirt_moves_copies_and_keeps_a_guest() {
    let through =
        |options: &mut Vec<(String, String)>| options.push(("manager".to_owned(), "libvirt".to_owned()));
    let Some(opened) = open("lv", &["a"], |spec, _| through(&mut spec.options)).await else { return };
    let facts = opened.vm.facts();
    assert!(facts.contains(&("manager".to_owned(), "libvirt".to_owned())), "{facts:?}");
    let echo = echo::start(&opened, "a").await;
    let address = echo.address().unwrap();
    let machines = opened.vm.machines().unwrap();
    let before = echo.accounts().pid;

    let asking = EchoLoop::begin(address);
    let first = machines.migrate("a").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    show("move from one daemon to another", first, asking.end());
    assert!(first.bytes > 1 << 20 && first.downtime < first.took, "{first:?}");
    assert_ne!(echo.accounts().pid, before, "another daemon");
    still_there(&opened, "a", echo.as_ref()).await;

    let asking = EchoLoop::begin(address);
    let moved = machines.mirror("a").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    show("disk moved to another file", moved, asking.end());
    still_there(&opened, "a", echo.as_ref()).await;

    both_at_once(&opened, (&*echo, address)).await;

    let asking = EchoLoop::begin(address);
    let moved = machines.snapshot("a", "kept").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    show("snapshot of memory and disk", moved, asking.end());
    assert!(moved.bytes > 10 << 20, "{moved:?}");
    back::all(&opened, "a", (echo.as_ref(), "kept")).await;
    still_there(&opened, "a", echo.as_ref()).await;

    // A move leaves snapshots behind.
    let second = machines.migrate("a").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    say(&format!("move of a guest with snapshots: {second:?}"));
    machines.restore("a", "kept").await.map(drop).unwrap_err();
    // A machine that stands still may come between a stop and its event.
    let agrees = [first, second].iter().any(is_seen_inside);
    assert!(agrees, "what the guest's clock lost is what QEMU says: {first:?}, {second:?}");

    let file = opened.spec.folder.join("mine");
    opened.script("write", "a", &format!("echo of a >{}", file.display())).await;
    let asking = EchoLoop::begin(address);
    let moved = machines.clone_host("a", "c").await.unwrap_or_else(|fault| panic!("{fault:?}"));
    show("clone, booted", moved, asking.end());
    assert_eq!(opened.script("read", "c", &format!("cat {}", file.display())).await, ["of a"]);
    still_there(&opened, "a", echo.as_ref()).await;
    echo.stop(LIMIT).await.unwrap();
    drop(echo);
    opened.close().await;
}

//! Impossible sites, shared folders, and guests that die.

use barograph_platform::{Fault, Ledger, Readiness, Site, UnitExit, ignore_lines};
use barograph_platform_vm::{Program, VmPlatform};

use crate::site::{LIMIT, can, open, program, spec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_files_are_seen_writable_ones_too_and_a_dead_guest_is_noticed() {
    let shared = |folder: &std::path::Path| folder.join("shared");
    let opened = open("folders", &["a"], |spec, folder| {
        std::fs::create_dir_all(shared(folder).join("deep")).unwrap();
        std::fs::write(shared(folder).join("deep/file"), "from here").unwrap();
        std::fs::create_dir(folder.join("writable")).unwrap();
        spec.shared = vec![shared(folder)];
        spec.writable = vec![folder.join("writable")];
    });
    let Some(opened) = opened.await else { return };
    let (shared, writable) = (shared(opened.folder.path()), opened.folder.path().join("writable"));
    let read = format!("cat {}/deep/file", shared.display());
    assert_eq!(opened.script("read", "a", &read).await, ["from here"]);
    opened.script("change", "a", &format!("echo x >{}/deep/file", shared.display())).await;
    assert_eq!(std::fs::read_to_string(shared.join("deep/file")).unwrap(), "from here", "not here");

    std::fs::write(writable.join("question"), "6*7").unwrap();
    let answer = format!("cat {0}/question; echo 42 >{0}/answer", writable.display());
    assert_eq!(opened.script("answer", "a", &answer).await, ["6*7"]);
    assert_eq!(std::fs::read_to_string(writable.join("answer")).unwrap(), "42\n");
    let refused = opened.vm.machines().unwrap().migrate("a").await.unwrap_err();
    assert!(
        std::error::Error::source(&refused).unwrap().to_string().contains("writable folders"),
        "{refused:?}"
    );

    let mut sleep = opened.unit("sleep", "a", "/bin/sleep", &["1000"]);
    sleep.ready = Readiness::Runs;
    let running = opened.create(&sleep, ignore_lines()).await;
    let emulator = running.accounts().pid.unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &emulator.to_string()]).status().unwrap();
    assert!(killed.success());
    let ended = tokio::time::timeout(LIMIT, running.wait_exit()).await.unwrap();
    assert_eq!(ended, UnitExit::Unknown("the virtual machine `a` is gone".to_owned()));
    let fault = opened.vm.create(&sleep, ignore_lines()).await.map(drop).unwrap_err();
    assert!(matches!(fault, Fault::Site { .. }), "{fault:?}");
    opened.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_without_an_agent_is_a_fault_with_its_last_words_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let site = spec("mute", folder.path(), &["a"]);
    if !can(&site).await {
        return;
    }
    let ledger = Ledger::open(folder.path().join("ledger")).unwrap();
    let word = |word: &str| vec![word.to_owned()];
    let program = Program { path: program(), agent: word("nonsense"), relay: word("relay") };
    let fault = VmPlatform::new(program).open_site(&site, &ledger).await.map(drop).unwrap_err();
    let why = std::error::Error::source(&fault).unwrap().to_string();
    for said in ["it went off; its QEMU: exit code 0, because of guest-shutdown", "wanted is agent"] {
        assert!(why.contains(said), "{said} is not in {why}");
    }
    // The switch and its devices are removed when dropped; the ledger shows when.
    let begun = std::time::Instant::now();
    while !ledger.left().is_empty() {
        assert!(begun.elapsed() < LIMIT, "{:?}", ledger.left());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_site_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut site = spec("wrong", folder.path(), &["a"]);
    if !can(&site).await {
        return;
    }
    site.options.push(("accel".to_owned(), "magic".to_owned()));
    let missing = barograph_platform::Platform::preflight(&crate::site::platform(), &site).await.unwrap_err();
    assert!(missing[0].what.contains("magic"), "{missing:?}");
}

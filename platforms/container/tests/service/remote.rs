//! An engine that does not see this machine's files: reached over TCP, and given files through its API.

use barograph_platform::{Platform, Readiness, Step, Unit, UnitExit, UnitFile, User};
use barograph_platform_container::gone_with;

use crate::place::{JOB, LONG, TestSite, collector, host, platform};
use crate::shared::engine_or_skip;

#[tokio::test]
async fn units_of_a_remote_engine_get_their_files_and_give_their_logs() {
    let Some(engine) = engine_or_skip() else { return };
    let Some(mut place) = TestSite::closed(vec![host("a")], &[("engine", &engine.tcp), ("remote", "true")])
    else {
        return;
    };
    let guest = tempfile::tempdir().unwrap();
    place.spec.writable = vec![guest.path().to_owned()];
    place.site = Some(platform().open(&place.spec, &place.ledger).await.unwrap());
    let workdir = guest.path().join("made/by/the-engine");
    let unit = Unit {
        host: "a".to_owned(),
        args: vec!["-c".to_owned(), "cat one.conf copied; stat -c %a one.conf; echo log >&2".to_owned()],
        files: vec![UnitFile { path: "one.conf".into(), bytes: b"x=1\n".to_vec(), mode: 0o600 }],
        prepare: vec![Step {
            program: "/bin/cp".into(),
            args: vec!["one.conf".to_owned(), "copied".to_owned()],
        }],
        workdir: workdir.clone(),
        log: place.dir.path().join("far.log"),
        user: User::NotRoot,
        ..Unit::new("far", "/bin/sh".into(), JOB)
    };
    let (on_line, lines) = collector();
    place.site().create(&unit, on_line).await.unwrap();
    assert_eq!(*lines.lock().unwrap(), ["x=1", "x=1", "600"]);
    assert_eq!(place.log("far"), "log\n");
    assert_eq!(std::fs::read(workdir.join("copied")).unwrap(), b"x=1\n");

    let ready = r#"echo '{"ready":true,"address":"0.0.0.0:99"}'; exec sleep 100"#;
    let service = Unit {
        args: vec!["-c".to_owned(), ready.to_owned()],
        prepare: Vec::new(),
        ready: Readiness::StdoutLine { timeout: LONG },
        name: "service".to_owned(),
        ..unit.clone()
    };
    let running = place.create(&service).await.unwrap();
    assert_eq!(running.pid(), None, "its process is not one of this machine");
    assert!(running.accounts().cgroups.is_empty());
    assert_eq!(running.address().map(|address| address.ip()), place.site().address("a"));
    running.pausing().unwrap().pause().unwrap();
    assert_eq!(running.stop(LONG).await.unwrap(), UnitExit::Signal(15));
    place.close().await;
}

#[tokio::test]
async fn what_a_lost_engine_had_stays_noted_until_somebody_knows_better() {
    let Some(place) = TestSite::closed(vec![host("a")], &[]) else { return };
    let nowhere = "unix:///no/such/engine.sock".to_owned();
    let thing =
        barograph_platform::Resource::Container { engine: nowhere.clone(), name: "bg-x-app".to_owned() };
    place.ledger.will(thing.clone()).unwrap();
    for _ in 0..2 {
        let swept = platform().sweep(&place.ledger).await.unwrap();
        assert_eq!(swept.failed.len(), 1);
        assert!(swept.failed[0].1.contains("does not answer"), "{swept:?}");
    }
    assert_eq!(gone_with(&place.ledger, &nowhere).unwrap().already_gone, [thing]);
    assert!(place.ledger.left().is_empty());
}

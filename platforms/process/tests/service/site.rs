//! A site: its folder, its files and steps, its addresses and ports, and its missing requirements.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use barograph_platform::{
    Fault, HERE, Ledger, LinkSpec, Platform, Readiness, Resource, Site, SiteSpec, Step, Unit, UnitFile, User,
    ignore_lines,
};
use barograph_platform_process::{HostEntry, Local, ProcessPlatform};

use crate::place::{LONG, READY, SERVICE, TestSite, host};

fn file(path: &str, text: &str, mode: u32) -> UnitFile {
    UnitFile { path: path.into(), bytes: text.as_bytes().to_vec(), mode }
}

fn step(script: &str) -> Step {
    Step { program: "/bin/sh".into(), args: vec!["-c".to_owned(), script.to_owned()] }
}

/// A place whose site has a folder, and a unit with files in it.
fn with_folder() -> (TestSite, Unit) {
    let place = TestSite::with(|spec, dir| spec.folder = dir.join("site"));
    let workdir = place.spec.folder.join("app/data");
    let unit = Unit { workdir, ..place.unit(&format!("{READY} exec cat"), SERVICE) };
    (place, unit)
}

#[tokio::test]
async fn files_are_written_and_steps_done_before_the_start() {
    let (mut place, unit) = with_folder();
    let unit = Unit {
        files: vec![file("a/secret.conf", "key", 0o600), file("run.sh", "#!/bin/sh\n", 0o755)],
        prepare: vec![
            step("cat a/secret.conf > one; echo from a step; echo its error >&2"),
            step("cat one > two; id -u > user; echo $COLOUR >> two"),
        ],
        args: vec!["-c".to_owned(), format!("cat two > three; {READY} exec cat")],
        user: User::NotRoot,
        ..unit
    };
    let running = place.start(&unit).await.unwrap();
    let read = |name: &str| fs::read_to_string(unit.workdir.join(name)).unwrap();
    assert_eq!((read("three").as_str(), read("one").as_str()), ("keygreen\n", "key"));
    assert_ne!(read("user").trim(), "0", "a step is done as the unit's user");
    let mode = |name: &str| fs::metadata(unit.workdir.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("a/secret.conf"), mode("run.sh")), (0o600, 0o755));
    assert_eq!(running.logs().unwrap().tail(9).0, ["from a step", "its error"]);
    let noted: Vec<Resource> = place.left();
    assert_eq!(noted.len(), 2, "its process and the site's folder, which covers the rest: {noted:?}");
    running.stop(LONG).await.unwrap();
    let folder = place.spec.folder.clone();
    assert!(folder.join("app/data/three").exists(), "data outlives a unit, for the next one");
    place.close().await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_working_folder_elsewhere_is_noted_and_removed_with_the_site() {
    let mut place = TestSite::new();
    let made = place.path("new");
    let unit = Unit {
        workdir: made.join("deep"),
        files: vec![file("f", "x", 0o644)],
        ..place.unit(&format!("{READY} exec cat"), SERVICE)
    };
    let running = place.start(&unit).await.unwrap();
    assert!(place.left().contains(&Resource::Directory { path: made.clone() }), "{:?}", place.left());
    running.kill().await.unwrap();
    // Another unit in the same folder adds no entry.
    place.start(&unit).await.unwrap().kill().await.unwrap();
    assert_eq!(place.left().len(), 1);
    place.close().await;
    assert!(!made.exists() && place.dir.path().exists());
}

#[tokio::test]
async fn a_file_that_would_stay_behind_is_refused() {
    let place = TestSite::new();
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().join("f").display().to_string();
    for path in [elsewhere.as_str(), "../f", "a/../../f"] {
        let unit = Unit { files: vec![file(path, "x", 0o644)], ..place.unit("exec cat", SERVICE) };
        let fault = place.start(&unit).await.err().unwrap();
        assert!(fault.to_string().starts_with("write file"), "{fault}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    let allowed = TestSite::with(|spec, _| spec.writable.push(outside.path().to_owned()));
    let unit = Unit {
        files: vec![file(&elsewhere, "x", 0o644)],
        ..allowed.unit(&format!("{READY} exec cat"), SERVICE)
    };
    assert!(allowed.start(&unit).await.is_ok());
}

#[tokio::test]
async fn a_step_that_fails_or_never_ends_shows_why() {
    let place = TestSite::new();
    let unit = Unit {
        prepare: vec![step("exit 0"), step("echo no disk >&2; exit 4"), step("touch never")],
        ..place.unit("exec cat", SERVICE)
    };
    let fault = place.start(&unit).await.err().unwrap();
    let text = fault.to_string();
    assert!(text.starts_with("prepare unit `app` with `/bin/sh -c echo no disk"), "{text}");
    assert!(text.ends_with("exit code 4; the end of its log:\n  no disk"), "{text}");
    assert!(!place.path("never").exists() && place.left().is_empty());
    let short = Readiness::StdoutLine { timeout: Duration::from_millis(300) };
    let unit = Unit { prepare: vec![step("setsid sleep 1000 & exec cat")], ..place.unit("exec cat", short) };
    let fault = place.start(&unit).await.err().unwrap();
    assert!(
        matches!(&fault, Fault::Prepare { .. }) && fault.to_string().contains("not done within 300ms"),
        "{fault}"
    );
    let unit = Unit {
        prepare: vec![Step { program: "/no/such/step".into(), args: Vec::new() }],
        ..place.unit("exec cat", SERVICE)
    };
    assert!(matches!(place.start(&unit).await, Err(Fault::Start { .. })));
    assert!(place.site().preflight(&unit).await.unwrap_err().what.contains("/no/such/step"));
    assert!(place.left().is_empty());
}

#[tokio::test]
async fn ports_differ_and_addresses_are_those_of_the_hosts() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    let spec = SiteSpec { hosts: vec![host("a"), host("b")], ..SiteSpec::default() };
    let there = IpAddr::from([10, 99, 0, 2]);
    let prefix = ["/usr/bin/env", "PLACE=there"].map(str::to_owned).to_vec();
    let site =
        Local::open(&spec, &ledger).with_host("b", HostEntry { address: there, prefix, own_ports: true });
    let local = IpAddr::from([127, 0, 0, 1]);
    assert_eq!([HERE, "a", "b", "c"].map(|h| site.address(h)), [Some(local), Some(local), Some(there), None]);
    let ports =
        [(HERE, 5432), ("a", 5432), ("a", 0), ("b", 0)].map(|(h, wanted)| site.port(h, wanted).unwrap());
    let mut different = ports.to_vec();
    different.sort_unstable();
    different.dedup();
    assert!(different.len() >= 3 && ports[..3].iter().all(|port| *port != 5432), "{ports:?}");
    assert_eq!(site.port("b", 5432).unwrap(), 5432, "it has ports of its own");
    assert_ne!(site.port("b", 5432).unwrap(), 5432, "but gives none twice");
    assert!(site.port("c", 1).is_err());
    let unit = |host: &str| Unit {
        host: host.to_owned(),
        args: vec!["-c".to_owned(), format!("echo $PLACE >&2; {READY} exec cat")],
        log: dir.path().join(host),
        ..Unit::new("app", "/bin/sh".into(), SERVICE)
    };
    let near = site.create(&unit("a"), ignore_lines()).await.unwrap();
    let far = site.create(&unit("b"), ignore_lines()).await.unwrap();
    assert_eq!(near.address(), Some("127.0.0.1:4321".parse().unwrap()));
    assert_eq!(
        far.address(),
        Some("10.99.0.2:4321".parse().unwrap()),
        "its loopback means nothing to others"
    );
    assert_eq!(
        (near.logs().unwrap().tail(2).0, far.logs().unwrap().tail(2).0),
        (vec![String::new()], vec!["there".to_owned()])
    );
    let nowhere = site.create(&unit("c"), ignore_lines()).await.err().unwrap();
    assert!(nowhere.to_string().contains("find host `c`"), "{nowhere}");
    assert!(site.preflight(&unit("c")).await.is_err());
    drop((near, far));
    Box::new(site).close().await.unwrap();
}

#[tokio::test]
async fn the_platform_opens_sites_and_says_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(dir.path().join("ledger.jsonl")).unwrap();
    let folder = dir.path().join("site");
    let spec = SiteSpec {
        id: "x".to_owned(),
        folder: folder.clone(),
        hosts: vec![host("a")],
        ..SiteSpec::default()
    };
    assert_eq!(ProcessPlatform.name(), "process");
    let facts = ProcessPlatform.preflight(&spec).await.unwrap();
    let names: Vec<&str> = facts.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "platform",
        "isolation",
        "units are held together by",
        "limits that can be set",
        "hosts with limits",
    ];
    assert_eq!(names, expected);
    assert!(!folder.exists(), "looking makes nothing");
    let site = ProcessPlatform.open(&spec, &ledger).await.unwrap();
    assert!(folder.is_dir());
    fs::write(folder.join("data"), "x").unwrap();
    let fault = ProcessPlatform.open(&spec, &ledger).await.err().unwrap();
    assert!(fault.to_string().contains("make the site's folder"), "{fault}");
    let mut bad = spec.clone();
    bad.hosts[0].link = LinkSpec { loss: 0.5, ..LinkSpec::default() };
    bad.options.push(("hold".to_owned(), "rope".to_owned()));
    let missing = ProcessPlatform.preflight(&bad).await.unwrap_err();
    assert_eq!(missing.len(), 3, "a link, a full folder and a strange option: {missing:?}");
    site.close().await.unwrap();
    assert!(!folder.exists());
    assert_eq!(ledger.left(), []);
    // An empty folder is used, and a dropped site is swept.
    fs::create_dir(&folder).unwrap();
    drop(ProcessPlatform.open(&spec, &ledger).await.unwrap());
    assert_eq!(ProcessPlatform.sweep(&ledger).await.unwrap().removed.len(), 1);
    assert!(!folder.exists());
}

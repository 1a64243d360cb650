//! File systems of units: filled and freed on request, and removed with their site.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use barograph_platform::{DiskSpec, Fault, Platform, Readiness, Resource, Unit, UnitFile};
use barograph_platform_process::ProcessPlatform;

use crate::place::{LONG, TestSite, until};

const BYTES: u64 = 40 << 20;

/// A site whose unit `db` has a file system of its own; `None`, with a printed reason, if this machine
/// supports none.
#[expect(clippy::print_stdout, reason = "a skipped test says why")]
async fn place(kind: &str) -> Option<TestSite> {
    let place = TestSite::with(|spec, dir| {
        spec.folder = dir.join("site");
        spec.disks = vec![DiskSpec { unit: "db".to_owned(), bytes: BYTES }];
        spec.options = vec![("disks".to_owned(), kind.to_owned())];
    });
    let mut spec = place.spec.clone();
    spec.folder = PathBuf::from("/nonexistent");
    match ProcessPlatform.preflight(&spec).await {
        Ok(facts) => {
            let said = facts.iter().find(|(name, _)| name == "file systems of units").unwrap();
            assert!(said.1.starts_with(kind) && said.1.ends_with("db 40 MiB"), "{said:?}");
            Some(place)
        }
        Err(missing) => {
            println!("skipped: {missing:?}");
            None
        }
    }
}

/// A job of the unit with the file system; it has a file, so that its folder is created after the mount.
fn job(place: &TestSite, script: &str) -> Unit {
    Unit {
        workdir: place.spec.folder.join("a/db"),
        files: vec![UnitFile { path: "conf".into(), bytes: b"x".to_vec(), mode: 0o644 }],
        name: "db".to_owned(),
        ..place.unit(script, Readiness::Exit { timeout: LONG })
    }
}

fn mounts(place: &TestSite) -> usize {
    let root = place.dir.path().to_str().unwrap().to_owned();
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap();
    text.lines().filter(|line| line.contains(&root)).count()
}

/// Loop devices of files of this place.
fn devices(place: &TestSite) -> String {
    let said = Command::new("losetup").arg("-a").output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let root = place.dir.path().to_str().unwrap().to_owned();
    text.lines().filter(|line| line.contains(&root)).collect()
}

/// The kernel frees the device with its last user, and programs of the machine probe a new one for a moment.
fn until_no_device(place: &TestSite) {
    until("the loop device is free", || devices(place).is_empty());
}

async fn fills_and_frees(kind: &str) {
    let Some(mut place) = place(kind).await else { return };
    let write = |name: &str| job(&place, &format!("dd if=/dev/zero of={name} bs=4096 count=64 conv=fsync"));
    let (first, second, third) = (write("first"), write("second"), write("third"));
    place.start(&first).await.map(drop).unwrap();
    let disks = place.site().disks().unwrap();
    let filled = disks.fill(&first).await.unwrap();
    assert!(filled.bytes > BYTES / 4 && filled.bytes < BYTES && filled.kind.starts_with(kind), "{filled:?}");
    assert_eq!(disks.fill(&first).await.unwrap().bytes, filled.bytes, "full is full");
    match place.start(&second).await.map(drop).unwrap_err() {
        Fault::EndedEarly { log, .. } => {
            let text = log.0.join("\n");
            assert!(text.contains("No space left on device"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    fs::write(place.spec.folder.join("beside"), [7; 4096]).unwrap();
    disks.free(&first).await.unwrap();
    place.start(&third).await.map(drop).unwrap();
    assert_eq!(fs::metadata(place.spec.folder.join("a/db/first")).unwrap().len(), 64 * 4096, "it was kept");
    let again = disks.free(&first).await.unwrap_err();
    assert_eq!(std::error::Error::source(&again).unwrap().to_string(), "it was not filled");
    let other = Unit { name: "other".to_owned(), ..first.clone() };
    assert!(disks.fill(&other).await.is_err(), "it has no file system of its own");
    place.close().await;
    assert_eq!(mounts(&place), 0);
    until_no_device(&place);
    assert!(!place.spec.folder.exists());
}

#[tokio::test]
async fn an_ext4_in_a_file_is_filled_and_freed() {
    fills_and_frees("ext4").await;
}

#[tokio::test]
async fn a_tmpfs_is_filled_and_freed() {
    fills_and_frees("tmpfs").await;
}

#[tokio::test]
async fn what_a_killed_driver_leaves_mounted_is_swept() {
    let Some(mut place) = place("ext4").await else { return };
    place.start(&job(&place, "true")).await.map(drop).unwrap();
    place.site().disks().unwrap().fill(&job(&place, "")).await.unwrap();
    // The site is not closed.
    place.site = None;
    assert_eq!(mounts(&place), 1);
    let swept = place.sweep().await;
    assert!(swept.failed.is_empty(), "{swept:?}");
    let kinds: Vec<bool> =
        swept.removed.iter().map(|thing| matches!(thing, Resource::Mount { .. })).collect();
    assert!(kinds.contains(&true) && kinds.contains(&false), "{swept:?}");
    assert_eq!((mounts(&place), place.ledger.left()), (0, Vec::new()));
    until_no_device(&place);
    assert!(!place.spec.folder.exists() && place.sweep().await.is_empty());
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_not_hidden() {
    let Some(mut place) = place("tmpfs").await else { return };
    fs::create_dir_all(place.spec.folder.join("a/db")).unwrap();
    fs::write(place.spec.folder.join("a/db/theirs"), "x").unwrap();
    let fault = place.start(&job(&place, "true")).await.map(drop).unwrap_err();
    let why = std::error::Error::source(&fault).unwrap().to_string();
    assert!(why.contains("is not empty"), "{why}");
    assert_eq!(mounts(&place), 0);
    place.close().await;
}

#[tokio::test]
async fn no_unit_has_one_unless_it_is_asked_for() {
    let mut place = TestSite::new();
    assert!(place.site().disks().is_none());
    place.close().await;
}

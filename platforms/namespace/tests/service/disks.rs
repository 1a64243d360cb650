//! A full disk of a unit in a namespace.

use barograph_platform::{DiskSpec, Readiness, Unit, UnitFile, ignore_lines};

use crate::place::{LONG, TestSite, host, listing, possible, until};

#[tokio::test(flavor = "multi_thread")]
async fn the_disk_of_one_unit_is_full_and_that_of_another_is_not() {
    let Some(mut place) = TestSite::new(vec![host("a"), host("b")]).await else { return };
    place.spec.disks = vec![DiskSpec { unit: "full".to_owned(), bytes: 40 << 20 }];
    if !possible(&place.spec).await {
        return;
    }
    let site = place.open().await;
    let job = |name: &str, on: &str| Unit {
        host: on.to_owned(),
        args: ["-c", "dd if=/dev/zero of=$$ bs=4096 count=16 conv=fsync"].map(str::to_owned).to_vec(),
        files: vec![UnitFile { path: "conf".into(), bytes: Vec::new(), mode: 0o644 }],
        workdir: place.folder(name),
        log: place.log(name),
        ..Unit::new(name, "/bin/sh".into(), Readiness::Exit { timeout: LONG })
    };
    let (full, other) = (job("full", "a"), job("other", "b"));
    site.create(&full, ignore_lines()).await.map(drop).unwrap();
    site.disks().unwrap().fill(&full).await.unwrap();
    assert!(site.create(&full, ignore_lines()).await.is_err());
    site.create(&other, ignore_lines()).await.map(drop).unwrap();
    site.disks().unwrap().free(&full).await.unwrap();
    site.create(&full, ignore_lines()).await.map(drop).unwrap();
    site.close().await.unwrap();
    assert_eq!(place.ledger.left(), []);
    until("everything gone", || listing(&place.spec.id, place.ledger.path()).is_empty());
    assert!(!place.spec.folder.exists());
}

//! A full disk of a unit in a container.

use barograph_platform::{DiskSpec, Platform, Unit, UnitFile};

use crate::place::{JOB, TestSite, ended_early, host, platform};

#[tokio::test]
async fn a_container_sees_its_disk_full_and_free_again() {
    let Some(mut place) = TestSite::closed(vec![host("a")], &[]) else { return };
    place.spec.disks = vec![DiskSpec { unit: "full".to_owned(), bytes: 40 << 20 }];
    if let Err(missing) = platform().preflight(&place.spec).await {
        crate::shared::say(&format!("skipped: {missing:?}"));
        return;
    }
    place.site = Some(platform().open(&place.spec, &place.ledger).await.unwrap());
    let script = "dd if=/dev/zero of=written bs=4096 count=64 conv=fsync && df . | tail -1 >&2";
    let unit = Unit {
        files: vec![UnitFile { path: "conf".into(), bytes: Vec::new(), mode: 0o644 }],
        ..place.unit("full", script, JOB)
    };
    place.create(&unit).await.map(drop).unwrap();
    let disks = place.site().disks().unwrap();
    let filled = disks.fill(&unit).await.unwrap();
    assert!(filled.bytes > 10 << 20 && filled.bytes < 40 << 20, "{filled:?}");
    let unlucky = Unit { args: vec!["-c".to_owned(), script.replace("written", "more")], ..unit.clone() };
    let (_, log) = ended_early(&place.create(&unlucky).await.map(drop).unwrap_err());
    assert!(log.join("\n").contains("No space left on device"), "{log:?}");
    disks.free(&unit).await.unwrap();
    place.create(&unlucky).await.map(drop).unwrap();
    place.close().await;
}

//! A full disk of a unit in a guest; the guest's own is not.

use barograph_platform::{Disks, Site, Unit, UnitFile, ignore_lines};

use crate::site::{TestSite, say};

/// The unit with a file system of its own.
pub(crate) const UNIT: &str = "full";

pub(crate) const BYTES: u64 = 48 << 20;

pub(crate) async fn all(opened: &TestSite) {
    let script = "dd if=/dev/zero of=$$ bs=4096 count=64 conv=fsync";
    let unit = Unit {
        files: vec![UnitFile { path: "conf".into(), bytes: Vec::new(), mode: 0o644 }],
        workdir: opened.spec.folder.join("full"),
        ..opened.unit(UNIT, "b", "/bin/sh", &["-c", script])
    };
    opened.create(&unit, ignore_lines()).await;
    let disks: &dyn Disks = opened.vm.disks().unwrap();
    let filled = disks.fill(&unit).await.unwrap_or_else(|fault| panic!("{fault:?}"));
    say(&format!("the disk of a unit was filled: {filled:?}"));
    assert!(filled.bytes > BYTES / 4 && filled.bytes <= BYTES, "{filled:?}");
    assert!(opened.vm.create(&unit, ignore_lines()).await.is_err());
    let lines = opened.script("beside", "b", "echo there > beside && cat beside").await;
    assert_eq!(lines, ["there"], "the guest's own disk is not full");
    disks.free(&unit).await.unwrap_or_else(|fault| panic!("{fault:?}"));
    opened.create(&unit, ignore_lines()).await;
}

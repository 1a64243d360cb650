//! A virtual machine is moved while users go on.

use crate::actions::{acted, well_after};
use crate::deployments::nothing_left;
use crate::place::TestFolders;

#[test]
fn a_virtual_machine_is_moved_under_load() {
    let place = TestFolders::without_data();
    let moves = "{at_s=4,unit=\"store-1\",act=\"move\"},{at_s=5,unit=\"store-1\",act=\"move\"}";
    let Some(run) = acted(&place, &["vm"], 25, moves) else { return };
    let kept: Vec<_> = run.actions().collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for moved in &kept {
        assert_eq!((moved.name.as_str(), moved.failed.as_deref()), ("move", None));
        assert!(moved.pause_s.is_some_and(|pause| pause > 0.0 && pause < moved.took_s), "{moved:?}");
        assert!(moved.pause_inside_s.is_some() && moved.pause_inside_error_s.is_some(), "{moved:?}");
    }
    let last = kept[1];
    assert!(well_after(&run, last.at_s + last.took_s) >= 10, "users go on: {last:?}");
    nothing_left(&place);
}

#[test]
fn libvirt_moves_a_virtual_machine_with_its_disk_under_load() {
    let place = TestFolders::without_data();
    let moves = "{at_s=4,unit=\"store-1\",act=\"move-with-disk\"}";
    let Some(run) = acted(&place, &["vm", "deploy.vm_manager=libvirt"], 25, moves) else { return };
    let kept: Vec<_> = run.actions().collect();
    let [moved] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((moved.name.as_str(), moved.failed.as_deref()), ("move-with-disk", None));
    assert!(moved.pause_s.is_some_and(|pause| pause > 0.0 && pause < moved.took_s), "{moved:?}");
    assert!(well_after(&run, moved.at_s + moved.took_s) >= 10, "users go on: {moved:?}");
    nothing_left(&place);
}

//! A virtual machine is moved while users go on.

use crate::actions::{acted, well_after};
use crate::deployments::nothing_left;
use crate::place::TestFolders;

#[test]
fn a_virtual_machine_is_moved_under_load() {
    let place = TestFolders::without_data();
    let moves = "{at_s=4,unit=\"store-1\",act=\"move\"},{at_s=5,unit=\"store-1\",act=\"move\"}";
    let Some(run) = acted(&place, "vm", 25, moves) else { return };
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

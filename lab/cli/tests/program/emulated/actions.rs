//! A virtual machine is moved while users go on.

use crate::actions::{acted, well_after};
use crate::deployments::nothing_left;
use crate::place::TestFolders;

#[test]
fn a_virtual_machine_is_moved_under_load() {
    let place = TestFolders::without_data();
    let Some(run) = acted(&place, "vm", 20, "{at_s=4,unit=\"store-1\",act=\"move\"}") else { return };
    let kept: Vec<_> = run.actions().collect();
    let [moved] = kept[..] else { panic!("{kept:?}") };
    assert_eq!((moved.name.as_str(), moved.failed.as_deref()), ("move", None));
    assert!(moved.pause_s.is_some_and(|pause| pause > 0.0 && pause < moved.took_s), "{moved:?}");
    assert!(well_after(&run, moved.at_s + moved.took_s) >= 10, "users go on: {moved:?}");
    nothing_left(&place);
}

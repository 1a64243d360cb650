//! One guest that is moved many times in a row while a service in it is in use.

use std::time::Duration;

use barograph_platform::{Limits, MachineOperation, Resource, Site};

use crate::echo::{self, EchoLoop};
use crate::site::{LIMIT, TestSite, open, say};

/// Moves.
const MOVES: usize = 20;

/// Moves whose pause must be the same from inside and from outside: a machine that stands still between a stop and its
/// event spoils one.
const AGREEING: usize = MOVES / 4;

/// Memory of the guest: the least that it may have.
const MEMORY: u64 = 256 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_is_moved_twenty_times_in_a_row() {
    let small = Limits { memory_bytes: Some(MEMORY), ..Limits::default() };
    let Some(opened) = open("often", &["a"], |spec, _| spec.hosts[0].limits = small).await else { return };
    let echo = echo::start(&opened, "a").await;
    let address = echo.address().unwrap();
    let before = emulators(&opened);
    let asking = EchoLoop::begin(address);
    let mut moves: Vec<MachineOperation> = Vec::new();
    let mut pids = vec![echo.accounts().pid];
    for _ in 0..MOVES {
        let moved =
            opened.vm.machines().unwrap().migrate("a").await.unwrap_or_else(|fault| panic!("{fault:?}"));
        moves.push(moved);
        pids.push(echo.accounts().pid);
        assert_eq!(emulators(&opened), before, "the emulator before the move is gone");
    }
    // One connection is in use all the time.
    let (count, longest) = asking.end();
    pids.sort_unstable();
    pids.dedup();
    assert_eq!(pids.len(), MOVES + 1, "an emulator for each place");
    assert!(count > 0);
    for moved in &moves {
        say(&format!("took {:?}, pause {:?}, inside {:?}", moved.took, moved.downtime, moved.standstill));
    }
    let agreeing = moves.iter().filter(|moved| is_seen_inside(moved)).count();
    say(&format!(
        "{agreeing} of {MOVES} pauses agree to 10 ms; {count} exchanges, the longest took {longest:?}"
    ));
    assert!(agreeing >= AGREEING, "{moves:?}");
    assert_eq!(echo::once(address, "hej", LIMIT).unwrap(), "hej");
    echo.stop(LIMIT).await.unwrap();
    drop(echo);
    opened.close().await;
}

/// Whether the guest's clock lost what QEMU says, to 10 ms beside the error of its measurement.
pub(crate) fn is_seen_inside(moved: &MachineOperation) -> bool {
    let inside = moved.standstill.unwrap();
    inside.length.abs_diff(moved.downtime) <= Duration::from_millis(10) + inside.error
}

/// Processes that the ledger names.
fn emulators(opened: &TestSite) -> usize {
    let left = opened.ledger.left();
    left.iter().filter(|left| matches!(left.thing, Resource::Process { .. })).count()
}

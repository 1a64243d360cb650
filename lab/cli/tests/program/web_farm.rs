//! The web farm as a whole program: dense mode of the host is undone at the end of a run, and after its death.

use std::fs;

use barograph_test_services::skip;
use rustix::process::Signal;

use crate::going::{RunningProgram, until};
use crate::place::TestFolders;
use crate::plans::command;

/// Tries of a run beside others that have the settings of this host.
const TRIES: usize = 20;

/// A change in the words of a note: file, value now, value before.
type Change = (String, String, String);

/// The changes of the loopback device in `dense mode on, WHY: FILE = NOW (was BEFORE); ...`. Other devices come and go with
/// other tests.
fn changes(note: &str) -> Vec<Change> {
    let list = note.split_once("load: ").map_or("", |(_, list)| list);
    let one = |text: &str| {
        let (path, values) = text.split_once(" = ")?;
        let (now, before) = values.trim_end_matches(')').split_once(" (was ")?;
        Some((path.to_owned(), now.to_owned(), before.to_owned()))
    };
    list.trim().split("; ").filter_map(one).filter(|(path, ..)| path.contains("/net/lo/")).collect()
}

/// A run in dense mode with its changes; `None` where this host takes none.
fn going(place: &TestFolders, window_s: u32) -> Option<(RunningProgram, Vec<Change>)> {
    let plan = place.root().join("farm.toml");
    let text = format!(
        "workload = \"web-farm\"\n[load]\nstrategy = \"fixed\"\nusers = 2\nramp_s = 1\nwarm_up_s = 0\nwindow_s = {window_s}\n\
         drain_s = 1\n[driver]\ninterval_ms = 250\n[deploy]\nservers = 2\ndense = \"on\"\n"
    );
    fs::write(&plan, text).unwrap();
    for _ in 0..TRIES {
        let going = RunningProgram::start(command(place, "run", &plan, &[]));
        let note = going.says("dense mode on");
        if note.contains("another run of this host") {
            going.signal(Signal::INT);
            going.end();
            continue;
        }
        let changes = changes(&note);
        if !changes.is_empty() {
            return Some((going, changes));
        }
        going.signal(Signal::INT);
        going.end();
        skip(&format!("no setting of this host can be changed: {note}"));
        return None;
    }
    panic!("other runs have the settings of this host");
}

fn value(path: &str) -> String {
    fs::read_to_string(path).unwrap().trim().trim_start_matches('0').to_owned()
}

fn assert_values(changes: &[Change], of: impl Fn(&Change) -> &String) {
    for change in changes {
        assert_eq!(value(&change.0), of(change).trim_start_matches('0'), "{change:?}");
    }
}

#[test]
fn dense_mode_ends_with_the_load_and_after_a_kill_with_clean() {
    let place = TestFolders::without_data();
    let Some((whole, changed)) = going(&place, 4) else { return };
    let ended = whole.end();
    assert!(ended.err.contains("dense mode off, the load ends: settings are as before"), "{ended:?}");
    place.assert_nothing_left();
    let Some((killed, again)) = going(&place, 600) else { return };
    assert_eq!(again, changed, "values before are those of before the first run");
    assert_values(&again, |(_, now, _)| now);
    killed.signal(Signal::KILL);
    killed.end();
    until("the end of the servers", || place.processes().is_empty().then_some(()));
    assert_values(&again, |(_, now, _)| now);
    let cleaned = RunningProgram::start(place.program(&["clean"])).end();
    assert!(cleaned.out.contains(&format!("removed change of {} from", again[0].0)), "{cleaned:?}");
    assert_values(&again, |(.., before)| before);
    place.assert_nothing_left();
}

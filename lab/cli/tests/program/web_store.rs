//! The web store through its web tier: nodes that are killed under load.

use std::fs;

use rustix::process::Signal;

use crate::going::{RunningProgram, send, until};
use crate::place::TestFolders;
use crate::plans::command;

/// A plan with two web nodes on a SQLite file, a window of this many seconds, and actions.
fn plan(place: &TestFolders, window_s: u32, actions: &str) -> std::path::PathBuf {
    let plan = place.root().join("web.toml");
    let text = format!(
        "workload = \"store\"\n[load]\nstrategy = \"fixed\"\nusers = 4\nramp_s = 1\nwarm_up_s = 1\nwindow_s = {window_s}\n\
         drain_s = 3\n[driver]\ninterval_ms = 250\n\
         [store]\nmegabytes = 1\naccess = \"web\"\nrules = \"own\"\nfailures = 1.0\n[deploy]\nweb_nodes = 2\n{actions}"
    );
    fs::write(&plan, text).unwrap();
    plan
}

/// What was in flight is in doubt; everything else that was acknowledged is in the database.
#[test]
fn a_web_node_that_is_killed_loses_no_acknowledged_order() {
    let place = TestFolders::without_data();
    let action = |act: &str| format!("[[actions]]\nat_s = 5\nunit = \"web-2\"\nact = \"{act}\"\n");
    let plan = plan(&place, 12, &[action("kill"), action("start")].concat());
    let ended = RunningProgram::start(command(&place, "run", &plan, &[])).end();
    let run = place.record();
    assert!(run.actions().count() == 2 && run.actions().all(|action| action.failed.is_none()), "{ended:?}");
    assert!(ended.out.contains("web-2  kill"), "{}", ended.out);
    let verdict = run.verdict().unwrap();
    assert!(!verdict.reasons.iter().any(|reason| reason.contains("data")), "{:?}", verdict.reasons);
    let later = run.intervals().filter(|interval| interval.from_s >= 9.0);
    let well: u64 = later.flat_map(|interval| &interval.ops).map(|op| op.count - op.failed).sum();
    assert!(well > 10, "{well}");
    place.assert_nothing_left();
}

#[test]
fn a_web_node_that_dies_ends_the_run_and_is_named() {
    let place = TestFolders::without_data();
    let plan = plan(&place, 600, "");
    let going = RunningProgram::start(command(&place, "run", &plan, &[]));
    going.enters("hold");
    let node = until("a node", || place.process("serve store"));
    send(node, Signal::KILL);
    let ended = going.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("web-") && ended.err.contains("killed by SIGKILL"), "{}", ended.err);
    place.assert_nothing_left();
}

/// Directly, users of a SQLite file block, and an open loop is refused.
#[test]
fn an_open_loop_goes_through_the_web_to_a_file() {
    let place = TestFolders::without_data();
    let plan = plan(&place, 4, "");
    let text = fs::read_to_string(&plan).unwrap().replace("users = 4", "unit = \"rate\"\nrate = 50");
    fs::write(&plan, &text).unwrap();
    let direct = place.root().join("direct.toml");
    let without = [("access = \"web\"\n", ""), ("[deploy]\nweb_nodes = 2\n", "")];
    fs::write(&direct, without.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to))).unwrap();
    let refused = RunningProgram::start(command(&place, "check", &direct, &[])).end();
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let ended = RunningProgram::start(command(&place, "run", &plan, &[])).end();
    let run = place.record();
    let all: u64 = run.intervals().flat_map(|interval| &interval.ops).map(|op| op.count).sum();
    assert!(all >= 150, "{all}: {ended:?}");
    let verdict = run.verdict().unwrap();
    assert!(!verdict.reasons.iter().any(|reason| reason.contains("data")), "{:?}", verdict.reasons);
    place.assert_nothing_left();
}

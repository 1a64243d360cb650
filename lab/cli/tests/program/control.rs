//! `barograph control`: status, changes and the end of a running load, and errors without one.

use serde_json::Value;

use crate::going::{ProgramOutput, RunningProgram};
use crate::http::site;
use crate::place::TestFolders;

fn control(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    let words: Vec<&str> = ["control", "--runs", "kept"].iter().chain(words).copied().collect();
    RunningProgram::start(place.program(&words)).end()
}

#[test]
fn a_load_is_asked_changed_and_ended_from_another_terminal() {
    let (place, site) = (TestFolders::without_data(), site());
    let words = ["http", &site.url("/delay/5"), "-d", "120s", "-c", "4", "--json", "--keep-record", "kept"];
    let going = RunningProgram::start(place.program(&words));
    going.enters("hold");
    let asked = control(&place, &["status"]);
    assert_eq!((asked.code, asked.err.as_str()), (Some(0), ""));
    assert!(asked.out.starts_with("hold at 4 users; at ") && asked.out.contains(" ops/s"), "{}", asked.out);
    let changed = control(&place, &["users=9", "--json"]);
    let status: Value = serde_json::from_str(&changed.out).unwrap();
    assert_eq!((&status["ok"], &status["status"]["level"]), (&Value::from(true), &Value::from(9)));
    let wrong = control(&place, &["rate=100"]);
    assert!(wrong.code == Some(2) && wrong.err.contains("barograph: change the load of `kept/"), "{wrong:?}");
    let stopped = control(&place, &["stop"]);
    assert!(stopped.code == Some(0) && stopped.out.starts_with("stopping in order"), "{stopped:?}");
    let ended = going.end();
    assert!(matches!(ended.code, Some(0 | 4 | 9)), "{ended:?}");
    let result: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(result["level_changed"], true, "{}", ended.out);
    let late = control(&place, &["status"]);
    assert!(late.code == Some(2) && late.err.contains(": none is on"), "{late:?}");
}

#[test]
fn what_is_no_command_is_refused() {
    let place = TestFolders::without_data();
    let wrong = control(&place, &["faster"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let wrong = control(&place, &["users=many"]);
    let expected = "barograph: understand the command: `users=many`: a whole number is allowed\n";
    assert_eq!((wrong.code, wrong.err.as_str()), (Some(2), expected));
    let nothing = control(&place, &["users=5"]);
    assert!(nothing.code == Some(2) && nothing.err.contains("find a run in `kept`"), "{nothing:?}");
}

//! Sudden death of the application, and of the driver itself.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use barograph_record::{PhaseOutcome, Run};
use barograph_test_services::skip;
use rustix::process::{Signal, geteuid};

use crate::deployments::{like, possible, traces_of};
use crate::going::{RunningProgram, send, until};
use crate::place::{TestFolders, fixed};

#[test]
fn a_killed_application_ends_the_run_with_the_cause_named() {
    let place = TestFolders::new();
    let going = RunningProgram::start(place.run(None, &fixed(30, 600)));
    going.enters("hold");
    send(going.application(), Signal::KILL);
    let killed = Instant::now();
    let ended = going.end();
    assert!(killed.elapsed() < Duration::from_secs(30), "{:?}", killed.elapsed());
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let named = "barograph: the application ended in mid-run: killed by SIGKILL (signal 9)";
    assert!(ended.err.contains(named), "{}", ended.err);
    let run = place.record();
    assert!(run.complete && run.damage.is_empty(), "{:?}", run.damage);
    let why = run.interrupted().unwrap();
    assert!(why.phase == "hold" && why.cause.contains("SIGKILL"), "{why:?}");
    assert!(run.phases().iter().any(|s| s.phase == "hold" && s.outcome == Some(PhaseOutcome::Failed)));
    place.assert_nothing_left();
}

#[test]
fn an_application_killed_after_the_windows_leaves_them_and_is_named() {
    let place = TestFolders::new();
    // Long enough to pause the application within the window, and too short for it to count as silent.
    let mut sets = fixed(60, 12);
    sets.push("load.drain_s=60".to_owned());
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("hold");
    // Paused, so that the drain lasts until it is killed.
    send(going.application(), Signal::STOP);
    going.enters("drain");
    send(going.application(), Signal::KILL);
    let ended = going.end();
    assert_eq!(ended.code, Some(9), "{ended:?}");
    let run = place.record();
    let verdict = run.verdict().unwrap();
    let named = "the data could not be checked after the run: the application ended before: killed by SIGKILL (signal 9)";
    assert!(!verdict.valid && verdict.reasons.iter().any(|r| r == named), "{:?}", verdict.reasons);
    assert_eq!(run.trials().count(), 1);
    place.assert_nothing_left();
}

#[test]
fn a_killed_fill_ends_the_run_with_the_cause_named() {
    let place = TestFolders::without_data();
    let mut sets = fixed(30, 5);
    sets.extend(["data.size=micro".to_owned(), "data.images=0.3".to_owned()]);
    let going = RunningProgram::start(place.run(None, &sets));
    let job = until("the fill job", || place.process("fill auction --supervised"));
    send(job, Signal::KILL);
    let ended = going.end();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let named = "because: unit `auction fill` ended before it was ready: killed by SIGKILL (signal 9)";
    assert!(ended.err.contains(named), "{}", ended.err);
    assert_eq!(place.record().interrupted().unwrap().phase, "fill");
    assert!(std::fs::read_dir(place.data()).map_or(0, Iterator::count) == 0, "half a data set is left");
    place.assert_nothing_left();
}

/// Runs `clean`, which removes everything, so that a second run finds nothing.
fn cleaned(place: &TestFolders) -> String {
    let first = RunningProgram::start(place.program(&["clean"])).end();
    assert_eq!(first.code, Some(0), "{first:?}");
    place.assert_nothing_left();
    first.out
}

#[test]
fn a_killed_driver_takes_its_application_along_and_leaves_the_rest_to_clean() {
    let place = TestFolders::new();
    let going = RunningProgram::start(place.run(None, &fixed(30, 600)));
    going.enters("hold");
    going.application();
    let running = RunningProgram::start(place.program(&["clean"])).end();
    assert!(running.out.ends_with(": still running, left alone\n"), "{}", running.out);
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    until("the end of the application", || place.processes().is_empty().then_some(()));
    let run = Run::open(&place.records()[0]).unwrap();
    assert!(!run.complete && run.verdict().is_none() && run.phases().last().unwrap().outcome.is_none());
    let out = cleaned(&place);
    let site = run.dir.join("site");
    assert!(out.contains(&format!("removed folder {}\n", site.display())), "{out}");
}

#[test]
fn a_driver_killed_in_the_fill_leaves_half_a_data_set_to_clean() {
    let place = TestFolders::without_data();
    let mut sets = fixed(30, 5);
    sets.extend(["data.size=micro".to_owned(), "data.images=0.3".to_owned()]);
    let going = RunningProgram::start(place.run(None, &sets));
    let images = || {
        std::fs::read_dir(place.data()).ok()?.flatten().next()?.path().join("images").exists().then_some(())
    };
    until("the first file of the fill", images);
    going.signal(Signal::KILL);
    assert_eq!(going.end().code, None);
    until("the end of the fill", || place.processes().is_empty().then_some(()));
    assert_eq!(std::fs::read_dir(place.data()).unwrap().count(), 1);
    cleaned(&place);
    assert_eq!(std::fs::read_dir(place.data()).unwrap().count(), 0);
}

/// Fails in the middle of a run, as a test may; sends the record and the run's files at that time.
fn fails(sets: &[String], tell: &SyncSender<(PathBuf, Vec<String>)>) {
    let place = TestFolders::new();
    let going = RunningProgram::start(place.run(None, sets));
    going.enters("hold");
    let record = place.records().pop().unwrap();
    let traces = traces_of(&record);
    tell.send((record, traces)).unwrap();
    // As a failed assertion, without a message.
    std::panic::resume_unwind(Box::new("failed"));
}

#[test]
fn a_test_that_panics_cleans_what_its_runs_left() {
    let mut sets = like("minimal", "namespace");
    sets.push("load.window_s=600".to_owned());
    if !geteuid().is_root() {
        return skip("what other users make in namespaces of their own goes with them");
    }
    if !possible(&TestFolders::new(), &sets) {
        return;
    }
    let (tell, told) = sync_channel(1);
    let test = std::thread::spawn(move || fails(&sets, &tell));
    assert!(test.join().is_err());
    let (record, traces) = told.recv().unwrap();
    assert!(!traces.is_empty(), "there was something to leave");
    assert_eq!(traces_of(&record), Vec::<String>::new());
}

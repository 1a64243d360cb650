//! Ctrl-C in every phase: exit code 7, a record that names the phase, and nothing left behind.

use std::fs;

use barograph_record::{PhaseOutcome, Run};
use rustix::process::Signal;

use crate::going::{RunningProgram, send, until};
use crate::place::{TestFolders, fixed};

/// Checks that the program ends, as a stopped one should, in one of these phases. Returns its record.
fn ends_stopped(going: RunningProgram, place: &TestFolders, phases: &[&str]) -> Run {
    let ended = going.end();
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(ended.err.ends_with("barograph: stopped before its end\n"), "{}", ended.err);
    let run = place.record();
    assert!(run.complete && run.damage.is_empty() && run.verdict().is_none(), "{:?}", run.damage);
    let stopped = run.interrupted().unwrap();
    assert_eq!(stopped.cause, "stopped before its end");
    assert!(phases.contains(&stopped.phase.as_str()), "{stopped:?}");
    let spans = run.phases();
    let broken =
        spans.iter().find(|s| s.phase == stopped.phase && s.outcome != Some(PhaseOutcome::Done)).unwrap();
    assert_eq!(broken.outcome, Some(PhaseOutcome::Interrupted));
    let last = spans.last().unwrap();
    assert_eq!((last.phase.as_str(), last.outcome), ("remove", Some(PhaseOutcome::Done)));
    assert!(run.dir.join("report.html").exists());
    place.assert_nothing_left();
    run
}

#[test]
fn in_the_fill() {
    let place = TestFolders::without_data();
    let mut sets = fixed(30, 5);
    // Gigabytes of pictures in full: large enough to be interrupted in progress.
    sets.extend(["data.size=micro".to_owned(), "data.history=0.1".to_owned(), "data.images=0.3".to_owned()]);
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("fill");
    until("the first file of the fill", || {
        fs::read_dir(place.data()).ok()?.flatten().next()?.path().join("images").exists().then_some(())
    });
    going.signal(Signal::INT);
    ends_stopped(going, &place, &["fill"]);
    assert_eq!(fs::read_dir(place.data()).unwrap().count(), 0, "half a data set is left");
}

#[test]
fn in_the_deployment() {
    let place = TestFolders::new();
    let mut sets = fixed(30, 5);
    // The ramp is long enough for a late signal.
    sets.push("load.ramp_s=60".to_owned());
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("deploy");
    going.signal(Signal::INT);
    // The application starts within milliseconds, so the ramp may have begun.
    ends_stopped(going, &place, &["deploy", "ramp"]);
}

#[test]
fn in_the_ramp() {
    let place = TestFolders::new();
    let mut sets = fixed(30, 5);
    sets.push("load.ramp_s=60".to_owned());
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("ramp");
    going.signal(Signal::INT);
    ends_stopped(going, &place, &["ramp"]);
}

#[test]
fn in_the_warm_up_by_a_polite_kill() {
    let place = TestFolders::new();
    let mut sets = fixed(30, 5);
    sets.push("load.warm_up_s=60".to_owned());
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("warm-up");
    going.signal(Signal::TERM);
    ends_stopped(going, &place, &["warm-up"]);
}

#[test]
fn in_the_measured_windows_which_keeps_those_that_ended() {
    let place = TestFolders::new();
    let mut sets = fixed(30, 2);
    sets.push("load.windows=100".to_owned());
    let going = RunningProgram::start(place.run(None, &sets));
    going.says("trial 1 ");
    going.signal(Signal::INT);
    let run = ends_stopped(going, &place, &["hold"]);
    assert!(run.trials().count() >= 1 && run.intervals().count() >= 2);
}

/// Starts a run, pauses its application in the window, and stops the run in `phase`. The window is long
/// enough to pause the application within it on a busy machine, and too short for it to count as silent.
fn with_a_held_application(phase: &str, drain_s: u32) {
    let place = TestFolders::new();
    let mut sets = fixed(60, 12);
    sets.push(format!("load.drain_s={drain_s}"));
    let going = RunningProgram::start(place.run(None, &sets));
    going.enters("hold");
    send(going.application(), Signal::STOP);
    going.enters(phase);
    going.signal(Signal::INT);
    let run = ends_stopped(going, &place, &[phase]);
    assert_eq!(run.trials().count(), 1, "the window before is kept");
}

#[test]
fn in_the_drain_while_operations_wait_for_a_stalled_application() {
    with_a_held_application("drain", 60);
}

#[test]
fn in_the_data_checks_while_the_application_stalls() {
    with_a_held_application("verify", 1);
}

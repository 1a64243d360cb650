//! Applications without data sets, and targets that are filled through their address.

use std::sync::atomic::Ordering;
use std::sync::mpsc;

use super::*;
use crate::testing::{FakeFill, FillCourse};

/// An application with two addresses, without data sets or checks.
fn bare(filling: Option<FakeFill>) -> TestWorkload {
    TestWorkload { bare: true, filling, ..TestWorkload::default() }
}

fn phases(kept: &Kept) -> Vec<String> {
    kept.phases().into_iter().map(|phase| phase.phase).collect()
}

#[test]
fn an_application_without_data_sets_is_neither_filled_nor_checked() {
    let root = tempfile::tempdir().unwrap();
    let finished = run_here(root.path(), &here(), bare(None)).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(phases(&kept), ["check", "deploy", "ramp", "hold", "drain", "remove"]);
    assert!(kept.fill().is_none() && kept.notes().count() == 0);
    assert_eq!(kept.topology().unwrap().fronts().collect::<Vec<_>>(), ["application-1", "application-2"]);
    let verdict = kept.verdict().unwrap();
    assert!(verdict.valid && verdict.passed, "{verdict:?}");
    assert!(!verdict.sentence.contains("data"), "{verdict:?}");
}

#[test]
fn a_deployed_target_is_filled_once_through_all_its_addresses() {
    let root = tempfile::tempdir().unwrap();
    let filling = FakeFill::new(FillCourse::Whole);
    let mut screen = SilentScreen::default();
    let finished = run_with(root.path(), &here(), bare(Some(filling.clone())), (&[], &mut screen)).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(phases(&kept), ["check", "deploy", "fill", "ramp", "hold", "drain", "remove"]);
    assert_eq!(filling.begun.load(Ordering::Relaxed), 1);
    let fill = kept.fill().unwrap();
    assert_eq!((fill.rows[0].count, fill.stamp.as_str()), (1_000_000, "http://127.0.0.1:9,127.0.0.1:9"));
    let shown = screen.progress.iter().find(|shown| shown.line == "keys: 340,000 of 1,000,000").unwrap();
    assert!((shown.done - 0.34).abs() < 1e-9);
}

#[test]
fn a_target_that_is_there_is_filled_and_left_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let filling = FakeFill::new(FillCourse::Whole);
    let workload =
        TestWorkload { deploys_nothing: true, filling: Some(filling.clone()), ..TestWorkload::default() };
    let finished = run_with(root.path(), &here(), workload, (&[URL], &mut SilentScreen::default())).unwrap();
    assert_eq!((finished.exit, filling.begun.load(Ordering::Relaxed)), (ExitCode::Fine, 1));
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(phases(&kept), ["check", "fill", "ramp", "hold", "drain", "remove"]);
    assert_eq!(kept.fill().unwrap().stamp, "http://127.0.0.1:9/");
}

#[test]
fn a_target_that_cannot_be_filled_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let finished = run_here(root.path(), &here(), bare(Some(FakeFill::new(FillCourse::Full)))).unwrap();
    assert_eq!(finished.exit, ExitCode::TargetNotReady);
    let why = "fill the target `http://127.0.0.1:9,127.0.0.1:9`: no room";
    assert_eq!(in_one_line(&finished.error.unwrap()), why);
    let kept = Kept::open(&finished.dir).unwrap();
    let fill = kept.phases().into_iter().find(|phase| phase.phase == "fill").unwrap();
    assert_eq!((fill.outcome, fill.error.as_deref()), (Some(PhaseOutcome::Failed), Some(why)));
    assert!(kept.fill().is_none() && kept.verdict().is_none());
    assert_eq!(last_phase(&kept), ("remove".to_owned(), Some(PhaseOutcome::Done), None));
}

#[test]
fn a_stopped_run_lets_the_filling_go_and_removes_what_was_deployed() {
    let root = tempfile::tempdir().unwrap();
    let (handle, stop) = Stop::new();
    let (send, noticed) = mpsc::sync_channel(1);
    let workload = bare(Some(FakeFill::new(FillCourse::Stopped(handle, send))));
    let finished =
        run_until(stop, root.path(), &here(), workload, (&[], &mut SilentScreen::default())).unwrap();
    assert_eq!(finished.exit, ExitCode::Interrupted);
    noticed.recv().expect("the thread noticed that the future was dropped");
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(kept.interrupted().unwrap().phase, "fill");
    assert_eq!(phases(&kept), ["check", "deploy", "fill", "remove"]);
    assert!(kept.fill().is_none() && !finished.dir.join("ledger.jsonl").exists());
}

#[test]
fn an_application_that_ends_while_it_is_filled_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let platform = FakePlatform { ends: Some(barograph_platform::UnitExit::Code(3)), ..here() };
    let finished = run_here(root.path(), &platform, bare(Some(FakeFill::new(FillCourse::Whole)))).unwrap();
    assert_eq!(finished.exit, ExitCode::TargetNotReady);
    assert!(matches!(finished.error, Some(HarnessError::TargetGone { .. })), "{:?}", finished.error);
    assert_eq!(Kept::open(&finished.dir).unwrap().interrupted().unwrap().phase, "fill");
}

/// Two loads on targets that exist already.
const TWO: &str = "[[loads]]\nname = \"a\"\nload.users = 1\ntarget.url = \"http://127.0.0.1:9/a\"\n\
                   [[loads]]\nname = \"b\"\nload.users = 1\ntarget.url = \"http://127.0.0.1:9/b\"\n";

#[test]
fn each_of_several_loads_fills_its_own_target() {
    let root = tempfile::tempdir().unwrap();
    let mut sets: Vec<String> = SHORT.iter().map(|set| (*set).to_owned()).collect();
    sets.retain(|set| !set.starts_with("load.users"));
    sets.push(format!("runs={}", root.path().display()));
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", TWO, &sets).unwrap();
    let ground = SimulatedHost::default();
    let fills = |ground: SimulatedHost| -> Arc<dyn Workload> {
        let filling = Some(FakeFill::new(FillCourse::Whole));
        let ground = Some(ground);
        Arc::new(TestWorkload { deploys_nothing: true, filling, ground, ..TestWorkload::default() })
    };
    let machine = Machine { open_files: 20_000, free_bytes: None, memory_bytes: None, cores: 2 };
    let loads =
        check_all(&plan, vec![fills(ground.clone()), fills(SimulatedHost::default())], machine).unwrap();
    let (_keep, stop) = Stop::new();
    let finished =
        run_checked(RunClock::of(ground), loads, (stop, &here()), &mut SilentScreen::default()).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(phases(&kept), ["check", "fill", "fill", "ramp", "hold", "drain", "remove"]);
    let stamps: Vec<&str> = kept.loads.iter().map(|load| load.fill().unwrap().stamp.as_str()).collect();
    assert_eq!(stamps, ["http://127.0.0.1:9/a", "http://127.0.0.1:9/b"]);
}

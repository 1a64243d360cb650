//! Loads that end after a number of operations.

use super::*;
use crate::check::check;
use crate::control::{Command, ask};

/// Runs on a target that exists already. Users start 50 operations per second, answered within a millisecond.
fn kept(more: &[&str]) -> Kept {
    let root = tempfile::tempdir().unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let keys = ["load.window_s=0", "load.users=4"].into_iter().chain(more.iter().copied());
    let keys: Vec<&str> = keys.chain([URL]).collect();
    let finished = run_with(root.path(), &here(), workload, (&keys, &mut SilentScreen::default())).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    assert_eq!(finished.exit, ExitCode::Fine);
    Kept::open(&finished.dir).unwrap()
}

/// Operations of all intervals.
fn ended(kept: &Kept) -> u64 {
    kept.intervals().flat_map(|interval| &interval.ops).map(|op| op.count).sum()
}

#[test]
fn all_of_them_are_measured_from_the_first_start_to_the_last_end() {
    let kept = kept(&["load.operations=100"]);
    let trial = kept.trials().next().unwrap();
    // 25 rounds: 24 of 20 ms, and the last answer.
    assert_eq!((trial.operations, trial.window.ended()), (Some(100), 100));
    assert!((trial.elapsed_s().unwrap() - 0.481).abs() < 1e-9, "{:?}", trial.elapsed_s());
    assert!((trial.window.throughput - 100.0 / 0.481).abs() < 1e-6, "{}", trial.window.throughput);
    assert_eq!(kept.metric(barograph_model::Metric::Elapsed, None), trial.elapsed_s());
    let names: Vec<&str> = trial.window.checks.iter().map(|check| check.name.as_str()).collect();
    assert!(names.contains(&"Little's law") && names.contains(&"driver start lag"), "{names:?}");
    for steady in ["users present", "pacing", "steady throughput", "steady response time", "steady state"] {
        assert!(!names.contains(&steady), "{names:?}");
    }
    let verdict = kept.verdict().unwrap();
    let sentence = "4 users at http://127.0.0.1:9/ kept every rule; 100 operations took 0.481 s.";
    assert_eq!((verdict.sentence.as_str(), verdict.passed, verdict.valid), (sentence, true, true));
    let phases: Vec<String> = kept.phases().into_iter().map(|span| span.phase).collect();
    assert_eq!(phases, ["check", "hold", "drain", "remove"]);
    assert_eq!(ended(&kept), 100);
}

#[test]
fn one_operation_is_enough() {
    let trial = kept(&["load.operations=1"]).trials().next().cloned().unwrap();
    assert_eq!((trial.window.ended(), trial.elapsed_s()), (1, Some(0.001)));
}

#[test]
fn a_warm_up_is_not_counted() {
    let kept = kept(&["load.operations=100", "load.warm_up_s=1"]);
    let trial = kept.trials().next().unwrap();
    assert_eq!(trial.window.ended(), 100);
    assert!((trial.elapsed_s().unwrap() - 0.481).abs() < 1e-9, "{:?}", trial.elapsed_s());
    assert!(trial.window.from_s > 1.0, "{}", trial.window.from_s);
    assert!(ended(&kept) >= 300);
}

#[test]
fn a_rate_has_a_number_of_operations_too() {
    let root = tempfile::tempdir().unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let keys = ["load.unit=rate", "load.rate=2.5", "load.operations=6", "load.window_s=0", URL];
    let finished = run_with(root.path(), &here(), workload, (&keys, &mut SilentScreen::default())).unwrap();
    let kept = Kept::open(&finished.dir).unwrap();
    let trial = kept.trials().next().unwrap();
    // 6 starts have 5 distances of 400 ms between them.
    assert!((trial.elapsed_s().unwrap() - 2.001).abs() < 1e-9, "{:?}", trial.elapsed_s());
    assert!(!trial.window.checks.iter().any(|check| check.name == "offered rate"));
    assert_eq!(
        kept.verdict().unwrap().sentence,
        "2.5 starts/s at http://127.0.0.1:9/ kept every rule; 6 operations took 2.00 s."
    );
}

#[test]
fn time_may_be_up_before() {
    let kept = kept(&["load.operations=1000", "load.window_s=1"]);
    let trial = kept.trials().next().unwrap();
    assert_eq!((trial.elapsed_s(), trial.aborted), (None, false));
    assert_eq!(kept.metric(barograph_model::Metric::Elapsed, None), None);
    let ended = trial.window.ended();
    assert!((190..=200).contains(&ended), "{ended}");
    let told = format!("the time was up when {ended} operations had ended");
    assert!(kept.notes().any(|(_, text)| text == told), "{:?}", kept.notes().collect::<Vec<_>>());
    let sentence = &kept.verdict().unwrap().sentence;
    assert!(sentence.contains(&format!("; {ended} of 1,000 operations ended in ")), "{sentence}");
}

#[test]
fn a_stop_leaves_what_was_measured() {
    let root = tempfile::tempdir().unwrap();
    let (_keep, stop) = Stop::new();
    let dir = root.path().join(id().as_str());
    let more = ["load.operations=1000000", "load.window_s=0", "load.users=4"];
    let (finished, ()) = watched(root.path(), stop, &more, |live| {
        live.iter().find(|moment| moment.live.phase == Phase::Hold).unwrap();
        assert!(ask(&dir, &Command::Stop).unwrap().ok);
    });
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let trial = kept.trials().next().unwrap();
    assert!(trial.window.ended() > 0 && trial.elapsed_s().is_none());
    assert!(!kept.notes().any(|(_, text)| text.starts_with("the time was up")));
}

#[test]
fn drivers_that_are_units_cannot_count_together() {
    let sets = ["load.strategy=fixed", "load.operations=5", "driver.count=2"].map(str::to_owned);
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
    let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
    let refused = check(&plan, &TestWorkload::default(), machine).unwrap_err().to_string();
    assert!(refused.contains("`load.operations` = 5\n  allowed: 0 with drivers that are units"), "{refused}");
}

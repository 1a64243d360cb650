//! Targets that stall, send garbage, close within an answer or die: each ends clearly, with a readable
//! record.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use barograph_harness::{HarnessError, RunResult};
use barograph_record::Run;
use barograph_testkit::{Act, Answer, Request, Script, always, dying_after};

use crate::fake;

const SHORT: [&str; 5] =
    ["load.users=30", "load.ramp_s=0", "load.warm_up_s=1", "load.window_s=5", "load.drain_s=1"];

/// Operations of the whole run by outcome. The home page is left out, because it accepts any page.
fn outcomes(run: &Run) -> Vec<(String, u64)> {
    let mut all = std::collections::BTreeMap::<String, u64>::new();
    for outcome in
        run.intervals().flat_map(|i| &i.ops).filter(|op| op.op != "HomePage").flat_map(|op| &op.outcomes)
    {
        *all.entry(outcome.name.clone()).or_default() += outcome.count;
    }
    all.into_iter().filter(|(name, _)| name != "cancelled").collect()
}

/// A run that completes although the target never answers correctly: every operation ends in `outcome`.
fn ends_with_only(outcome: &str, script: Script) {
    let root = tempfile::tempdir().unwrap();
    let RunResult { dir, exit, verdict, error } = fake::run(root.path(), &SHORT, |_| script);
    assert!(error.is_none() && matches!(exit.code(), 4 | 9), "{exit:?} {error:?}");
    let run = Run::open(&dir).unwrap();
    assert!(run.complete && run.damage.is_empty(), "{:?}", run.damage);
    let ends = outcomes(&run);
    assert!(ends.len() == 1 && ends[0].0 == outcome && ends[0].1 >= 10, "{ends:?}");
    let verdict = verdict.unwrap();
    assert!(!verdict.passed && run.verdict().is_some_and(|kept| kept.sentence == verdict.sentence));
    assert!(verdict.reasons.iter().any(|r| r.contains("Login failed in 100.00 %")), "{:?}", verdict.reasons);
}

#[test]
fn garbage_is_counted_as_wrong_answers() {
    ends_with_only("wrong answer", always(Act::Garbage(b"\x16\x03\x01 this is no HTTP\r\n\r\n".to_vec())));
}

#[test]
fn good_http_with_the_wrong_content_is_counted_as_wrong_answers() {
    let script = |request: &Request| {
        let expected = if request.method == "POST" { 201 } else { 200 };
        Answer::new(expected, "<html>under construction</html>").into()
    };
    ends_with_only("wrong answer", Arc::new(script));
}

#[test]
fn an_unexpected_status_is_counted_as_refused() {
    ends_with_only("refused", always(Answer::new(500, "{}").into()));
}

#[test]
fn answers_that_break_off_are_counted_as_broken_connections() {
    ends_with_only("broken connection", always(Act::CloseMid(Answer::new(200, vec![b' '; 4_000]))));
}

#[test]
fn a_target_that_stops_listening_is_counted_as_broken_connections() {
    ends_with_only("broken connection", dying_after(0, always(Act::Stall)));
}

/// A target that never answers; `timeout` is that of operations.
fn is_found_silent(timeout: &str) {
    let root = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let sets = ["load.users=30", "load.ramp_s=0", "load.warm_up_s=90", timeout];
    let finished = fake::run(root.path(), &sets, |_| always(Act::Stall));
    assert!(
        matches!(finished.error, Some(HarnessError::TargetSilent { seconds: 30, .. })),
        "{:?}",
        finished.error
    );
    assert_eq!(finished.exit.code(), 3);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let run = Run::open(&finished.dir).unwrap();
    assert!(run.complete && run.damage.is_empty() && run.intervals().count() >= 25, "{:?}", run.damage);
    let why = run.interrupted().unwrap();
    assert_eq!(
        (why.phase.as_str(), why.cause.as_str()),
        ("warm-up", "the application has not answered a single operation for 30 s")
    );
    assert!(outcomes(&run).iter().all(|(name, _)| name == "timed out"));
}

#[test]
fn a_target_that_stalls_is_given_up() {
    // Both in parallel, as most of the time is waiting.
    std::thread::scope(|s| {
        let patient = s.spawn(|| is_found_silent("driver.timeout_s=60"));
        let hasty = s.spawn(|| is_found_silent("driver.timeout_s=2"));
        patient.join().unwrap();
        hasty.join().unwrap();
    });
}

/// Whether the run whose record is in this folder has begun its warm-up.
fn warms_up(runs: &Path) -> bool {
    let begun = "\"kind\":\"phase_started\",\"phase\":\"warm-up\"";
    let mut records = fs::read_dir(runs).into_iter().flatten().flatten();
    records.any(|record| {
        fs::read_to_string(record.path().join("run.jsonl")).is_ok_and(|text| text.contains(begun))
    })
}

#[test]
fn a_target_whose_process_ends_ends_the_run() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("runs");
    let sets = ["load.users=30", "load.ramp_s=0", "load.warm_up_s=90"];
    let finished = fake::run(root.path(), &sets, |gone| {
        let script: Script = Arc::new(move |request| {
            // Users send requests from the first moment on, and the harness may be late.
            if request.n < 40 || !warms_up(&runs) {
                return Answer::new(503, "{}").into();
            }
            gone.send_replace(true);
            Act::Die
        });
        script
    });
    assert!(matches!(finished.error, Some(HarnessError::TargetGone { .. })), "{:?}", finished.error);
    assert_eq!(finished.exit.code(), 3);
    let run = Run::open(&finished.dir).unwrap();
    let why = run.interrupted().unwrap();
    assert!(
        why.phase == "warm-up" && why.cause.starts_with("the application ended in mid-run: exit code 101"),
        "{why:?}"
    );
    assert!(run.complete && run.damage.is_empty() && !finished.dir.join("site").exists());
}

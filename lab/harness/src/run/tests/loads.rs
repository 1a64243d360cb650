//! Paths, open loops, targets that exist already, and commands to a running load.

use barograph_model::{OfferedLoad, Share};
use barograph_record::{Purpose, ResultRecord, Trial, UnitRecord};

use super::*;
use crate::check::check;
use crate::control::{Command, ControlError, ask};
use crate::testing::{JamRule, Mix};

/// Runs on a target that exists already.
fn run_there(root: &Path, more: &[&str]) -> RunResult {
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let more: Vec<&str> = more.iter().copied().chain([URL]).collect();
    run_with(root, &here(), workload, (&more, &mut SilentScreen::default())).unwrap()
}

#[test]
fn a_target_that_is_there_is_neither_made_nor_filled_nor_verified() {
    let root = tempfile::tempdir().unwrap();
    let finished = run_there(root.path(), &[]);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let phases: Vec<String> = kept.phases().into_iter().map(|s| s.phase).collect();
    assert_eq!(phases, ["check", "ramp", "hold", "drain", "remove"]);
    assert_eq!(kept.expected().unwrap().target.as_deref(), Some("http://127.0.0.1:9/"));
    assert!(
        kept.fill().is_none()
            && kept.verdict().unwrap().sentence.starts_with("1 user at http://127.0.0.1:9/ ")
    );
    assert_eq!(kept.notes().count(), 0, "that the control folder went is no news");
    assert!(!finished.dir.join("ledger.jsonl").exists() && !finished.dir.join("control").exists());
}

#[test]
fn a_target_nobody_finds_is_the_target_s_fault() {
    let root = tempfile::tempdir().unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let more = ["target.url=http://nowhere.test/"];
    let finished = run_with(root.path(), &here(), workload, (&more, &mut SilentScreen::default())).unwrap();
    assert_eq!(finished.exit, ExitCode::TargetNotReady);
    let error = finished.error.unwrap();
    assert_eq!(in_one_line(&error), "reach the target `http://nowhere.test/`: no address is known for it");
    assert!(!finished.dir.join("control").exists());
}

#[test]
fn without_a_deployment_a_plan_must_say_where_the_target_is() {
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &[]).unwrap();
    let refused = check(
        &plan,
        &workload,
        Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 },
    )
    .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "p.toml: `target.url` = nothing\n  allowed: a URL: workload asking makes no application of its own\n  to do:   say \
         where the target answers, as in --set target.url=http://127.0.0.1:8080"
    );
}

const AFTER_A_STEP: &str = "mix after a step";

/// Trials of a workload whose only operation should be half of the mix, with nothing else wrong.
fn with_a_wrong_mix(session_s: f64, keys: &[&str]) -> Vec<Trial> {
    let root = tempfile::tempdir().unwrap();
    let mix = Mix { required: Share::percent(50.0), session_s };
    let workload = TestWorkload { deploys_nothing: true, mix, ..TestWorkload::default() };
    let keys: Vec<&str> = keys.iter().copied().chain([URL]).collect();
    let finished = run_with(root.path(), &here(), workload, (&keys, &mut SilentScreen::default())).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let trials: Vec<Trial> = Kept::open(&finished.dir).unwrap().trials().cloned().collect();
    assert!(!trials.is_empty());
    let in_order = |trial: &Trial| {
        let checks = trial.window.checks.iter().all(|check| check.ok || check.name == AFTER_A_STEP);
        checks && trial.window.ops.iter().all(|op| op.time_ok && op.failures_ok)
    };
    for trial in &trials {
        assert!(in_order(trial), "{trial:?}");
    }
    trials
}

/// While users may still be in their first session, a search repeats the window. The window of a fixed load
/// stays.
#[test]
fn a_search_does_not_take_the_mix_after_a_step_for_a_failure() {
    let search = ["load.strategy=search", "load.max_users=4", "load.max_trials=2", "load.settle_s=0"];
    for (session_s, keys, result) in [
        (1e6, &search[..], ResultRecord::Invalid),
        (0.0, &search[..], ResultRecord::Fail),
        (1e6, &[][..], ResultRecord::Fail),
    ] {
        for trial in with_a_wrong_mix(session_s, keys) {
            let said = trial.window.checks.iter().any(|check| check.name == AFTER_A_STEP && !check.ok);
            assert_eq!((trial.result, said), (result, result == ResultRecord::Invalid), "{trial:?}");
            assert!(trial.window.ops.iter().all(|op| !op.mix_ok), "{trial:?}");
        }
    }
}

/// If it were approached from above, this target would carry fewer than 40 users.
#[test]
fn a_target_that_jams_is_tried_from_below() {
    // If users settle for longer than they need to spread, the target also has that time to recover.
    for settle in ["load.settle_s=0", "load.settle_s=2"] {
        tried_from_below(settle);
    }
}

fn tried_from_below(settle: &str) {
    let search = [
        "load.strategy=search",
        "load.ramp_s=2",
        "load.warm_up_s=2",
        "load.step_s=0",
        settle,
        "load.max_trials=4",
        "load.min_users=10",
        "load.max_users=60",
    ];
    let root = tempfile::tempdir().unwrap();
    let jams = Some(JamRule { from: 50, kept_by: 35 });
    let workload = TestWorkload { deploys_nothing: true, jams, ..TestWorkload::default() };
    let keys: Vec<&str> = search.iter().copied().chain([URL]).collect();
    let finished = run_with(root.path(), &here(), workload, (&keys, &mut SilentScreen::default())).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let trials: Vec<_> = kept.trials().map(|t| (t.level.whole(), t.result, t.aborted)).collect();
    assert_eq!(trials, [37, 43, 50, 44].map(|level| (level, ResultRecord::Pass, false)), "{settle}");
    assert_eq!(kept.verdict().unwrap().search.as_ref().unwrap().highest_pass, Some(50), "{settle}");
}

/// All of them at once would be a different load.
#[test]
fn the_first_users_of_a_climb_come_one_by_one() {
    let search = [
        "load.strategy=search",
        "load.search=staircase",
        "load.min_users=40",
        "load.max_users=40",
        "load.max_trials=2",
        "load.ramp_s=2",
        "load.step_s=0",
    ];
    let root = tempfile::tempdir().unwrap();
    let finished = run_there(root.path(), &search);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let trials: Vec<(u32, u32)> = kept.trials().map(|t| (t.level.whole(), t.window.users)).collect();
    assert_eq!(trials, [(40, 40)]);
    let users: Vec<u32> = kept.intervals().map(|interval| interval.users).collect();
    // One every 50 ms, in intervals of 100 ms.
    let coming: Vec<u32> = (1..=20).map(|nth| nth * 2).collect();
    assert_eq!(users[..20], coming, "{users:?}");
}

#[test]
fn an_open_loop_is_told_in_its_unit() {
    let root = tempfile::tempdir().unwrap();
    let more = ["load.unit=rate", "load.rate=200", "load.most_users=60"];
    let finished = run_there(root.path(), &more);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let trial = kept.trials().next().unwrap();
    assert_eq!(
        (trial.unit, trial.level, trial.purpose),
        (UnitRecord::StartsPerSecond, 200.into(), Purpose::Fixed)
    );
    assert!(trial.window.checks.iter().any(|c| c.name == "offered rate"));
    let used = &trial.resources;
    // A tenth of a core for 200 requests per second.
    assert_eq!((used.driver_cpu_us_per_request, used.driver_rss_bytes), (Some(500.0), Some(8 << 20)));
    assert!(used.driver_connections.is_some() && used.app_rss_bytes.is_none());
    let verdict = kept.verdict().unwrap();
    assert_eq!(&verdict.resources, used);
    assert_eq!(verdict.sentence, "200 starts/s at http://127.0.0.1:9/ kept every rule.");
    assert_eq!((verdict.unit, kept.unit()), (UnitRecord::StartsPerSecond, UnitRecord::StartsPerSecond));
    assert_eq!((trial.window.starts_s, trial.window.throughput), (200.0, 200.0));
}

/// Start and end of each window, in seconds of the load.
fn windows(kept: &Kept) -> Vec<(f64, f64)> {
    kept.trials().map(|trial| (trial.window.from_s, trial.window.to_s)).collect()
}

#[test]
fn each_hold_of_a_path_is_a_window() {
    let root = tempfile::tempdir().unwrap();
    let path = "load.path=[{users=2, hold_s=0.5}, {users=9}, {users=0, hold_s=0.4}, {users=4, over_s=0.2, hold_s=0.5}]";
    let finished = run_there(root.path(), &["load.strategy=path", path, "load.repeats=2"]);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let levels: Vec<(u32, Purpose)> = kept.trials().map(|t| (t.level.whole(), t.purpose)).collect();
    let expected = [2, 4, 2, 4].map(|level| (level, Purpose::Path));
    assert_eq!(levels, expected, "nothing is judged in a pause or on the way");
    let users: Vec<u32> = kept.trials().map(|t| t.window.users).collect();
    assert_eq!(users, [2, 4, 2, 4]);
    assert_eq!(windows(&kept), [(0.1, 0.6), (1.4, 1.9), (2.0, 2.5), (3.3, 3.8)]);
    let sentence = "A path of 4 holds up to 4 users at http://127.0.0.1:9/ kept every rule.";
    assert_eq!(kept.verdict().unwrap().sentence, sentence);
}

#[test]
fn a_trace_is_played_as_it_is_written() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("trace.txt");
    let instants: Vec<String> = (0..50).map(|n| format!("{}", 0.2 + f64::from(n) * 0.01)).collect();
    std::fs::write(&file, instants.join("\n")).unwrap();
    let trace = format!("load.trace={}", file.display());
    let more = ["load.unit=rate", "load.arrivals=trace", &trace, "load.window_s=0", "load.most_users=60"];
    let finished = run_there(root.path(), &more);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(kept.intervals().map(|i| i.starts + i.dropped).sum::<u64>(), 50);
    assert_eq!(kept.trials().next().unwrap().level, 50, "the mean, where a load is named");
    let note =
        "the trace has 50 starts in 1.0 s; its mean of 50 starts/s stands for the load where one is named";
    assert_eq!(kept.notes().map(|(_, text)| text).collect::<Vec<_>>(), [note]);
    // The second of the last arrival, and one for its operations.
    assert_eq!(windows(&kept), [(0.0, 2.0)]);
}

#[test]
fn a_trace_that_cannot_be_is_refused_by_file_and_line() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("trace.txt");
    let refused = |text: Option<&str>| {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let sets = ["load.unit=rate", "load.strategy=fixed", "load.arrivals=trace"].map(str::to_owned);
        let trace = format!("load.trace={}", file.display());
        let plan = barograph_spec::read(
            barograph_spec::Catalogue::default(),
            "p.toml",
            "",
            &[&sets[..], &[trace]].concat(),
        )
        .unwrap();
        let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
        check(&plan, &TestWorkload::default(), machine).unwrap_err().0.remove(0)
    };
    let absent = refused(None);
    assert_eq!((absent.place.as_str(), absent.key.as_str()), ("--set", "load.trace"));
    assert!(absent.allowed.contains("No such file"), "{absent}");
    let wrong = refused(Some("0\n1\nlater\n"));
    assert_eq!((wrong.place, wrong.value.as_str()), (format!("{}:3", file.display()), "later"));
}

#[test]
fn a_search_by_rate_ends_in_its_unit() {
    let root = tempfile::tempdir().unwrap();
    let bounds = ["load.min_rate=50", "load.max_rate=200", "load.max_trials=2", "load.confirm_s=1"];
    let more: Vec<&str> = ["load.unit=rate", "load.strategy=search"].into_iter().chain(bounds).collect();
    let finished = run_there(root.path(), &more);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    let trials: Vec<(u32, UnitRecord)> = kept.trials().map(|t| (t.level.whole(), t.unit)).collect();
    assert_eq!(trials, [(200, UnitRecord::StartsPerSecond); 2], "nothing gives way to so little");
    let verdict = kept.verdict().unwrap();
    assert_eq!((verdict.unit, verdict.search.as_ref().unwrap().trials), (UnitRecord::StartsPerSecond, 2));
    let sentence = "The target holds 200 starts/s at http://127.0.0.1:9/. ";
    assert!(verdict.sentence.starts_with(sentence), "{}", verdict.sentence);
}

/// Runs for at most a minute of simulated time, with `asking` on a thread of its own.
fn commanded<T: Send>(
    root: &Path,
    more: &[&str],
    asking: impl FnOnce(&Path, &Receiver<IntervalEnd>) -> T + Send,
) -> (RunResult, T) {
    let (_keep, stop) = Stop::new();
    let dir = root.join(id().as_str());
    let more: Vec<&str> = more.iter().copied().chain(["load.window_s=60"]).collect();
    watched(root, stop, &more, move |live| asking(&dir, live))
}

#[test]
fn a_command_changes_the_load_and_marks_the_window() {
    let root = tempfile::tempdir().unwrap();
    let change = |unit| Command::Level { level: 5.into(), unit, over_s: 0.1 };
    let (finished, status) = commanded(root.path(), &[], |dir, live| {
        let first = live.iter().find(|m| m.live.phase == Phase::Hold).unwrap();
        let wrong = ask(dir, &change(Some(UnitRecord::StartsPerSecond))).unwrap();
        assert_eq!(wrong.error.as_deref(), Some("the load of this run is in users, not in starts/s"));
        let done = ask(dir, &change(None)).unwrap();
        assert_eq!((done.ok, done.status.unwrap().level), (true, 5.into()));
        drop(first);
        let there = OfferedLoad { level: 5.into(), ..OfferedLoad::default() };
        let changed = live.iter().next().unwrap();
        assert!(changed.live.offered == there && changed.live.phase == Phase::Hold);
        let far = ask(dir, &Command::Level { level: 1_000_000_000.into(), unit: None, over_s: 0.0 }).unwrap();
        assert!(far.error.unwrap().starts_with("the data and the open files of this run admit "));
        let status = ask(dir, &Command::Status).unwrap().status.unwrap();
        assert!(ask(dir, &Command::Stop).unwrap().ok);
        status
    });
    assert_eq!((status.phase.as_str(), status.level, status.unit), ("hold", 5.into(), UnitRecord::Users));
    // Five users at 50 operations per second, four of whom arrived during the interval.
    assert_eq!((status.at_s, status.remaining_s, status.ops_s), (0.3, 59.7, 150.0));
    assert!(finished.error.is_none(), "{:?}", finished.error);
    assert_eq!(finished.exit, ExitCode::NotValid);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(kept.controls().map(|c| (c.level.whole(), c.over_s)).collect::<Vec<_>>(), [(5, 0.1)]);
    let trial = kept.trials().next().unwrap();
    let marked = trial.window.checks.iter().find(|c| c.name == "constant load").unwrap();
    assert!(!marked.ok);
    assert_eq!(windows(&kept), [(0.1, 0.4)]);
    assert!(kept.notes().any(|(_, text)| text == "the load was ended here on request"));
    let gone = ask(&finished.dir, &Command::Status).unwrap_err();
    assert!(matches!(gone, ControlError::NoLoad { .. }), "{gone}");
}

#[test]
fn a_load_that_is_ended_is_judged_by_what_was_measured() {
    let root = tempfile::tempdir().unwrap();
    let (finished, ()) = commanded(root.path(), &[], |dir, live| {
        let _sixth = live.iter().filter(|m| m.live.phase == Phase::Hold).nth(5).unwrap();
        assert!(ask(dir, &Command::Stop).unwrap().ok);
    });
    assert!(finished.error.is_none(), "{:?}", finished.error);
    assert_eq!(windows(&Kept::open(&finished.dir).unwrap()), [(0.1, 0.8)]);
    assert_eq!(finished.verdict.unwrap().sentence, "1 user at http://127.0.0.1:9/ kept every rule.");
    let early = tempfile::tempdir().unwrap();
    let (finished, ()) = commanded(early.path(), &["load.ramp_s=60"], |dir, live| {
        let _first = live.recv().unwrap();
        assert!(ask(dir, &Command::Stop).unwrap().ok);
    });
    // Nothing was measured, so there is nothing to judge.
    assert_eq!((finished.exit, finished.verdict), (ExitCode::Interrupted, None));
}

#[test]
fn a_search_sets_its_load_itself() {
    let root = tempfile::tempdir().unwrap();
    let more = ["load.strategy=search", "load.min_users=1", "load.max_users=2", "load.ramp_s=60"];
    let more: Vec<&str> = more.iter().copied().chain(["load.confirm_s=60"]).collect();
    let (_, error) = commanded(root.path(), &more, |dir, live| {
        let _first = live.recv().unwrap();
        let refused = ask(dir, &Command::Level { level: 1.into(), unit: None, over_s: 0.0 }).unwrap();
        ask(dir, &Command::Stop).unwrap();
        refused.error.unwrap()
    });
    assert_eq!(error, "a search sets the load itself; only a fixed load or a path can be changed");
}

#[test]
fn a_window_begins_when_the_load_is_at_its_level() {
    // Intervals of 0.1 s: the rounded ends of these changes are before the exact ones.
    let path = "load.path=[{users=3, hold_s=0.5}, {users=40, hold_s=0.5}, {users=9, over_s=0.24, hold_s=0.5}, \
        {users=30, over_s=0.33, hold_s=0.5}]";
    let root = tempfile::tempdir().unwrap();
    let finished = run_there(root.path(), &["load.strategy=path", path]);
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    // The changes are complete at 0, 0.6, 1.44 and 2.33 s.
    assert_eq!(windows(&kept), [(0.1, 0.6), (0.7, 1.2), (1.5, 2.0), (2.4, 2.9)]);
    assert_eq!(kept.intervals().next().unwrap().from_s, 0.0, "what comes before is kept");
    let fixed = tempfile::tempdir().unwrap();
    let finished = run_there(fixed.path(), &["load.window_s=1", "load.users=20"]);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(windows(&kept), [(0.1, 1.1)], "the interval in which users came is not measured");
}

#[test]
fn a_command_for_more_than_a_plan_may_ask_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let more = ["load.unit=rate", "load.rate=50", "load.most_users=60"];
    let (_, (refused, status)) = commanded(root.path(), &more, |dir, live| {
        let _first = live.recv().unwrap();
        let far = ask(dir, &Command::Level { level: 10_000_001.into(), unit: None, over_s: 0.0 }).unwrap();
        let status = ask(dir, &Command::Status).unwrap().status.unwrap();
        ask(dir, &Command::Stop).unwrap();
        (far, status)
    });
    let why = "level = 10000001; allowed: at most 10000000, as in a plan";
    assert_eq!((refused.ok, refused.error.as_deref()), (false, Some(why)));
    assert_eq!(status.level, 50, "the load goes on as it was");
}

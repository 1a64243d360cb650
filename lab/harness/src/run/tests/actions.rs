//! Actions at their moments, with durations and pauses.

use barograph_model::Nanos;
use barograph_record::{Impact, WindowSpan};

use super::*;
use crate::testing::ActionDurations;

/// Runs 4 s of load on a deployed application whose unit takes 100 ms to stop, 250 ms to start, and 400 ms to
/// move.
fn acted(workload: TestWorkload, actions: &str) -> (tempfile::TempDir, Kept) {
    let root = tempfile::tempdir().unwrap();
    let ground = SimulatedHost::default();
    let [stop, start, move_] = [100, 250, 400].map(Nanos::from_millis);
    let platform = FakePlatform {
        slow: Some(ActionDurations { time: ground.time.clone(), stop, start, move_ }),
        ..here()
    };
    let actions = format!("actions=[{actions}]");
    let keys = ["load.users=10", "load.window_s=4", actions.as_str()];
    let workload = TestWorkload { ground: Some(ground), ..workload };
    let finished = run_with(root.path(), &platform, workload, (&keys, &mut SilentScreen::default())).unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    (root, kept)
}

/// Time, name, details, duration, pause and reason of each action.
type ActionFacts<'k> = (f64, &'k str, &'k str, f64, Option<f64>, Option<&'k str>);

fn told(kept: &Kept) -> Vec<ActionFacts<'_>> {
    let told = kept.actions();
    told.map(|a| (a.at_s, a.name.as_str(), a.act.as_str(), a.took_s, a.pause_s, a.failed.as_deref()))
        .collect()
}

#[test]
fn a_part_is_stopped_started_and_restarted_with_what_each_took() {
    let (_root, kept) = acted(
        TestWorkload::default(),
        "{at_s=1,unit=\"application-1\",act=\"restart\"},{at_s=2,unit=\"application-1\",act=\"stop\"},\
         {at_s=2.5,unit=\"application-1\",act=\"stop\"},{at_s=3,unit=\"application-1\",act=\"start\"},\
         {at_s=3.5,unit=\"application-1\",act=\"start\"},{at_s=90,unit=\"application-1\",act=\"stop\"}",
    );
    let runs =
        "it runs; only a part that was killed or stopped, or that its disk or memory ended, can be started";
    assert_eq!(
        told(&kept),
        [
            (1.0, "restart", "restart: exit code 0", 0.35, Some(0.25), None),
            (2.0, "stop", "stop: exit code 0", 0.1, None, None),
            (2.5, "stop", "stop", 0.0, None, Some("it does not run")),
            (3.0, "start", "start", 0.25, None, None),
            (3.5, "start", "start", 0.0, None, Some(runs)),
            (4.1, "stop", "stop", 0.0, None, Some("the load ended before")),
        ]
    );
}

#[test]
fn nodes_of_a_tier_stop_and_start_side_by_side_until_the_number_runs() {
    let scale =
        |at_s: f64, count: u32| format!("{{at_s={at_s},unit=\"application\",act=\"scale\",count={count}}}");
    let kill = "{at_s=2.5,unit=\"application-1\",act=\"stop\"}";
    let actions = [scale(1.0, 1), scale(1.5, 1), scale(2.0, 2), kill.to_owned(), scale(3.0, 3)].join(",");
    let (_root, kept) = acted(TestWorkload { behind: 3, ..TestWorkload::default() }, &actions);
    assert_eq!(
        told(&kept),
        [
            (1.0, "scale", "scale to 1: application-2, application-3 stopped", 0.1, None, None),
            (1.5, "scale", "scale to 1: no node stopped or started", 0.0, None, None),
            (2.0, "scale", "scale to 2: application-2 started", 0.25, None, None),
            (2.5, "stop", "stop: exit code 0", 0.1, None, None),
            (3.0, "scale", "scale to 3: application-1, application-3 started", 0.25, None, None),
        ]
    );
    assert!(kept.actions().all(|action| action.unit.starts_with("application")));
    assert_eq!(kept.impacts().len(), 5);
}

#[test]
fn nodes_of_a_tier_restart_one_after_another() {
    let rolling = "{at_s=1,unit=\"application\",act=\"scale\",count=2},{at_s=2,unit=\"application\",act=\"rolling-restart\"}";
    let (_root, kept) = acted(TestWorkload { behind: 3, ..TestWorkload::default() }, rolling);
    let both = "rolling-restart: application-1, application-2";
    // Each takes 0.1 s to stop and 0.25 s to start; the third one does not run.
    assert_eq!(told(&kept)[1], (2.0, "rolling-restart", both, 0.7, None, None));
}

#[test]
fn a_machine_is_moved_with_the_pause_that_its_guest_saw() {
    let (_root, kept) = acted(
        TestWorkload::default(),
        "{at_s=1,unit=\"application-1\",act=\"move\"},{at_s=2,unit=\"application-1\",act=\"snapshot\",name=\"before\"},\
         {at_s=3,unit=\"application-1\",act=\"restore\",name=\"after\"},\
         {at_s=3.75,unit=\"application-1\",act=\"move\"}",
    );
    let (why, late) = ("do it: it has no such snapshot", "the load ended before");
    assert_eq!(
        told(&kept),
        [
            (1.0, "move", "move: 3.0 MiB", 0.4, Some(0.03), None),
            (2.0, "snapshot", "snapshot before: 0.0 MiB", 0.0, Some(0.0), None),
            (3.0, "restore", "restore after", 0.0, None, Some(why)),
            (3.75, "move", "move", 0.35, None, Some(late)),
        ]
    );
    let inside: Vec<_> = kept.actions().map(|a| a.pause_inside_s.zip(a.pause_inside_error_s)).collect();
    assert_eq!(inside, [Some((0.03, 0.001)), None, None, None]);
}

#[test]
fn a_limit_that_the_platform_cannot_change_is_recorded_as_not_done() {
    let resize = "{at_s=1,unit=\"application-1\",act=\"resize\",cpus=2,memory_mib=64}";
    let (_root, kept) = acted(TestWorkload::default(), resize);
    // The action runs on another thread, for which simulated time does not wait.
    let told: Vec<(f64, &str, Option<&str>)> =
        kept.actions().map(|action| (action.at_s, action.act.as_str(), action.failed.as_deref())).collect();
    assert_eq!(told, [(1.0, "resize to 2 cores, 64 MiB", Some("platform cannot limit it"))]);
}

/// The stop takes 0.1 s, the restart 0.35 s; the second stop fails, and the last one is prevented by the end.
#[test]
fn an_action_above_its_limit_fails_the_run_and_is_named() {
    let act = |at_s: f64, act: &str, limit_s: f64| {
        format!("{{at_s={at_s},unit=\"application-1\",act=\"{act}\",limit_s={limit_s}}}")
    };
    let fine = [act(1.0, "restart", 0.4), act(2.0, "stop", 0.2), act(90.0, "start", 1.0)].join(",");
    let (_root, kept) = acted(TestWorkload::default(), &fine);
    let verdict = kept.verdict().unwrap();
    assert!(verdict.passed && verdict.why.is_empty(), "{verdict:?}");
    let slow = [act(1.0, "restart", 0.3), act(2.0, "stop", 0.2), act(2.5, "stop", 0.2)].join(",");
    let (_root, kept) = acted(TestWorkload::default(), &slow);
    let verdict = kept.verdict().unwrap();
    let expected = [
        "restart application-1 at 1.0 s took 350 ms, allowed are 300 ms",
        "stop application-1 at 2.5 s was not done: it does not run",
    ];
    assert_eq!((verdict.passed, verdict.exit()), (false, ExitCode::QosMissed), "{verdict:?}");
    assert_eq!(verdict.reasons, expected);
    assert!(verdict.sentence.ends_with(" 2 of 3 actions with a limit did not keep it."), "{verdict:?}");
}

#[test]
fn an_action_is_repeated_as_long_as_the_load_goes_on() {
    let scale = |at_s: f64, count: u32, every_s: f64| {
        format!("{{at_s={at_s},unit=\"application\",act=\"scale\",count={count},every_s={every_s}}}")
    };
    let actions = [scale(0.5, 1, 1.5), scale(1.0, 2, 1.5), scale(9.0, 1, 1.0)].join(",");
    let (_root, kept) = acted(TestWorkload { behind: 2, ..TestWorkload::default() }, &actions);
    let (stopped, started) = ("scale to 1: application-2 stopped", "scale to 2: application-2 started");
    let told: Vec<(f64, &str, Option<&str>)> =
        kept.actions().map(|action| (action.at_s, action.act.as_str(), action.failed.as_deref())).collect();
    let expected =
        [(0.5, stopped), (1.0, started), (2.0, stopped), (2.5, started), (3.5, stopped), (4.0, started)];
    // The last start begins with the last moment of the load, and its end may come too late.
    assert_eq!(told[..5], expected[..5].iter().map(|(at_s, act)| (*at_s, *act, None)).collect::<Vec<_>>());
    assert!(told[5..].iter().all(|(at_s, ..)| *at_s == 4.0), "{told:?}");
}

/// Start, end, operations, failures, judged quantile and longest time of a stretch.
fn stretch(stretch: Option<&WindowSpan>) -> Option<(f64, f64, u64, u64, Option<f64>, f64)> {
    let stretch = stretch?;
    let op = stretch.op("Ask")?;
    Some((stretch.from_s, stretch.to_s, op.count, op.failed, op.quantile_ms, op.max_ms))
}

#[test]
fn what_users_saw_of_a_restart_stands_beside_the_calm_part_of_its_window() {
    let silent = Some((Nanos::from_secs(2), Nanos::from_millis(2_350)));
    let workload = TestWorkload { silent, ..TestWorkload::default() };
    let restart = "{at_s=2,unit=\"application-1\",act=\"restart\"}";
    let (_root, kept) = acted(workload, restart);
    let impacts = kept.impacts();
    let [impact] = &impacts[..] else { panic!("{impacts:?}") };
    // 10 users make 50 operations in each of 19 intervals.
    assert_eq!(stretch(impact.before.as_ref()), Some((0.1, 2.0, 950, 0, Some(1.0), 1.0)));
    let longest = 349.183;
    assert_eq!(stretch(impact.during.as_ref()), Some((2.0, 2.4, 40, 0, Some(longest), longest)));
    // It took until 2.35 s, and the next interval is normal again.
    assert_eq!(impact.after, None);
    assert!(impact.recovered_s.is_some_and(|s| (s - 0.05).abs() < 1e-9), "{impact:?}");
}

#[test]
fn users_who_see_more_after_an_action_have_not_recovered_before() {
    // The target is silent for longer than the action, and its part is back before that.
    let silent = Some((Nanos::from_secs(2), Nanos::from_millis(2_750)));
    let workload = TestWorkload { silent, ..TestWorkload::default() };
    let actions =
        "{at_s=2,unit=\"application-1\",act=\"stop\"},{at_s=2.2,unit=\"application-1\",act=\"start\"}";
    let (_root, kept) = acted(workload, actions);
    let impacts = kept.impacts();
    let [stop, start] = &impacts[..] else { panic!("{impacts:?}") };
    assert_eq!(stop.before, start.before, "the calm part is that before the first action");
    let spans = |impact: &Impact<'_>| {
        let span =
            |stretch: &Option<WindowSpan>| stretch.as_ref().map(|stretch| (stretch.from_s, stretch.to_s));
        (span(&impact.during), span(&impact.after))
    };
    assert_eq!(spans(stop), (Some((2.0, 2.1)), Some((2.1, 2.8))));
    assert_eq!(spans(start), (Some((2.2, 2.5)), Some((2.5, 2.8))));
    for (impact, seconds) in [(stop, 0.7), (start, 0.35)] {
        assert!(impact.recovered_s.is_some_and(|s| (s - seconds).abs() < 1e-9), "{impact:?}");
    }
    let back_s = kept.back_after_s(stop.action);
    assert!(back_s.is_some_and(|s| (s - 0.45).abs() < 1e-9), "{back_s:?}");
    assert_eq!(kept.back_after_s(start.action), None);
}

#[test]
fn an_action_outside_of_a_window_and_one_without_a_calm_part_have_less_to_tell() {
    let workload = TestWorkload::default();
    let actions = "{at_s=0,unit=\"application-1\",act=\"snapshot\",name=\"first\"},{at_s=0.15,unit=\"application-1\",act=\"stop\"}";
    let (_root, kept) = acted(workload, actions);
    let impacts = kept.impacts();
    let [stop] = &impacts[..] else { panic!("{impacts:?}") };
    assert_eq!((stop.action.name.as_str(), &stop.before, stop.recovered_s), ("stop", &None, None));
    // 150 ms of 500 operations per second, in whole intervals.
    assert_eq!(stretch(stop.during.as_ref()).map(|(from_s, to_s, ..)| (from_s, to_s)), Some((0.1, 0.3)));
}

//! Verdicts: invalid windows, early ends, and results of searches.

use barograph_model::{Bound, Metric, Nanos, OpId, Rule, Share, Subject};
use barograph_record::ResultRecord;

use super::*;
use crate::testing::{HIT_SHARE, JamRule};

/// A search from 30 to 60 users, exact to one user.
const SEARCH: [&str; 9] = [
    "load.strategy=search",
    "load.min_users=30",
    "load.max_users=60",
    "load.resolution=0.001",
    "load.max_trials=30",
    "load.ramp_s=1",
    "load.step_s=1",
    "load.settle_s=1",
    "load.confirm_s=1",
];

/// Runs on a target that exists already.
fn run_of(workload: TestWorkload, more: &[&str]) -> (RunResult, Kept) {
    let root = tempfile::tempdir().unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..workload };
    let more: Vec<&str> = more.iter().copied().chain([URL]).collect();
    let finished = run_with(root.path(), &here(), workload, (&more, &mut SilentScreen::default())).unwrap();
    let kept = Kept::open(&finished.dir).unwrap();
    (finished, kept)
}

/// Exit code of a run with a measured second from 0.1 s on, and the reasons why it is not valid.
fn doubts(ground: SimulatedHost) -> (ExitCode, Vec<String>) {
    let (finished, kept) = run_of(TestWorkload { ground: Some(ground), ..TestWorkload::default() }, &[]);
    (finished.exit, kept.verdict().unwrap().doubts.clone())
}

#[test]
fn a_host_whose_hypervisor_took_more_than_a_tenth_is_not_believed() {
    let stolen = |stolen| SimulatedHost { stolen, ..SimulatedHost::default() };
    assert_eq!(doubts(stolen(20)), (ExitCode::Fine, vec![]));
    let why = "not valid: stolen CPU: 10.5 % of the host's CPU time taken by the hypervisor, allowed is at most 10 %";
    assert_eq!(doubts(stolen(21)), (ExitCode::NotValid, vec![why.to_owned()]));
    let keys = [&SEARCH[..], &["load.max_trials=2"]].concat();
    let (finished, _) = run_of(TestWorkload { ground: Some(stolen(21)), ..TestWorkload::default() }, &keys);
    let sentence = "It is not known how many users at http://127.0.0.1:9/ the target holds: 60 users could not be judged, \
        because this check of the measurement did not hold: stolen CPU. It took 2 trials (2 not valid) in 3 s.";
    assert_eq!((finished.exit, finished.verdict.unwrap().sentence.as_str()), (ExitCode::NotValid, sentence));
}

#[test]
fn a_wall_clock_that_is_set_while_it_is_measured_is_not_believed() {
    for (at_ms, ahead_s, found) in [
        (50, 5.0, None),
        (600, 0.09, None),
        (600, 0.2, Some("+0.200")),
        (1_050, -0.2, Some("-0.200")),
        (1_150, -0.2, None),
    ] {
        let wall_is_set = Some((Nanos::from_millis(at_ms), ahead_s));
        let (exit, doubts) = doubts(SimulatedHost { wall_is_set, ..SimulatedHost::default() });
        let expected = if found.is_some() { ExitCode::NotValid } else { ExitCode::Fine };
        let why = |ahead| {
            let found = format!("wall clock {ahead} s against monotonic clock");
            format!("not valid: clock: {found}, allowed is less than 0.1 s apart")
        };
        assert_eq!((exit, doubts), (expected, found.map(why).into_iter().collect()), "{at_ms} ms");
    }
}

#[test]
fn what_a_workload_measures_of_itself_is_in_every_window() {
    let workload = TestWorkload { misses_every: Some(8), ..TestWorkload::default() };
    let (finished, kept) = run_of(workload, &["load.users=10", "load.windows=2", "load.window_s=4"]);
    assert_eq!(finished.exit, ExitCode::Fine);
    assert_eq!(kept.expected().unwrap().counters, ["hits", "lookups"]);
    // 2,000 lookups in each window, 250 of them misses.
    for trial in kept.trials() {
        let measure = &trial.window.measures[0];
        let found = (measure.id.as_str(), measure.unit.as_str(), measure.value);
        assert_eq!(found, ("hit_share", "%", Some(87.5)));
    }
    let counted = |at: usize| kept.intervals().filter_map(|row| row.counters.get(at)).sum::<u64>();
    // The drain adds 50 more.
    assert_eq!((counted(0), counted(1)), (3_544, 4_050));
    assert_eq!(kept.metric(Metric::Measure(&HIT_SHARE), None), Some(87.5));
}

/// Runs 10 users for 4 s with further rules: 500 operations per second that take 1 ms each. Returns the exit
/// code, the sentence, and the figure and result of each of these rules.
fn with_rules(workload: TestWorkload, rules: Vec<Rule>) -> (ExitCode, String, Vec<(Option<f64>, bool)>) {
    let more = ["load.users=10", "load.window_s=4"];
    let (finished, kept) = run_of(TestWorkload { rules, ..workload }, &more);
    let trial = kept.trials().next().unwrap();
    assert_eq!(trial.window.passed, trial.window.rules.iter().all(|rule| rule.holds));
    let found = trial.window.further_rules().into_iter().map(|rule| (rule.value, rule.holds)).collect();
    (finished.exit, finished.verdict.unwrap().sentence, found)
}

#[test]
fn a_rule_on_a_measure_passes_and_fails_to_the_operation() {
    let rule = Rule { subject: Subject::Measure(HIT_SHARE.id), bound: Bound::AtLeast(95.0) };
    let of =
        |every| with_rules(TestWorkload { misses_every: Some(every), ..TestWorkload::default() }, vec![rule]);
    // 100 and 105 misses among 2,000 lookups.
    let (exit, sentence, found) = of(20);
    assert_eq!((exit, found), (ExitCode::Fine, vec![(Some(95.0), true)]));
    assert_eq!(sentence, "10 users at http://127.0.0.1:9/ kept every rule.");
    let (exit, sentence, found) = of(19);
    assert_eq!((exit, found), (ExitCode::QosMissed, vec![(Some(94.75), false)]));
    let why = "10 users at http://127.0.0.1:9/ did not keep the rules: hit share was 94.8 %, required is at least 95 %.";
    assert_eq!(sentence, why);
}

#[test]
fn a_rule_on_a_rate_passes_and_fails() {
    let at_least = |op, rate| Rule { subject: Subject::Rate(op), bound: Bound::AtLeast(rate) };
    let of = |rules| with_rules(TestWorkload::default(), rules);
    let (exit, _, found) = of(vec![at_least(Some(OpId(0)), 500.0), at_least(None, 500.0)]);
    assert_eq!((exit, found), (ExitCode::Fine, vec![(Some(500.0), true); 2]));
    let (exit, sentence, found) = of(vec![at_least(Some(OpId(0)), 500.5)]);
    assert_eq!((exit, found), (ExitCode::QosMissed, vec![(Some(500.0), false)]));
    let why =
        "did not keep the rules: rate of Ask was 500 operations/s, required is at least 500.5 operations/s.";
    assert!(sentence.ends_with(why), "{sentence}");
}

/// Answers come one after another, each in 1 ms: of ten simultaneous users the last waits 10 ms.
#[test]
fn two_limits_on_one_operation_are_counted_apart() {
    let in_turn = || TestWorkload { one_by_one: Some(Nanos::from_millis(1)), ..TestWorkload::default() };
    let within = |percent: f64, ms| {
        Rule::response(OpId(0), Share::new(percent / 100.0).unwrap(), Nanos::from_millis(ms))
    };
    let (exit, _, found) = with_rules(in_turn(), vec![within(90.0, 9), within(50.0, 5)]);
    assert_eq!((exit, found.iter().all(|(_, holds)| *holds)), (ExitCode::Fine, true), "{found:?}");
    let (exit, sentence, found) = with_rules(in_turn(), vec![within(90.0, 9), within(50.0, 4)]);
    assert_eq!((exit, found[0].1, found[1].1), (ExitCode::QosMissed, true, false), "{found:?}");
    let why = "did not keep the rules: p50 response time of Ask was 5.00 ms, required is at most 4 ms.";
    assert!(sentence.ends_with(why), "{sentence}");
}

#[test]
fn what_a_workload_cannot_be_judged_by_is_refused() {
    let rule = Rule { subject: Subject::Measure("misses"), bound: Bound::AtMost(1.0) };
    let workload = TestWorkload { deploys_nothing: true, rules: vec![rule], ..TestWorkload::default() };
    let plan =
        barograph_spec::read(barograph_spec::Catalogue::default(), "test", "", &[URL.to_owned()]).unwrap();
    let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
    let refused = check_all(&plan, vec![Arc::new(workload)], machine).err().unwrap();
    assert!(
        refused.to_string().contains("a rule about the measure `misses`, which is not declared"),
        "{refused}"
    );
}

#[test]
fn a_target_that_stands_still_is_no_steady_state() {
    let silent = Some((Nanos::from_millis(500), Nanos::from_millis(700)));
    let of =
        |window| run_of(TestWorkload { silent, ..TestWorkload::default() }, &["load.users=10", window]).0;
    let finished = of("load.window_s=2");
    assert_eq!(finished.exit, ExitCode::NotValid);
    let why = "not valid: steady state: from 0 s to 1 s throughput was 37 % below that of the rest, allowed is no \
        stretch that moves the mean by more than 10 %, of response time by more than 20 ms besides";
    assert_eq!(finished.verdict.unwrap().doubts, [why]);
    assert_eq!(of("load.window_s=10").exit, ExitCode::Fine, "in a long window it matters little");
}

#[test]
fn a_target_that_falls_silent_is_left_after_half_a_minute() {
    let silent = Some((Nanos::from_millis(500), Nanos::from_secs(3_600)));
    let (finished, kept) =
        run_of(TestWorkload { silent, ..TestWorkload::default() }, &["load.users=10", "load.window_s=60"]);
    assert_eq!((finished.exit, finished.verdict), (ExitCode::TargetNotReady, None));
    let stop = kept.interrupted().unwrap();
    let why = "the target has not answered a single operation for 30 s";
    assert_eq!((stop.at_s, stop.phase.as_str(), stop.cause.as_str()), (30.5, "hold", why));
    assert_eq!((kept.intervals().count(), kept.trials().count()), (305, 0));
}

#[test]
fn operations_of_the_machine_may_take_as_long_as_their_timeout() {
    let silent = Some((Nanos::from_millis(500), Nanos::from_secs(40)));
    let keys = ["load.users=10", "load.window_s=60", "driver.timeout_s=120"];
    let of = |is_of_driver| run_of(TestWorkload { silent, is_of_driver, ..TestWorkload::default() }, &keys).1;
    assert!(of(false).interrupted().is_some());
    assert!(of(true).interrupted().is_none());
}

/// 38 users are too many, and half a window is enough for a search to know.
#[test]
fn a_search_finds_the_last_user_who_is_carried() {
    let jams = Some(JamRule { from: 37, kept_by: 37 });
    let search = |more: &[&str]| {
        let keys = [&SEARCH[..], more].concat();
        let (finished, kept) = run_of(TestWorkload { jams, ..TestWorkload::default() }, &keys);
        for trial in kept.trials() {
            let tenths = (trial.window.seconds() * 10.0).round() as u32;
            let is_carried = trial.level <= 37;
            let expected = if is_carried { (ResultRecord::Pass, 10) } else { (ResultRecord::Fail, 5) };
            assert_eq!(((trial.result, tenths), trial.aborted), (expected, !is_carried), "{more:?}");
        }
        let verdict = finished.verdict.unwrap();
        let search = verdict.search.unwrap();
        let found = (verdict.capacity, search.highest_pass, search.lowest_fail);
        assert_eq!(found, (Some(37), Some(37), Some(38)), "{more:?}");
        (search.trials, search.aborted, search.seconds.unwrap())
    };
    assert_eq!(search(&["load.search=bisect"]), (7, 3, 20.2));
    assert_eq!(search(&["load.search=findmax"]), (13, 8, 35.3));
    assert_eq!(search(&["load.search=staircase", "load.stride_users=1"]), (9, 1, 26.4));
}

#[test]
fn a_first_ramp_ends_where_the_target_gives_way() {
    let jams = Some(JamRule { from: 37, kept_by: 37 });
    let keys = [&SEARCH[..], &["load.search=bisect", "load.ramp_s=6"]].concat();
    let (_, kept) = run_of(TestWorkload { jams, ..TestWorkload::default() }, &keys);
    let notes: Vec<&str> = kept.notes().map(|(_, text)| text).collect();
    // A user arrives every 100 ms, the 38th is too many, and three bad intervals end the ramp.
    let note = "the first ramp ended at 40 users: too many operations were late or failed, or too few came to an end; what \
        it carried in time is the load of 35 users";
    assert_eq!(notes, [note]);
}

#[test]
fn a_fixed_load_that_has_failed_is_measured_to_its_end() {
    let jams = Some(JamRule { from: 37, kept_by: 37 });
    let (finished, kept) =
        run_of(TestWorkload { jams, ..TestWorkload::default() }, &["load.users=38", "load.window_s=3"]);
    let sentence = "38 users at http://127.0.0.1:9/ did not keep the rules: Ask failed in 100.00 % of its operations, \
        allowed are 1.00 %.";
    assert_eq!((finished.exit, finished.verdict.unwrap().sentence.as_str()), (ExitCode::QosMissed, sentence));
    let trial = kept.trials().next().unwrap();
    assert_eq!((trial.window.from_s, trial.window.to_s, trial.aborted), (0.1, 3.1, false));
    // 38 users at 50 operations per second.
    assert_eq!((trial.window.ops[0].count, trial.window.ops[0].failed), (5_700, 5_700));
}

/// A target of 100 answers per second with a hundred users: of 200 arrivals per second, a hundred wait.
#[test]
fn a_search_by_rate_pauses_until_no_arrival_waits() {
    let keys = [
        "load.strategy=search",
        "load.search=bisect",
        "load.unit=rate",
        "load.min_rate=90",
        "load.max_rate=200",
        "load.most_users=100",
        "load.max_trials=2",
        "load.ramp_s=1",
        "load.window_s=5",
        "load.confirm_s=5",
        "load.step_s=0",
        "load.settle_s=0",
    ];
    let one_by_one = Some(Nanos::from_millis(10));
    let (_, kept) = run_of(TestWorkload { one_by_one, ..TestWorkload::default() }, &keys);
    let windows: Vec<_> = kept.trials().map(|t| (t.window.from_s, t.window.to_s, t.window.late)).collect();
    assert_eq!(windows, [(1.2, 6.2, 869), (10.8, 15.8, 831)]);
    let pause = kept.phases().into_iter().find(|span| span.phase == "drain").unwrap();
    assert_eq!((pause.from_s, pause.to_s), (6.2, Some(10.7)));
    let paused = kept.intervals().filter(|i| i.from_s >= 6.2 && i.to_s <= 10.7);
    let starts: Vec<u64> = paused.map(|interval| interval.starts).collect();
    assert_eq!((starts.len(), starts.iter().sum(), starts.last()), (45, 438, Some(&0)));
}

#[test]
fn a_run_that_is_interrupted_while_it_measures_keeps_what_it_has() {
    let root = tempfile::tempdir().unwrap();
    let (handle, stop) = Stop::new();
    let (finished, ()) = watched(root.path(), stop, &["load.window_s=60"], move |live| {
        let _third = live.iter().filter(|moment| moment.live.phase == Phase::Hold).nth(2).unwrap();
        handle.stop();
    });
    assert_eq!((finished.exit, finished.verdict), (ExitCode::Interrupted, None));
    let kept = Kept::open(&finished.dir).unwrap();
    let stop = kept.interrupted().unwrap();
    assert_eq!((stop.at_s, stop.phase.as_str()), (0.4, "hold"));
    assert_eq!(stop.cause, "stopped before its end");
    let intervals: Vec<(f64, u64)> = kept.intervals().map(|i| (i.to_s, i.starts)).collect();
    assert_eq!(intervals, [(0.1, 5), (0.2, 5), (0.3, 5), (0.4, 5)]);
    let log = kept.response_log().unwrap();
    assert_eq!(log.histograms().map(|times| times.unwrap().histogram.len()).sum::<u64>(), 20);
    assert!(kept.complete && kept.trials().count() == 0);
    assert_eq!(last_phase(&kept), ("remove".to_owned(), Some(PhaseOutcome::Done), None));
}

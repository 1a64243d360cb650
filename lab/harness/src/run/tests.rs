//! The end of a run: nothing left behind, one exit code in record and program, and every failure with its
//! phase.

use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use barograph_platform::{BoxFuture, Facts, Fault, MissingRequirement, PlatformKind};
use barograph_record::{PhaseOutcome, Run as Kept};

use super::*;

mod actions;
mod elastic;
mod filling;
mod loads;
mod operations;
mod power;
mod tiles;
mod together;
mod verdicts;

use crate::check::{Machine, check_all};
use crate::testing::{COMMON_KEYS, FakePlatform, IntervalEnd, SilentScreen, SimulatedHost, TestWorkload};

/// A target that exists already.
const URL: &str = "target.url=http://127.0.0.1:9/";

/// One user for a second, judged in ten intervals.
const SHORT: [&str; 8] = [
    "load.strategy=fixed",
    "load.users=1",
    "load.ramp_s=0",
    "load.warm_up_s=0",
    "load.window_s=1",
    "load.drain_s=0",
    "driver.interval_ms=100",
    "driver.workers=1",
];

fn id() -> RunId {
    "20301120-184500-0001".parse().unwrap()
}

fn run_here(root: &Path, platform: &FakePlatform, workload: TestWorkload) -> Result<RunResult, HarnessError> {
    run_with(root, platform, workload, (&[], &mut SilentScreen::default()))
}

/// Runs with further keys and a screen, in simulated time.
fn run_with(
    root: &Path,
    platform: &FakePlatform,
    mut workload: TestWorkload,
    (more, screen): (&[&str], &mut SilentScreen),
) -> Result<RunResult, HarnessError> {
    let (_keep, stop) = Stop::new();
    workload.ground.get_or_insert_default();
    run_until(stop, root, platform, workload, (more, screen))
}

/// Runs on any platform, in the time of its load, until it ends or is stopped.
fn run_until(
    stop: Stop,
    root: &Path,
    platform: &dyn Platform,
    workload: TestWorkload,
    (more, screen): (&[&str], &mut SilentScreen),
) -> Result<RunResult, HarnessError> {
    let mut sets: Vec<String> = SHORT.iter().chain(more).map(|s| (*s).to_owned()).collect();
    sets.push(format!("runs={}", root.display()));
    if ["load.unit=rate", "load.strategy=search", "load.strategy=path"].iter().any(|key| more.contains(key)) {
        sets.retain(|set| set != "load.users=1");
    }
    let plan = barograph_spec::read(COMMON_KEYS, "test", "", &sets).unwrap();
    let machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };
    let clock = workload.ground.clone().map_or_else(RunClock::start, RunClock::of);
    let loads = check_all(&plan, vec![Arc::new(workload)], machine).unwrap();
    run_checked(clock, loads, (stop, platform), screen)
}

/// Runs a checked plan on one platform.
fn run_checked(
    clock: RunClock,
    loads: Vec<CheckedLoad>,
    (stop, platform): (Stop, &dyn Platform),
    screen: &mut SilentScreen,
) -> Result<RunResult, HarnessError> {
    let platforms: [&dyn Platform; 1] = [platform];
    let world = RunContext {
        platforms: &platforms,
        stop,
        id: id(),
        started_at: "2030-11-20T18:45:00Z".to_owned(),
        tool: "test".to_owned(),
        command: "test".to_owned(),
        disclosure: serde_json::json!({}),
        followers: Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(run_on(clock, loads, &world, screen))
}

/// Runs on a target that exists already, with `watching` on a thread of its own. Time stands still while that
/// holds the end of an interval.
fn watched<T: Send>(
    root: &Path,
    stop: Stop,
    more: &[&str],
    watching: impl FnOnce(&Receiver<IntervalEnd>) -> T + Send,
) -> (RunResult, T) {
    let (send, live) = sync_channel(64);
    let ground = SimulatedHost::default();
    let mut screen = SilentScreen { reached: Some((send, ground.time.clone())), ..SilentScreen::default() };
    std::thread::scope(|s| {
        let watches = s.spawn(move || watching(&live));
        let workload =
            TestWorkload { deploys_nothing: true, ground: Some(ground), ..TestWorkload::default() };
        let more: Vec<&str> = more.iter().copied().chain([URL]).collect();
        let finished = run_until(stop, root, &here(), workload, (&more, &mut screen)).unwrap();
        (finished, watches.join().unwrap())
    })
}

fn here() -> FakePlatform {
    FakePlatform { address: Some(([127, 0, 0, 1], 9).into()), stuck: None, ends: None, slow: None }
}

/// Name, outcome and error of the last phase in the record.
fn last_phase(kept: &Kept) -> (String, Option<PhaseOutcome>, Option<String>) {
    let last = kept.phases().pop().unwrap();
    (last.phase, last.outcome, last.error)
}

/// With worker threads and real clocks.
#[test]
fn a_run_ends_with_the_code_in_its_verdict_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (_keep, stop) = Stop::new();
    let finished =
        run_until(stop, root.path(), &here(), TestWorkload::default(), (&[], &mut SilentScreen::default()))
            .unwrap();
    assert!(finished.error.is_none(), "{:?}", finished.error);
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(kept.verdict().unwrap().exit_code, finished.exit.code());
    assert_eq!(finished.verdict.as_ref(), kept.verdict());
    assert!(kept.complete && kept.interrupted().is_none());
    assert_eq!(last_phase(&kept), ("remove".to_owned(), Some(PhaseOutcome::Done), None));
    assert!(!finished.dir.join("common").exists() && !finished.dir.join("ledger.jsonl").exists());
    // Removed folders are not reported.
    assert_eq!(kept.notes().filter(|(_, text)| text.contains("removed")).count(), 0);
}

#[test]
fn what_is_left_behind_is_an_error_that_names_it_and_keeps_the_verdict() {
    let root = tempfile::tempdir().unwrap();
    let platform = FakePlatform { stuck: Some("somebody sits in it"), ..here() };
    let finished = run_here(root.path(), &platform, TestWorkload::default()).unwrap();
    assert_eq!(finished.exit, ExitCode::PlatformFault);
    let common = finished.dir.join("common");
    let named = format!("folder {}: somebody sits in it", common.display());
    let error = finished.error.unwrap();
    assert!(matches!(&error, HarnessError::LeftBehind { things } if *things == [named.clone()]), "{error}");
    let kept = Kept::open(&finished.dir).unwrap();
    assert_eq!(kept.verdict().unwrap().exit_code, 6);
    // The record does not name folders of the machine.
    let named = named.replace(&format!("{}/", root.path().parent().unwrap().display()), "");
    let stop = kept.interrupted().unwrap();
    assert!(stop.phase == "remove" && stop.cause.ends_with(&named), "{stop:?}");
    assert!(kept.complete);
    let (phase, outcome, why) = last_phase(&kept);
    assert_eq!((phase.as_str(), outcome), ("remove", Some(PhaseOutcome::Failed)));
    assert!(why.unwrap().ends_with(&named));
    assert!(finished.dir.join("ledger.jsonl").exists(), "`clean` needs the ledger");
}

#[test]
fn an_earlier_failure_stays_the_error_of_the_run() {
    let root = tempfile::tempdir().unwrap();
    let platform = FakePlatform { address: None, stuck: Some("somebody sits in it"), ..here() };
    let finished = run_here(root.path(), &platform, TestWorkload::default()).unwrap();
    assert_eq!(finished.exit, ExitCode::TargetNotReady);
    assert_eq!(
        finished.error.unwrap().to_string(),
        "unit `application-1` is ready, but announced no address"
    );
    let kept = Kept::open(&finished.dir).unwrap();
    assert!(kept.verdict().is_none());
    assert_eq!(kept.interrupted().unwrap().phase, "deploy");
    let failed: Vec<String> = kept
        .phases()
        .into_iter()
        .filter(|s| s.outcome == Some(PhaseOutcome::Failed))
        .map(|s| s.phase)
        .collect();
    assert_eq!(failed, ["deploy", "remove"]);
    assert!(kept.notes().any(|(_, text)| text.ends_with("somebody sits in it")), "what is left is told, too");
}

/// A platform that requests the end of the run while it opens one of the two sites, and completes the site on
/// a thread after its caller has given up.
struct SlowPlatform {
    here: FakePlatform,
    /// Whether it is the site of the fill, not of the deployment.
    at_home: bool,
    stop: crate::StopHandle,
    /// Whether the ledger still existed when the thread ended.
    kept: Arc<std::sync::Mutex<Option<bool>>>,
}

impl Platform for SlowPlatform {
    fn kind(&self) -> PlatformKind {
        self.here.kind()
    }
    fn preflight<'a>(&'a self, site: &'a SiteSpec) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
        self.here.preflight(site)
    }
    fn open<'a>(
        &'a self,
        site: &'a SiteSpec,
        ledger: &'a Ledger,
    ) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
        if (site.id == "home") != self.at_home {
            return self.here.open(site, ledger);
        }
        Box::pin(async move {
            let (ledger, kept) = (ledger.clone(), Arc::clone(&self.kept));
            let (waited_for, given_up) = std::sync::mpsc::sync_channel::<()>(1);
            tokio::task::spawn_blocking(move || {
                // Nothing is ever sent: this ends when the surrounding future is dropped.
                assert!(given_up.recv().is_err());
                let path = ledger.path().with_file_name("late");
                let entry = ledger.make_directory(&path).unwrap();
                ledger.remove_directory(entry).unwrap();
                *kept.lock().unwrap() = Some(ledger.path().exists());
            });
            self.stop.stop();
            let _waited_for = waited_for;
            std::future::pending().await
        })
    }
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
        self.here.sweep(ledger)
    }
}

#[test]
fn a_stopped_run_waits_for_what_is_still_being_made_and_its_ledger_goes_last() {
    for at_home in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let (handle, stop) = Stop::new();
        let kept = Arc::default();
        let platform = SlowPlatform { here: here(), at_home, stop: handle, kept: Arc::clone(&kept) };
        let finished = run_until(
            stop,
            root.path(),
            &platform,
            TestWorkload::default(),
            (&[], &mut SilentScreen::default()),
        )
        .unwrap();
        assert!(matches!(finished.error, Some(HarnessError::Interrupted)), "{:?}", finished.error);
        assert_eq!(
            *kept.lock().unwrap(),
            Some(true),
            "the thread came to its end, with the ledger in its place"
        );
        assert!(!finished.dir.join("ledger.jsonl").exists() && !finished.dir.join("late").exists());
    }
}

#[test]
fn a_run_on_data_that_are_not_right_is_not_valid_and_does_not_say_it_held() {
    let wrong = TestWorkload { findings: &["two auctions sold one item"], ..TestWorkload::default() };
    let root = tempfile::tempdir().unwrap();
    let finished = run_here(root.path(), &here(), wrong).unwrap();
    assert_eq!(finished.exit, ExitCode::WrongData);
    let verdict = finished.verdict.unwrap();
    assert_eq!(
        verdict.sentence,
        "1 user of the asking application (official2) cannot be judged, because the data were not right after the run."
    );
    assert_eq!(verdict.reasons[0], "the data is not right after the run: two auctions sold one item");
    assert!(!verdict.valid && verdict.exit_code == 11);
}

#[test]
fn a_failure_before_the_first_phase_is_in_the_record() {
    let root = tempfile::tempdir().unwrap();
    let mut record = RunWriter::create(root.path(), &id()).unwrap();
    let why = Ledger::open(root.path().join("no folder/ledger.jsonl")).unwrap_err().into();
    let finished = end(&mut record, &RunClock::start(), None, Some(RunAbort { phase: Phase::Check, why }));
    assert_eq!(finished.exit, ExitCode::CannotWrite);
    let lines = std::fs::read_to_string(finished.dir.join("run.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&lines[0]["kind"], &lines[0]["phase"]), (&"interrupted".into(), &"check".into()));
    assert!(lines[0]["cause"].as_str().unwrap().starts_with("keep the ledger"), "{lines:?}");
    assert_eq!(lines[1]["kind"], "finished");
}

#[test]
fn without_a_record_there_is_only_an_error() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join(id().as_str())).unwrap();
    let error = run_here(root.path(), &here(), TestWorkload::default()).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::CannotWrite);
    assert_eq!(std::fs::read_dir(root.path().join(id().as_str())).unwrap().count(), 0);
}

#[test]
fn a_record_has_paths_of_this_machine_only_where_they_are_asked_for() {
    for (keys, absolute) in [(&[][..], false), (&["record_paths=absolute"], true)] {
        let root = tempfile::tempdir().unwrap();
        let screen = &mut SilentScreen::default();
        let finished = run_with(root.path(), &here(), TestWorkload::default(), (keys, screen)).unwrap();
        let plan = std::fs::read_to_string(finished.dir.join("plan.toml")).unwrap();
        assert_eq!(plan.contains(root.path().to_str().unwrap()), absolute, "{plan}");
    }
}

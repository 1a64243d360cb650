//! Every plan in `plans/`, at small scale: it completes with a whole record and a report, and leaves the data
//! unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use barograph_record::{ActionRecord, ExitCode, Run, Trial};
use barograph_testkit::{Answer, Server, always, one_of};

use crate::failed::{excused, told};
use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;
use crate::smoke::Smoke;

/// Time after an action within which the application works again, on a busy machine.
const RECOVERED_S: f64 = 4.0;

/// Every file under `dir` with its bytes.
fn contents(dir: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("snapshots") {
            // Loaded stores, kept by the runs.
        } else if path.is_dir() {
            contents(&path, all);
        } else {
            let bytes = fs::read(&path).unwrap();
            all.insert(path, bytes);
        }
    }
}

/// As escaped on a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

/// The actions of a plan, all at the moment given in its smoke file.
fn actions(plan: &Path, smoke: &Smoke) -> Option<String> {
    let mut plan: toml::Table = toml::from_str(&fs::read_to_string(plan).unwrap()).unwrap();
    let mut actions = plan.remove("actions")?;
    let at = smoke.more.get("actions_at_s");
    let at = at
        .expect("the smoke file of a plan with actions has `actions_at_s` under [smoke], within its window");
    for action in actions.as_array_mut().unwrap() {
        action.as_table_mut().unwrap().insert("at_s".to_owned(), at.clone());
    }
    Some(format!("actions={actions}"))
}

/// Whether every action took place within a window, and operations succeeded after the recovery; else what a
/// machine that stood still made late. Panics if an action failed for another reason.
fn went_wrong_and_on(run: &Run) -> Result<(), String> {
    let actions: Vec<_> = run.actions().collect();
    assert!(!actions.is_empty());
    for action in actions {
        done_in_time(action)?;
        let within = |trial: &Trial| (trial.window.from_s..trial.window.to_s).contains(&action.at_s);
        for load in loads(run) {
            if !load.trials().any(within) {
                return Err(format!("the window of {:?} did not contain {action:?}", load.load));
            }
            let later = load.intervals().filter(|interval| interval.from_s >= action.at_s + RECOVERED_S);
            let well: u64 = later.flat_map(|interval| &interval.ops).map(|op| op.count - op.failed).sum();
            if well < 10 {
                return Err(format!("{well} operations of {:?} ended well after {action:?}", load.load));
            }
        }
    }
    Ok(())
}

/// Whether an action ended under the load. Panics if it failed for another reason than the end of the load,
/// before which a machine that stands still cannot finish it.
pub(crate) fn done_in_time(action: &ActionRecord) -> Result<(), String> {
    let Some(why) = &action.failed else { return Ok(()) };
    assert_eq!(why, "the load ended before", "{action:?}");
    Err(format!("{action:?}"))
}

/// The same for a run whose plan may have no actions.
fn acted_in_time(run: &Run, has_actions: bool) -> Result<(), String> {
    if has_actions { went_wrong_and_on(run) } else { Ok(()) }
}

fn failures(run: &Run) -> u64 {
    loads(run).into_iter().flat_map(Run::intervals).flat_map(|i| &i.ops).map(|op| op.failed).sum()
}

/// Operations of a load at the least, where the smoke file does not state them.
pub(crate) const OPERATIONS: u64 = 30;

/// Operations of each load of a plan at the least.
fn operations(smoke: &Smoke) -> u64 {
    let stated = smoke.more.get("operations").and_then(toml::Value::as_integer);
    stated.map_or(OPERATIONS, i64::unsigned_abs)
}

/// Checks the record of a completed run without failures.
fn whole(run: &Run, ended: &ProgramOutput, operations: u64) {
    in_order_with(run, ended, operations);
    assert_eq!(failures(run), 0, "operations failed: {}", told(run, ended));
}

/// Largest number of tries of a plan.
const TRIES: usize = 3;

/// `barograph run` or `check` of a plan in the folders of this place, with these keys.
pub(crate) fn command(place: &TestFolders, what: &str, plan: &Path, sets: &[String]) -> Command {
    let mut command = place.program(&[what]);
    command.arg(plan).arg("--set").arg(format!("runs={}", place.runs().display()));
    for set in sets {
        command.args(["--set", set]);
    }
    command
}

/// Runs a plan with these keys on existing data, until only its actions cause failures: from the first action
/// on, operations may be refused, late or broken. Other failures must be explained by a busy machine: a node
/// held for longer than its lease refuses bids until others have its auctions.
fn ran(place: &TestFolders, plan: &Path, sets: &[String]) -> Run {
    let mut excuses = Vec::new();
    while excuses.len() < TRIES {
        let ended = RunningProgram::start(command(place, "run", plan, sets)).end();
        let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
        in_order(&run, &ended);
        let fill = run.fill().unwrap();
        assert!(fill.reused, "its smoke file has the data that all tests share: {fill:?}");
        let found: Vec<_> = loads(&run).into_iter().filter_map(excused).collect();
        if found.is_empty() {
            return run;
        }
        excuses.push(found);
    }
    panic!("{}: operations failed in every try: {excuses:#?}", plan.display());
}

/// Checks the record of a completed run.
pub(crate) fn in_order(run: &Run, ended: &ProgramOutput) {
    in_order_with(run, ended, OPERATIONS);
}

/// Checks the record of a completed run of at least this number of operations.
fn in_order_with(run: &Run, ended: &ProgramOutput, operations: u64) {
    let verdict = run.verdict().unwrap();
    // Seconds are too short for the mix, so any verdict is accepted if exit code and record agree.
    let code = ExitCode::of_run(verdict.passed, verdict.valid).code();
    assert_eq!((ended.code, verdict.exit_code), (Some(code.into()), code), "{ended:?}");
    assert!(run.complete && run.damage.is_empty() && run.interrupted().is_none(), "{:?}", run.damage);
    assert!(run.plan.is_some() && run.disclosure.is_some() && !run.probes.is_empty());
    for load in loads(run) {
        assert!(load.trials().count() >= 1 && load.intervals().count() >= 4 && load.expected().is_some());
        assert!(
            load.intervals().map(|i| i.ops.iter().map(|op| op.count).sum::<u64>()).sum::<u64>() >= operations
        );
    }
    assert!(ended.out.contains(&verdict.sentence), "{}", ended.out);
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    for words in crate::report::as_shown(&verdict.sentence) {
        assert!(html.contains(&escaped(words)), "{words}");
    }
    // Addresses of the deployment appear as text; nothing is loaded from elsewhere.
    assert!(!html.contains("=\"http") && !html.contains("url(http") && !html.contains("@import"));
}

/// The loads of a run of several, or the run itself.
fn loads(run: &Run) -> Vec<&Run> {
    if run.loads.is_empty() { vec![run] } else { run.loads.iter().collect() }
}

/// Figures of the disk that the run's stores are on.
fn disk(run: &Run) -> &serde_json::Value {
    &run.disclosure.as_ref().unwrap()["disk"]
}

/// Whether this machine lacks requirements of a plan; prints them if so.
pub(crate) fn lacks(place: &TestFolders, plan: &Path, sets: &[String]) -> bool {
    let checked = RunningProgram::start(command(place, "check", plan, sets)).end();
    let missing = checked.out.lines().find(|line| line.starts_with("missing "));
    if let Some(missing) = missing {
        barograph_test_services::skip(&format!("{}: {missing}", plan.display()));
    }
    missing.is_some()
}

/// A test for each plan of the repository.
mod smoke {
    use super::runs_in_small as each;

    include!(concat!(env!("OUT_DIR"), "/plans.rs"));
}

/// Runs a plan with the keys of its smoke file.
fn runs_in_small(plan: &Path) {
    let smoke = Smoke::of(plan);
    match smoke.more.get("target").map(|target| target.as_str().unwrap()) {
        None if smoke.has_no_data_set() => fills_through_the_address(plan, smoke),
        None if smoke.has_files() => drop(runs_beside_the_data(plan, &smoke)),
        None => runs_on_data_that_do_not_wear(plan, smoke),
        Some("echo") => runs_on_what_is_there(plan, smoke.sets),
        Some("none") => runs_without_a_target(plan, &smoke),
        Some(other) => panic!("no target `{other}`; allowed are echo and none"),
    }
}

fn runs_on_data_that_do_not_wear(plan: &Path, smoke: Smoke) {
    let place = TestFolders::new();
    let actions = actions(plan, &smoke);
    let mut sets = smoke.sets;
    sets.push(format!("data.dir={}", place.data().display()));
    sets.extend(actions.clone());
    if lacks(&place, plan, &sets) {
        return;
    }
    let mut before = BTreeMap::new();
    contents(place.data(), &mut before);
    assert!(before.keys().any(|p| p.ends_with("marker.json")));
    let run = one_of(TRIES, || {
        let run = ran(&place, plan, &sets);
        acted_in_time(&run, actions.is_some()).map(|()| run)
    });
    let flushes = disk(&run)["8 KiB and fdatasync, times"].as_u64();
    assert!(flushes.is_some_and(|times| times > 0), "{}: {}", plan.display(), disk(&run));
    let mut after = BTreeMap::new();
    contents(place.data(), &mut after);
    assert!(before == after, "the run changed the data");
    place.assert_nothing_left();
}

/// Runs a plan whose loads keep files beside the data set, on a copy of the shared data; `None` where this
/// machine lacks a requirement.
pub(crate) fn runs_beside_the_data(plan: &Path, smoke: &Smoke) -> Option<Run> {
    let actions = actions(plan, smoke);
    one_of(TRIES, || {
        let place = TestFolders::with_data_of_its_own();
        let mut sets = smoke.sets.clone();
        sets.push(format!("data.dir={}", place.data().display()));
        sets.extend(actions.clone());
        if lacks(&place, plan, &sets) {
            return Ok(None);
        }
        let ended = RunningProgram::start(command(&place, "run", plan, &sets)).end();
        let run = place.record();
        in_order(&run, &ended);
        place.assert_nothing_left();
        acted_in_time(&run, actions.is_some()).map(|()| Some(run))
    })
}

/// Runs a plan on a server that answers everything.
fn runs_on_what_is_there(plan: &Path, mut sets: Vec<String>) {
    let place = TestFolders::without_data();
    let server = Server::start(always(Answer::new(200, "{}").into())).unwrap();
    sets.push(format!("target.url=http://{}", server.addr()));
    let ended = RunningProgram::start(command(&place, "run", plan, &sets)).end();
    whole(&place.record(), &ended, OPERATIONS);
    assert!(disk(&place.record()).is_null(), "a target that is there has stores of its own");
    assert!(ended.out.contains("report  "), "{ended:?}");
    place.assert_nothing_left();
}

/// Runs a plan of a workload in the driver alone, which has nothing to fill.
fn runs_without_a_target(plan: &Path, smoke: &Smoke) {
    let place = TestFolders::without_data();
    let ended = RunningProgram::start(command(&place, "run", plan, &smoke.sets)).end();
    let run = place.record();
    whole(&run, &ended, operations(smoke));
    assert!(run.fill().is_none());
    place.assert_nothing_left();
}

/// Runs a plan whose application has no data set and is filled through its address.
fn fills_through_the_address(plan: &Path, smoke: Smoke) {
    let actions = actions(plan, &smoke);
    let fills = !smoke.more.contains_key("fill");
    let operations = operations(&smoke);
    let mut sets = smoke.sets;
    sets.extend(actions.clone());
    one_of(TRIES, || {
        let place = TestFolders::without_data();
        if lacks(&place, plan, &sets) {
            return Ok(());
        }
        let ended = RunningProgram::start(command(&place, "run", plan, &sets)).end();
        let run = place.record();
        match actions {
            Some(_) => in_order(&run, &ended),
            None => whole(&run, &ended, operations),
        }
        match run.fill() {
            None => assert!(!fills),
            Some(fill) => {
                assert!(fills && !fill.reused && fill.rows.iter().all(|rows| rows.count > 0), "{fill:?}");
            }
        }
        place.assert_nothing_left();
        acted_in_time(&run, actions.is_some())
    });
}

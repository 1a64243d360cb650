//! Every plan in `plans/`, in small: it runs to its end, leaves a whole record and a report, and does not wear the data.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use barograph_record::{ExitCode, Run, Trial};
use barograph_testkit::{Answer, Server, always};

use crate::failed::excused;
use crate::going::{Ended, Going};
use crate::place::Place;

/// Small numbers for every strategy; keys that a plan's strategy does not use change nothing.
const SMOKE: [&str; 13] = [
    "load.users=30",
    "load.min_users=5",
    "load.max_users=30",
    "load.max_trials=3",
    "load.resolution=0.5",
    "load.windows=1",
    "load.ramp_s=3",
    "load.warm_up_s=1",
    "load.window_s=4",
    "load.step_s=1",
    "load.settle_s=1",
    "load.confirm_s=4",
    "load.drain_s=1",
];

/// When what goes wrong in a plan does so, and a window that has room for it and for what works again: an address moves within
/// two seconds, on a busy machine some more.
const SMOKE_FAULT: (f64, &str) = (6.0, "load.window_s=20");

/// How long after a fault the application works again, on a busy machine.
const RECOVERED_S: f64 = 4.0;

/// Small numbers for plans on targets that are there already.
const SMOKE_THERE: [&str; 6] = [
    "load.warm_up_s=1",
    "load.window_s=4",
    "load.drain_s=1",
    "load.settle_s=0",
    "driver.interval_ms=250",
    "driver.timeout_s=5",
];

/// … that search for a rate.
const SMOKE_SEARCH: [&str; 6] = [
    "load.max_rate=80",
    "load.max_trials=3",
    "load.resolution=0.5",
    "load.ramp_s=2",
    "load.step_s=1",
    "load.confirm_s=4",
];

/// Every plan of the repository that makes its own application, or every other.
fn plans(there: bool) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans").canonicalize().unwrap();
    let files = fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    let mut plans: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|x| x == "toml")).collect();
    plans.retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("scenario-")) == there);
    plans.sort();
    plans
}

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

/// As a page has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&#38;")
        .replace('<', "&#60;")
        .replace('>', "&#62;")
        .replace('"', "&#34;")
        .replace('\'', "&#39;")
}

/// The faults of a plan, all of them at one moment within the window.
fn faults(plan: &Path) -> Option<String> {
    let mut plan: toml::Table = toml::from_str(&fs::read_to_string(plan).unwrap()).unwrap();
    let mut faults = plan.remove("faults")?;
    for fault in faults.as_array_mut().unwrap() {
        fault.as_table_mut().unwrap().insert("at_s".to_owned(), SMOKE_FAULT.0.into());
    }
    Some(format!("faults={faults}"))
}

/// Every fault was brought about within a window, and operations ended well when the application was over it.
fn went_wrong_and_on(run: &Run) {
    let faults: Vec<_> = run.faults().collect();
    assert!(!faults.is_empty());
    for fault in faults {
        assert_eq!(fault.failed, None, "{fault:?}");
        let within = |trial: &Trial| (trial.window.from_s..trial.window.to_s).contains(&fault.at_s);
        assert!(run.trials().any(within), "{fault:?}");
        let later = run.intervals().filter(|interval| interval.from_s >= fault.at_s + RECOVERED_S);
        let well: u64 = later.flat_map(|interval| &interval.ops).map(|op| op.count - op.failed).sum();
        assert!(well >= 10, "{well} operations ended well after {fault:?}");
    }
}

fn failures(run: &Run) -> u64 {
    run.intervals().flat_map(|i| &i.ops).map(|op| op.failed).sum()
}

/// The record of a run that came to its end, and in which nothing failed.
fn whole(run: &Run, ended: &Ended) {
    in_order(run, ended);
    assert_eq!(failures(run), 0, "an operation failed");
}

/// So often a plan is tried at the most.
const TRIES: usize = 3;

/// Runs a plan with these keys on data that are filled once, until no operation fails but by its faults: from the first of
/// them on some may be refused, late or broken. Those that fail else must be such as a busy machine explains: a node that is
/// held still for longer than its lease refuses bids until others have its auctions.
fn ran(place: &Place, plan: &Path, sets: &[String]) -> Run {
    let mut excuses = Vec::new();
    while excuses.len() < TRIES {
        let was_filled = place.data().exists();
        let ended = Going::start(place.run(Some(plan), sets)).end();
        let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
        in_order(&run, &ended);
        let fill = run.fill().unwrap();
        assert_eq!((fill.reused, fill.max_users), (was_filled, 60), "{}", plan.display());
        match excused(&run) {
            None => return run,
            Some(excuse) => excuses.push(excuse),
        }
    }
    panic!("{}: operations failed in every try: {excuses:#?}", plan.display());
}

/// The record of a run that came to its end.
fn in_order(run: &Run, ended: &Ended) {
    let verdict = run.verdict().unwrap();
    // Seconds are too short for the mix, so any verdict will do, as long as code and record agree.
    let code = ExitCode::of_run(verdict.passed, verdict.valid).code();
    assert_eq!((ended.code, verdict.exit_code), (Some(code.into()), code), "{ended:?}");
    assert!(run.complete && run.damage.is_empty() && run.interrupted().is_none(), "{:?}", run.damage);
    assert!(run.trials().count() >= 1 && run.intervals().count() >= 4 && !run.probes.is_empty());
    assert!(run.intervals().map(|i| i.ops.iter().map(|op| op.count).sum::<u64>()).sum::<u64>() >= 30);
    assert!(run.plan.is_some() && run.disclosure.is_some() && run.expected().is_some());
    assert!(ended.out.contains(&verdict.sentence), "{}", ended.out);
    let html = fs::read_to_string(run.dir.join("report.html")).unwrap();
    for words in crate::report::as_shown(&verdict.sentence) {
        assert!(html.contains(&escaped(words)), "{words}");
    }
    // Addresses of what was deployed are told; nothing is loaded from anywhere.
    assert!(!html.contains("=\"http") && !html.contains("url(http") && !html.contains("@import"));
}

/// What a run says of the disk that its stores are on.
fn disk(run: &Run) -> &serde_json::Value {
    &run.disclosure.as_ref().unwrap()["disk"]
}

/// Says what this machine lacks for a plan, if anything.
fn lacks(place: &Place, plan: &Path) -> bool {
    let checked = Going::start(place.checks(plan)).end();
    let missing = checked.out.lines().find(|line| line.starts_with("missing "));
    if let Some(missing) = missing {
        barograph_test_services::skip(&format!("{}: {missing}", plan.display()));
    }
    missing.is_some()
}

#[test]
fn every_plan_runs_in_small_on_data_that_do_not_wear() {
    let place = Place::without_data();
    let sets = SMOKE.map(str::to_owned);
    let mut before: Option<BTreeMap<PathBuf, Vec<u8>>> = None;
    for plan in plans(false) {
        if lacks(&place, &plan) {
            continue;
        }
        let faults = faults(&plan);
        let mut sets = sets.to_vec();
        sets.extend(faults.iter().flat_map(|faults| [faults.clone(), SMOKE_FAULT.1.to_owned()]));
        let run = ran(&place, &plan, &sets);
        if faults.is_some() {
            went_wrong_and_on(&run);
        }
        let flushes = disk(&run)["8 KiB and fdatasync, times"].as_u64();
        assert!(flushes.is_some_and(|times| times > 0), "{}: {}", plan.display(), disk(&run));
        let mut after = BTreeMap::new();
        contents(place.data(), &mut after);
        assert!(after.keys().any(|p| p.ends_with("marker.json")));
        if let Some(before) = before {
            assert!(before == after, "the run changed the data");
        }
        before = Some(after);
    }
    assert!(place.records().len() >= 2, "too few plans to see whether data are used again");
    place.assert_nothing_left();
}

/// The plans of scenarios, on a server that answers everything. What takes its time in them is set shorter.
#[test]
fn every_plan_of_a_scenario_runs_in_small() {
    let plans = plans(true);
    assert!(plans.len() >= 2, "{plans:?}");
    let place = Place::without_data();
    let server = Server::start(always(Answer::new(200, "{}").into())).unwrap();
    for plan in plans {
        let mut sets = SMOKE_THERE.map(str::to_owned).to_vec();
        sets.push(format!("target.url=http://{}", server.addr()));
        let text = fs::read_to_string(&plan).unwrap();
        if text.contains("path = [") {
            sets.push(
                "load.path=[{ rate = 40, over_s = 1, hold_s = 2 }, { rate = 80, over_s = 0, hold_s = 2 }]"
                    .to_owned(),
            );
            sets.retain(|set| !set.starts_with("load.w"));
        }
        if text.contains("max_rate = ") {
            sets.extend(SMOKE_SEARCH.map(str::to_owned));
        }
        let mut command = place.program(&["run"]);
        command.arg(&plan).arg("--set").arg(format!("runs={}", place.runs().display()));
        for set in &sets {
            command.args(["--set", set]);
        }
        let ended = Going::start(command).end();
        let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
        whole(&run, &ended);
        assert!(disk(&run).is_null(), "a target that is there has stores of its own: {}", disk(&run));
        assert!(ended.out.contains("report  "), "{ended:?}");
    }
    place.assert_nothing_left();
}

//! Three loads of one run: the auction, visitors of its site, and a key-value store beside them.

use std::fs;
use std::path::PathBuf;

use barograph_record::Run;
use barograph_test_services::{Service, or_skip, product};

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// An interval of the loads, in seconds.
const INTERVAL_S: f64 = 0.25;

/// Common beginning of all plans.
const OF_ALL: &str = "[load]\nstrategy = \"fixed\"\nscale = 100\nramp_s = 1\nwarm_up_s = 1\nwindow_s = 2\ndrain_s = 1\n\
                      [driver]\ninterval_ms = 250\n";

/// The plan, in a folder of this place.
fn plan(place: &TestFolders, store: &Service) -> PathBuf {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/visit.toml");
    let text = format!(
        "{OF_ALL}[[loads]]\nname = \"users\"\nworkload = \"auction\"\nload.users = 20\ndata.size = \"nano\"\ndata.history = 0.1\n\
         data.images = 0.02\n\
         [[loads]]\nname = \"visitors\"\nworkload = \"scenario\"\nscenario = {scenario:?}\nload.unit = \"rate\"\nload.rate = 10\n\
         target.url = \"load:users\"\n\
         [[loads]]\nname = \"keys\"\nworkload = \"kv\"\nload.unit = \"rate\"\nload.rate = 200\nkv.keys = 1000\n\
         kv.limit_ms = 60000\nkv.hits = 0.99\ntarget.url = {:?}\n",
        store.url()
    );
    written(place, &text)
}

fn written(place: &TestFolders, text: &str) -> PathBuf {
    let path = place.root().join("loads.toml");
    fs::write(&path, text).unwrap();
    path
}

fn ran(place: &TestFolders, plan: PathBuf, sets: &[&str]) -> (ProgramOutput, Run) {
    let mut command = place.program(&["run"]);
    command.arg(plan);
    command.arg("--set").arg(format!("data.dir={}", place.data().display()));
    command.arg("--set").arg(format!("runs={}", place.runs().display()));
    for set in sets {
        command.args(["--set", set]);
    }
    let ended = RunningProgram::start(command).end();
    let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    (ended, run)
}

/// The loads of a run: name, level, start and end of the window.
fn windows((ended, run): (&ProgramOutput, &Run)) -> Vec<(String, u32, f64, f64)> {
    let one = |load: &Run| {
        let trial = load.trials().next().unwrap_or_else(|| panic!("{ended:?}"));
        (load.load.clone().unwrap(), trial.level.whole(), trial.window.from_s, trial.window.to_s)
    };
    run.loads.iter().map(one).collect()
}

#[test]
fn three_loads_have_the_same_window_and_a_verdict_each_and_scale_together() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = TestFolders::new();
    let (ended, run) = ran(&place, plan(&place, &store), &["load.scale=200"]);
    let windows = windows((&ended, &run));
    let levels: Vec<(&str, u32)> = windows.iter().map(|(name, level, ..)| (name.as_str(), *level)).collect();
    assert_eq!(levels, [("users", 40), ("visitors", 20), ("keys", 400)], "{ended:?}");
    for (name, _, from_s, to_s) in &windows {
        assert!(
            (from_s - windows[0].2).abs() <= INTERVAL_S && (to_s - windows[0].3).abs() <= INTERVAL_S,
            "{name}"
        );
    }
    for load in &run.loads {
        assert!(load.verdict().is_some() && load.intervals().count() >= 16);
    }
    let keys = &run.loads[2];
    assert_eq!(keys.fill().map(|fill| fill.rows[0].count), Some(1_000));
    let hits = keys.trials().next().unwrap().window.measures.iter().find(|m| m.id == "hit_share").unwrap();
    assert_eq!(hits.value, Some(100.0));
    place.assert_nothing_left();
}

#[test]
fn a_load_with_a_limit_that_cannot_be_kept_fails_the_run_and_is_named() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = TestFolders::new();
    let (ended, run) = ran(&place, plan(&place, &store), &["loads[2].kv.limit_ms=0.001"]);
    let verdict = run.verdict().unwrap();
    assert!(!verdict.passed && !run.loads[2].verdict().unwrap().passed, "{ended:?}");
    assert!(ended.out.contains("keys") && verdict.sentence.contains("keys"), "{}", verdict.sentence);
    place.assert_nothing_left();
}

/// Users of key-value stores. They think, as those who do not leave no CPU to the tests that run beside.
const STORE_USERS: &str =
    "workload = \"kv\"\nkv.keys = 1000\nkv.limit_ms = 60000\nkv.hits = 0.99\nkv.think_ms = 2.0\n";

/// Each load of the list deploys a store of its own, except the last, which goes to that of the first.
const STORES: &str = "[[loads]]\nname = \"red\"\nload.users = 3\n\
                      [[loads]]\nname = \"blue\"\nload.users = 2\ndeploy.stores = 2\n\
                      [[loads]]\nname = \"guests\"\nload.unit = \"rate\"\nload.rate = 50\ntarget.url = \"load:red\"\n";

#[test]
fn stores_of_several_loads_stand_side_by_side() {
    let place = TestFolders::without_data();
    let path = written(&place, &format!("{STORE_USERS}{OF_ALL}{STORES}"));
    let checked = RunningProgram::start({
        let mut command = place.program(&["check"]);
        command.arg(&path);
        command
    });
    let checked = checked.end();
    for name in ["[red-store-1]", "[blue-store-1]", "[blue-store-2]", "the application that load red deploys"]
    {
        assert!(checked.out.contains(name), "{name}: {checked:?}");
    }
    let (ended, run) = ran(&place, path, &[]);
    assert!(run.verdict().is_some_and(|verdict| verdict.valid || !verdict.doubts.is_empty()), "{ended:?}");
    let names = |run: &Run| -> Vec<String> {
        run.topology().unwrap().parts.iter().map(|part| part.name.clone()).collect()
    };
    assert_eq!(names(&run), ["red-store-1", "blue-store-1", "blue-store-2"]);
    let each: Vec<Vec<String>> = run.loads.iter().map(names).collect();
    assert_eq!((each[0].len(), each[1].len(), &each[2]), (1, 2, &each[0]));
    for part in names(&run) {
        assert!(run.probes.iter().any(|row| row.subject == part && row.cores().is_some()), "{part}");
    }
    let keys = run.loads.iter().map(|load| load.fill().map(|fill| fill.rows[0].count));
    assert!(keys.clone().all(|keys| keys == Some(1_000)), "{:?}", keys.collect::<Vec<_>>());
    place.assert_nothing_left();
}

#[test]
fn two_drivers_have_their_share_of_each_load() {
    let place = TestFolders::without_data();
    let path = written(&place, &format!("{STORE_USERS}{OF_ALL}{STORES}"));
    let (ended, run) = ran(&place, path, &["driver.count=2"]);
    let windows = windows((&ended, &run));
    let levels: Vec<(&str, u32)> = windows.iter().map(|(name, level, ..)| (name.as_str(), *level)).collect();
    assert_eq!(levels, [("red", 3), ("blue", 2), ("guests", 50)], "{ended:?}");
    for (load, (name, _, from_s, _)) in run.loads.iter().zip(&windows) {
        assert!((from_s - windows[0].2).abs() <= INTERVAL_S, "{name}");
        let trial = load.trials().next().unwrap();
        assert!(trial.window.ops.iter().all(|op| op.count > 0), "{name}: {ended:?}");
    }
    for driver in ["driver-1", "driver-2"] {
        assert!(run.probes.iter().any(|row| row.subject == driver && row.cores().is_some()), "{driver}");
    }
    place.assert_nothing_left();
}

/// A study of two stores with this metric beside those of each load.
fn study(place: &TestFolders, metric: &str) -> PathBuf {
    let short = OF_ALL.replace("ramp_s = 1", "ramp_s = 0").replace("warm_up_s = 1", "warm_up_s = 0");
    written(place, &format!("{STORE_USERS}{short}{}", STORES.replace("load.users = 3", "load.users = 1")));
    let file = place.root().join("s.toml");
    let text = format!(
        "question = \"Do more users of one store slow the other?\"\nplan = \"loads.toml\"\nrepeats = 1\ncontrol = false\nagain = 0\n\
         [[factor]]\nname = \"blue\"\nlevels = [{{ name = \"1\", set = {{ \"loads[1].load.users\" = 1 }} }}, \
         {{ name = \"4\", set = {{ \"loads[1].load.users\" = 4 }} }}]\n\
         [[metric]]\nof = \"throughput\"\n[[metric]]\nof = \"host_cpu\"\n{metric}"
    );
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_study_has_figures_of_each_load_and_varies_one() {
    let place = TestFolders::without_data();
    let file = study(&place, "[[metric]]\nof = \"response_p99\"\noperation = \"GET\"\nload = \"red\"\n");
    let mut command = place.program(&["study"]);
    command.arg(&file);
    let ended = RunningProgram::start(command).end();
    let conclusions = crate::studies::whole(&place, &ended);
    let labels: Vec<&str> = conclusions.metrics.iter().map(|metric| metric.label.as_str()).collect();
    assert_eq!(
        labels,
        ["red/throughput", "blue/throughput", "guests/throughput", "host_cpu", "red/response_p99 of GET"]
    );
    let folder = crate::studies::folder(&place);
    let entries = barograph_record::read_study(&folder).unwrap().entries;
    let runs = entries.iter().filter_map(|entry| match entry {
        barograph_record::StudyEntry::RunEnded(run) => Some(run),
        _ => None,
    });
    let mut users = Vec::new();
    for run in runs {
        assert_eq!(run.figures.len(), labels.len(), "{run:?}");
        assert_eq!(run.times.iter().map(|of| of.op.as_str()).collect::<Vec<_>>(), ["red/GET"]);
        let record = Run::open(&folder.join("runs").join(&run.started.run)).unwrap();
        users.push(record.loads[1].trials().next().unwrap().level);
    }
    users.sort_unstable();
    assert_eq!(users, [1, 4]);
    place.assert_nothing_left();
}

#[test]
fn a_metric_of_no_load_is_refused_with_the_list() {
    let place = TestFolders::without_data();
    for (metric, said) in [
        ("of = \"goodput\"\nload = \"green\"", "allowed: one of red, blue, guests"),
        ("of = \"host_cpu\"\nload = \"red\"", "allowed: left out: all loads have one together"),
        ("of = \"response_p50\"\noperation = \"Look\"", "for load red, one of GET, SET"),
    ] {
        let file = study(&place, &format!("[[metric]]\n{metric}\n"));
        let mut command = place.program(&["study", "--dry-run"]);
        command.arg(&file);
        let ended = RunningProgram::start(command).end();
        assert!(ended.code == Some(2) && ended.err.contains(said), "{ended:?}");
    }
}

#[test]
fn a_store_is_loaded_in_one_line() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = TestFolders::without_data();
    let words =
        ["kv", store.url(), "-c", "4", "-P", "8", "--mix", "GET=3,SET=1,INCR=1", "--keys", "100", "--verify"];
    let mut command = place.program(&words);
    command.args(["-d", "2s", "--json", "-q"]);
    let ended = RunningProgram::start(command).end();
    let json: serde_json::Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let names: Vec<&str> =
        json["operations"].as_array().unwrap().iter().map(|op| op["operation"].as_str().unwrap()).collect();
    assert_eq!(names, ["GET", "SET", "INCR"], "{json}");
    assert_eq!((json["users"].as_u64(), json["errors"].as_u64()), (Some(32), Some(0)), "{json}");
    assert!(json["requests"].as_u64().unwrap() > 100);
    place.assert_nothing_left();
}

//! Three loads of one run: the auction, visitors of its site, and a key-value store beside them.

use std::fs;
use std::path::PathBuf;

use barograph_record::Run;
use barograph_test_services::{Service, or_skip, product};

use crate::going::{Ended, Going};
use crate::place::Place;

/// An interval of the loads, in seconds.
const INTERVAL_S: f64 = 0.25;

/// The plan, in a folder of this place.
fn plan(place: &Place, store: &Service) -> PathBuf {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/visit.toml");
    let text = format!(
        "[load]\nstrategy = \"fixed\"\nscale = 100\nramp_s = 2\nwarm_up_s = 1\nwindow_s = 4\ndrain_s = 1\n\
         [driver]\ninterval_ms = 250\n\
         [[loads]]\nname = \"users\"\nworkload = \"auction\"\nload.users = 20\ndata.size = \"nano\"\ndata.history = 0.1\n\
         data.images = 0.02\n\
         [[loads]]\nname = \"visitors\"\nworkload = \"scenario\"\nscenario = {scenario:?}\nload.unit = \"rate\"\nload.rate = 10\n\
         target.url = \"load:users\"\n\
         [[loads]]\nname = \"keys\"\nworkload = \"kv\"\nload.unit = \"rate\"\nload.rate = 200\nkv.keys = 1000\n\
         kv.limit_ms = 60000\nkv.hits = 0.99\ntarget.url = {:?}\n",
        store.url()
    );
    let path = place.root().join("three.toml");
    fs::write(&path, text).unwrap();
    path
}

fn ran(place: &Place, store: &Service, sets: &[&str]) -> (Ended, Run) {
    let mut command = place.program(&["run"]);
    command.arg(plan(place, store));
    command.arg("--set").arg(format!("data.dir={}", place.data().display()));
    command.arg("--set").arg(format!("runs={}", place.runs().display()));
    for set in sets {
        command.args(["--set", set]);
    }
    let ended = Going::start(command).end();
    let run = Run::open(place.records().last().unwrap()).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    (ended, run)
}

/// The loads of a run: name, level, begin and end of the window.
fn windows(run: &Run) -> Vec<(String, u32, f64, f64)> {
    let one = |load: &Run| {
        let trial = load.trials().next().unwrap();
        (load.load.clone().unwrap(), trial.level, trial.window.from_s, trial.window.to_s)
    };
    run.loads.iter().map(one).collect()
}

#[test]
fn three_loads_have_the_same_window_and_a_verdict_each_and_scale_together() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = Place::new();
    let (ended, run) = ran(&place, &store, &["load.scale=200"]);
    let windows = windows(&run);
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
    let place = Place::new();
    let (ended, run) = ran(&place, &store, &["loads[2].kv.limit_ms=0.001"]);
    let verdict = run.verdict().unwrap();
    assert!(!verdict.passed && !run.loads[2].verdict().unwrap().passed, "{ended:?}");
    assert!(ended.out.contains("keys") && verdict.sentence.contains("keys"), "{}", verdict.sentence);
    place.assert_nothing_left();
}

#[test]
fn a_store_is_loaded_in_one_line() {
    let Some(store) = or_skip(product("redis", &[("durability", "none")])) else { return };
    let place = Place::without_data();
    let words =
        ["kv", store.url(), "-c", "4", "-P", "8", "--mix", "GET=3,SET=1,INCR=1", "--keys", "100", "--verify"];
    let mut command = place.program(&words);
    command.args(["-d", "2s", "--json", "-q"]);
    let ended = Going::start(command).end();
    let json: serde_json::Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let names: Vec<&str> =
        json["operations"].as_array().unwrap().iter().map(|op| op["operation"].as_str().unwrap()).collect();
    assert_eq!(names, ["GET", "SET", "INCR"], "{json}");
    assert_eq!((json["users"].as_u64(), json["errors"].as_u64()), (Some(32), Some(0)), "{json}");
    assert!(json["requests"].as_u64().unwrap() > 100);
    place.assert_nothing_left();
}

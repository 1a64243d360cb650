//! Plans, valid and invalid.

use barograph_model::{Nanos, Strategy};
use barograph_spec::{Catalogue, DataPlan, Refusal, read};

fn refusals(text: &str, sets: &[&str]) -> Vec<Refusal> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    read(Catalogue::default(), "plans/x.toml", text, &sets).expect_err("this plan must be refused").0
}

#[test]
fn an_empty_plan_is_the_default_search() {
    let plan = read(Catalogue::default(), "p", "", &[]).unwrap();
    assert_eq!((plan.workload.as_str(), plan.profile.as_str()), ("", ""));
    assert!(matches!(plan.strategy, Strategy::Search(b) if b.max == 0));
    assert_eq!(plan.data, DataPlan::default());
}

#[test]
fn a_set_wins_over_the_file_and_bare_words_are_texts() {
    let sets = ["load.strategy=fixed".to_owned(), "load.users=50".to_owned(), "data.size=nano".to_owned()];
    let plan = read(Catalogue::default(), "p", "[load]\nusers = 7\nwindow_s = 5\n", &sets).unwrap();
    assert_eq!(plan.strategy, Strategy::Fixed { level: 50.into(), windows: 1 });
    assert_eq!(plan.durations.window, Nanos::from_secs(5));
    assert_eq!(plan.data.size, "nano");
}

#[test]
fn what_was_resolved_reads_back_to_the_same_plan() {
    let plan = read(
        Catalogue::default(),
        "p",
        "seed = 9\n[load]\nduration = \"standard\"\n[data]\nsnapshots = 2\n",
        &[],
    )
    .unwrap();
    let again = read(Catalogue::default(), "p", &plan.resolved, &[]).unwrap();
    assert_eq!(again.resolved, plan.resolved);
    assert_eq!((again.strategy, again.durations, again.data), (plan.strategy, plan.durations, plan.data));
}

#[test]
fn a_plan_knows_where_its_keys_stand() {
    let sets = ["load.users=50".to_owned()];
    let plan =
        read(Catalogue::default(), "p.toml", "seed = 9\n[load]\nusers = 7\nwindow_s = 5\n", &sets).unwrap();
    let places = ["seed", "load.window_s", "load.users", "data.size"].map(|key| plan.place(key));
    assert_eq!(places, ["p.toml:1", "p.toml:4", "--set", "p.toml"]);
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_a_suggestion() {
    let got = refusals("seed = 1\n\n[load]\nuser = 5\n", &[]);
    assert_eq!(got.len(), 1);
    assert_eq!((got[0].place.as_str(), got[0].key.as_str()), ("plans/x.toml:4", "load.user"));
    assert_eq!(got[0].remedy, "did you mean `load.users`?");
}

#[test]
fn impossible_values_are_all_named_at_once() {
    let got =
        refusals("[load]\nusers = -5\nstrategy = \"guess\"\n", &["data.snapshots=2000", "target.port=99999"]);
    let keys: Vec<&str> = got.iter().map(|r| r.key.as_str()).collect();
    assert_eq!(keys, ["load.strategy", "load.users", "data.snapshots", "target.port"]);
    assert_eq!(got[0].allowed, "one of search, fixed, path");
    assert_eq!((got[1].value.as_str(), got[1].allowed.as_str()), ("-5", "a whole number from 1 to 1000000"));
    assert_eq!(got[2].place, "--set");
    assert_eq!(refusals("", &["driver.count=101"])[0].allowed, "a whole number from 1 to 100");
    assert!(read(Catalogue::default(), "plans/x.toml", "", &["driver.count=100".to_owned()]).is_ok());
}

#[test]
fn bounds_that_cross_are_refused() {
    let got = refusals("", &["load.min_users=500", "load.max_users=100"]);
    assert_eq!(got[0].key, "load.min_users");
}

#[test]
fn windows_too_short_to_be_valid_are_refused() {
    let got = refusals("[load]\nwindow_s = 3\n", &["load.confirm_s=2"]);
    let places: Vec<_> = got.iter().map(|r| (r.place.as_str(), r.key.as_str(), r.value.as_str())).collect();
    assert_eq!(places, [("plans/x.toml:2", "load.window_s", "3"), ("--set", "load.confirm_s", "2")]);
    assert!(got[0].allowed.starts_with("at least 4: 4 intervals of driver.interval_ms = 1000"), "{got:?}");
    let ok = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        read(Catalogue::default(), "p", "", &sets).is_ok()
    };
    assert!(ok(&["load.window_s=4", "load.confirm_s=4"]));
    assert!(ok(&["load.window_s=3", "load.confirm_s=2", "driver.interval_ms=500"]));
    assert!(!ok(&["driver.interval_ms=12000"]), "the default window of 45 s has not four of these");
    // A fixed load has no confirming window.
    assert!(ok(&["load.strategy=fixed", "load.confirm_s=2"]));
}

#[test]
fn what_is_not_toml_is_refused_with_its_line() {
    let got = refusals("seed = 1\nload = [\n", &[]);
    assert!(got[0].place.starts_with("plans/x.toml:"), "{}", got[0].place);
    assert!(refusals("", &["nonsense"])[0].allowed.contains("key=value"));
}

//! Open loops, paths and targets in plans, valid and invalid, with the whole text of refusals.

use barograph_model::{LoadPath, LoadStep, LoadUnit, Nanos, SearchMethod, Share, Stair, StartOf, Strategy};
use barograph_spec::{ArrivalsPlan, Catalogue, OpenPlan, Plan, read};
use proptest::prelude::*;
use proptest::strategy::Strategy as _;

fn plan(text: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    read(Catalogue::default(), "p.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

fn refused(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    read(Catalogue::default(), "p.toml", text, &sets).expect_err("this plan must be refused").to_string()
}

const RATE: &str = "[load]\nunit = \"rate\"\nstrategy = \"fixed\"\n";

#[test]
fn a_rate_has_an_open_loop_and_users_have_none() {
    let open = plan(&format!("{RATE}rate = 5000\n"), &[]);
    assert_eq!(
        (open.unit, &open.strategy),
        (LoadUnit::PerSecond, &Strategy::Fixed { level: 5_000.into(), windows: 1 })
    );
    let expected = OpenPlan {
        arrivals: ArrivalsPlan::Constant,
        start_of: StartOf::Operation,
        most_users: 0,
        most_waiting: 100_000,
    };
    assert_eq!(open.open, Some(expected));
    let closed = plan("", &[]);
    assert_eq!((closed.unit, closed.open), (LoadUnit::Users, None));
    let search =
        plan("[load]\nunit = \"rate\"\nmin_rate = 10\nmax_rate = 500\narrivals = \"poisson\"\n", &[]);
    assert!(matches!(search.strategy, Strategy::Search(b) if (b.min, b.max) == (10, 500)));
    assert_eq!(search.open.as_ref().unwrap().arrivals, ArrivalsPlan::Poisson);
    // The same search by users takes 390 s plus the time for new users to spread; here arrivals may have to
    // be waited for eight times, 15 s at the most.
    assert_eq!(barograph_spec::estimate(&search).as_secs_f64(), 390.0 + 8.0 * 15.0);
}

#[test]
fn a_level_of_the_other_unit_is_refused() {
    assert_eq!(
        refused("[load]\nstrategy = \"fixed\"\nrate = 5\n", &[]),
        "p.toml:3: `load.rate` = 5\n  allowed: only with load.unit = \"rate\"\n  to do:   leave `load.rate` out, or set \
         load.unit = \"rate\""
    );
    assert_eq!(
        refused(RATE, &["load.users=5"]),
        "--set: `load.users` = 5\n  allowed: only with load.unit = \"users\"\n  to do:   leave `load.users` out, or set \
         load.unit = \"users\""
    );
    let keys = ["load.min_rate=1", "load.max_rate=9", "load.arrivals=poisson", "load.most_users=5"];
    let text = refused("", &keys);
    for key in ["load.min_rate", "load.max_rate", "load.arrivals", "load.most_users"] {
        assert!(text.contains(&format!("`{key}`")), "{text}");
    }
    assert!(refused(RATE, &["load.min_rate=9", "load.max_rate=3"]).contains("at most load.max_rate = 3"));
}

const PATH: &str = "[load]\nstrategy = \"path\"\nrepeats = 3\npath = [\n  { users = 500, over_s = 10, hold_s = 30 },\n  \
                    { users = 2000 },\n  { users = 0, over_s = 2.5, hold_s = 5 },\n]\n";

#[test]
fn a_path_is_read_step_by_step() {
    let step = |level: u32, over_ms, hold_s| LoadStep {
        level: level.into(),
        over: Nanos::from_millis(over_ms),
        hold: Nanos::from_secs(hold_s),
    };
    let plan_of = plan(PATH, &[]);
    let steps = vec![step(500, 10_000, 30), step(2_000, 0, 0), step(0, 2_500, 5)];
    assert_eq!(plan_of.strategy, Strategy::Path(LoadPath { steps, repeats: 3 }));
    // 3 x (10 + 30 + 2.5 + 5) and 5 s of drain.
    let estimate = barograph_spec::estimate(&plan_of);
    assert_eq!(estimate.as_secs_f64(), 3.0 * 47.5 + 5.0);
    let set = "load.path=[{ rate = 7, hold_s = 9 }]";
    let rate = plan(PATH.replace("users", "rate").as_str(), &["load.unit=rate", set]);
    assert_eq!(rate.strategy, Strategy::Path(LoadPath { steps: vec![step(7, 0, 9)], repeats: 3 }));
    assert_eq!(rate.place("load.path"), "--set");
}

#[test]
fn steps_of_a_path_are_refused_by_their_own_lines() {
    let wrong = PATH.replace("users = 500", "rate = 500").replace("hold_s = 5 ", "hold_s = 2 ");
    assert_eq!(
        refused(&wrong, &[]),
        "p.toml:5: `load.path[0].users` = nothing\n  allowed: a whole number from 0 to 1000000\n  to do:   give it a \
         value\np.toml:5: `load.path[0].rate` = 500\n  allowed: only with load.unit = \"rate\"\n  to do:   leave \
         `load.path[0].rate` out, or set load.unit = \"rate\""
    );
    assert_eq!(
        refused(&PATH.replace("hold_s = 5 ", "hold_s = 2 "), &[]),
        "p.toml:7: `load.path[2].hold_s` = 2\n  allowed: at least 4: 4 intervals of driver.interval_ms = 1000, without \
         which no window is valid\n  to do:   make it longer, or driver.interval_ms shorter"
    );
    let misspelt = refused(&PATH.replace("{ users = 2000 }", "{ users = 2000, holds = 3 }"), &[]);
    assert!(
        misspelt.starts_with("p.toml:6: `load.path[1].holds` = 3\n") && misspelt.contains("did you mean"),
        "{misspelt}"
    );
    assert!(
        refused(PATH, &["load.strategy=fixed"]).starts_with("p.toml:4: `load.path` = "),
        "only with a path"
    );
}

#[test]
fn a_path_without_anything_to_measure_is_refused() {
    assert_eq!(
        refused("", &["load.strategy=path"]),
        "p.toml: `load.path` = 0 steps\n  allowed: at least one step that holds some load: only held levels are measured \
         and judged\n  to do:   give a step a level and hold_s"
    );
    assert!(refused("", &["load.strategy=path", "load.path=[{users=5, over_s=3}]"]).contains("1 steps"));
    assert!(refused("", &["load.strategy=path", "load.path=3"]).contains("a list like [{ users = 500"));
    assert!(refused("", &["load.strategy=path", "load.path=[1, {users=5}]"]).contains("a list like"));
}

#[test]
fn a_trace_is_named_and_fixed() {
    let sets = ["load.arrivals=trace", "load.trace=t.txt"];
    let trace = plan(RATE, &sets);
    assert_eq!(trace.open.unwrap().arrivals, ArrivalsPlan::Trace("t.txt".into()));
    assert_eq!((trace.durations.window, trace.durations.ramp), (Nanos::ZERO, Nanos::ZERO));
    assert!(
        refused(RATE, &sets[..1])
            .starts_with("p.toml:1: `load.trace` = nothing\n  allowed: a file with an instant")
    );
    assert_eq!(
        refused(RATE, &[sets[0], sets[1], "load.strategy=search"]),
        "--set: `load.arrivals` = \"trace\"\n  allowed: constant or poisson with this load.strategy; a trace has no level \
         to search or to change\n  to do:   set load.strategy = \"fixed\""
    );
    assert!(
        refused(RATE, &[sets[0], sets[1], "load.rate=5"]).contains("only with load.arrivals = \"constant\"")
    );
    assert!(refused(RATE, &["load.trace=t.txt"]).contains("only with load.arrivals = \"trace\""));
}

#[test]
fn a_wrong_word_takes_no_other_key_with_it() {
    let text = refused("", &["load.unit=litres", "load.rate=5", "load.users=5", "load.arrivals=poisson"]);
    assert_eq!(
        text,
        "--set: `load.unit` = \"litres\"\n  allowed: one of users, rate\n  to do:   give `load.unit` such a value, or \
         leave it out for the default"
    );
    let text = refused("", &["load.strategy=guess", "load.path=[{users=5, hold_s=9}]", "load.users=5"]);
    assert!(text.starts_with("--set: `load.strategy` = \"guess\"") && text.lines().count() == 3, "{text}");
    let text = refused(RATE, &["load.arrivals=never", "load.trace=t.txt"]);
    assert!(text.starts_with("--set: `load.arrivals` = \"never\"") && text.lines().count() == 3, "{text}");
}

#[test]
fn a_file_is_beside_the_plan_that_names_it() {
    let text = format!("{RATE}arrivals = \"trace\"\ntrace = \"day.txt\"\n");
    let at = |sets: &[String], file: &str| {
        let plan = read(Catalogue::default(), "plans/x.toml", &text, sets).unwrap();
        plan.file_of("load.trace", std::path::Path::new(file)).display().to_string()
    };
    assert_eq!(at(&[], "day.txt"), "plans/day.txt");
    assert_eq!(at(&[], "/tmp/day.txt"), "/tmp/day.txt");
    assert_eq!(at(&["load.trace=other.txt".to_owned()], "other.txt"), "other.txt");
}

#[test]
fn a_rate_has_thousandths_and_users_are_whole() {
    let level = |rate: &str| match plan(&format!("{RATE}rate = {rate}\n"), &[]).strategy {
        Strategy::Fixed { level, .. } => f64::from(level),
        other => panic!("{other:?} is not fixed"),
    };
    assert_eq!((level("0.5"), level("0.001"), level("2.0")), (0.5, 0.001, 2.0));
    let resolved = |rate: &str| plan(&format!("{RATE}rate = {rate}\n"), &[]).resolved;
    assert!(resolved("0.5").contains("\nrate = 0.5\n") && resolved("2.0").contains("\nrate = 2\n"));
    for wrong in ["0.0005", "1.2345", "0", "-0.5", "nan", "10000000.5", "\"0.5\""] {
        let text = refused(&format!("{RATE}rate = {wrong}\n"), &[]);
        assert!(
            text.contains("allowed: a number from 0.001 to 10000000 with three decimals at most"),
            "{text}"
        );
    }
    assert!(refused("[load]\nstrategy = \"fixed\"\nusers = 0.5\n", &[]).contains("a whole number from 1 to"));
    let path = "[load]\nunit = \"rate\"\nstrategy = \"path\"\npath = [{ rate = 2.5, hold_s = 9 }]\n";
    let of_path = plan(path, &[]);
    assert!(matches!(&of_path.strategy, Strategy::Path(path) if f64::from(path.most()) == 2.5));
    assert!(of_path.resolved.contains("rate = 2.5"), "{}", of_path.resolved);
    let of_step = refused(&path.replace("2.5", "2.0005"), &[]);
    assert!(of_step.contains("a number from 0 to 10000000 with three decimals"), "{of_step}");
}

#[test]
fn a_number_of_operations_ends_a_fixed_load() {
    let users = "[load]\nstrategy = \"fixed\"\nusers = 50\noperations = 10000\n";
    let counted = plan(users, &[]);
    let d = counted.durations;
    assert_eq!(
        (counted.operations, d.ramp, d.warm_up, d.window),
        (Some(10_000), Nanos::ZERO, Nanos::ZERO, Nanos::ZERO)
    );
    assert!(counted.resolved.contains("operations = 10000") && !counted.resolved.contains("windows"));
    let told = barograph_spec::explain(&counted);
    assert!(told.contains("load      10,000 operations of 50 users\n"), "{told}");
    assert!(told.contains("duration  at most 5 s of load beside the operations\n"), "{told}");
    let bounded = plan(users, &["load.window_s=2", "load.warm_up_s=3"]);
    let told = barograph_spec::explain(&bounded);
    assert!(
        told.contains("10,000 operations of 50 users, after 3 s that are not counted, for at most 2 s\n"),
        "{told}"
    );
    assert_eq!(barograph_spec::estimate(&bounded), Nanos::from_secs(10));
    let by_rate = plan(RATE, &["load.rate=0.5", "load.operations=7"]);
    assert_eq!((by_rate.operations, by_rate.unit), (Some(7), LoadUnit::PerSecond));
    assert_eq!(plan(users, &["load.operations=0"]).operations, None);
    for (sets, allowed) in [
        (&["load.strategy=search"][..], "only with load.strategy = \"fixed\""),
        (&["load.windows=2"], "only with load.operations = 0"),
        (&["load.operations=-1"], "a whole number from 0 to 1000000000000"),
    ] {
        let text = refused(users, sets);
        assert!(text.contains(allowed), "{text}");
    }
    let of_sessions = refused(RATE, &["load.rate=5", "load.operations=7", "load.start_of=session"]);
    assert!(of_sessions.contains("only with load.operations = 0"), "{of_sessions}");
    let trace = refused(RATE, &["load.arrivals=trace", "load.trace=day.txt", "load.operations=7"]);
    assert!(trace.contains("only with load.arrivals = \"constant\""), "{trace}");
}

#[test]
fn every_key_is_listed_with_what_is_allowed() {
    let keys = barograph_spec::keys(Catalogue::default());
    let of = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, known)| known.clone()).unwrap();
    assert_eq!(of("load.rate").allowed, "a number from 0.001 to 10000000 with three decimals at most");
    assert_eq!(
        (of("load.unit").allowed.as_str(), of("load.unit").default.as_str()),
        ("one of users, rate", "\"users\"")
    );
    assert_eq!(of("target.url").default, "");
    assert!(keys.len() > 35, "{}", keys.len());
}

/// Plans of every kind, as overrides.
fn any_plan() -> impl proptest::strategy::Strategy<Value = Vec<String>> {
    let path = prop::collection::vec((1u32..5_000, 0u32..100, 4u32..100), 1..6);
    (any::<bool>(), 0usize..3, path, 1u32..9, any::<bool>()).prop_map(
        |(rate, strategy, steps, repeats, poisson)| {
            let unit = if rate { "rate" } else { "users" };
            let mut sets = vec![
                format!("load.unit={unit}"),
                format!("load.strategy={}", ["fixed", "search", "path"][strategy]),
            ];
            // A quarter start more every second.
            let more = if rate { ".25" } else { "" };
            sets.push(format!("load.{unit}={}{more}", steps[0].0));
            if rate && poisson {
                sets.push("load.arrivals=poisson".to_owned());
            }
            if strategy == 2 {
                let steps: Vec<String> = steps
                    .iter()
                    .map(|(level, over, hold)| {
                        format!("{{{unit}={level}{more}, over_s={}, hold_s={hold}}}", f64::from(*over) / 8.0)
                    })
                    .collect();
                sets.extend([format!("load.path=[{}]", steps.join(", ")), format!("load.repeats={repeats}")]);
            }
            sets
        },
    )
}

proptest! {
    #[test]
    fn what_was_resolved_reads_back_to_the_same_plan(sets in any_plan()) {
        let plan = read(Catalogue::default(), "p", "", &sets).unwrap();
        let again = read(Catalogue::default(), "p", &plan.resolved, &[]).unwrap();
        prop_assert_eq!(&again.resolved, &plan.resolved);
        prop_assert_eq!(
            (again.unit, again.strategy, again.open, again.durations),
            (plan.unit, plan.strategy, plan.open, plan.durations)
        );
    }

    #[test]
    fn no_text_makes_it_panic(text in "(\\[load\\]\n)?([a-z._]{1,12} ?= ?[\\[{\"0-9a-z=, }\\]]{0,20}\n){0,6}", set in ".{0,40}") {
        let _ = read(Catalogue::default(), "p", &text, std::slice::from_ref(&set));
        let _ = read(Catalogue::default(), "p", &format!("{PATH}{text}"), &[format!("load.path{set}")]);
    }
}

#[test]
fn a_search_has_one_of_four_methods_and_keys_of_its_own() {
    let method = |sets: &[&str]| match plan("", sets).strategy {
        Strategy::Search(bounds) => (bounds.method, bounds.resolution.get(), bounds.max_trials),
        other => panic!("{other:?} is no search"),
    };
    assert_eq!(method(&[]), (SearchMethod::Posterior, 0.05, 8));
    assert_eq!(method(&["load.search=bisect"]), (SearchMethod::Bisect, 0.05, 4));
    let findmax = ["load.search=findmax", "load.stride_users=500"];
    assert_eq!(method(&findmax), (SearchMethod::FindMax { step: 500 }, 0.01, 40));
    let stair = Stair { step: 0, least_gain: Share::percent(3.0), most_cpu: Share::percent(80.0) };
    let sets = ["load.search=staircase", "load.least_gain=0.03", "load.most_cpu=0.8"];
    assert_eq!(method(&sets), (SearchMethod::Staircase(stair), 0.05, 40));
    let windows = |sets: &[&str]| plan("", sets).durations;
    assert_eq!(
        windows(&["load.window_s=33"]).confirm,
        Nanos::from_secs(33),
        "all windows of a posterior are alike"
    );
    assert_eq!(windows(&["load.search=bisect", "load.window_s=33"]).confirm, Nanos::from_secs(45));
}

#[test]
fn methods_and_their_keys_are_refused_where_they_do_not_belong() {
    assert_eq!(
        refused("", &["load.search=guess"]),
        "--set: `load.search` = \"guess\"\n  allowed: one of posterior, bisect, findmax, staircase\n  to do:   give \
         `load.search` such a value, or leave it out for the default"
    );
    let keys = |sets: &[&str]| -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        read(Catalogue::default(), "p", "", &sets).unwrap_err().0.iter().map(|r| r.key.clone()).collect()
    };
    assert_eq!(keys(&["load.strategy=fixed", "load.search=bisect"]), ["load.search"]);
    assert_eq!(keys(&["load.stride_users=5"]), ["load.stride_users"]);
    assert_eq!(keys(&["load.search=findmax", "load.most_cpu=0.9"]), ["load.most_cpu"]);
    assert_eq!(keys(&["load.search=staircase", "load.stride_rate=5"]), ["load.stride_rate"]);
}

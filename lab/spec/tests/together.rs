//! Several loads in a plan: their own keys, the shared ones, and conflicts.

use std::sync::Arc;

use barograph_model::{LoadUnit, Strategy};
use barograph_spec::{
    Catalogue, Plan, Refusals, SettingsReader, WorkloadKeys, WorkloadSettings, explain, read,
};

/// A workload with an application and a key of its own.
struct Shop;

#[derive(Debug)]
struct ShopPlan(u64);

impl WorkloadKeys for Shop {
    fn name(&self) -> &'static str {
        "shop"
    }
    fn tiers(&self) -> &'static [&'static str] {
        &["web"]
    }
    fn read(&self, given: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        Some(Arc::new(ShopPlan(given.number("deploy.tills", 1..=9, 2)?)))
    }
}

impl WorkloadSettings for ShopPlan {}

/// A workload for any target.
struct Script;

impl WorkloadKeys for Script {
    fn name(&self) -> &'static str {
        "script"
    }
}

fn plan(text: &str, sets: &[&str]) -> Result<Plan, Refusals> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    read(Catalogue::of(&[&Shop, &Script]), "p.toml", text, &sets)
}

const TWO: &str = "seed = 7\n[load]\nstrategy = \"fixed\"\nscale = 150\nwindow_s = 20\n\
                   [[loads]]\nname = \"sells\"\nload.users = 40\ndeploy.tills = 5\n\
                   [[loads]]\nworkload = \"script\"\nload.unit = \"rate\"\nload.rate = 9\ntarget.url = \"load:sells\"\n";

fn refused(text: &str, sets: &[&str]) -> Vec<(String, String, String)> {
    let all = plan(text, sets).map_or_else(|refused| refused.0, |_| Vec::new());
    all.into_iter().map(|r| (r.place, r.key, r.allowed)).collect()
}

#[test]
fn each_load_is_a_plan_of_its_own_with_what_all_share() {
    let first = plan(TWO, &[]).unwrap();
    let all: Vec<&Plan> = first.all().collect();
    assert_eq!(all.iter().map(|load| load.load.as_str()).collect::<Vec<_>>(), ["sells", "script"]);
    assert_eq!((all[0].unit, all[0].whole()), (LoadUnit::Users, Some(all[0].offered(40.into()))));
    assert_eq!((all[1].unit, all[1].whole()), (LoadUnit::PerSecond, Some(all[1].offered(9.into()))));
    assert!(all[1].open.is_some() && all[1].target.url.as_deref() == Some("load:sells"));
    assert_eq!(all[0].settings::<ShopPlan>().unwrap().0, 5);
    for load in all {
        assert_eq!((load.seed, load.durations.window.as_secs_f64()), (7, 20.0));
        assert_eq!(
            (load.unit_of_all(), load.of_all()),
            (LoadUnit::Scale, &Strategy::Fixed { level: 150.into(), windows: 1 })
        );
    }
}

#[test]
fn a_plan_of_several_loads_as_resolved_reads_back_to_itself() {
    for sets in
        [&[][..], &["load.strategy=search", "load.max_scale=400"], &["driver.interval_ms=500", "data.dir=d"]]
    {
        let first = plan(TWO, sets).unwrap();
        let again = plan(&first.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", first.of_run));
        assert_eq!(again.of_run, first.of_run);
        assert_eq!((again.scale.as_ref(), again.durations), (first.scale.as_ref(), first.durations));
        for (again, first) in again.all().zip(first.all()) {
            assert_eq!(again.resolved, first.resolved);
            // Drivers read it by itself.
            assert_eq!(plan(&first.resolved, &[]).map(|alone| alone.resolved), Ok(first.resolved.clone()));
            assert_eq!((&again.load, &again.strategy), (&first.load, &first.strategy));
        }
    }
}

#[test]
fn keys_are_set_for_all_loads_or_for_one() {
    let set = plan(TWO, &["load.scale=200", "loads[1].load.rate=30", "data.dir=there"]).unwrap();
    let all: Vec<&Plan> = set.all().collect();
    let levels: Vec<u32> = all.iter().filter_map(|load| Some(load.whole()?.level.whole())).collect();
    assert_eq!(levels, [40, 30]);
    assert!(matches!(set.of_all(), Strategy::Fixed { level, .. } if *level == 200));
    assert!(all.iter().all(|load| load.data.dir.to_str() == Some("there")));
}

#[test]
fn what_is_wrong_in_a_list_is_refused_once_with_its_line() {
    let of_all = "outside of [[loads]]: it is that of all loads";
    let misplaced = format!("{TWO}load.window_s = 5\ndriver.workers = 2\n");
    let found = refused(&misplaced, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found.iter().all(|(place, _, allowed)| place.starts_with("p.toml:1") && allowed == of_all),
        "{found:?}"
    );
    let found = refused(&TWO.replace("tills = 5", "tills = 50"), &[]);
    assert_eq!(
        (found.len(), found[0].0.as_str(), found[0].1.as_str()),
        (1, "p.toml:9", "loads[0].deploy.tills")
    );
    let found = refused(&TWO.replace("seed = 7", "sed = 7"), &[]);
    assert_eq!((found.len(), found[0].1.as_str()), (1, "sed"));
    let found =
        refused(&TWO.replace("workload = \"script\"", "workload = \"script\"\nname = \"sells\""), &[]);
    assert!(found.len() == 1 && found[0].2.contains("no other load of this name"), "{found:?}");
    assert!(refused(TWO, &["driver.count=2"]).is_empty(), "each driver has its share of each load");
    assert_eq!(refused("", &["load.scale=200"])[0].2, "only with [[loads]]");
    assert_eq!(refused("loads = 3", &[])[0].1, "loads");
}

#[test]
fn what_is_deployed_concerns_the_load_that_deploys_it() {
    let sets =
        ["deploy.hosts=together", "actions=[{at_s=1,unit=\"web-1\",act=\"kill\"}]", "deploy.web_cpus=2"];
    let all = plan(TWO, &sets).unwrap_or_else(|why| panic!("{why}"));
    let hosts: Vec<(&str, usize)> =
        all.all().map(|load| (load.deploy.hosts.as_str(), load.actions.len())).collect();
    assert_eq!(hosts, [("together", 1), ("apart", 0)]);
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert_eq!(again.of_run, all.of_run);
    let there = TWO.replace("deploy.tills = 5", "target.url = \"http://127.0.0.1:9\"");
    assert_eq!(refused(&there, &["deploy.hosts=together"])[0].1, "deploy.hosts");
}

#[test]
fn applications_are_spread_over_some_hosts() {
    let text = "instances = 4\n[load]\nstrategy = \"fixed\"\nusers = 1\n";
    let all = plan(text, &["deploy.spread_over=2"]).unwrap_or_else(|why| panic!("{why}"));
    let placed: Vec<_> =
        all.all().map(|load| (load.deploy.hosts.as_str(), load.deploy.spread_over, load.letter)).collect();
    let of = |letter| ("together", 2, Some(letter));
    assert_eq!(placed, ['a', 'b', 'c', 'd'].map(of));
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert_eq!(again.of_run, all.of_run);
    for (sets, allowed) in [
        (&["deploy.spread_over=5"][..], "at least 2; here 4"),
        (
            &["deploy.spread_over=2", "deploy.hosts=together"],
            "by which the parts of an application are together",
        ),
    ] {
        let found = refused(text, sets);
        assert!(found.len() == 1 && found[0].2.contains(allowed), "{sets:?}: {found:?}");
    }
    // A driver reads the plan of its load alone.
    for load in all.all() {
        let own = plan(&load.resolved, &[]).unwrap_or_else(|why| panic!("{why}\n{}", load.resolved));
        assert_eq!(own.deploy.spread_over, 2);
    }
}

#[test]
fn an_index_of_no_table_and_a_list_of_one_are_refused() {
    for set in ["loads[2].load.users=5", "loads[0]=3", "loads[x].name=3", "loads[-1].name=3"] {
        let found = refused(TWO, &[set]);
        assert_eq!((found.len(), found[0].0.as_str()), (1, "--set"), "{set}: {found:?}");
        assert!(found[0].2.contains("of the 2 tables"), "{found:?}");
    }
    let found = refused("[[loads]]\nname = \"a\"\n", &[]);
    assert_eq!((found.len(), found[0].2.as_str()), (1, "a list of 2 to 64 tables, each the plan of a load"));
}

#[test]
fn a_typing_error_in_a_table_and_a_long_name_are_told_as_such() {
    let typo = refused(&TWO.replace("load.users = 40", "load.usres = 40"), &[]);
    assert_eq!(
        (typo.len(), typo[0].1.as_str(), typo[0].2.as_str()),
        (1, "loads[0].load.usres", "only known keys")
    );
    let long = format!("name = \"{}\"", "n".repeat(65));
    assert!(refused(&TWO.replace("name = \"sells\"", &long), &[])[0].2.starts_with("up to 64 letters"));
}

#[test]
fn levels_of_one_load_are_refused_outside_with_the_key_to_set() {
    let told = |set: &str| {
        let refused = plan(TWO, &[set]).unwrap_err().0;
        refused.into_iter().map(|r| (r.key, r.remedy)).collect::<Vec<_>>()
    };
    let of = |key: &str, remedy: &str| [(key.to_owned(), remedy.to_owned())];
    assert_eq!(told("load.max_users=5"), of("load.max_users", "set load.max_scale, or leave it out"));
    let single = "give it to single loads, as in `loads[0].load.users`";
    assert_eq!(told("load.users=5"), of("load.users", single));
}

#[test]
fn cores_of_the_driver_in_this_process_are_told_for_each_load() {
    let sets = ["load.strategy=fixed", "deploy.driver_cpus=1", "loads[0].deploy.driver_cores=1"];
    let of = |more: &[&str]| explain(&plan(TWO, &[&sets[..], more].concat()).unwrap());
    let own = of(&["loads[1].deploy.driver_cores=0"]);
    assert!(own.contains("limits    the driver of sells: on cores 1\n"), "{own}");
    assert!(own.contains("on cores 0\n") && !own.contains("CPU time"), "{own}");
    let units = of(&["loads[1].deploy.driver_cores=1", "driver.place=unit"]);
    assert!(units.contains("limits    each part of driver: CPU time of 1 cores, on cores 1\n"), "{units}");
}

#[test]
fn each_load_that_deploys_has_the_keys_of_deployments_and_a_letter() {
    let two = "deploy.web_cpus = 2\n[[loads]]\nname = \"a\"\n[[loads]]\nname = \"b\"\ndeploy.web_cpus = 1\n";
    let all = plan(two, &["load.strategy=fixed"]).unwrap_or_else(|why| panic!("{why}"));
    let of = |load: &Plan| (load.letter, load.deploy.limits_of("web").map(|limits| limits.cpus));
    assert_eq!(all.all().map(of).collect::<Vec<_>>(), [(Some('a'), Some(2.0)), (Some('b'), Some(1.0))]);
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert_eq!(again.of_run, all.of_run);
    let told = explain(&all);
    assert!(told.contains("limits    each part of a-web: CPU time of 2 cores\n"), "{told}");
    assert!(plan(TWO, &[]).unwrap().all().all(|load| load.letter.is_none()), "one that deploys");
    let many = "[[loads]]\nload.users = 1\n".repeat(27);
    let names = |text: &str| {
        (0..27)
            .fold(text.to_owned(), |text, n| text.replacen("load.users = 1", &format!("name = \"n{n}\""), 1))
    };
    let found = refused(&names(&many), &["load.strategy=fixed"]);
    assert_eq!((found.len(), found[0].2.as_str()), (1, "at most 26 loads that deploy an application"));
    assert_eq!(barograph_spec::key_of_load(2, "target.port"), "loads[2].target.port");
    assert_eq!(barograph_spec::key_of_load(2, "data.dir"), "data.dir");
}

#[test]
fn a_trace_is_the_same_at_any_scale() {
    let traced = |text: &str| {
        text.replace("load.rate = 9", "load.arrivals = \"trace\"\nload.trace = \"day.txt\"")
            .replace("load.users = 40", "load.unit = \"rate\"\nload.rate = 9")
    };
    let all = plan(&traced(TWO), &["load.strategy=search"]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(all.all().map(Plan::is_trace).collect::<Vec<_>>(), [false, true]);
    let again = plan(&all.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", all.of_run));
    assert_eq!(again.of_run, all.of_run);
    assert!(explain(&all).contains("load      script: workload script, as its trace says at any scale\n"));
    // Twice, so that both are traces.
    let both = traced(&traced(TWO));
    let found = refused(&both, &["load.strategy=search"]);
    assert_eq!((found.len(), found[0].1.as_str()), (1, "load.strategy"), "{found:?}");
    assert!(refused(&both, &[]).is_empty());
}

#[test]
fn several_loads_are_explained_one_by_one() {
    let told = explain(&plan(TWO, &[]).unwrap());
    let begin = "plan      p.toml (2 loads, seed 7)\nload      150 % of each load: ramp 1 min 30 s, warm-up 1 min 10 s, 1 \
                 measured window of 20 s\nload      sells: workload shop, 40 users at 100 %\nload      script: workload script, \
                 9 starts/s at 100 %\n          operations start at equal distances; ";
    assert!(told.starts_with(begin), "{told}");
}

#[test]
fn a_key_outside_of_the_list_that_each_load_has_of_its_own_is_refused() {
    let allowed = "left out, because each load that knows it has its own in [[loads]]";
    let own = |key: &str| ("--set".to_owned(), key.to_owned(), allowed.to_owned());
    assert_eq!(refused(TWO, &["deploy.tills=3"]), [own("deploy.tills")]);
    let third = format!("{TWO}[[loads]]\nname = \"more\"\nload.users = 1\n");
    assert!(refused(&third, &["deploy.tills=3"]).is_empty(), "the third load has none of its own");
}

#[test]
fn each_load_has_drivers_on_cores_of_its_own_or_on_those_of_all() {
    let cores = |first: &Plan| -> Vec<String> {
        first.all().map(|load| load.deploy.limits_of("driver").unwrap().cores.to_string()).collect()
    };
    let of = |sets: &[&str]| plan(TWO, sets).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(cores(&of(&["deploy.driver_cores=0"])), ["0", "0"]);
    let own = of(&["deploy.driver_cores=0", "loads[1].deploy.driver_cores=2-3"]);
    assert_eq!(cores(&own), ["0", "2-3"]);
    assert_eq!(
        cores(&plan(&own.of_run, &[]).unwrap_or_else(|why| panic!("{why}\n{}", own.of_run))),
        ["0", "2-3"]
    );
    let of_run = refused(TWO, &["loads[1].deploy.driver_cpus=1"]);
    assert_eq!(of_run[0].2, "outside of [[loads]]: it is that of all loads");
}

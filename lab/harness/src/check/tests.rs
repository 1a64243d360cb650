//! Values that a check fills in, notes and refuses. The test data admit 60 users with four connections each.

use barograph_model::Strategy;

use super::*;
use crate::testing::TestWorkload;
use barograph_workload::UsualSize;

const ROOMY: Machine = Machine { open_files: 10_000, free_bytes: None, memory_bytes: None, cores: 2 };

fn checked(machine: Machine, sets: &[&str]) -> Result<CheckedPlan, Refusals> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
    check(&plan, &TestWorkload::default(), machine)
}

/// Fewest and most users of the search, and the reason for the upper bound.
fn bounds(machine: Machine, sets: &[&str]) -> (u32, u32, LoadLimit) {
    let checked = checked(machine, sets).unwrap();
    let Strategy::Search(bounds) = checked.plan.strategy else { panic!("a search is the default") };
    (bounds.min, bounds.max, checked.most)
}

#[test]
fn bounds_left_open_follow_the_data_the_plan_or_the_open_files() {
    assert_eq!(bounds(ROOMY, &[]), (60, 60, LoadLimit::Data));
    assert_eq!(bounds(ROOMY, &["load.max_users=40"]), (40, 40, LoadLimit::Plan));
    assert_eq!(bounds(ROOMY, &["load.min_users=7", "load.max_users=60"]), (7, 60, LoadLimit::Data));
    let few = Machine { open_files: 700, ..ROOMY };
    assert_eq!(bounds(few, &[]), (50, 50, LoadLimit::OpenFiles { limit: 700 }));
    assert_eq!(bounds(few, &["load.min_users=7"]), (7, 50, LoadLimit::OpenFiles { limit: 700 }));
}

#[test]
fn what_was_decided_stands_under_the_plan() {
    let resolved = checked(ROOMY, &[]).unwrap().text();
    let tail = "\n# decided on this machine\n# profile = \"official2\"\n# load.min_users = 60\n# load.max_users = 60\n\
                # driver.connections = \"keep\"\n# driver.workers = 1\n";
    assert!(resolved.ends_with(tail), "{resolved}");
}

#[test]
fn a_minimum_that_the_data_do_not_admit_is_refused() {
    let refused = checked(ROOMY, &["load.min_users=61"]).unwrap_err();
    let expected = "--set: `load.min_users` = 61\n  allowed: at most 60, which is what data of size small admit\n  \
        to do:   lower it, or choose a larger data.size (`barograph list sizes`)";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_time_out_shorter_than_the_waits_of_the_application_is_told() {
    let notes = |set: &str| checked(ROOMY, &[set]).unwrap().notes;
    let expected = "operations are timed out after 49 s (driver.timeout_s), but the application may hold an answer for \
        45 s: such waits can end as failures";
    assert_eq!(notes("driver.timeout_s=49"), [expected]);
    assert_eq!(notes("driver.timeout_s=50"), Vec::<String>::new());
}

#[test]
fn a_window_needs_as_many_intervals_as_the_test_for_steadiness() {
    assert_eq!(barograph_spec::FEWEST_INTERVALS as usize, barograph_stats::steady::FEWEST_VALUES);
}

/// Workers and notes of a plan for users of a target that exists already.
fn driven(cores: usize, open_files: u64, sets: &[&str]) -> (usize, Vec<String>) {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let plan = barograph_spec::read(
        barograph_spec::Catalogue::default(),
        "p.toml",
        "[target]\nurl = \"http://127.0.0.1:9/\"\n",
        &sets,
    )
    .unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let checked =
        check(&plan, &workload, Machine { open_files, free_bytes: None, memory_bytes: None, cores }).unwrap();
    (checked.plan.driver.workers, checked.notes)
}

#[test]
fn workers_are_half_the_cores_or_as_many_as_the_connections_need() {
    let users = ["load.strategy=fixed", "load.users=10000"];
    assert_eq!(driven(8, 50_000, &users), (4, vec![]));
    assert_eq!(driven(1, 50_000, &users), (1, vec![]));
    // 40,000 connections; a table holds 9,500.
    let note = "5 workers drive the load instead of 1: the connections of 10,000 users need 40,000 open files, and each \
        worker has a table of 10,000";
    assert_eq!(driven(2, 10_000, &users), (5, vec![note.to_owned()]));
    assert_eq!(driven(2, 10_000, &["load.unit=rate", "load.most_users=10000"]).0, 5);
    assert_eq!(
        driven(2, 10_000, &["driver.workers=7", "load.strategy=fixed", "load.users=10000"]),
        (7, vec![])
    );
}

#[test]
fn only_a_driver_of_this_process_is_scheduled_in_real_time_and_only_with_leave() {
    let checked = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let there = "[target]\nurl = \"http://127.0.0.1:9/\"\n[load]\nstrategy = \"fixed\"\nusers = 10\n";
        let plan =
            barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", there, &sets).unwrap();
        let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
        check(&plan, &workload, ROOMY).unwrap()
    };
    let found = |sets: &[&str]| {
        let checked = checked(sets);
        (checked.plan.driver.realtime, checked.decisions.realtime, checked.notes.join("; "))
    };
    let permitted = barograph_engine::realtime_is_permitted();
    assert_eq!(found(&[]), (false, None, String::new()));
    let (realtime, decided, note) = found(&["driver.realtime=true"]);
    assert_eq!((realtime, decided, note.contains("CAP_SYS_NICE")), (permitted, Some(permitted), !permitted));
    let denied = super::no_realtime(false, false).unwrap();
    assert!(denied.contains("`sudo prlimit --pid $$ --rtprio=1`"), "{denied}");
    let unit = found(&["driver.realtime=true", "driver.place=unit"]);
    let note = "the driver is not scheduled in real time: only a driver in this process can be";
    assert_eq!(unit, (false, Some(false), note.to_owned()));
}

#[test]
fn operations_that_block_have_a_worker_for_each_user() {
    let blocking = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let there = "[target]\nurl = \"http://127.0.0.1:9/\"\n";
        let plan =
            barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", there, &sets).unwrap();
        let workload = TestWorkload { deploys_nothing: true, blocks: true, ..TestWorkload::default() };
        check(&plan, &workload, ROOMY)
            .map(|checked| checked.plan.driver.workers)
            .map_err(|why| why.to_string())
    };
    assert_eq!(blocking(&["load.strategy=fixed", "load.users=7"]), Ok(7));
    assert_eq!(blocking(&["load.max_users=9"]), Ok(9));
    assert_eq!(blocking(&[]), Ok(256));
    let many = blocking(&["load.strategy=fixed", "load.users=257"]).unwrap_err();
    assert!(many.contains("`load.users` = 257\n  allowed: at most 256: each user"), "{many}");
    let workers = blocking(&["load.strategy=fixed", "load.users=7", "driver.workers=2"]).unwrap_err();
    assert!(workers.contains("`driver.workers` = 2\n  allowed: 7, one for each user"), "{workers}");
    let rate = blocking(&["load.unit=rate", "load.strategy=fixed", "load.rate=5"]).unwrap_err();
    assert!(rate.contains("`load.unit` = \"rate\"\n  allowed: users: operations"), "{rate}");
}

#[test]
fn too_few_workers_for_the_connections_are_refused() {
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let few = Machine { open_files: 700, free_bytes: None, memory_bytes: None, cores: 2 };
    let refused = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        check(
            &barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap(),
            &workload,
            few,
        )
        .unwrap_err()
        .to_string()
    };
    let there = "target.url=http://127.0.0.1:9/";
    assert_eq!(
        refused(&[there, "driver.workers=2", "load.strategy=fixed", "load.users=101"]),
        "--set: `load.users` = 101\n  allowed: at most 100: each of 2 workers here may open 700 files\n  to do:   raise the \
         limit to 702 (ulimit -n; it needs root), or lower the number of users"
    );
    let rate = refused(&[there, "driver.workers=1", "load.unit=rate", "load.most_users=51"]);
    assert!(
        rate.starts_with("--set: `load.most_users` = 51\n  allowed: at most 50: a process here may open 700"),
        "{rate}"
    );
}

#[test]
fn an_application_of_ours_has_one_table_of_open_files() {
    let few = Machine { open_files: 700, ..ROOMY };
    let checked = checked(few, &["load.strategy=fixed", "load.users=50"]).unwrap();
    assert_eq!((checked.plan.driver.workers, checked.most_users), (1, 50));
    let Err(refused) =
        super::tests::checked(few, &["load.strategy=fixed", "load.users=51", "driver.workers=9"])
    else {
        panic!("the application cannot hold more, whatever the driver can")
    };
    assert!(refused.to_string().contains("at most 50: a process here may open 700 files"), "{refused}");
}

#[test]
fn an_application_holds_a_table_of_connections_for_each_of_its_tables() {
    let few = Machine { open_files: 520, ..ROOMY };
    let most = |tables: usize, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
        let workload = TestWorkload { tables: Some(tables), ..TestWorkload::default() };
        check(&plan, &workload, few).map(|checked| (checked.most_users, checked.plan.driver.workers))
    };
    // 20 connections fit in a table; a user needs four.
    assert_eq!(most(1, &[]).unwrap(), (5, 1));
    assert_eq!(most(3, &[]).unwrap(), (15, 3));
    assert_eq!(most(20, &[]).unwrap(), (60, 12));
    let refused = most(3, &["load.strategy=fixed", "load.users=16"]).unwrap_err().to_string();
    assert!(
        refused.contains("at most 15: each of 3 threads of the target here may open 520 files"),
        "{refused}"
    );
}

#[test]
fn a_size_left_open_follows_from_the_machine_where_the_run_deploys() {
    let of = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
        let usual = Some(UsualSize { name: "small", why: "small, for 2 cores".to_owned() });
        let workload = TestWorkload { usual, ..TestWorkload::default() };
        let checked = check(&plan, &workload, ROOMY).unwrap();
        (checked.plan.data.size.clone(), checked.decisions.size, checked.notes)
    };
    let decided = (Some("small".to_owned()), vec!["small, for 2 cores".to_owned()]);
    assert_eq!(of(&[]), ("small".to_owned(), decided.0, decided.1));
    assert_eq!(of(&["data.size=given"]), ("given".to_owned(), None, vec![]));
    assert_eq!(of(&["target.url=http://127.0.0.1:9/"]).0, "");
}

#[test]
fn a_search_without_a_bound_has_one_of_its_own() {
    let sets = ["target.url=http://127.0.0.1:9/".to_owned(), "load.unit=rate".to_owned()];
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
    let workload = TestWorkload { deploys_nothing: true, ..TestWorkload::default() };
    let checked = check(&plan, &workload, ROOMY).unwrap();
    let Strategy::Search(bounds) = checked.plan.strategy else { panic!("a search is the default") };
    assert_eq!((bounds.min, bounds.max, checked.most), (10, 1_000_000, LoadLimit::LeftOpen));
    assert!(checked.text().contains("# load.max_rate = 1000000\n# load.most_users = 2375\n"));
}

#[test]
fn an_open_loop_has_no_more_users_than_the_data_admit() {
    let refused = checked(ROOMY, &["load.unit=rate", "load.most_users=61"]).unwrap_err().to_string();
    assert!(
        refused.starts_with("--set: `load.most_users` = 61\n  allowed: at most 60, which is what data"),
        "{refused}"
    );
    assert!(checked(ROOMY, &["load.unit=rate", "load.most_users=60"]).is_ok());
}

#[test]
fn users_of_an_open_loop_follow_rate_limits_and_room() {
    let users = |there: bool, open_files: u64, sets: &[&str]| {
        let mut sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        sets.push("load.unit=rate".to_owned());
        sets.extend(there.then(|| "target.url=http://127.0.0.1:9/".to_owned()));
        let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
        let workload = TestWorkload { deploys_nothing: there, ..TestWorkload::default() };
        let checked = check(&plan, &workload, Machine { open_files, ..ROOMY }).unwrap();
        assert_eq!(checked.plan.open.unwrap().most_users, checked.open.as_ref().unwrap().most_users);
        checked.open.unwrap().most_users
    };
    // Twice the limit of 2 s.
    assert_eq!(users(true, 1_000_000, &["load.strategy=fixed", "load.rate=2000"]), 8_000);
    assert_eq!(users(true, 1_000_000, &["load.strategy=fixed", "load.rate=2"]), 1_000);
    assert_eq!(users(true, 1_000_000, &[]), 100_000);
    assert_eq!(users(true, 1_000_000, &["load.most_users=7"]), 7);
    // One table of open files, four connections for each user.
    assert_eq!(users(true, 10_500, &[]), 2_500);
    assert_eq!(users(true, 10_500, &["driver.workers=3"]), 7_500);
    assert_eq!(users(false, 1_000_000, &[]), 60, "the data admit no more");
}

#[test]
fn an_open_loop_has_no_worker_without_a_user() {
    let rate = |users: &'static str| ["load.unit=rate", users];
    assert_eq!(driven(8, 50_000, &rate("load.most_users=3")), (3, vec![]));
    assert_eq!(driven(8, 50_000, &rate("load.most_users=4")), (4, vec![]));
    assert_eq!(driven(8, 50_000, &["load.strategy=fixed", "load.users=3"]), (4, vec![]), "a closed loop may");
    let refused = checked(ROOMY, &["load.unit=rate", "load.most_users=3", "driver.workers=4"]).unwrap_err();
    let expected = "--set: `driver.workers` = 4\n  allowed: at most 3, the number of load.most_users: a worker without a \
        user can start nothing\n  to do:   lower it, or raise load.most_users";
    assert_eq!(refused.to_string(), expected);
    assert!(checked(ROOMY, &["load.unit=rate", "load.most_users=3", "driver.workers=3"]).is_ok());
}

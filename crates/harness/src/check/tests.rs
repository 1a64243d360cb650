//! What a check resolves, tells and refuses. The test's data admit 60 users with four connections each.

use barograph_model::Strategy;

use super::*;
use crate::testing::KIND;

const ROOMY: Machine = Machine { open_files: 10_000, free_bytes: None };

fn checked(machine: Machine, sets: &[&str]) -> Result<Checked, Refused> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let plan = barograph_spec::read("p.toml", "", &sets).unwrap();
    check(&plan, &KIND, machine)
}

/// Fewest and most users of the search, and why not more.
fn bounds(machine: Machine, sets: &[&str]) -> (u32, u32, MostUsers) {
    let checked = checked(machine, sets).unwrap();
    let Strategy::Search(bounds) = checked.plan.strategy else { panic!("a search is the default") };
    (bounds.min_users, bounds.max_users, checked.most_users)
}

#[test]
fn bounds_left_open_follow_the_data_the_plan_or_the_open_files() {
    assert_eq!(bounds(ROOMY, &[]), (60, 60, MostUsers::Data));
    assert_eq!(bounds(ROOMY, &["load.max_users=40"]), (40, 40, MostUsers::Plan));
    assert_eq!(bounds(ROOMY, &["load.min_users=7", "load.max_users=60"]), (7, 60, MostUsers::Data));
    let few = Machine { open_files: 700, ..ROOMY };
    assert_eq!(bounds(few, &[]), (50, 50, MostUsers::OpenFiles { limit: 700 }));
    assert_eq!(bounds(few, &["load.min_users=7"]), (7, 50, MostUsers::OpenFiles { limit: 700 }));
}

#[test]
fn what_was_decided_stands_under_the_plan() {
    let resolved = checked(ROOMY, &[]).unwrap().plan.resolved;
    let tail = "\n# decided on this machine\n# load.min_users = 60\n# load.max_users = 60\n# driver.connections = \"keep\"\n";
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

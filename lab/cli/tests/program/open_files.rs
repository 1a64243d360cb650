//! Too few open files for the users: a search is bounded by what fits, a fixed number is refused.

use barograph_harness::{CheckedPlan, Machine, check};
use barograph_model::Strategy;
use barograph_spec::Refusals;

use crate::fake::FakeWorkload;

/// Checks a plan on a machine with this limit of open files. The fake's users need four connections each, and
/// 500 files are reserved.
fn checked(open_files: u64, sets: &[&str]) -> Result<CheckedPlan, Refusals> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p.toml", "", &sets).unwrap();
    check(&plan, &FakeWorkload, Machine { open_files, free_bytes: None, memory_bytes: None, cores: 2 })
}

#[test]
fn a_fixed_number_that_does_not_fit_is_refused() {
    let refused = checked(700, &["load.strategy=fixed", "load.users=51"]).unwrap_err();
    let expected = "--set: `load.users` = 51\n  allowed: at most 50: a process here may open 700 files\n  \
        to do:   raise the limit to 704 (ulimit -n; it needs root), or lower the number of users";
    assert_eq!(refused.to_string(), expected);
    assert!(checked(700, &["load.strategy=fixed", "load.users=50"]).is_ok());
}

#[test]
fn a_search_goes_as_far_as_files_allow_and_says_so() {
    let checked = checked(700, &["load.min_users=5"]).unwrap();
    let Strategy::Search(bounds) = checked.plan.strategy else { panic!("a search is the default") };
    assert_eq!((bounds.min, bounds.max), (5, 50));
    assert!(
        checked.notes.iter().any(|n| n.contains("the connections of 50 users fit into the 700 files")),
        "{:?}",
        checked.notes
    );
}

//! Impossible plans: each is refused before anything is created, with place, key, value, allowed values and
//! remedy.

use std::fs;
use std::net::TcpListener;

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// Runs a plan with this text, which must be refused without a trace. Returns the refusal.
fn refused(text: &str, sets: &[&str]) -> String {
    let place = TestFolders::without_data();
    fs::write(place.root().join("p.toml"), text).unwrap();
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let args: Vec<&str> = ["run", "p.toml"].into_iter().chain(sets).collect();
    let ProgramOutput { code, out, err } = RunningProgram::start(place.program(&args)).end();
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    let left: Vec<_> = fs::read_dir(place.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["p.toml"], "a refused plan creates nothing");
    err
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_known_one() {
    let expected = "barograph: the plan cannot be run\n\
        p.toml:3: `load.usres` = 5\n  allowed: only known keys\n  to do:   did you mean `load.users`?\n";
    assert_eq!(refused("[load]\nstrategy = \"fixed\"\nusres = 5\n", &[]), expected);
    let expected = "barograph: the plan cannot be run\n--set: `colour` = \"red\"\n  allowed: only known keys\n  \
        to do:   remove the key; `barograph list keys` shows all of them\n";
    assert_eq!(refused("", &["colour=red"]), expected);
}

#[test]
fn impossible_values_are_all_refused_at_once() {
    let text = "[load]\nstrategy = \"fixed\"\nusers = 0\nduration = \"short\"\n[data]\nimages = 1.5\n";
    let expected = "barograph: the plan cannot be run
p.toml:4: `load.duration` = \"short\"
  allowed: one of quick, standard, full
  to do:   give `load.duration` such a value, or leave it out for the default
p.toml:3: `load.users` = 0
  allowed: a whole number from 1 to 1000000
  to do:   give `load.users` such a value, or leave it out for the default
--set: `target.port` = \"http\"
  allowed: a whole number from 0 to 65535
  to do:   give `target.port` such a value, or leave it out for the default
p.toml:6: `data.images` = 1.5
  allowed: a number from 0 to 1
  to do:   give `data.images` such a value, or leave it out for the default
";
    assert_eq!(refused(text, &["target.port=http"]), expected);
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let err = refused("seed = 1\nworkload = \n", &[]);
    let head = "barograph: the plan cannot be run\np.toml:2: ";
    let tail = "\n  allowed: a TOML document\n  to do:   correct the line; `barograph check` reads a plan without running it\n";
    assert!(err.starts_with(head) && err.ends_with(tail), "{err}");
    let expected = "barograph: the plan cannot be run\n--set: `load.users`\n  allowed: key=value, as in load.users=1000\n  \
        to do:   write the key, an equals sign and the value without spaces\n";
    assert_eq!(refused("", &["load.users"]), expected);
}

#[test]
fn names_that_nobody_knows_are_refused_with_the_known_ones() {
    let expected = "barograph: the plan cannot be run\np.toml:1: `workload` = \"chess\"\n  allowed: one of auction, scenario, kv, order-entry, store, brokerage, statements, disk, net, mail, web-farm, social, linpack, stream, command, sort, null\n  \
        to do:   give `workload` such a value, or leave it out for the default\n";
    assert_eq!(refused("workload = \"chess\"", &[]), expected);
    let expected = "barograph: the plan cannot be run\np.toml:1: `profile` = \"calm\"\n  allowed: one of official2, official2-push\n  \
        to do:   name one of them\n";
    assert_eq!(refused("profile = \"calm\"\ndata.size = \"nano\"", &[]), expected);
    let expected = "barograph: the plan cannot be run\n--set: `data.size` = \"tiny\"\n  \
        allowed: one of nano, micro, run10k, xsmall, small2, run20k, small3, run30k, run40k, medium, run80k, run160k, run320k, run640k\n  \
        to do:   `barograph list sizes` shows the sizes; a factor of 0 takes the size's default\n";
    assert_eq!(refused("", &["data.size=tiny"]), expected);
}

#[test]
fn more_users_than_the_data_admit_are_refused() {
    let expected = "barograph: the plan cannot be run\np.toml:3: `load.users` = 61\n  \
        allowed: at most 60, which is what data of size nano admit\n  \
        to do:   lower it, or choose a larger data.size (`barograph list sizes`)\n";
    assert_eq!(refused("[load]\nstrategy = \"fixed\"\nusers = 61\n[data]\nsize = \"nano\"\n", &[]), expected);
    let expected = "barograph: the plan cannot be run\n--set: `load.max_users` = 120\n  \
        allowed: at most 60, which is what data of size nano admit\n  \
        to do:   lower it, or choose a larger data.size (`barograph list sizes`)\n";
    assert_eq!(refused("[data]\nsize = \"nano\"\n", &["load.max_users=120"]), expected);
}

#[test]
fn a_port_in_use_is_refused_by_name() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let expected = format!(
        "barograph: the plan cannot be run\n--set: `target.port` = {port}\n  \
         allowed: a free port, or 0 for any; this one cannot be had (Address already in use (os error 98))\n  \
         to do:   stop what listens there, or choose another\n"
    );
    let small = ["data.size=nano", "data.history=0.1", "data.images=0.02"];
    let port = format!("target.port={port}");
    assert_eq!(refused("", &[small[0], small[1], small[2], &port]), expected);
}

#[test]
fn a_plan_that_is_not_there_is_refused() {
    let place = TestFolders::without_data();
    let ProgramOutput { code, out, err } = RunningProgram::start(place.program(&["run", "none.toml"])).end();
    let expected = "barograph: read plan `none.toml`; `barograph list plans` shows those that exist\n  \
        because: No such file or directory (os error 2)\n";
    assert_eq!((code, out.as_str(), err.as_str()), (Some(2), "", expected));
}

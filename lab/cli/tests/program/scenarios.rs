//! `workload = "scenario"`: the file is found beside its plan, described in words, refused with its line, and
//! its failures have reasons.

use std::fs;

use barograph_testkit::{Answer, Server, always};

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

const PLAN: &str = "workload = \"scenario\"\nscenario = \"users.toml\"\n[load]\nstrategy = \"fixed\"\nusers = 5\nramp_s = 0\n\
    warm_up_s = 0\nwindow_s = 5\ndrain_s = 1\n[driver]\ninterval_ms = 250\n";

const USERS: &str = "about = \"Reads and writes.\"\n[operations.Read]\nqos = \"p99 < 1 s\"\n[[operations.Read.exchanges]]\n\
    path = \"/things\"\n[operations.Write]\n[[operations.Write.exchanges]]\npath = \"/things\"\njson = { n = 1 }\n\
    [behaviours.main]\nfirst = \"Read\"\nnext = { Read = { Read = 0.5, Write = 0.5 }, Write = \"Read\" }\n\
    pace = { think = \"20 ms\" }\n";

/// A folder `plans` with a plan and its scenario.
fn place(plan: &str, users: &str) -> TestFolders {
    let place = TestFolders::without_data();
    fs::create_dir(place.root().join("plans")).unwrap();
    fs::write(place.root().join("plans/p.toml"), plan).unwrap();
    fs::write(place.root().join("plans/users.toml"), users).unwrap();
    place
}

fn said(place: &TestFolders, words: &[&str]) -> ProgramOutput {
    RunningProgram::start(place.program(words)).end()
}

#[test]
fn a_scenario_is_told_before_anything_happens() {
    let place = place(PLAN, USERS);
    let checked = said(&place, &["check", "plans/p.toml", "--set", "target.url=http://127.0.0.1:9"]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""));
    for words in [
        "target    http://127.0.0.1:9, which is there already: nothing is deployed, filled or verified\n",
        "about     Reads and writes.\noperation Read             (p99 < 1 s, failures < 0.500 %)\n            GET /things\n",
        "            POST /things\n",
        "behaviour main             begins with Read, thinks 20 ms\n            Read → Read 50.0 %, Write 50.0 %\n",
        "mix       Read 66.7 %, Write 33.3 %, as the transitions of main say\n",
    ] {
        assert!(checked.out.contains(words), "{words:?} is not in\n{}", checked.out);
    }
    assert!(!place.runs().exists());
}

#[test]
fn a_scenario_that_cannot_be_is_refused_with_file_and_line() {
    let refused = |place: &TestFolders, words: &[&str]| {
        let ended = said(
            place,
            &[&["run", "plans/p.toml", "--set", "target.url=http://127.0.0.1:9"], words].concat(),
        );
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
        ended.err
    };
    let misspelt = place(PLAN, &USERS.replace("path = \"/things\"\njson", "pth = \"/things\"\njson"));
    let err = refused(&misspelt, &[]);
    assert!(err.contains("plans/users.toml:8: `operations.Write.exchanges[0].pth`"), "{err}");
    assert!(err.contains("did you mean `path`") || err.contains("did you mean"), "{err}");
    let whole = place(PLAN, USERS);
    let expected = "barograph: the plan cannot be run\n--set: `scenario` = \"none.toml\"\n  allowed: a file that can be \
        read, looked for at none.toml (No such file or directory (os error 2))\n  to do:   name a scenario file; \
        `barograph list scenarios` shows those in scenarios/, `barograph new scenario` writes one\n";
    assert_eq!(refused(&whole, &["--set", "scenario=none.toml"]), expected);
    let nowhere = said(&whole, &["run", "plans/p.toml"]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    assert!(nowhere.err.contains("`target.url`"), "{}", nowhere.err);
    let without = place("workload = \"scenario\"\n", USERS);
    assert!(refused(&without, &[]).contains("a scenario file, which workload = \"scenario\" needs"));
}

#[test]
fn more_users_than_rows_that_are_picked_once_per_user_are_refused() {
    let users = format!("{USERS}[data.accounts]\nfile = \"accounts.csv\"\npick = \"unique\"\n").replace(
        "path = \"/things\"\n[operations.Write]",
        "path = \"/things/{accounts.name}\"\n[operations.Write]",
    );
    let place = place(PLAN, &users);
    fs::write(place.root().join("plans/accounts.csv"), "name,password\nann,a\nbob,b\ncid,c\n").unwrap();
    let ended = said(&place, &["check", "plans/p.toml", "--set", "target.url=http://127.0.0.1:9"]);
    let expected = "barograph: the plan cannot be run\nplans/p.toml:5: `load.users` = 5\n  allowed: at most 3: so many rows \
        has the shortest file that is picked once per user\n  to do:   set it, add rows to the file, or pick in another way \
        (`pick` under [data])\n";
    assert_eq!((ended.code, ended.err.as_str()), (Some(2), expected));
    let words = ["check", "plans/p.toml", "--set", "target.url=http://127.0.0.1:9", "--set", "load.users=3"];
    let fits = said(&place, &words);
    assert!(fits.out.contains("data      accounts         3 rows, picked: unique"), "{fits:?}");
}

#[test]
fn failures_are_told_with_their_reasons() {
    let place = place(PLAN, USERS);
    let server = Server::start(always(Answer::new(503, "come back\nlater").into())).unwrap();
    let target = format!("target.url=http://{}", server.addr());
    let runs = format!("runs={}", place.runs().display());
    let ended = said(&place, &["run", "plans/p.toml", "--set", &target, "--set", &runs]);
    assert!(matches!(ended.code, Some(4 | 9)), "{ended:?}");
    assert!(ended.out.contains("failed  Read refused: status 503 ("), "{}", ended.out);
    assert!(ended.out.contains("; it began: come back later)"), "{}", ended.out);
    let disclosure = place.record().disclosure.unwrap();
    assert_eq!(disclosure["target"]["made_by_the_run"], false);
    assert!(disclosure["scenario"]["text"].as_str().unwrap().contains("[operations.Read]"), "{disclosure}");
    place.assert_nothing_left();
}

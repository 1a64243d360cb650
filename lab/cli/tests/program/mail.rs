//! Mail servers under load: in one line, and killed amid a run.

use std::fs;

use barograph_testkit::one_of;
use rustix::process::Signal;
use serde_json::Value;

use crate::going::{RunningProgram, until};
use crate::http::result;
use crate::place::TestFolders;
use crate::plans::{command, done_in_time};

#[test]
fn a_server_is_filled_loaded_and_checked_in_one_line() {
    let place = TestFolders::without_data();
    let said = place.root().join("server.ready");
    let mut serve =
        place.program(&["serve", "mail", "--listen", "127.0.0.1:0", "--listen-imap", "127.0.0.1:0"]);
    serve.arg("--folder").arg(place.root().join("mail")).stdout(fs::File::create(&said).unwrap());
    let server = RunningProgram::start_quiet(serve);
    let line = until("readiness", || fs::read_to_string(&said).ok().filter(|line| line.ends_with('\n')));
    let line: Value = serde_json::from_str(&line).unwrap();
    let address = |key: &str| line[key].as_str().unwrap().to_owned();
    let (smtp, imap) = (format!("smtp://{}", address("address")), format!("imap://{}", address("imap")));
    let words = ["mail", &smtp, "--imap", &imap, "-c", "4", "-n", "200", "--json", "-q"];
    let mut load = place.program(&words);
    load.args(["--messages", "10", "--size", "0.01", "--compression", "2000"]);
    let ended = RunningProgram::start(load).end();
    let result = result(&ended, 0);
    assert_eq!(result["errors"].as_u64(), Some(0), "{result}");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, Some(0));
    place.assert_nothing_left();
}

/// Largest number of tries of a run.
const TRIES: usize = 3;

/// The record of a run in which the server is killed and started again, with this durability.
fn killed(durability: &str) -> String {
    one_of(TRIES, || killed_under_load(durability))
}

/// The same; an error if the load ended before the server was back.
fn killed_under_load(durability: &str) -> Result<String, String> {
    let place = TestFolders::without_data();
    let plan = place.root().join("killed.toml");
    let text = format!(
        "workload = \"mail\"\n[load]\nstrategy = \"fixed\"\nusers = 8\nramp_s = 1\nwarm_up_s = 1\nwindow_s = 20\ndrain_s = 3\n\
         [driver]\ninterval_ms = 250\n[mail]\nmailboxes = 8\nmessages = 5\nsize = 0.01\ncompression = 2000\n\
         delivery_s = 0\ndurability = \"{durability}\"\n\
         [[actions]]\nat_s = 4\nunit = \"server-1\"\nact = \"kill\"\n\
         [[actions]]\nat_s = 4\nunit = \"server-1\"\nact = \"start\"\n"
    );
    fs::write(&plan, text).unwrap();
    let ended = RunningProgram::start(command(&place, "run", &plan, &[])).end();
    let run = place.record();
    assert_eq!(run.actions().count(), 2, "{ended:?}");
    assert!(ended.err.contains("is the data still right?"), "{ended:?}");
    place.assert_nothing_left();
    run.actions().try_for_each(done_in_time)?;
    Ok(fs::read_to_string(place.records().last().unwrap().join("run.jsonl")).unwrap())
}

#[test]
fn a_killed_server_loses_only_mail_that_it_did_not_store() {
    for durability in ["full", "system"] {
        let record = killed(durability);
        assert!(!record.contains("data is not right"), "{durability}: {record}");
    }
    let record = killed("memory");
    assert!(record.contains("data is not right") && record.contains(" lost, as "), "{record}");
}

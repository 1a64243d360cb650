//! Studies with `--gate`: a version that fails does not pass, however it fails.

use std::fs;

use barograph_record::{Conclusions, FindingRecord};
use barograph_testkit::{Act, Answer, ClosedPort, Script, Server, always};

use crate::going::{ProgramOutput, RunningProgram};
use crate::place::TestFolders;

/// Tries of a study that one busy moment of the machine can spoil.
const TRIES: usize = 3;

/// Runs a study of one block: a version that answers, and the one at this address. Returns its conclusions.
fn gated(place: &TestFolders, new: std::net::SocketAddr) -> (ProgramOutput, Conclusions) {
    let old = Server::start(always(Answer::new(200, "ok").into())).unwrap();
    let root = place.root();
    let scenario = "about = \"One page.\"\n[operations.Get]\nqos = { limit = \"p99 < 1 s\", failures = \"0.5 %\" }\n\
                    [[operations.Get.exchanges]]\npath = \"/\"\n";
    fs::write(root.join("get.toml"), scenario).unwrap();
    let plan = "workload = \"scenario\"\nscenario = \"get.toml\"\n[load]\nstrategy = \"fixed\"\nunit = \"rate\"\nrate = 50\n\
                ramp_s = 0\nwarm_up_s = 1\nwindow_s = 3\ndrain_s = 1\n[driver]\ninterval_ms = 250\ntimeout_s = 2\n";
    fs::write(root.join("plan.toml"), plan).unwrap();
    let study = format!(
        "question = \"Is the new version as good?\"\nplan = \"plan.toml\"\nrepeats = 1\nagain = 2\ncontrol = false\n[[factor]]\n\
         name = \"version\"\nlevels = [\n{{ name = \"old\", set = {{ target.url = \"http://{}\" }} }},\n{{ name = \"new\", set = {{ \
         target.url = \"http://{new}\" }} }},\n]\n[[metric]]\nof = \"goodput\"\n[[metric]]\nof = \"response_p99\"\n\
         operation = \"Get\"\n",
        old.addr()
    );
    fs::write(root.join("study.toml"), study).unwrap();
    let ended = RunningProgram::start(place.program(&["study", "study.toml", "--gate"])).end();
    let json = fs::read_to_string(crate::studies::folder(place).join("study.json")).unwrap();
    place.assert_nothing_left();
    (ended, serde_json::from_str(&json).unwrap())
}

/// Conclusions on a version with this script, from valid runs.
fn of_a_version(script: impl Fn() -> Script) -> (ProgramOutput, Conclusions) {
    barograph_testkit::one_of(TRIES, || {
        let new = Server::start(script()).unwrap();
        let (ended, said) = gated(&TestFolders::without_data(), new.addr());
        // A busy machine makes runs invalid, and then nothing is judged.
        let is_valid = said.configurations.iter().all(|configuration| configuration.valid > 0);
        if is_valid { Ok((ended, said)) } else { Err(format!("{ended:?}")) }
    })
}

#[test]
fn a_version_that_answers_500_to_everything_does_not_pass() {
    let (ended, said) = of_a_version(|| always(Answer::new(500, "no").into()));
    let goodput = &said.metrics[0].rows[1];
    assert_eq!((goodput.pairs, goodput.median, goodput.ratio), (1, 0.0, 0.0), "zero is a figure");
    assert!(said.configurations[1].breaks_rules);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.out.contains("rules were broken in 1 of 1 valid runs"), "{ended:?}");
}

#[test]
fn a_version_that_drops_every_second_request_does_not_pass() {
    // A connection that breaks before an answer may be retried; one that breaks within it may not.
    let half = |request: &barograph_testkit::Request| match request.n % 2 {
        0 => Answer::new(200, "ok").into(),
        _ => Act::CloseMid(Answer::new(200, vec![b' '; 4_000])),
    };
    let (ended, said) = of_a_version(|| std::sync::Arc::new(half));
    assert!(said.configurations[1].breaks_rules && ended.code == Some(5), "{ended:?}");
    let goodput = &said.metrics[0].rows[1];
    assert!((0.4..0.6).contains(&goodput.ratio), "{goodput:?}");
    assert_eq!(goodput.finding, FindingRecord::Undecided, "one pair has no interval");
}

#[test]
fn a_version_that_never_answers_does_not_pass() {
    let new = Server::start(always(Act::Stall)).unwrap();
    let (ended, _) = gated(&TestFolders::without_data(), new.addr());
    assert!(matches!(ended.code, Some(5 | 9)), "{ended:?}");
}

#[test]
fn a_version_that_refuses_every_connection_does_not_pass() {
    let closed = ClosedPort::new().unwrap();
    let (ended, said) = gated(&TestFolders::without_data(), closed.addr());
    assert_eq!((ended.code, said.configurations[1].valid), (Some(9), 0), "{ended:?}");
}

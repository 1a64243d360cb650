//! The application in virtual machines, and in containers in them.

use crate::deployments::{cores_of, fine, like, minimal_on, nothing_left, possible, recorded_cores};
use crate::going::RunningProgram;
use crate::place::TestFolders;

#[test]
fn a_node_on_postgresql_runs_in_virtual_machines() {
    minimal_on("vm");
}

#[test]
fn a_node_on_postgresql_runs_in_containers_in_virtual_machines() {
    minimal_on("container-in-vm");
}

#[test]
fn links_and_cores_of_a_plan_hold_for_virtual_machines() {
    let place = TestFolders::new();
    let mut sets = like("embedded", "vm");
    sets.extend(["deploy.application_cores=0", "deploy.link_delay_ms=50"].map(str::to_owned));
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(None, &sets));
    going.says("the application answers at");
    let emulator = place.process("qemu-system-x86_64").unwrap();
    assert_eq!(cores_of(emulator), "0");
    let run = fine(&place, going);
    assert_eq!(recorded_cores(&run), ["0"]);
    let log = run.response_log().unwrap();
    let least = log.histograms().map(|told| told.unwrap().histogram.value_at_quantile(0.0)).min();
    assert!(least.is_some_and(|us| us >= 95_000), "{least:?}: there and back is twice the delay");
    let facts = &run.topology().unwrap().facts;
    assert!(facts.iter().any(|(name, _)| name == "delays by"), "{facts:?}");
    nothing_left(&place);
}

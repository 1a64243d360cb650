//! The auction on a cluster: deployed, loaded, killed, and completely removed.

use barograph_record::ExitCode;
use barograph_test_kubernetes::Cluster;
use rustix::process::Signal;

use crate::deployments::{fine, like, plan, possible};
use crate::going::RunningProgram;
use crate::place::TestFolders;

/// Objects of all runs in a cluster.
fn objects(cluster: &Cluster) -> String {
    let label = "app.kubernetes.io/managed-by=barograph";
    cluster.kubectl(&["get", "namespaces,pods,services", "-A", "-l", label, "-o", "name"]).unwrap()
}

fn sets(cluster: &Cluster) -> Vec<String> {
    let mut sets = like("minimal", "kubernetes");
    sets.push(format!("deploy.kubernetes_access={}", cluster.access().display()));
    sets
}

#[test]
fn the_auction_runs_in_pods_and_leaves_nothing() {
    let Some(cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let run = fine(&place, RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets)));
    let topology = run.topology().unwrap();
    assert_eq!(topology.platform, "kubernetes");
    let facts =
        |name: &str| topology.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(facts("cluster version"), Some("v1.33.4"));
    assert!(facts("node node-0").is_some() && facts("node node-1").is_some());
    let parts: Vec<&str> = topology.parts.iter().map(|part| part.name.as_str()).collect();
    assert!(parts.contains(&"relational-1") && parts.contains(&"application-1"), "{parts:?}");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

#[test]
fn what_a_killed_run_has_in_a_cluster_is_cleaned() {
    let Some(cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("ramp");
    assert!(objects(&cluster).contains("pod/"), "{}", objects(&cluster));
    going.signal(Signal::KILL);
    going.end();
    let cleaned = RunningProgram::start(place.program(&["clean"])).end();
    assert_eq!(cleaned.code, Some(i32::from(ExitCode::Fine.code())), "{cleaned:?}");
    assert!(cleaned.out.contains("namespace barograph-"), "{cleaned:?}");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

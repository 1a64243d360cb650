//! The auction on a cluster: deployed, loaded, killed, and completely removed.

use barograph_record::{ActionRecord, ExitCode};
use barograph_test_kubernetes::Cluster;
use rustix::process::Signal;

use crate::actions::well_after;
use crate::deployments::{fine, like, plan, possible};
use crate::going::{PATIENCE_WITH_EMULATION, RunningProgram};
use crate::killed_in::KILLED;
use crate::phases::{DEPLOY_AT_ONCE, tries_to_end};
use crate::place::{TestFolders, fixed};
use crate::plans::in_order;

/// Objects of all runs in a cluster.
fn objects(cluster: &Cluster) -> String {
    let label = "app.kubernetes.io/managed-by=barograph";
    cluster.kubectl(&["get", "namespaces,pods,services", "-A", "-l", label, "-o", "name"]).unwrap()
}

fn access(cluster: &Cluster) -> String {
    format!("deploy.kubernetes_access={}", cluster.access().display())
}

fn sets(cluster: &Cluster) -> Vec<String> {
    let mut sets = like("minimal", "kubernetes");
    sets.push(access(cluster));
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

/// Two nodes of the application behind a web server, on a cluster of two nodes.
#[test]
fn pods_are_killed_scaled_restarted_and_drained_under_load() {
    let Some(cluster) = Cluster::start(2) else { return };
    let place = TestFolders::new();
    let mut sets = sets(&cluster);
    sets.extend(fixed(20, 24));
    sets.extend(
        ["deploy.application_nodes=2", "deploy.bus=nats", "deploy.web=nginx", "deploy.web_nodes=1"]
            .map(str::to_owned),
    );
    let acts = [
        "at_s=3,unit=\"application-2\",act=\"kill\"",
        "at_s=5,unit=\"application-2\",act=\"start\"",
        "at_s=7,unit=\"application\",act=\"scale\",count=1",
        "at_s=8,unit=\"application\",act=\"scale\",count=2",
        "at_s=9,unit=\"application-2\",act=\"restart\"",
        "at_s=11,unit=\"application-1\",act=\"drain\"",
        "at_s=12,unit=\"application-1\",act=\"drain\"",
        "at_s=13,act=\"undrain\"",
    ];
    sets.push(format!("actions=[{}]", acts.map(|act| format!("{{{act}}}")).join(",")));
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    let ended = going.end_within(PATIENCE_WITH_EMULATION);
    let run = place.record();
    in_order(&run, &ended);
    let kept: Vec<&ActionRecord> = run.actions().collect();
    let names: Vec<&str> = kept.iter().map(|action| action.name.as_str()).collect();
    assert_eq!(names, ["kill", "start", "scale", "scale", "restart", "drain", "drain", "undrain"]);
    let (again, done): (Vec<_>, Vec<_>) = kept.iter().enumerate().partition(|(at, _)| *at == 6);
    assert!(done.iter().all(|(_, action)| action.failed.is_none()), "{kept:?}");
    let why = again[0].1.failed.as_deref();
    assert!(why.is_some_and(|why| why.ends_with("no other node takes pods")), "{kept:?}");
    assert_eq!(kept[2].act, "scale to 1: application-2 stopped");
    assert_eq!(kept[3].act, "scale to 2: application-2 started");
    assert!(run.back_after_s(kept[0]).is_some_and(|back| back >= 2.0), "{kept:?}");
    let drained = kept[5].act.strip_prefix("drain: ").and_then(|words| words.split_once(" left node-"));
    let (moved, node) = drained.unwrap_or_else(|| panic!("{kept:?}"));
    assert!(moved.split(", ").any(|part| part == "application-1") && ["0", "1"].contains(&node), "{kept:?}");
    for action in [kept[4], kept[5]] {
        assert!(action.pause_s.is_some_and(|pause| pause > 0.0 && pause <= action.took_s), "{kept:?}");
    }
    assert!(well_after(&run, kept[7].at_s) > 0, "users go on");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

/// Drain and verification are held open by a paused part, which pods cannot be.
#[test]
fn a_run_killed_in_any_phase_leaves_nothing_in_a_cluster_after_clean() {
    let Some(cluster) = Cluster::start(1) else { return };
    if !possible(&TestFolders::new(), &sets(&cluster)) {
        return;
    }
    for moment in [DEPLOY_AT_ONCE, "deploy", "ramp", "warm-up", "hold", "collect", "remove"] {
        tries_to_end(KILLED, moment, "kubernetes", &[access(&cluster)]);
        assert_eq!(objects(&cluster), "", "killed in {moment}");
    }
}

#[test]
fn a_run_outlives_a_restart_of_the_api_server() {
    let Some(mut cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let sets = sets(&cluster);
    if !possible(&place, &sets) {
        return;
    }
    let going = RunningProgram::start(place.run(Some(&plan("auction.toml")), &sets));
    going.enters("hold");
    cluster.restart_api_server();
    fine(&place, going);
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

//! Engines of jobs: a manager and a worker that finds it.

use barograph_services::Flavour;

use crate::said::{ask, connect};
use crate::stand::{InstanceSpec, ReadyUnit, TestSite, or_skip};
use crate::traces;

/// Asks the manager until its answer has `found`.
fn until_it_says(manager: &ReadyUnit, path: &str, found: &str) {
    let question = format!("GET {path} HTTP/1.0\r\nAccept: application/json\r\n\r\n");
    // A node counts a moment after it is ready.
    for _ in 0..1_000 {
        let answer = ask(&mut connect(manager.at("web")), question.as_bytes(), "}");
        if answer.contains(found) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("no {found} at {path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_spark_comes_to_its_master() {
    let Some([master, worker]) = or_skip(["spark", "spark_worker"]) else { return };
    let stand = TestSite::new().await;
    let flavour = Flavour::Tuned;
    let master = stand.start(master, InstanceSpec { name: "master", flavour, values: &[] }).await;
    let values =
        [("master", master.main().to_string()), ("cores", "1".to_owned()), ("heap_mib", "512".to_owned())];
    let worker = stand.start(worker, InstanceSpec { name: "worker", flavour, values: &values }).await;
    until_it_says(&master, "/json/", "\"aliveworkers\" : 1");
    for up in [&master, &worker] {
        up.assert_listens_at_home();
        up.assert_version();
    }
    worker.stop().await;
    master.stop().await;
    stand.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_yarn_comes_to_its_manager_and_leaves_nothing_when_it_is_killed() {
    let Some([manager, node]) = or_skip(["yarn", "yarn_node"]) else { return };
    let stand = TestSite::new().await;
    let flavour = Flavour::Tuned;
    let manager = stand.start(manager, InstanceSpec { name: "manager", flavour, values: &[] }).await;
    let values = [
        ("manager", manager.at("nodes").to_string()),
        ("cores", "1".to_owned()),
        ("heap_mib", "512".to_owned()),
    ];
    let node = stand.start(node, InstanceSpec { name: "node", flavour, values: &values }).await;
    until_it_says(&manager, "/ws/v1/cluster/metrics", "\"activeNodes\":1");
    manager.assert_listens_at_home();
    manager.assert_version();
    node.running.kill().await.unwrap();
    assert!(traces::of_folder(&node.unit.workdir).is_empty());
    manager.stop().await;
    stand.end().await;
}

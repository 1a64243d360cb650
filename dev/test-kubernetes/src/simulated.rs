//! Simulated nodes: objects without machines, and a controller that answers for them. Their pods run as soon as they are
//! scheduled, do nothing, and end as soon as they are asked to.

use std::path::Path;
use std::time::Duration;

use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use crate::image::IMAGE;

/// Beginning of their names.
const PREFIX: &str = "simulated-";

/// Label of each of them.
pub const SIMULATED: &str = "barograph.test/simulated=true";

/// Where nodes say that they live.
const LEASES: &str = "kube-node-lease";

/// How often they say so; a cluster of tests takes them for lost after 20 s.
const SAY_EVERY: Duration = Duration::from_secs(5);

/// How often nodes that were taken for lost come back: sooner than pods leave them.
const BACK_EVERY: Duration = Duration::from_secs(1);

/// Interval between attempts to reach a cluster that does not answer.
const AGAIN: Duration = Duration::from_millis(300);

/// This machine's identity since its start, which its nodes have.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Simulated nodes. Dropping it stops the answers; the objects stay in their cluster.
#[derive(Debug)]
pub struct SimulatedNodes {
    tasks: [JoinHandle<()>; 3],
}

impl Drop for SimulatedNodes {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl SimulatedNodes {
    /// Makes this number of nodes.
    pub(crate) async fn start(
        access: &Path,
        count: usize,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let file = Kubeconfig::read_from(access)?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let names: Vec<String> = (0..count).map(|number| format!("{PREFIX}{number}")).collect();
        say(&client, &names).await?;
        let boot_id = std::fs::read_to_string(BOOT_ID)?.trim().to_owned();
        let nodes = Api::<Node>::all(client.clone());
        try_join_all(names.iter().map(|name| make(&nodes, name, &boot_id))).await?;
        let living = tokio::spawn(live(client.clone(), names));
        let coming_back = tokio::spawn(come_back(client.clone(), boot_id));
        let running = tokio::spawn(run(client));
        Ok(SimulatedNodes { tasks: [living, coming_back, running] })
    }
}

fn apply() -> PatchParams {
    PatchParams::apply("simulated-nodes").force()
}

async fn make(nodes: &Api<Node>, name: &str, boot_id: &str) -> Result<(), kube::Error> {
    let (key, value) = SIMULATED.split_once('=').expect("it has both");
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name, "labels": { key: value, "kubernetes.io/hostname": name } },
    });
    nodes.patch(name, &apply(), &Patch::Apply(node)).await?;
    ready(nodes, name, boot_id).await
}

/// Says that a node is ready.
async fn ready(nodes: &Api<Node>, name: &str, boot_id: &str) -> Result<(), kube::Error> {
    let room = json!({ "cpu": "4", "memory": "8Gi", "pods": "110" });
    let status = json!({
        "capacity": room, "allocatable": room,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Simulated", "message": "",
            "lastHeartbeatTime": now(), "lastTransitionTime": now(),
        }],
        "images": [{ "names": [IMAGE], "sizeBytes": 1 }],
        "nodeInfo": {
            "architecture": "amd64", "bootID": boot_id, "containerRuntimeVersion": "none://0", "kernelVersion": "0",
            "kubeProxyVersion": "v0", "kubeletVersion": "v0", "machineID": "", "operatingSystem": "linux",
            "osImage": "none", "systemUUID": "",
        },
    });
    nodes.patch_status(name, &PatchParams::default(), &Patch::Merge(json!({ "status": status }))).await?;
    Ok(())
}

fn now() -> String {
    Timestamp::now().to_string()
}

/// Says for ever that all nodes live.
async fn live(client: Client, names: Vec<String>) {
    let mut ticks = beat(SAY_EVERY);
    loop {
        ticks.tick().await;
        // What is not heard this time is the next time.
        let _ = say(&client, &names).await;
    }
}

/// Brings back nodes for ever.
async fn come_back(client: Client, boot_id: String) {
    let mut ticks = beat(BACK_EVERY);
    loop {
        ticks.tick().await;
        let _ = back(&client, &boot_id).await;
    }
}

fn beat(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Brings back nodes that the cluster took for lost, as it does after this machine stood still.
async fn back(client: &Client, boot_id: &str) -> Result<(), kube::Error> {
    let nodes = Api::<Node>::all(client.clone());
    let all = nodes.list(&ListParams::default().labels(SIMULATED)).await?;
    let is_ready = |node: &&Node| {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        conditions.into_iter().any(|one| one.type_ == "Ready" && one.status == "True")
    };
    for node in all.items.iter().filter(|node| !is_ready(node)) {
        ready(&nodes, &node.name_any(), boot_id).await?;
    }
    Ok(())
}

async fn say(client: &Client, names: &[String]) -> Result<(), kube::Error> {
    let leases = Api::<Lease>::namespaced(client.clone(), LEASES);
    let at = format!("{:.6}", Timestamp::now());
    let one = async |name: &String| {
        let spec = json!({ "holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": at });
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name }, "spec": spec,
        });
        leases.patch(name, &apply(), &Patch::Apply(lease)).await
    };
    try_join_all(names.iter().map(one)).await.map(drop)
}

/// Lets pods of the nodes run and end, for ever.
async fn run(client: Client) {
    loop {
        if list_and_watch(&client).await.is_err() {
            sleep(AGAIN).await;
        }
    }
}

async fn list_and_watch(client: &Client) -> Result<(), kube::Error> {
    let all = Api::<Pod>::all(client.clone());
    let list = all.list(&ListParams::default()).await?;
    for pod in &list.items {
        serve(client, pod).await?;
    }
    let version = list.metadata.resource_version.unwrap_or_default();
    let mut events = all.watch(&WatchParams::default(), &version).await?.boxed();
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => serve(client, &pod).await?,
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Does what a kubelet would.
async fn serve(client: &Client, pod: &Pod) -> Result<(), kube::Error> {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    if !node.starts_with(PREFIX) {
        return Ok(());
    }
    let pods = Api::<Pod>::namespaced(client.clone(), &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let done = if pod.metadata.deletion_timestamp.is_some() {
        pods.delete(&name, &DeleteParams::default().grace_period(0)).await.map(drop)
    } else if phase == Some("Running") {
        Ok(())
    } else {
        let status = Patch::Merge(json!({ "status": running(pod) }));
        pods.patch_status(&name, &PatchParams::default(), &status).await.map(drop)
    };
    match done {
        // It was removed meanwhile.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other,
    }
}

/// The status of a pod whose containers run.
fn running(pod: &Pod) -> Value {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers).map(|container| {
        json!({
            "name": container.name, "image": IMAGE, "imageID": "", "ready": true, "restartCount": 0, "started": true,
            "state": { "running": { "startedAt": now() } },
        })
    });
    let containers: Vec<Value> = containers.collect();
    json!({ "phase": "Running", "startTime": now(), "containerStatuses": containers })
}

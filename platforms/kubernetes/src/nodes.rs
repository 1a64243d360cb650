//! The nodes of a cluster: what is free on them, whether they are this machine, and which images they have.

use std::collections::BTreeMap;

use barograph_platform::{Facts, MissingRequirement};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use crate::options::Options;
use crate::quantity;

/// This machine's identity since its start.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Processor time in cores, and memory in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Room {
    pub(crate) cpus: f64,
    pub(crate) memory: f64,
}

impl Room {
    fn of(quantities: &BTreeMap<String, Quantity>) -> Self {
        let read = |name: &str| quantities.get(name).and_then(quantity::read).unwrap_or_default();
        Room { cpus: read("cpu"), memory: read("memory") }
    }

    fn plus(self, other: Room) -> Room {
        Room { cpus: self.cpus + other.cpus, memory: self.memory + other.memory }
    }

    fn most(self, other: Room) -> Room {
        Room { cpus: self.cpus.max(other.cpus), memory: self.memory.max(other.memory) }
    }

    fn minus(self, other: Room) -> Room {
        Room { cpus: self.cpus - other.cpus, memory: self.memory - other.memory }
    }

    fn holds(self, wanted: Room) -> bool {
        self.cpus >= wanted.cpus && self.memory >= wanted.memory
    }

    fn words(self) -> String {
        format!("{:.2} cores and {:.0} MiB", self.cpus, self.memory / f64::from(1 << 20))
    }
}

/// A node that takes pods.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FreeNode {
    pub(crate) name: String,
    /// What other pods leave.
    pub(crate) free: Room,
    /// Whether it is this machine.
    pub(crate) is_here: bool,
    /// Names of its images with their sizes in bytes.
    images: BTreeMap<String, i64>,
}

/// Returns the nodes with these labels that take pods.
pub(crate) async fn list(
    client: &Client,
    labels: &BTreeMap<String, String>,
) -> Result<Vec<FreeNode>, kube::Error> {
    let wanted = labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
    let nodes = Api::<Node>::all(client.clone()).list(&ListParams::default().labels(&wanted)).await?;
    // Without the right to see other pods their part is unknown, and the scheduler has the last word.
    let living = ListParams::default().fields("status.phase!=Succeeded,status.phase!=Failed");
    let pods =
        Api::<Pod>::all(client.clone()).list(&living).await.map_or_else(|_| Vec::new(), |list| list.items);
    let here = std::fs::read_to_string(BOOT_ID).unwrap_or_default();
    let usable = nodes.items.iter().filter(|node| takes_pods(node));
    Ok(usable.map(|node| free_node(node, &pods, here.trim())).collect())
}

/// Nodes that may run pods of a site.
pub(crate) struct Found {
    pub(crate) of_all: Vec<FreeNode>,
    /// Those of its group, if these are others.
    pub(crate) of_group: Vec<FreeNode>,
}

/// Returns the nodes that may run pods.
pub(crate) async fn list_all(client: &Client, options: &Options) -> Result<Found, kube::Error> {
    let of_all = list(client, &options.nodes).await?;
    let of_group = match options.group.nodes.is_empty() {
        true => Vec::new(),
        false => list(client, &options.group.nodes).await?,
    };
    Ok(Found { of_all, of_group })
}

/// Whether the cluster has not heard from a node for long, or has none of this name. A cluster that does not answer
/// says neither.
pub(crate) async fn is_lost(nodes: &Api<Node>, name: &str) -> bool {
    let named = ListParams::default().fields(&format!("metadata.name={name}"));
    let found = nodes.list(&named).await;
    found.is_ok_and(|found| !found.items.iter().any(answers))
}

fn answers(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|one| one.type_ == "Ready" && one.status == "True")
}

fn free_node(node: &Node, pods: &[Pod], here: &str) -> FreeNode {
    let name = node.name_any();
    let status = node.status.clone().unwrap_or_default();
    let all = status.allocatable.as_ref().map(Room::of).unwrap_or_default();
    let own = pods
        .iter()
        .filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.as_ref() == Some(&name)));
    let images = status.images.unwrap_or_default().into_iter().flat_map(|image| {
        let size = image.size_bytes.unwrap_or(i64::MAX);
        // A name by digest only is of no use where nothing is pulled.
        let named = image.names.unwrap_or_default().into_iter().filter(|name| !name.contains("@sha256:"));
        named.map(move |name| (name, size)).collect::<Vec<_>>()
    });
    FreeNode {
        free: own.map(asked).fold(all, Room::minus),
        is_here: status.node_info.is_some_and(|info| !here.is_empty() && info.boot_id == here),
        images: images.collect(),
        name,
    }
}

/// Whether it is ready and takes any pod.
fn takes_pods(node: &Node) -> bool {
    let spec = node.spec.clone().unwrap_or_default();
    let refuses = spec.taints.iter().flatten().any(|taint| taint.effect != "PreferNoSchedule");
    answers(node) && !refuses && spec.unschedulable != Some(true)
}

/// What a pod has set aside on its node: its containers together, or one of those before them.
fn asked(pod: &Pod) -> Room {
    let Some(spec) = &pod.spec else { return Room::default() };
    let of = |resources: Option<&k8s_openapi::api::core::v1::ResourceRequirements>| {
        resources.and_then(|resources| resources.requests.as_ref()).map(Room::of).unwrap_or_default()
    };
    let together =
        spec.containers.iter().map(|one| of(one.resources.as_ref())).fold(Room::default(), Room::plus);
    spec.init_containers.iter().flatten().map(|one| of(one.resources.as_ref())).fold(together, Room::most)
}

/// Returns the smallest image that all nodes have: where programs are the machine's, any image will do.
pub(crate) fn common_image(nodes: &[FreeNode]) -> Option<String> {
    let (first, others) = nodes.split_first()?;
    let common = first.images.iter().filter(|(name, _)| others.iter().all(|n| n.images.contains_key(*name)));
    common.min_by_key(|(_, size)| **size).map(|(name, _)| name.clone())
}

/// Returns the pods for which no node has room, each named with what it asks for.
pub(crate) fn lacking(nodes: &[FreeNode], pods: &[(String, Room)]) -> Vec<MissingRequirement> {
    let hint = "give it less (deploy.TIER_cpus, deploy.TIER_memory_mib), set less aside \
                (deploy.kubernetes_requests), or add nodes";
    let missing = |what: String| MissingRequirement { what, hint: hint.to_owned() };
    let largest = nodes.iter().map(|node| node.free).fold(Room::default(), Room::most);
    let too_large = pods.iter().filter(|(_, room)| !nodes.iter().any(|node| node.free.holds(*room)));
    let mut all: Vec<MissingRequirement> = too_large
        .map(|(name, room)| {
            missing(format!(
                "host `{name}` asks for {}, and the nodes have at most {} free",
                room.words(),
                largest.words()
            ))
        })
        .collect();
    let wanted = pods.iter().map(|(_, room)| *room).fold(Room::default(), Room::plus);
    let free = nodes.iter().map(|node| node.free).fold(Room::default(), Room::plus);
    if all.is_empty() && !free.holds(wanted) {
        all.push(missing(format!(
            "all hosts together ask for {}, and all nodes together have {} free",
            wanted.words(),
            free.words()
        )));
    }
    all
}

/// Says what is free on each node.
pub(crate) fn facts(nodes: &[FreeNode]) -> Facts {
    let fact = |node: &FreeNode| {
        let here = if node.is_here { ", on this machine" } else { "" };
        (format!("node {}", node.name), format!("{} free{here}", node.free.words()))
    };
    nodes.iter().map(fact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(cpus: f64, images: &[(&str, i64)]) -> FreeNode {
        FreeNode {
            name: "n".to_owned(),
            free: Room { cpus, memory: 1024.0 * 1024.0 * 512.0 },
            is_here: true,
            images: images.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect(),
        }
    }

    #[test]
    fn the_smallest_image_of_all_nodes_is_taken() {
        let nodes = [
            node(1.0, &[("big:1", 9), ("pause:3", 1)]),
            node(1.0, &[("pause:3", 1), ("big:1", 9), ("x", 0)]),
        ];
        assert_eq!(common_image(&nodes).as_deref(), Some("pause:3"));
        assert_eq!(common_image(&[node(1.0, &[("a", 1)]), node(1.0, &[("b", 1)])]), None);
        assert_eq!(common_image(&[]), None);
    }

    #[test]
    fn pods_without_room_are_named() {
        let nodes = [node(1.0, &[]), node(0.5, &[])];
        let room = |cpus: f64| Room { cpus, memory: 0.0 };
        let pods = |cpus: &[f64]| {
            let pods: Vec<(String, Room)> = cpus.iter().map(|cpus| ("a".to_owned(), room(*cpus))).collect();
            lacking(&nodes, &pods).into_iter().map(|missing| missing.what).collect::<Vec<_>>()
        };
        assert_eq!(pods(&[1.0, 0.5]), Vec::<String>::new());
        assert_eq!(
            pods(&[2.0]),
            [
                "host `a` asks for 2.00 cores and 0 MiB, and the nodes have at most 1.00 cores and 512 MiB free"
            ]
        );
        assert_eq!(
            pods(&[1.0, 1.0]),
            [
                "all hosts together ask for 2.00 cores and 0 MiB, and all nodes together have 1.50 cores and 1024 MiB free"
            ]
        );
    }

    #[test]
    fn what_a_node_says_is_read() {
        let node: Node = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "node-0" },
            "status": {
                "allocatable": { "cpu": "2", "memory": "1Gi" },
                "conditions": [{ "type": "Ready", "status": "True" }],
                "images": [{ "names": ["a@sha256:00", "a:1"], "sizeBytes": 7 }],
            },
        }))
        .unwrap();
        let pod: Pod = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "p" },
            "spec": { "nodeName": "node-0", "containers": [
                { "name": "c", "resources": { "requests": { "cpu": "500m", "memory": "256Mi" } } },
            ] },
        }))
        .unwrap();
        assert!(takes_pods(&node));
        let free = free_node(&node, &[pod], "other");
        assert_eq!(free.free, Room { cpus: 1.5, memory: 1024.0 * 1024.0 * 768.0 });
        assert!(!free.is_here && free.images.contains_key("a:1") && free.images.len() == 1);
        let mut tainted = node.clone();
        tainted.spec = serde_json::from_value(serde_json::json!({ "unschedulable": true })).unwrap();
        assert!(!takes_pods(&tainted));
    }
}

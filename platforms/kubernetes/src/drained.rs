//! Nodes that an action drains: pods of the site that start are kept off them.
//!
//! The nodes themselves are not changed: that would need rights on the whole cluster, move pods of others, and
//! outlive a killed run.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use barograph_platform::{BoxFuture, Fault, Nodes, Unit};
use k8s_openapi::api::core::v1::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod,
};
use kube::api::ListParams;

use crate::access::refused;
use crate::names;
use crate::nodes;
use crate::site::KubernetesSite;

/// Names of drained nodes.
#[derive(Debug, Default)]
pub(crate) struct DrainedNodes(Mutex<BTreeSet<String>>);

impl DrainedNodes {
    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pod with a rule that keeps it off these nodes.
    pub(crate) fn keep_off(&self, mut pod: Pod) -> Pod {
        let not = |node: &String| NodeSelectorRequirement {
            key: "metadata.name".to_owned(),
            operator: "NotIn".to_owned(),
            // The API takes one name for each rule.
            values: Some(vec![node.clone()]),
        };
        let fields: Vec<NodeSelectorRequirement> = self.names().iter().map(not).collect();
        if let Some(spec) = pod.spec.as_mut().filter(|_| !fields.is_empty()) {
            let term = NodeSelectorTerm { match_fields: Some(fields), ..NodeSelectorTerm::default() };
            let selector = NodeSelector { node_selector_terms: vec![term] };
            let of_nodes = NodeAffinity {
                required_during_scheduling_ignored_during_execution: Some(selector),
                ..NodeAffinity::default()
            };
            let pods = spec.affinity.take().unwrap_or_default();
            spec.affinity = Some(Affinity { node_affinity: Some(of_nodes), ..pods });
        }
        pod
    }
}

/// Node of the pod that has started last and is not being removed.
fn node_of(pods: Vec<Pod>) -> Option<String> {
    let living = pods.into_iter().filter(|pod| {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none() && phase == Some("Running")
    });
    let newest = living.max_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0));
    newest.and_then(|pod| pod.spec?.node_name)
}

impl Nodes for KubernetesSite {
    fn node_of<'a>(&'a self, unit: &'a Unit) -> BoxFuture<'a, Result<Option<String>, Fault>> {
        Box::pin(async move {
            let labels = names::selector_of_unit(&self.common.site, &unit.name);
            let listed = self.pods().list(&ListParams::default().labels(&labels)).await;
            let listed = listed.map_err(|error| Fault::Unit {
                unit: unit.name.clone(),
                act: "find the node of".to_owned(),
                source: refused(&error).into(),
            })?;
            Ok(node_of(listed.items))
        })
    }

    fn avoid<'a>(&'a self, node: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        Box::pin(async move {
            let fault = |why: String| Fault::Site { act: format!("drain node {node}"), source: why.into() };
            let all = nodes::list(&self.client, &self.common.nodes).await;
            let all = all.map_err(|error| fault(refused(&error)))?;
            let mut drained = self.drained.names();
            if !all.iter().any(|other| other.name != node && !drained.contains(&other.name)) {
                return Err(fault("no other node takes pods".to_owned()));
            }
            drained.insert(node.to_owned());
            Ok(())
        })
    }

    fn avoid_none(&self) {
        self.drained.names().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(node: &str, created: &str, phase: &str) -> Pod {
        serde_json::from_value(serde_json::json!({
            "metadata": { "creationTimestamp": created },
            "spec": { "nodeName": node, "containers": [] },
            "status": { "phase": phase },
        }))
        .unwrap()
    }

    #[test]
    fn a_pod_is_kept_off_every_drained_node() {
        let drained = DrainedNodes::default();
        let affinity = |drained: &DrainedNodes| {
            let kept_off = drained.keep_off(pod("", "2026-01-01T00:00:00Z", "Pending"));
            serde_json::to_value(kept_off.spec.unwrap().affinity).unwrap()
        };
        assert_eq!(affinity(&drained), serde_json::Value::Null);
        drained.names().extend(["node-0".to_owned(), "node-1".to_owned()]);
        let not =
            |node: &str| serde_json::json!({ "key": "metadata.name", "operator": "NotIn", "values": [node] });
        let terms = serde_json::json!([{ "matchFields": [not("node-0"), not("node-1")] }]);
        let rule = "requiredDuringSchedulingIgnoredDuringExecution";
        let wanted = serde_json::json!({ "nodeAffinity": { rule: { "nodeSelectorTerms": terms } } });
        assert_eq!(affinity(&drained), wanted);
    }

    #[test]
    fn a_unit_is_where_its_newest_running_pod_is() {
        let (old, new) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z");
        let both = vec![pod("node-1", new, "Running"), pod("node-0", old, "Running")];
        assert_eq!(node_of(both).as_deref(), Some("node-1"));
        let ended = vec![pod("node-1", new, "Failed"), pod("node-0", old, "Running")];
        assert_eq!(node_of(ended).as_deref(), Some("node-0"));
        assert_eq!(node_of(Vec::new()), None);
    }
}

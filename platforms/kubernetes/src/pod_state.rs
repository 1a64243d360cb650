//! What a pod's status means for its unit.

use barograph_platform::UnitExit;
use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, Pod, PodCondition, PodStatus};

use crate::names::{self, CONTAINER};

/// Exit codes above this one are those of signals.
const SIGNALS: i32 = 128;

/// Number of the highest signal.
const LAST_SIGNAL: i32 = 64;

/// Reasons of waiting containers that do not end by themselves within seconds.
const LASTING: [&str; 9] = [
    "ErrImagePull",
    "ErrImageNeverPull",
    "ImagePullBackOff",
    "ImageInspectError",
    "InvalidImageName",
    "RegistryUnavailable",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// Why the cluster removes pods of a node that it takes for lost, or that is to have none.
const TAINTED: &str = "DeletionByTaintManager";

/// State of a unit's pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PodState {
    /// It does not run yet; with the reason, if that lasts.
    Waits(Option<String>),
    /// Its program runs.
    Runs {
        /// The container, as its runtime names it.
        container: Option<String>,
    },
    /// The cluster takes it off its node, which does not answer or is to have no pods.
    Leaves {
        /// The node.
        node: String,
    },
    /// A step before its program failed.
    StepFailed {
        /// The step, counted from 1; 0 is the copy of files before the steps.
        number: usize,
        /// How it ended.
        ended: UnitExit,
    },
    /// Its program ended, or the pod did in another way.
    Ended {
        /// How.
        how: UnitExit,
        /// Whether memory ran out.
        out_of_memory: bool,
    },
}

impl PodState {
    /// Whether nothing follows.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, PodState::StepFailed { .. } | PodState::Ended { .. })
    }

    /// Returns the state of a pod that is gone, after this last known one.
    pub(crate) fn gone(self) -> PodState {
        if self.is_last() { self } else { unknown("its pod was removed".to_owned()) }
    }
}

fn unknown(why: String) -> PodState {
    PodState::Ended { how: UnitExit::Unknown(why), out_of_memory: false }
}

/// Reads a pod.
pub(crate) fn of(pod: &Pod) -> PodState {
    let Some(status) = &pod.status else { return PodState::Waits(None) };
    let own = status.container_statuses.iter().flatten().find(|container| container.name == CONTAINER);
    let state = own.and_then(|container| container.state.as_ref());
    if let Some(ended) = state.and_then(|state| state.terminated.as_ref()) {
        return ended_as(ended);
    }
    if let Some((number, ended)) = failed_step(status) {
        return PodState::StepFailed { number, ended };
    }
    if matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")) {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        return unknown(format!("{}: {}", text(&status.reason), text(&status.message)));
    }
    if let Some(node) = left_node(pod, status) {
        return PodState::Leaves { node };
    }
    if state.is_some_and(|state| state.running.is_some()) {
        let container = own.and_then(|container| container.container_id.as_deref());
        // As in `containerd://0123`.
        let container = container.map(|id| id.rsplit('/').next().unwrap_or(id).to_owned());
        return PodState::Runs { container };
    }
    PodState::Waits(lasting_reason(status))
}

/// Returns the node that a pod leaves, because the cluster wants none there.
fn left_node(pod: &Pod, status: &PodStatus) -> Option<String> {
    let disrupted = |condition: &PodCondition| {
        condition.type_ == "DisruptionTarget" && condition.reason.as_deref() == Some(TAINTED)
    };
    let leaves =
        pod.metadata.deletion_timestamp.is_some() && status.conditions.iter().flatten().any(disrupted);
    pod.spec.as_ref().filter(|_| leaves)?.node_name.clone()
}

fn ended_as(ended: &ContainerStateTerminated) -> PodState {
    let reason = ended.reason.as_deref().unwrap_or_default();
    // The program did not even start.
    let never = matches!(reason, "StartError" | "ContainerCannotRun" | "ContainerStatusUnknown");
    let how = match never {
        true => UnitExit::Unknown(ended.message.clone().unwrap_or_else(|| reason.to_owned())),
        false => exit_of(ended),
    };
    PodState::Ended { how, out_of_memory: reason == "OOMKilled" }
}

/// A signal is an exit code above 128, as in shells.
fn exit_of(ended: &ContainerStateTerminated) -> UnitExit {
    match (ended.signal, ended.exit_code) {
        (Some(signal), _) if signal > 0 => UnitExit::Signal(signal),
        (_, code) if (SIGNALS + 1..=SIGNALS + LAST_SIGNAL).contains(&code) => {
            UnitExit::Signal(code - SIGNALS)
        }
        (_, code) => UnitExit::Code(code),
    }
}

/// Returns the first step that failed, counted from 1; 0 is the copy of files before the steps.
fn failed_step(status: &PodStatus) -> Option<(usize, UnitExit)> {
    let steps = status.init_container_statuses.iter().flatten();
    let mut ended = steps.filter_map(|step| {
        let ended = step.state.as_ref()?.terminated.as_ref()?;
        match ended_as(ended) {
            PodState::Ended { how, .. } if !how.is_success() => Some((names::step_of(&step.name), how)),
            _ => None,
        }
    });
    ended.next()
}

/// Returns why a pod waits, if that does not end by itself.
fn lasting_reason(status: &PodStatus) -> Option<String> {
    let unscheduled = status.conditions.iter().flatten().find(|condition| {
        condition.type_ == "PodScheduled"
            && condition.status == "False"
            && condition.reason.as_deref() == Some("Unschedulable")
    });
    if let Some(condition) = unscheduled {
        return Some(format!("no node takes it: {}", condition.message.clone().unwrap_or_default()));
    }
    let containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    containers.filter_map(|container| lasting_state(container.state.as_ref()?)).next()
}

fn lasting_state(state: &ContainerState) -> Option<String> {
    let waiting = state.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| LASTING.contains(reason))?;
    Some(match &waiting.message {
        Some(message) => format!("{reason}: {message}"),
        None => reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_of(status: &serde_json::Value) -> PodState {
        of(&serde_json::from_value(serde_json::json!({ "metadata": {}, "status": status })).unwrap())
    }

    fn container(state: &serde_json::Value) -> serde_json::Value {
        serde_json::json!([{
            "name": "unit", "state": state, "ready": false, "restartCount": 0, "image": "x", "imageID": "",
            "containerID": "containerd://0a1b",
        }])
    }

    #[test]
    fn a_pod_waits_runs_and_ends() {
        assert_eq!(state_of(&serde_json::json!({ "phase": "Pending" })), PodState::Waits(None));
        let runs = container(&serde_json::json!({ "running": {} }));
        let runs = state_of(&serde_json::json!({ "phase": "Running", "containerStatuses": runs }));
        assert_eq!(runs, PodState::Runs { container: Some("0a1b".to_owned()) });
        for (code, how) in [
            (0, UnitExit::Code(0)),
            (7, UnitExit::Code(7)),
            (143, UnitExit::Signal(15)),
            (255, UnitExit::Code(255)),
        ] {
            let ended =
                container(&serde_json::json!({ "terminated": { "exitCode": code, "reason": "Error" } }));
            let ended = state_of(&serde_json::json!({ "phase": "Failed", "containerStatuses": ended }));
            assert_eq!(ended, PodState::Ended { how, out_of_memory: false });
        }
        let short =
            container(&serde_json::json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled" } }));
        let short = state_of(&serde_json::json!({ "containerStatuses": short }));
        assert_eq!(short, PodState::Ended { how: UnitExit::Signal(9), out_of_memory: true });
        assert_eq!(short.clone().gone(), short);
    }

    #[test]
    fn a_pod_leaves_a_node_that_is_to_have_none() {
        let pod = |reason: &str, deleted: Option<&str>| {
            let conditions =
                [serde_json::json!({ "type": "DisruptionTarget", "status": "True", "reason": reason })];
            let status = serde_json::json!({
                "phase": "Running", "conditions": conditions,
                "containerStatuses": container(&serde_json::json!({ "running": {} })),
            });
            let metadata = serde_json::json!({ "deletionTimestamp": deleted });
            let spec = serde_json::json!({ "nodeName": "node-1", "containers": [] });
            let pod = serde_json::json!({ "metadata": metadata, "spec": spec, "status": status });
            of(&serde_json::from_value(pod).unwrap())
        };
        let now = Some("2026-01-01T00:00:00Z");
        let leaves = pod(TAINTED, now);
        assert_eq!(leaves, PodState::Leaves { node: "node-1".to_owned() });
        assert!(!leaves.is_last(), "its node may still end it in order");
        let runs = PodState::Runs { container: Some("0a1b".to_owned()) };
        assert_eq!(pod(TAINTED, None), runs);
        assert_eq!(pod("EvictionByEvictionAPI", now), runs);
    }

    #[test]
    fn what_lasts_is_told_and_what_passes_is_not() {
        let waits = |reason: &str| {
            let waits = container(&serde_json::json!({ "waiting": { "reason": reason, "message": "so" } }));
            state_of(&serde_json::json!({ "phase": "Pending", "containerStatuses": waits }))
        };
        assert_eq!(waits("ContainerCreating"), PodState::Waits(None));
        let missing = PodState::Waits(Some("ErrImageNeverPull: so".to_owned()));
        assert_eq!(waits("ErrImageNeverPull"), missing);
        let conditions = serde_json::json!([{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes",
        }]);
        let full = state_of(&serde_json::json!({ "phase": "Pending", "conditions": conditions }));
        assert_eq!(full, PodState::Waits(Some("no node takes it: 0/2 nodes".to_owned())));
    }

    #[test]
    fn ends_of_other_kinds_have_their_reason() {
        let evicted = serde_json::json!({ "phase": "Failed", "reason": "Evicted", "message": "disk" });
        let how = UnitExit::Unknown("Evicted: disk".to_owned());
        assert_eq!(state_of(&evicted), PodState::Ended { how, out_of_memory: false });
        let failed = |name: &str| {
            let mut steps = container(&serde_json::json!({ "terminated": { "exitCode": 3 } }));
            steps[0]["name"] = name.into();
            state_of(&serde_json::json!({ "phase": "Pending", "initContainerStatuses": steps }))
        };
        assert_eq!(failed("step-2"), PodState::StepFailed { number: 2, ended: UnitExit::Code(3) });
        assert_eq!(failed("copy"), PodState::StepFailed { number: 0, ended: UnitExit::Code(3) });
        let gone = PodState::Waits(None).gone();
        let how = UnitExit::Unknown("its pod was removed".to_owned());
        assert_eq!(gone, PodState::Ended { how, out_of_memory: false });
    }
}

//! The horizontal autoscaler of the cluster, which follows the pods of a tier.
//!
//! It changes the number of a deployment that makes no pods, since it is paused before it has any: units are pods
//! of their own, and the deployment has only their selector and the number.

use std::collections::BTreeMap;
use std::time::Duration;

use barograph_platform::{Autoscaler, Autoscaling, BoxFuture, Fault, ScaleDecision, ScaledTier};
use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy};
use k8s_openapi::api::autoscaling::v2::{
    CrossVersionObjectReference, HPAScalingRules, HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior,
    HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus, MetricSpec, MetricTarget,
    ResourceMetricSource,
};
use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use kube::Api;
use kube::api::Patch;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::access::refused;
use crate::names;
use crate::quantity;
use crate::removal::{apply, failed};
use crate::site::KubernetesSite;

/// The part of the API with the metrics of pods.
pub(crate) const METRICS: &str = "metrics.k8s.io/v1beta1";

/// Interval between questions for the decision; the autoscaler decides every 15 s by default.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Conditions that are false while the autoscaler cannot decide.
const ABLE: [&str; 2] = ["AbleToScale", "ScalingActive"];

/// A tier that the autoscaler follows. It ends when this is dropped.
struct FollowedTier {
    decision: watch::Receiver<ScaleDecision>,
    _held: oneshot::Sender<()>,
}

impl Autoscaler for FollowedTier {
    fn decision(&self) -> ScaleDecision {
        self.decision.borrow().clone()
    }
}

impl Autoscaling for KubernetesSite {
    fn follow<'a>(&'a self, tier: &'a ScaledTier) -> BoxFuture<'a, Result<Box<dyn Autoscaler>, Fault>> {
        Box::pin(async move {
            let failed = failed(&format!("let the cluster's autoscaler follow `{}`", tier.name));
            let (site, image) = (self.common.site.as_str(), self.common.image.as_str());
            let name = names::object(site, &tier.name);
            let target = Api::<Deployment>::namespaced(self.client.clone(), &self.namespace);
            let wanted = deployment(site, &name, image, tier);
            let made = target.patch(&name, &apply(), &Patch::Apply(&wanted)).await;
            made.map_err(|error| failed(refused(&error)))?;
            let scalers = Api::<HorizontalPodAutoscaler>::namespaced(self.client.clone(), &self.namespace);
            let made = scalers.patch(&name, &apply(), &Patch::Apply(&autoscaler(site, &name, tier))).await;
            made.map_err(|error| failed(refused(&error)))?;
            let first = ScaleDecision { units: tier.first, problem: None };
            let (tell, decision) = watch::channel(first);
            let (held, let_go) = oneshot::channel();
            tokio::spawn(async move {
                tokio::select! {
                    () = ask(scalers, &name, tell) => {}
                    _ = let_go => {}
                }
            });
            Ok(Box::new(FollowedTier { decision, _held: held }) as Box<dyn Autoscaler>)
        })
    }
}

/// Asks for the decision for ever; while the cluster does not answer, the latest one holds.
async fn ask(scalers: Api<HorizontalPodAutoscaler>, name: &str, tell: watch::Sender<ScaleDecision>) {
    loop {
        if let Ok(found) = scalers.get(name).await {
            let status = found.status.unwrap_or_default();
            tell.send_modify(|decision| take(decision, &status));
        }
        sleep(ASK_EVERY).await;
    }
}

/// Takes over what the cluster says of an autoscaler. Before its first decision it wants no pods.
fn take(decision: &mut ScaleDecision, status: &HorizontalPodAutoscalerStatus) {
    if let Ok(units @ 1..) = u32::try_from(status.desired_replicas) {
        decision.units = units;
    }
    let conditions = status.conditions.iter().flatten();
    let mut failed = conditions
        .filter(|condition| ABLE.contains(&condition.type_.as_str()) && condition.status == "False");
    decision.problem = failed.next().map(|condition| {
        let reason = condition.reason.as_deref().unwrap_or(&condition.type_);
        condition.message.as_deref().map_or_else(|| reason.to_owned(), |says| format!("{reason}: {says}"))
    });
}

fn metadata(site: &str, name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), labels: Some(names::labels(site)), ..ObjectMeta::default() }
}

/// Returns the deployment whose number the autoscaler sets.
fn deployment(site: &str, name: &str, image: &str, tier: &ScaledTier) -> Deployment {
    let units: Vec<String> = tier.units.iter().map(|unit| names::value(unit)).collect();
    let of_site: BTreeMap<String, String> = [(names::SITE.to_owned(), site.to_owned())].into();
    // The API wants labels that are selected.
    let mut labels = of_site.clone();
    labels.extend(units.first().map(|unit| (names::UNIT.to_owned(), unit.clone())));
    let of_units = LabelSelectorRequirement {
        key: names::UNIT.to_owned(),
        operator: "In".to_owned(),
        values: Some(units),
    };
    let container = Container {
        name: names::CONTAINER.to_owned(),
        image: Some(image.to_owned()),
        ..Container::default()
    };
    Deployment {
        metadata: metadata(site, name),
        spec: Some(DeploymentSpec {
            paused: Some(true),
            replicas: i32::try_from(tier.first).ok(),
            selector: LabelSelector { match_labels: Some(of_site), match_expressions: Some(vec![of_units]) },
            strategy: Some(DeploymentStrategy {
                type_: Some("Recreate".to_owned()),
                ..DeploymentStrategy::default()
            }),
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta { labels: Some(labels), ..ObjectMeta::default() }),
                spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

/// Returns the autoscaler. The target is in cores, so it does not depend on what pods request.
fn autoscaler(site: &str, name: &str, tier: &ScaledTier) -> HorizontalPodAutoscaler {
    let number = |units: u32| i32::try_from(units).unwrap_or(i32::MAX);
    let metric = MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: "cpu".to_owned(),
            target: MetricTarget {
                type_: "AverageValue".to_owned(),
                average_value: Some(quantity::cores(tier.cores)),
                ..MetricTarget::default()
            },
        }),
        ..MetricSpec::default()
    };
    let down = HPAScalingRules {
        stabilization_window_seconds: i32::try_from(tier.settle.as_secs()).ok(),
        ..HPAScalingRules::default()
    };
    HorizontalPodAutoscaler {
        metadata: metadata(site, name),
        spec: Some(HorizontalPodAutoscalerSpec {
            scale_target_ref: CrossVersionObjectReference {
                api_version: Some("apps/v1".to_owned()),
                kind: "Deployment".to_owned(),
                name: name.to_owned(),
            },
            min_replicas: Some(number(tier.least)),
            max_replicas: number(tier.most),
            metrics: Some(vec![metric]),
            behavior: Some(HorizontalPodAutoscalerBehavior {
                scale_down: Some(down),
                ..HorizontalPodAutoscalerBehavior::default()
            }),
        }),
        ..HorizontalPodAutoscaler::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier() -> ScaledTier {
        ScaledTier {
            name: "application".to_owned(),
            units: vec!["application-1".to_owned(), "application-2".to_owned()],
            first: 1,
            cores: 0.018,
            least: 1,
            most: 2,
            settle: Duration::from_secs(30),
        }
    }

    #[test]
    fn a_deployment_selects_the_units_and_makes_no_pods() {
        let made = serde_json::to_value(deployment("x1", "bg-x1-application", "i:1", &tier())).unwrap();
        let spec = &made["spec"];
        assert_eq!((&spec["paused"], &spec["replicas"]), (&true.into(), &1.into()));
        let units = serde_json::json!([{
            "key": "barograph.org/unit", "operator": "In", "values": ["application-1", "application-2"],
        }]);
        assert_eq!(spec["selector"]["matchExpressions"], units);
        assert_eq!(spec["selector"]["matchLabels"]["barograph.org/site"], "x1");
        let labels = &spec["template"]["metadata"]["labels"];
        assert_eq!(labels["barograph.org/unit"], "application-1");
    }

    #[test]
    fn an_autoscaler_has_the_bounds_the_cores_and_the_time_of_the_tier() {
        let made = serde_json::to_value(autoscaler("x1", "a", &tier())).unwrap();
        let spec = &made["spec"];
        assert_eq!((&spec["minReplicas"], &spec["maxReplicas"]), (&1.into(), &2.into()));
        assert_eq!(spec["metrics"][0]["resource"]["target"]["averageValue"], "18m");
        assert_eq!(spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 30);
        assert_eq!(spec["scaleTargetRef"]["name"], "a");
    }

    #[test]
    fn a_decision_is_taken_over_and_its_problem_is_told() {
        let status = |text: &str| serde_json::from_str::<HorizontalPodAutoscalerStatus>(text).unwrap();
        let mut decision = ScaleDecision { units: 2, problem: None };
        take(&mut decision, &status(r#"{"desiredReplicas":0}"#));
        assert_eq!(decision.units, 2, "it has not decided yet");
        take(
            &mut decision,
            &status(
                r#"{"desiredReplicas":3,"conditions":[{"type":"AbleToScale","status":"True"},
                {"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"no metrics"}]}"#,
            ),
        );
        assert_eq!(decision.units, 3);
        assert_eq!(decision.problem.as_deref(), Some("FailedGetResourceMetric: no metrics"));
        take(
            &mut decision,
            &status(r#"{"desiredReplicas":1,"conditions":[{"type":"ScalingActive","status":"True"}]}"#),
        );
        assert_eq!(decision, ScaleDecision { units: 1, problem: None });
    }
}

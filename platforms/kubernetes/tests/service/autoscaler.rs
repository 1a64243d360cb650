//! The autoscaler of the cluster, beside units.

use std::time::Duration;

use barograph_platform::{Autoscaler, ScaleDecision, ScaledTier};
use barograph_test_kubernetes::Cluster;
use tokio::time::{interval, timeout};

use crate::stand::{LONG, Stand};

/// The first decision with a problem.
async fn problem(autoscaler: &dyn Autoscaler) -> ScaleDecision {
    let mut ticks = interval(Duration::from_millis(100));
    loop {
        let decision = autoscaler.decision();
        if decision.problem.is_some() {
            return decision;
        }
        ticks.tick().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_autoscaler_makes_no_pods_tells_its_problem_and_goes_with_its_site() {
    let Some(cluster) = Cluster::start(1) else { return };
    let stand = Stand::open(&cluster, "h", &[("kubernetes-namespace", "default")]).await;
    let tier = ScaledTier {
        name: "app".to_owned(),
        units: ["app-1", "app-2"].map(str::to_owned).to_vec(),
        first: 1,
        cores: 0.1,
        least: 1,
        most: 2,
        settle: Duration::from_secs(5),
    };
    let autoscaler = stand.site().autoscaling().unwrap().follow(&tier).await.unwrap();
    // The cluster has no metrics.
    let decision = timeout(LONG, problem(autoscaler.as_ref())).await.unwrap();
    assert_eq!(decision.units, 1);
    assert!(decision.problem.as_ref().unwrap().starts_with("FailedGetResourceMetric"), "{decision:?}");
    let kinds = "deployments,replicasets,pods,horizontalpodautoscalers";
    let objects = || cluster.kubectl(&["get", kinds, "-n", "default", "-o", "name"]).unwrap();
    let names: Vec<String> =
        objects().lines().map(|line| line.split('/').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["deployment.apps", "horizontalpodautoscaler.autoscaling"]);
    stand.close().await;
    assert_eq!(objects(), "");
}

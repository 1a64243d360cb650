//! Refusals of a cluster: before anything is made, or within seconds, with what to do.

use std::time::{Duration, Instant};

use barograph_platform::{DiskSpec, Limits, Platform, Readiness};
use barograph_platform_kubernetes::KubernetesPlatform;
use barograph_test_kubernetes::Cluster;

use crate::stand::{Stand, words};

/// Longest time until a refusal.
const SOON: Duration = Duration::from_secs(10);

/// An image of a registry that is not there.
const NO_IMAGE: &str = "127.0.0.1:1/none:1";

/// An existing namespace with a quota.
const QUOTA: &str = "
apiVersion: v1
kind: Namespace
metadata: { name: team }
---
apiVersion: v1
kind: ResourceQuota
metadata: { name: small, namespace: team }
spec: { hard: { pods: \"1\" } }
";

#[tokio::test]
async fn nothing_is_said_of_a_cluster_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kubeconfig");
    // Nothing listens at port 1 of this machine.
    let text = r#"{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"http://127.0.0.1:1"}}],
        "users":[{"name":"u","user":{}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],
        "current-context":"x"}"#;
    std::fs::write(&file, text).unwrap();
    let look = |pairs: Vec<(&str, String)>| {
        let options = pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let spec = barograph_platform::SiteSpec {
            id: "r".to_owned(),
            options,
            ..barograph_platform::SiteSpec::default()
        };
        async move {
            let missing = KubernetesPlatform.preflight(&spec).await.unwrap_err();
            missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        }
    };
    let access = || ("kubernetes-access", file.display().to_string());
    let said = look(vec![access()]).await;
    assert!(said.starts_with("no cluster answers at http://127.0.0.1:1/ ("), "{said}");
    let said = look(vec![access(), ("kubernetes-context", "other".to_owned())]).await;
    assert!(said.contains("does not say how to reach a cluster") && said.contains("other"), "{said}");
    let said = look(vec![("kubernetes-access", "/nonexistent".to_owned())]).await;
    assert!(said.starts_with("file `/nonexistent` does not say how to reach a cluster"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cluster_lacks_is_told() {
    let Some(cluster) = Cluster::start(1) else { return };
    cluster.kubectl_with(&["apply", "-f", "-"], QUOTA).unwrap();
    before_anything_is_made(&cluster).await;
    let stand = Stand::open(&cluster, "q", &[("kubernetes-namespace", "team")]).await;
    a_pod_says_why_it_waits(&stand, &cluster).await;
    stand.close().await;
    let left = cluster.kubectl(&["get", "pods,services", "-n", "team", "-o", "name"]).unwrap();
    assert_eq!(left, "", "a namespace that was there is emptied of the site");
    let stand = Stand::open(&cluster, "i", &[("kubernetes-image", NO_IMAGE)]).await;
    let begun = Instant::now();
    let fault = stand.create(&stand.unit("u", "true", Readiness::Runs)).await.err().unwrap();
    let said = words(&fault);
    assert!(said.contains("Err") && said.contains(NO_IMAGE), "{said}");
    told_soon(begun, &said);
    stand.close().await;
}

async fn before_anything_is_made(cluster: &Cluster) {
    let refused = |options: Vec<(&'static str, &'static str)>, limits: Limits| async move {
        let mut stand = Stand::closed(cluster, "p", &options);
        stand.spec.hosts[0].limits = limits;
        let begun = Instant::now();
        let missing = KubernetesPlatform.preflight(&stand.spec).await.unwrap_err();
        let said = missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        told_soon(begun, &said);
        said
    };
    let none = Limits::default;
    let said = refused(vec![("kubernetes-context", "visitor")], none()).await;
    assert!(said.starts_with("this user may not create namespaces, "), "{said}");
    assert!(said.contains("get pods/log") && said.contains("role.yaml"), "{said}");
    assert!(!said.contains("persistentvolumeclaims") && !said.contains("autoscalers"), "{said}");
    let said = refused(vec![("kubernetes-context", "nobody")], none()).await;
    assert!(said.contains("nobody"), "{said}");
    let said = refused(vec![("kubernetes-namespace", "none")], none()).await;
    assert!(said.starts_with("the cluster has no namespace `none`; "), "{said}");
    let said = refused(vec![("kubernetes-nodes", "disk=ssd")], none()).await;
    assert!(said.starts_with("no node with disk=ssd takes pods; "), "{said}");
    let large = Limits { cpus: Some(1_000.0), ..Limits::default() };
    let said = refused(vec![], large.clone()).await;
    assert!(said.starts_with("host `a` asks for 1000.00 cores"), "{said}");
    let pinned = Limits { cpu_set: vec![0], ..Limits::default() };
    let said = refused(vec![], pinned).await;
    assert!(said.starts_with("host `a` wants certain cores"), "{said}");
    let said = refused(vec![("kubernetes-autoscaler", "true")], none()).await;
    assert!(
        said.starts_with("the cluster's autoscaler has no metrics of pods: metrics.k8s.io/v1beta1 "),
        "{said}"
    );
    // Rights on volumes and autoscalers are needed only for them.
    let mut stand =
        Stand::closed(cluster, "d", &[("kubernetes-context", "visitor"), ("kubernetes-autoscaler", "true")]);
    stand.spec.disks = vec![DiskSpec { unit: "u".to_owned(), bytes: 1 << 30 }];
    let missing = KubernetesPlatform.preflight(&stand.spec).await.unwrap_err();
    let rights = ["create persistentvolumeclaims", "patch deployments", "get horizontalpodautoscalers"];
    assert!(rights.iter().all(|right| missing[0].what.contains(right)), "{missing:?}");
    // What is not set aside is not looked for.
    let mut stand = Stand::closed(cluster, "f", &[("kubernetes-requests", "0")]);
    stand.spec.hosts[0].limits = large;
    stand.spec.disks = vec![DiskSpec { unit: "u".to_owned(), bytes: 1 << 30 }];
    let facts = KubernetesPlatform.preflight(&stand.spec).await.unwrap();
    let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    assert_eq!(fact("cluster version").as_deref(), Some("v1.33.4"));
    assert_eq!(fact("volumes").as_deref(), Some("of u, class that of the cluster"));
    assert!(fact("node node-0").unwrap().contains("free, on this machine"));
}

async fn a_pod_says_why_it_waits(stand: &Stand, cluster: &Cluster) {
    let mut unit = stand.unit("large", "true", Readiness::Runs);
    unit.limits.cpus = Some(1_000.0);
    let begun = Instant::now();
    let said = words(&stand.create(&unit).await.err().unwrap());
    assert!(said.contains("no node takes it") && said.contains("Insufficient cpu"), "{said}");
    told_soon(begun, &said);
    // Its pod is removed a moment later; the quota has room for one.
    let empty = || cluster.kubectl(&["get", "pods", "-n", "team", "-o", "name"]).unwrap().is_empty();
    while !empty() {
        assert!(begun.elapsed() < crate::stand::LONG, "the pod stays");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let first = stand.create(&stand.unit("first", "exec sleep 86400", Readiness::Runs)).await;
    let first = first.map_err(|fault| words(&fault)).unwrap();
    let begun = Instant::now();
    let said = words(&stand.create(&stand.unit("second", "true", Readiness::Runs)).await.err().unwrap());
    assert!(said.contains("exceeded quota: small"), "{said}");
    told_soon(begun, &said);
    drop(first);
}

/// Noise can only make it longer, so a busy machine is given room: what is held here is that nothing waits for
/// minutes.
fn told_soon(begun: Instant, said: &str) {
    let took = begun.elapsed();
    assert!(took < SOON * 6, "{took:?}: {said}");
    report(&format!("told after {took:?}: {}", said.lines().next().unwrap_or_default()));
}

#[expect(clippy::print_stdout, reason = "a measured figure is shown")]
fn report(text: &str) {
    println!("{text}");
}

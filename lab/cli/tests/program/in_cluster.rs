//! The program in a Job of the cluster that it measures.

use std::path::Path;

use barograph_test_kubernetes::{Cluster, IMAGE};
use serde_json::{Value, json};

use crate::deployments::{like, plan, possible, sound};
use crate::going::{PATIENCE, ProgramOutput, until};
use crate::kubernetes::{access, objects};
use crate::place::TestFolders;

/// The rights that runs need.
const ROLE: &str = include_str!("../../../../platforms/kubernetes/role.yaml");

/// Name of the Job, its account and its binding.
const NAME: &str = "barograph";

/// Folders of this machine with its programs.
const PROGRAMS: [&str; 6] = ["/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64"];

/// An account with the rights of a run and no others.
fn account() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            { "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": NAME } },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": { "name": NAME },
                "subjects": [{ "kind": "ServiceAccount", "name": NAME, "namespace": "default" }],
                "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME },
            },
        ],
    })
}

/// A Job with this command, which sees the folders at their paths.
fn job(command: &[String], folders: &[&Path]) -> Value {
    let at = |number: usize| format!("folder-{number}");
    let mounts: Vec<_> = folders
        .iter()
        .enumerate()
        .map(|(number, folder)| json!({ "name": at(number), "mountPath": folder }))
        .collect();
    let volumes: Vec<_> = folders
        .iter()
        .enumerate()
        .map(|(number, folder)| json!({ "name": at(number), "hostPath": { "path": folder } }))
        .collect();
    let container = json!({
        "name": NAME,
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": command,
        "volumeMounts": mounts,
    });
    let pod = json!({
        "serviceAccountName": NAME,
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": volumes,
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": NAME },
        "spec": { "backoffLimit": 0, "template": { "spec": pod } },
    })
}

#[test]
fn the_record_of_a_run_in_a_job_outlives_it() {
    let Some(cluster) = Cluster::start(1) else { return };
    let place = TestFolders::new();
    let sets = like("minimal", "kubernetes");
    if !possible(&place, &[sets.clone(), vec![access(&cluster)]].concat()) {
        return;
    }
    let apply = |text: &str| cluster.kubectl_with(&["apply", "-f", "-"], text).unwrap();
    apply(ROLE);
    apply(&account().to_string());

    // Without a file of access, it is the account of the pod.
    let plan = plan("auction.toml");
    let run = place.run(Some(&plan), &sets);
    let words = std::iter::once(run.get_program()).chain(run.get_args());
    let command: Vec<String> = words.map(|word| word.to_str().unwrap().to_owned()).collect();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let programs = PROGRAMS.iter().map(Path::new).filter(|folder| folder.exists());
    let folders: Vec<&Path> = programs.chain([built, plan.parent().unwrap(), place.root()]).collect();
    apply(&job(&command, &folders).to_string());

    let pod = ["pods", "-l", "job-name=barograph"];
    let ask = |command: &str, more: &[&str]| cluster.kubectl(&[&[command], &pod[..], more].concat()).unwrap();
    until("the pod", || ask("get", &["-o", "name"]).contains("pod/").then_some(()));
    let code = "state.terminated.exitCode";
    let patience = format!("--timeout={}s", PATIENCE.as_secs());
    ask("wait", &[&format!("--for=jsonpath={{.status.containerStatuses[0].{code}}}"), &patience]);
    let code = ask("get", &["-o", &format!("jsonpath={{.items[0].status.containerStatuses[0].{code}}}")]);
    let code = code.parse().unwrap();
    let out = cluster.kubectl(&["logs", "job/barograph"]).unwrap();
    cluster.kubectl(&["delete", "job", NAME]).unwrap();

    assert!(!place.records().is_empty(), "{out}");
    let run = place.record();
    sound(&run, &ProgramOutput { code: Some(code), out, err: String::new() });
    assert_eq!(run.verdict().map(|verdict| i32::from(verdict.exit_code)), Some(code));
    assert_eq!(run.topology().unwrap().platform, "kubernetes");
    assert_eq!(objects(&cluster), "");
    place.assert_gone();
    place.assert_nothing_to_clean();
}

//! A cluster of this machine takes pods, connects them and leaves nothing.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use barograph_test_kubernetes::{Cluster, IMAGE};

/// Longer than anything that does not hang.
const LONG: Duration = Duration::from_secs(180);

/// Port of the server.
const PORT: u16 = 2379;

/// A pod with the machine's programs that is a server, and a service in front of it.
fn server(node: &str) -> String {
    let address = format!("http://0.0.0.0:{PORT}");
    format!(
        r#"
apiVersion: v1
kind: Pod
metadata: {{ name: server, labels: {{ app: server }} }}
spec:
  nodeName: {node}
  automountServiceAccountToken: false
  containers:
  - name: server
    image: {IMAGE}
    imagePullPolicy: Never
    command: [/usr/bin/etcd, --listen-client-urls={address}, --advertise-client-urls={address}]
    volumeMounts:
    - {{ name: usr, mountPath: /usr, readOnly: true }}
    - {{ name: lib64, mountPath: /lib64, readOnly: true }}
    - {{ name: lib, mountPath: /lib, readOnly: true }}
  volumes:
  - {{ name: usr, hostPath: {{ path: /usr }} }}
  - {{ name: lib64, hostPath: {{ path: /lib64 }} }}
  - {{ name: lib, hostPath: {{ path: /lib }} }}
---
apiVersion: v1
kind: Service
metadata: {{ name: server }}
spec: {{ selector: {{ app: server }}, ports: [{{ port: {PORT} }}] }}
"#
    )
}

#[test]
fn a_pod_answers_behind_its_service_and_nothing_is_left() {
    let begun = Instant::now();
    let Some(mut cluster) = Cluster::start(2) else { return };
    say(&format!("two nodes are ready after {:?}", begun.elapsed()));
    let nodes = cluster.node_names();
    assert_eq!(nodes, ["node-0", "node-1"]);
    // The default account of a new namespace appears a moment after it.
    until("the account", || cluster.kubectl(&["get", "serviceaccount", "default"]).is_ok());
    cluster.kubectl_with(&["apply", "-f", "-"], &server(&nodes[1])).unwrap();
    let timeout = format!("--timeout={}s", LONG.as_secs());
    cluster.kubectl(&["wait", "pod/server", "--for=condition=Ready", &timeout]).unwrap();
    let address = cluster.kubectl(&["get", "service", "server", "-o", "jsonpath={.spec.clusterIP}"]).unwrap();
    let address = SocketAddr::new(address.parse().unwrap(), PORT);
    until("an answer through the service", || TcpStream::connect_timeout(&address, LONG).is_ok());
    cluster.restart_api_server();
    until("the server is back", || cluster.kubectl(&["get", "pods"]).is_ok());
    let visitor = cluster.kubectl(&["--context=visitor", "get", "pods"]);
    assert!(visitor.unwrap_err().contains("Forbidden"));
    // Dropping it checks that its ledger is empty.
    let access = cluster.access();
    drop(cluster);
    assert!(!access.exists());
}

/// Variable set for the process to be killed.
const VICTIM: &str = "BAROGRAPH_CLUSTER_VICTIM";

/// Beginning of the victim's line with its file of access.
const RUNNING: &str = "running: ";

/// Not a test by itself: the one below runs only this in another process of this program, and kills it.
#[test]
#[expect(clippy::disallowed_methods, reason = "it tells the victim from the test")]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    let Some(cluster) = Cluster::start(1) else { return };
    say(&format!("{RUNNING}{}", cluster.access().display()));
    // Until it is killed.
    std::io::stdin().lines().next();
}

#[test]
fn the_next_cluster_removes_one_whose_process_was_killed() {
    let Some(probe) = Cluster::start(1) else { return };
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "victim", "--nocapture"])
        .env(VICTIM, "yes")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let access =
        lines.find_map(|line| line.split_once(RUNNING).map(|(_, path)| PathBuf::from(path))).unwrap();
    let folder = access.parent().unwrap();
    let name = std::fs::read_to_string(folder.join("cluster")).unwrap();
    let id = name.split(' ').next().unwrap();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let left = traces(id);
    assert!(left.iter().any(|path| path.starts_with("/run/netns")), "{left:?}");
    drop(Cluster::start(1).unwrap());
    assert_eq!(traces(id), Vec::<PathBuf>::new());
    assert!(!folder.exists());
    // A cluster in use stays.
    probe.kubectl(&["get", "nodes"]).unwrap();
}

/// Namespaces, sockets and control groups with this name.
fn traces(id: &str) -> Vec<PathBuf> {
    let list = |folder: &Path| {
        std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect::<Vec<_>>()
    };
    let groups = Path::new("/sys/fs/cgroup");
    let of_groups = list(groups).into_iter().chain([groups.to_owned()]).flat_map(|tree| list(&tree));
    let all = list(Path::new("/run/netns")).into_iter().chain(list(Path::new("/run"))).chain(of_groups);
    all.filter(|path| path.to_string_lossy().contains(id)).collect()
}

/// Polls until `condition` holds; fails after a while.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG, "waited too long for: {what}");
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

#[expect(clippy::print_stdout, reason = "a measured figure is shown")]
fn say(text: &str) {
    println!("{text}");
}

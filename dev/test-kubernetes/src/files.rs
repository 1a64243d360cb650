//! Configuration files of a cluster's programs.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use barograph_testkit::Authority;
use serde_json::{Value, json};

/// A user of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) name: &'static str,
    /// Group, which gives rights or none.
    pub(crate) group: &'static str,
    token: String,
}

impl User {
    pub(crate) fn new(name: &'static str, group: &'static str) -> io::Result<Self> {
        let mut bytes = [0; 16];
        io::Read::read_exact(&mut fs::File::open("/dev/urandom")?, &mut bytes)?;
        Ok(User { name, group, token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }
}

/// Files of the control plane.
#[derive(Clone, Debug)]
pub(crate) struct ControlFiles {
    folder: PathBuf,
}

impl ControlFiles {
    /// Writes certificates and users. `names` are those of the API server.
    pub(crate) fn write(folder: &Path, names: &[String], users: &[User]) -> io::Result<Self> {
        let files = ControlFiles { folder: folder.to_owned() };
        let authority = Authority::new()?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let [certificate, key] = authority.named(&names)?.pem().clone();
        // Those who come with a certificate of this one are believed to speak for the user that they name.
        let fronts = Authority::new()?;
        let [front, front_key] = fronts.named(&["front"])?.pem().clone();
        let [signer, signing_key] = authority.named(&["tokens"])?.pem().clone();
        let tokens: String = users
            .iter()
            .map(|user| format!("{},{},{},\"{}\"\n", user.token, user.name, user.name, user.group))
            .collect();
        for (name, text) in [
            ("ca.pem", authority.ca_pem().to_owned()),
            ("server.pem", certificate),
            ("server.key", key),
            ("fronts.pem", fronts.ca_pem().to_owned()),
            ("front.pem", front),
            ("front.key", front_key),
            ("tokens.pem", signer),
            ("tokens.key", signing_key),
            ("users.csv", tokens),
        ] {
            fs::write(files.path(name), text)?;
        }
        Ok(files)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The path as a word of a command.
    pub(crate) fn word(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes how clients reach the cluster, with a context for each user; the first one is current.
    pub(crate) fn write_access(&self, to: &Path, server: &str, users: &[User]) -> io::Result<()> {
        let all_users =
            users.iter().map(|user| json!({ "name": user.name, "user": { "token": user.token } }));
        let contexts = users
            .iter()
            .map(|user| json!({ "name": user.name, "context": { "cluster": "test", "user": user.name } }));
        let access = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "test",
                "cluster": { "server": server, "certificate-authority": self.word("ca.pem") },
            }],
            "users": all_users.collect::<Vec<Value>>(),
            "contexts": contexts.collect::<Vec<Value>>(),
            "current-context": users.first().map(|user| user.name),
        });
        fs::write(to, access.to_string())
    }
}

/// Settings of a node's container runtime.
pub(crate) fn runtime(folder: &Path, sockets: &Path, image: &str, plugins: &str) -> String {
    let path = |folder: &Path, name: &str| folder.join(name).display().to_string();
    format!(
        r#"version = 2
root = "{root}"
state = "{state}"
[grpc]
address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
path = "{opt}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
restrict_oom_score_adj = true
disable_apparmor = true
disable_tcp_service = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{plugins}"
conf_dir = "{network}"
"#,
        root = path(folder, "containerd"),
        state = sockets.display(),
        socket = path(sockets, "containerd.sock"),
        opt = path(folder, "opt"),
        network = path(folder, "network"),
    )
}

/// The network of a node's pods: each has a link of its own to the node, which passes everything on, so that
/// the proxy sees all packets.
pub(crate) fn pod_network(name: &str, pods: &str, folder: &Path) -> String {
    json!({
        "cniVersion": "0.4.0",
        "name": name,
        "plugins": [{
            "type": "ptp",
            "ipMasq": false,
            "ipam": {
                "type": "host-local",
                "dataDir": folder.join("addresses"),
                "ranges": [[{ "subnet": pods }]],
                "routes": [{ "dst": "0.0.0.0/0" }],
            },
        }],
    })
    .to_string()
}

/// The part of the API that a server of metrics at this address has, and the service behind which it is.
pub(crate) fn metrics_api(at: SocketAddr) -> String {
    let (name, space) = ("metrics-server", "kube-system");
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": name, "namespace": space },
        "spec": { "ports": [{ "name": "https", "port": 443, "targetPort": at.port() }] },
    });
    let endpoints = json!({
        // Whether a part of the API is there is decided by these, and not yet by slices of them.
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": { "name": name, "namespace": space },
        "subsets": [{
            "addresses": [{ "ip": at.ip().to_string() }],
            "ports": [{ "name": "https", "port": at.port() }],
        }],
    });
    let part = json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": { "name": "v1beta1.metrics.k8s.io" },
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": true,
            "service": { "name": name, "namespace": space },
        },
    });
    json!({ "apiVersion": "v1", "kind": "List", "items": [service, endpoints, part] }).to_string()
}

/// Settings of a kubelet.
pub(crate) fn kubelet(folder: &Path, sockets: &Path, address: &str, group: &str) -> String {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "healthzBindAddress": address,
        "authentication": { "anonymous": { "enabled": true }, "webhook": { "enabled": false } },
        "authorization": { "mode": "AlwaysAllow" },
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "enforceNodeAllocatable": [],
        "containerRuntimeEndpoint": format!("unix://{}", sockets.join("containerd.sock").display()),
        "failSwapOn": false,
        // The machine is shared: how full its disk is says nothing of the node.
        "evictionHard": {
            "memory.available": "1Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%", "imagefs.available": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "podLogsDir": folder.join("logs"),
        "volumePluginDir": folder.join("volume-plugins"),
        "staticPodPath": "",
        "nodeStatusUpdateFrequency": "2s",
        "resolvConf": "",
    })
    .to_string()
}

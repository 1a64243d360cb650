//! The units of a cluster: programs of the control plane and of nodes.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use barograph_platform::{Readiness, ReadinessCheck, Unit};

use crate::files::{self, ControlFiles};
use crate::image::IMAGE;
use crate::network::Network;
use crate::programs::{PLUGINS, Programs};

/// Longer than anything that does not hang.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Host of the control plane.
pub(crate) const CONTROL: &str = "control";

/// Port of the API server, on a host of its own.
const API: u16 = 6443;

/// Port of the store of the API server.
const STORE: u16 = 2379;

/// Port of the server of metrics, on the same host.
const METRICS: u16 = 4443;

/// Ports at which a kubelet and a proxy say that they are well.
const KUBELET_HEALTH: u16 = 10_248;
const PROXY_HEALTH: u16 = 10_256;

/// Name of a node, which is its host's, too.
pub(crate) fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// What all units have in common.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) programs: Programs,
    /// Folder of all files.
    pub(crate) folder: PathBuf,
    /// Folder of sockets.
    pub(crate) sockets: PathBuf,
    pub(crate) network: Network,
    /// Name of the pods' network.
    pub(crate) network_name: String,
    /// Address of the control plane.
    pub(crate) control: IpAddr,
    pub(crate) files: ControlFiles,
}

/// A node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) address: IpAddr,
    /// Control group of its pods.
    pub(crate) group: String,
}

impl Common {
    pub(crate) fn server(&self) -> String {
        format!("https://{}", SocketAddr::new(self.control, API))
    }

    /// The file by which everything reaches the API server.
    pub(crate) fn access(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    fn unit(&self, name: &str, host: &str, program: PathBuf, ready: Readiness) -> Unit {
        let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        Unit {
            host: host.to_owned(),
            env: vec![("PATH".to_owned(), path.to_owned())],
            workdir: self.folder.clone(),
            log: self.log(name),
            ..Unit::new(name, program, ready)
        }
    }

    /// The log of a unit.
    pub(crate) fn log(&self, unit: &str) -> PathBuf {
        self.folder.join(format!("{unit}.log"))
    }

    pub(crate) fn store(&self) -> Unit {
        let at = |port: u16| format!("http://{}", SocketAddr::new(self.control, port));
        let (clients, peers) = (at(STORE), at(STORE + 1));
        let ready = answers(ReadinessCheck::Http { path: "/health".to_owned() }, self.control, STORE);
        let mut unit = self.unit("etcd", CONTROL, "/usr/bin/etcd".into(), ready);
        let folder = self.folder.join("etcd").display().to_string();
        unit.args = words(&[
            ("--data-dir", &folder),
            ("--listen-client-urls", &clients),
            ("--advertise-client-urls", &clients),
            ("--listen-peer-urls", &peers),
            ("--initial-advertise-peer-urls", &peers),
            ("--initial-cluster", &format!("default={peers}")),
            ("--unsafe-no-fsync", "true"),
        ]);
        unit
    }

    pub(crate) fn api_server(&self) -> Unit {
        let ready = answers(ReadinessCheck::Listens, self.control, API);
        let mut unit = self.unit("api-server", CONTROL, self.programs.built("kube-apiserver"), ready);
        let (address, files) = (self.control.to_string(), &self.files);
        unit.args = words(&[
            ("--etcd-servers", &format!("http://{}", SocketAddr::new(self.control, STORE))),
            ("--bind-address", &address),
            ("--advertise-address", &address),
            ("--secure-port", &API.to_string()),
            ("--tls-cert-file", &files.word("server.pem")),
            ("--tls-private-key-file", &files.word("server.key")),
            ("--token-auth-file", &files.word("users.csv")),
            ("--client-ca-file", &files.word("ca.pem")),
            ("--authorization-mode", "RBAC"),
            ("--service-account-issuer", "https://kubernetes.default.svc"),
            ("--service-account-key-file", &files.word("tokens.pem")),
            ("--service-account-signing-key-file", &files.word("tokens.key")),
            ("--service-cluster-ip-range", &self.network.services()),
            ("--kubelet-preferred-address-types", "InternalIP"),
            ("--allow-privileged", "true"),
            // How it passes requests on to servers of other parts of the API, as that of metrics.
            ("--enable-aggregator-routing", "true"),
            ("--proxy-client-cert-file", &files.word("front.pem")),
            ("--proxy-client-key-file", &files.word("front.key")),
            ("--requestheader-client-ca-file", &files.word("fronts.pem")),
            ("--requestheader-username-headers", "X-Remote-User"),
            ("--requestheader-group-headers", "X-Remote-Group"),
            ("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            ("--cert-dir", &files.word("certificates")),
        ]);
        unit
    }

    /// Controllers, which run after the API server answers.
    pub(crate) fn controllers(&self) -> Unit {
        let program = self.programs.built("kube-controller-manager");
        let mut unit = self.unit("controllers", CONTROL, program, Readiness::Runs);
        unit.args = words(&[
            ("--kubeconfig", &self.access().display().to_string()),
            ("--leader-elect", "false"),
            ("--bind-address", "127.0.0.1"),
            ("--service-account-private-key-file", &self.files.word("tokens.key")),
            ("--root-ca-file", &self.files.word("ca.pem")),
            ("--flex-volume-plugin-dir", &self.folder.join("volume-plugins").display().to_string()),
            ("--concurrent-namespace-syncs", "10"),
            ("--node-monitor-period", "2s"),
            ("--node-monitor-grace-period", "40s"),
            ("--horizontal-pod-autoscaler-sync-period", "5s"),
        ]);
        unit
    }

    pub(crate) fn scheduler(&self) -> Unit {
        let mut unit =
            self.unit("scheduler", CONTROL, self.programs.built("kube-scheduler"), Readiness::Runs);
        unit.args = words(&[
            ("--kubeconfig", &self.access().display().to_string()),
            ("--leader-elect", "false"),
            ("--bind-address", "127.0.0.1"),
        ]);
        unit
    }

    /// The server of metrics of nodes and pods.
    pub(crate) fn metrics(&self, program: PathBuf) -> Unit {
        let ready = answers(ReadinessCheck::Listens, self.control, METRICS);
        let mut unit = self.unit("metrics", CONTROL, program, ready);
        let access = self.access().display().to_string();
        unit.args = words(&[
            ("--kubeconfig", &access),
            ("--authentication-kubeconfig", &access),
            ("--authorization-kubeconfig", &access),
            ("--bind-address", &self.control.to_string()),
            ("--secure-port", &METRICS.to_string()),
            ("--cert-dir", &self.folder.join("metrics").display().to_string()),
            ("--kubelet-insecure-tls", "true"),
            ("--kubelet-preferred-address-types", "InternalIP"),
            // The shortest that it takes.
            ("--metric-resolution", "10s"),
            ("--kubelet-request-timeout", "5s"),
        ]);
        unit
    }

    /// The part of the API that the server of metrics has, as objects of the cluster.
    pub(crate) fn metrics_api(&self) -> String {
        files::metrics_api(SocketAddr::new(self.control, METRICS))
    }

    /// Folder of a node's files.
    fn node_folder(&self, node: &Node) -> PathBuf {
        self.folder.join(node_name(node.number))
    }

    /// Folder of a node's sockets.
    fn node_sockets(&self, node: &Node) -> PathBuf {
        self.sockets.join(node.number.to_string())
    }

    /// Writes the files of a node.
    pub(crate) fn write_node(&self, node: &Node) -> io::Result<()> {
        let (folder, sockets) = (self.node_folder(node), self.node_sockets(node));
        fs::create_dir_all(folder.join("network"))?;
        fs::create_dir_all(&sockets)?;
        let pods = self.network.pods(node.number);
        let network = files::pod_network(&self.network_name, &pods, &folder);
        fs::write(folder.join("network/10-pods.conflist"), network)?;
        fs::write(folder.join("containerd.toml"), files::runtime(&folder, &sockets, IMAGE, PLUGINS))?;
        let kubelet = files::kubelet(&folder, &sockets, &node.address.to_string(), &node.group);
        fs::write(folder.join("kubelet.json"), kubelet)
    }

    /// A job that makes a node's host a router to the pods of the others.
    pub(crate) fn routes(&self, node: &Node, all: &[Node]) -> Unit {
        let others = all.iter().filter(|other| other.number != node.number);
        let routes = self.pod_routes(others);
        let script = format!("set -e\necho 1 > /proc/sys/net/ipv4/ip_forward\n{routes}");
        self.shell(&format!("routes-{}", node.number), &node_name(node.number), &script)
    }

    /// A job that runs a shell on a host.
    pub(crate) fn shell(&self, name: &str, host: &str, script: &str) -> Unit {
        let mut unit = self.unit(name, host, "/bin/sh".into(), Readiness::Exit { timeout: LONG });
        unit.args = vec!["-c".to_owned(), script.to_owned()];
        unit
    }

    /// Routes to the pods of nodes.
    fn pod_routes<'n>(&self, nodes: impl Iterator<Item = &'n Node>) -> String {
        nodes.map(|node| route(&self.network.pods(node.number), node)).collect()
    }

    /// Routes of the control plane to pods, which it answers.
    pub(crate) fn control_routes(&self, all: &[Node]) -> String {
        format!("set -e\n{}", self.pod_routes(all.iter()))
    }

    /// Routes of this machine to pods and services.
    pub(crate) fn outside_routes(&self, all: &[Node]) -> String {
        let services = all.first().map(|node| route(&self.network.services(), node));
        format!("set -e\n{}{}", self.pod_routes(all.iter()), services.unwrap_or_default())
    }

    pub(crate) fn runtime(&self, node: &Node) -> Unit {
        let (name, host) = (format!("containerd-{}", node.number), node_name(node.number));
        let mut unit = self.unit(&name, &host, "/usr/bin/containerd".into(), Readiness::Runs);
        let config = self.node_folder(node).join("containerd.toml").display().to_string();
        unit.args = vec!["--config".to_owned(), config];
        unit
    }

    /// A job that waits for a node's container runtime and imports an image.
    pub(crate) fn import(&self, node: &Node, archive: &Path) -> Unit {
        let socket = self.node_sockets(node).join("containerd.sock");
        let ctr = format!("/usr/bin/ctr --address {} --namespace k8s.io", socket.display());
        let script = format!(
            "until {ctr} version > /dev/null 2>&1; do sleep 0.1; done\nexec {ctr} images import {}",
            archive.display()
        );
        let image = archive.file_stem().unwrap_or_default().to_string_lossy();
        self.shell(&format!("import-{image}-{}", node.number), &node_name(node.number), &script)
    }

    pub(crate) fn kubelet(&self, node: &Node) -> Unit {
        let (name, host) = (format!("kubelet-{}", node.number), node_name(node.number));
        let health = ReadinessCheck::Http { path: "/healthz".to_owned() };
        let ready = answers(health, node.address, KUBELET_HEALTH);
        let mut unit = self.unit(&name, &host, self.programs.built("kubelet"), ready);
        let folder = self.node_folder(node);
        unit.args = words(&[
            ("--config", &folder.join("kubelet.json").display().to_string()),
            ("--kubeconfig", &self.access().display().to_string()),
            ("--root-dir", &folder.join("kubelet").display().to_string()),
            ("--cert-dir", &folder.join("certificates").display().to_string()),
            ("--hostname-override", &host),
            ("--node-ip", &node.address.to_string()),
        ]);
        unit
    }

    pub(crate) fn proxy(&self, node: &Node) -> Unit {
        let (name, host) = (format!("proxy-{}", node.number), node_name(node.number));
        let health = ReadinessCheck::Http { path: "/livez".to_owned() };
        let ready = answers(health, node.address, PROXY_HEALTH);
        let mut unit = self.unit(&name, &host, self.programs.built("kube-proxy"), ready);
        unit.args = words(&[
            ("--kubeconfig", &self.access().display().to_string()),
            ("--hostname-override", &host),
            ("--proxy-mode", "iptables"),
            ("--iptables-min-sync-period", "100ms"),
            ("--cluster-cidr", &self.network.all_pods()),
            // Settings of the machine's kernel are left as they are.
            ("--conntrack-max-per-core", "0"),
            ("--conntrack-min", "0"),
            ("--conntrack-tcp-timeout-established", "0s"),
            ("--conntrack-tcp-timeout-close-wait", "0s"),
            ("--healthz-bind-address", &SocketAddr::new(node.address, PROXY_HEALTH).to_string()),
        ]);
        unit
    }
}

/// The command that makes a route to this network through a node.
fn route(to: &str, node: &Node) -> String {
    format!("ip route add {to} via {}\n", node.address)
}

fn answers(ask: ReadinessCheck, address: IpAddr, port: u16) -> Readiness {
    Readiness::Answers { ask, address: SocketAddr::new(address, port), timeout: LONG }
}

fn words(options: &[(&str, &str)]) -> Vec<String> {
    options.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

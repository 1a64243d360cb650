//! The programs of a cluster on this machine.

use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// Version that `cargo xtask tools --kubernetes` builds.
const VERSION: &str = "v1.33.4";

/// Programs that it builds, of those used here.
const BUILT: [&str; 7] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
    "pause",
];

/// The server of metrics, and the folder in which it is built.
const METRICS: &str = "metrics-server";
const METRICS_FOLDER: &str = "metrics-server-v0.7.2";

/// Debian's programs, each with its package.
const INSTALLED: [(&str, &str); 6] = [
    ("/usr/bin/etcd", "etcd-server"),
    ("/usr/bin/containerd", "containerd"),
    ("/usr/bin/ctr", "containerd"),
    ("/usr/sbin/runc", "runc"),
    ("/usr/sbin/iptables", "iptables"),
    ("/usr/lib/cni/ptp", "containernetworking-plugins"),
];

/// Folder of network plug-ins.
pub(crate) const PLUGINS: &str = "/usr/lib/cni";

/// The built programs.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Finds everything; an error says what is missing, and how to get it.
    pub(crate) fn find() -> Result<Self, String> {
        if !geteuid().is_root() {
            return Err("a cluster of this machine needs root".to_owned());
        }
        let home = std::env::home_dir().ok_or("this user has no home, in which Kubernetes would be")?;
        let folder = home.join(".cache/barograph").join(format!("kubernetes-{VERSION}"));
        let programs = Programs { folder };
        if let Some(name) = BUILT.iter().find(|name| !programs.built(name).is_file()) {
            return Err(format!(
                "there is no {name} of Kubernetes {VERSION}: cargo xtask tools --kubernetes"
            ));
        }
        match INSTALLED.iter().find(|(path, _)| !Path::new(path).is_file()) {
            Some((path, package)) => Err(format!("there is no {path}: apt-get install -y {package}")),
            None => Ok(programs),
        }
    }

    /// The server of metrics; an error says how to get it.
    pub(crate) fn metrics(&self) -> Result<PathBuf, String> {
        let path = self.folder.with_file_name(METRICS_FOLDER).join(METRICS);
        let missing = || format!("there is no {METRICS_FOLDER}: cargo xtask tools --kubernetes");
        path.is_file().then_some(path).ok_or_else(missing)
    }

    pub(crate) fn built(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

//! Arguments of an engine started by this platform, on this machine or inside a virtual machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Parameters of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Folder for its sockets, its settings and the state of its processes, which all have it among their
    /// arguments. Its path must be short: paths of sockets below it have up to 50 more characters, and 104 at
    /// most.
    pub folder: PathBuf,
    /// Folder for its images and containers, on a disk; the engine creates it.
    pub data: PathBuf,
    /// The control group above its containers.
    pub group: String,
    /// Address at which it also listens on TCP. Any client is root: for networks without others.
    pub tcp: Option<SocketAddr>,
}

/// Path of the socket in an engine's folder.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("engine.sock")
}

/// File that must be in the folder before the start, with [`NO_SETTINGS`] in it: without one an engine reads
/// the machine's settings.
pub const SETTINGS: &str = "engine.json";

/// Content of that file.
pub const NO_SETTINGS: &[u8] = b"{}\n";

/// Returns the arguments of `dockerd`. It keeps everything in its folder, creates no network by itself, and
/// writes no packet filter rules: in a namespace of its own nothing has to be separated or translated, and
/// containers see each other's real addresses.
#[must_use]
pub fn engine_arguments(wishes: &EngineOptions) -> Vec<String> {
    let inside = |name: &str| wishes.folder.join(name).display().to_string();
    let mut words = vec![
        "--data-root".to_owned(),
        wishes.data.display().to_string(),
        "--exec-root".to_owned(),
        inside("exec"),
        "--pidfile".to_owned(),
        inside("engine.pid"),
        "--config-file".to_owned(),
        inside(SETTINGS),
        "--host".to_owned(),
        format!("unix://{}", socket(&wishes.folder).display()),
        "--cgroup-parent".to_owned(),
        format!("/{}", wishes.group),
    ];
    let plain = [
        "--exec-opt=native.cgroupdriver=cgroupfs",
        "--bridge=none",
        "--iptables=false",
        "--ip6tables=false",
        "--ip-masq=false",
        "--userland-proxy=false",
        // Containers are removed before it is asked to end; others need not be asked.
        "--shutdown-timeout=1",
        "--log-level=warn",
    ];
    words.extend(plain.map(str::to_owned));
    if let Some(address) = wishes.tcp {
        // Without the second word it delays its start by 15 seconds as a warning.
        words.extend(["--host".to_owned(), format!("tcp://{address}"), "--tls=false".to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_its_folders() {
        let wishes = EngineOptions {
            folder: "/run/x".into(),
            data: "/disk/x".into(),
            group: "g".to_owned(),
            tcp: None,
        };
        let words = engine_arguments(&wishes).join(" ");
        assert!(words.starts_with("--data-root /disk/x --exec-root /run/x/exec"), "{words}");
        assert!(words.contains("--host unix:///run/x/engine.sock") && !words.contains("tcp"), "{words}");
        let tcp = EngineOptions { tcp: Some("10.0.0.2:2375".parse().unwrap()), ..wishes };
        assert!(engine_arguments(&tcp).join(" ").ends_with("--host tcp://10.0.0.2:2375 --tls=false"));
    }
}

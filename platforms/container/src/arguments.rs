//! How an engine of our own is started, here or inside a virtual machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// What an engine of our own is told.
#[derive(Clone, Debug)]
pub struct EngineWishes {
    /// A folder for its sockets, its settings and the state of its processes, which all name it in their arguments.
    /// Short: the paths of sockets below it have up to 50 characters more, and 104 at the most.
    pub folder: PathBuf,
    /// A folder for its images and containers, on a disk; the engine makes it.
    pub data: PathBuf,
    /// The control group above its containers.
    pub group: String,
    /// Where it answers over TCP too. Whoever can connect is root: for networks that nobody else is on.
    pub tcp: Option<SocketAddr>,
}

/// The socket in an engine's folder.
pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("engine.sock")
}

/// A file that has to be in the folder before the start, with [`NO_SETTINGS`] in it: without one an engine takes the
/// settings of the machine's own.
pub const SETTINGS: &str = "engine.json";

/// What that file says.
pub const NO_SETTINGS: &[u8] = b"{}\n";

/// The arguments of `dockerd`. It keeps everything in its folder, makes no network before it is asked for one, and
/// writes no rules of a packet filter: its namespace is its own, so nothing has to be kept apart or translated, and
/// addresses of containers are seen as they are.
#[must_use]
pub fn engine_arguments(wishes: &EngineWishes) -> Vec<String> {
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
        // Containers are removed before it is asked to end; what is left then need not be asked.
        "--shutdown-timeout=1",
        "--log-level=warn",
    ];
    words.extend(plain.map(str::to_owned));
    if let Some(address) = wishes.tcp {
        // Without the second word it waits 15 seconds, to make people think again.
        words.extend(["--host".to_owned(), format!("tcp://{address}"), "--tls=false".to_owned()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_its_folders() {
        let wishes = EngineWishes {
            folder: "/run/x".into(),
            data: "/disk/x".into(),
            group: "g".to_owned(),
            tcp: None,
        };
        let words = engine_arguments(&wishes).join(" ");
        assert!(words.starts_with("--data-root /disk/x --exec-root /run/x/exec"), "{words}");
        assert!(words.contains("--host unix:///run/x/engine.sock") && !words.contains("tcp"), "{words}");
        let tcp = EngineWishes { tcp: Some("10.0.0.2:2375".parse().unwrap()), ..wishes };
        assert!(engine_arguments(&tcp).join(" ").ends_with("--host tcp://10.0.0.2:2375 --tls=false"));
    }
}

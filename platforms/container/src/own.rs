//! An engine of this platform, in a network namespace on a switch of its own.

use std::fs::{File, OpenOptions};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use barograph_platform::{Entry, Fault, Ledger, LinkSpec, LogTail, MissingRequirement, Resource};
use barograph_virtual_network::{RelayProgram, Switch, enter, lacking};
use rustix::process::geteuid;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::arguments::{EngineOptions, NO_SETTINGS, SETTINGS, engine_arguments, socket};
use crate::deadline::Deadline;
use crate::ending::end_engine;
use crate::engine::Engine;
use crate::groups::{self, failed};
use crate::sweep::gone_with;

/// Longest wait for an engine, which takes a second, or more on a busy machine.
const START_WAIT: Duration = Duration::from_secs(60);

/// Interval between polls.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Host of the engine on its switch.
const HOST: &str = "engine";

/// Its TCP port, by the convention of engines.
const TCP_PORT: u16 = 2375;

/// Folders of the programs of an engine and its helpers.
const FOLDERS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Folder of sockets: their paths are limited to about a hundred bytes, which a run inside a study exceeds.
const SOCKETS: &str = "/run";

/// Parameters of an engine.
#[derive(Clone, Debug)]
pub struct OwnEngineOptions {
    /// Distinguishes it from others: the name of a switch, at most 24 characters.
    pub id: String,
    /// Absent folder for its images, its containers and its log, on a disk. It is created, and removed with
    /// the engine.
    pub folder: PathBuf,
    /// Whether it also listens on TCP. Then anyone who can reach its address is root.
    pub tcp: bool,
}

/// A started engine. Dropping it ends it, with everything in it, in a task.
#[derive(Debug)]
pub struct OwnEngine {
    places: EnginePaths,
    group: String,
    tcp: bool,
    own: IpAddr,
    leg: IpAddr,
    subnet: String,
    left: Option<Leftovers>,
}

/// Places of its files.
#[derive(Clone, Debug)]
struct EnginePaths {
    /// Sockets and settings, with a short path.
    sockets: PathBuf,
    /// Other files, in the folder of the run.
    files: PathBuf,
}

impl EnginePaths {
    fn data(&self) -> PathBuf {
        self.files.join("data")
    }

    fn address(&self) -> String {
        format!("unix://{}", socket(&self.sockets).display())
    }
}

/// Things that must be removed.
#[derive(Debug)]
struct Leftovers {
    ledger: Ledger,
    engine: Entry,
    folders: Vec<Entry>,
    child: Option<Child>,
    switch: Switch,
}

impl OwnEngine {
    /// Returns the missing requirements of an engine on this machine.
    #[must_use]
    pub fn lacking() -> Vec<MissingRequirement> {
        let mut missing = Vec::new();
        if !geteuid().is_root() {
            missing.push(MissingRequirement {
                what: "no container engine answers, and only root can start one".to_owned(),
                hint: "start Docker or Podman and name its socket (deploy.container_engine), or run this as root".to_owned(),
            });
        }
        if ["dockerd", "containerd", "runc"].iter().any(|name| program(name).is_none()) {
            missing.push(MissingRequirement {
                what: "no container engine answers, and no `dockerd` is installed to start one".to_owned(),
                hint: "apt-get install -y --no-install-recommends docker.io".to_owned(),
            });
        }
        missing.extend(lacking(false, false));
        missing
    }

    /// Starts an engine and waits until it answers.
    pub async fn start(
        wishes: &OwnEngineOptions,
        relay: RelayProgram,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let act = "start a container engine";
        let dockerd =
            program("dockerd").ok_or_else(|| failed(act)("there is no `dockerd` on this machine"))?;
        let places = EnginePaths {
            sockets: Path::new(SOCKETS).join(format!("barograph-{}", wishes.id)),
            files: std::path::absolute(&wishes.folder).map_err(failed(act))?,
        };
        let switch = Switch::open(&wishes.id, relay, ledger).await?;
        let host = switch.host(HOST, &LinkSpec::default()).await?;
        let (leg, subnet) = (switch.leg(), subnet_beside(switch.leg()).map_err(failed(act))?);
        let group = groups::name(&wishes.id);
        let thing =
            Resource::Engine { folder: places.sockets.clone(), data: places.data(), group: group.clone() };
        // Each is recorded before the next is created: on any failure a sweep removes the rest.
        let make = |folder: &Path| ledger.make_directory(folder).map_err(failed(act));
        let folders = vec![make(&places.files)?, make(&places.sockets)?];
        let entry = ledger.will(thing.clone()).map_err(failed(act))?;
        let left = Leftovers { ledger: ledger.clone(), engine: entry, folders, child: None, switch };
        let mut engine =
            OwnEngine { places, group, tcp: wishes.tcp, own: host.address, leg, subnet, left: Some(left) };
        // From here on dropping it removes everything.
        let started = engine.bring_up(&dockerd, &host.namespace, thing).await;
        match started {
            Ok(()) => Ok(engine),
            Err(fault) => {
                // The fault is reported; things that stay are in the ledger.
                let _ = engine.close().await;
                Err(fault)
            }
        }
    }

    async fn bring_up(&mut self, dockerd: &Path, namespace: &str, thing: Resource) -> Result<(), Fault> {
        let act = "start a container engine";
        route(&self.subnet, self.own).await?;
        let log = self.places.files.join("engine.log");
        let mut child = self.spawn(dockerd, namespace, &log).map_err(failed(act))?;
        let deadline = Deadline::after(START_WAIT);
        let answered = loop {
            if Engine::connect(&self.address()).await.is_ok() {
                break Ok(());
            }
            match child.try_wait() {
                Ok(Some(status)) => {
                    break Err(format!("it ended ({status}){}", LogTail::of(&log, LogTail::SHOWN)));
                }
                Err(error) => break Err(error.to_string()),
                Ok(None) if deadline.has_passed() => {
                    break Err(format!(
                        "no answer within {START_WAIT:?}{}",
                        LogTail::of(&log, LogTail::SHOWN)
                    ));
                }
                Ok(None) => sleep(LOOK_EVERY).await,
            }
        };
        if let Some(left) = &mut self.left {
            left.child = Some(child);
            left.ledger.done(left.engine, thing).map_err(failed(act))?;
        }
        answered.map_err(failed(act))
    }

    fn spawn(&self, dockerd: &Path, namespace: &str, log: &Path) -> std::io::Result<Child> {
        let wishes = EngineOptions {
            folder: self.places.sockets.clone(),
            data: self.places.data(),
            group: self.group.clone(),
            tcp: self.tcp.then(|| SocketAddr::new(self.own, TCP_PORT)),
        };
        let log: File = OpenOptions::new().append(true).create(true).open(log)?;
        std::fs::write(self.places.sockets.join(SETTINGS), NO_SETTINGS)?;
        let mut words = enter(namespace);
        words.push(dockerd.display().to_string());
        words.extend(engine_arguments(&wishes));
        Command::new(&words[0])
            .args(&words[1..])
            .env("PATH", FOLDERS)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .current_dir("/")
            .process_group(0)
            .spawn()
    }

    /// Returns its address on this machine.
    #[must_use]
    pub fn address(&self) -> String {
        self.places.address()
    }

    /// Returns its TCP address, if it has one.
    #[must_use]
    pub fn tcp_address(&self) -> Option<String> {
        self.tcp.then(|| format!("tcp://{}", SocketAddr::new(self.own, TCP_PORT)))
    }

    /// Returns the machine's address for its containers.
    #[must_use]
    pub fn leg(&self) -> IpAddr {
        self.leg
    }

    /// Returns its own address, that of containers on its own network.
    #[must_use]
    pub fn own_address(&self) -> IpAddr {
        self.own
    }

    /// Returns the addresses for networks of containers, to which this machine has a route.
    #[must_use]
    pub fn subnet(&self) -> &str {
        &self.subnet
    }

    /// Ends it, with everything in it, and removes its files, its namespace and its switch.
    pub async fn close(mut self) -> Result<(), Fault> {
        match self.left.take() {
            Some(left) => left.remove(&self.places, &self.group).await,
            None => Ok(()),
        }
    }
}

impl Leftovers {
    async fn remove(mut self, places: &EnginePaths, group: &str) -> Result<(), Fault> {
        let act = "end the container engine";
        let ended = end_engine(&places.sockets, &places.data(), group).await.map_err(failed(act));
        if let Some(mut child) = self.child.take() {
            // It has ended, or the failure above says that it has not.
            let _ = child.try_wait();
        }
        ended?;
        // Nothing that it created outlives it, even if just being created.
        gone_with(&self.ledger, &places.address()).map_err(failed(act))?;
        self.ledger.removed(self.engine).map_err(failed(act))?;
        for folder in self.folders {
            self.ledger.remove_directory(folder).map_err(failed(act))?;
        }
        self.switch.close().await?;
        Ok(())
    }
}

impl Drop for OwnEngine {
    fn drop(&mut self) {
        let (Some(left), Ok(runtime)) = (self.left.take(), Handle::try_current()) else { return };
        let (places, group) = (self.places.clone(), self.group.clone());
        runtime.spawn(async move {
            // Things that cannot be removed stay in the ledger.
            let _ = left.remove(&places, &group).await;
        });
    }
}

/// Returns a network for containers that is derived from the switch's own, so that no other switch has the
/// same.
fn subnet_beside(leg: IpAddr) -> Result<String, String> {
    let IpAddr::V4(leg) = leg else { return Err(format!("the switch has no address of version 4 ({leg})")) };
    /// Distance of the second byte: switches are below 10.64.0.0/10, networks of containers below
    /// 10.128.0.0/10.
    const BESIDE: u8 = 64;
    let [a, b, c, _] = leg.octets();
    let beside = b.checked_add(BESIDE).ok_or_else(|| format!("no network is beside {leg}"))?;
    Ok(format!("{}/24", Ipv4Addr::new(a, beside, c, 0)))
}

/// Adds a route from this machine to the containers through the engine. It is removed with the switch's leg.
async fn route(subnet: &str, via: IpAddr) -> Result<(), Fault> {
    let act = format!("route {subnet} to the container engine");
    let ip = program("ip").ok_or_else(|| failed(&act)("there is no `ip` on this machine"))?;
    let words = ["route".to_owned(), "add".to_owned(), subnet.to_owned(), "via".to_owned(), via.to_string()];
    let done = Command::new(ip).args(words).stdin(Stdio::null()).output().await.map_err(failed(&act))?;
    if done.status.success() {
        return Ok(());
    }
    Err(failed(&act)(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}

/// Returns the path of a program of this machine.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    FOLDERS.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_a_network_of_its_own_beside_it() {
        let beside = |text: &str| subnet_beside(text.parse().unwrap());
        assert_eq!(beside("10.64.0.1").unwrap(), "10.128.0.0/24");
        assert_eq!(beside("10.127.9.1").unwrap(), "10.191.9.0/24");
        assert!(beside("fd00::1").is_err());
    }
}

//! A running service: address, kill and restart.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use barograph_platform::{LogTail, Unit, UnitHandle};

use crate::place::ServiceSite;

/// Most lines of a log in a message.
const SHOWN: usize = 40;

/// A real service for a test. It ends when this is dropped.
pub struct Service {
    running: Option<Arc<dyn UnitHandle>>,
    unit: Unit,
    ports: BTreeMap<String, u16>,
    url: String,
    place: ServiceSite,
}

/// The unit to run.
pub(crate) struct ServiceSpec {
    pub(crate) unit: Unit,
    /// Ports by name; that of the clients is called `main`.
    pub(crate) ports: BTreeMap<String, u16>,
    pub(crate) url: String,
}

impl Service {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(place: ServiceSite, wanted: ServiceSpec) -> Self {
        let ServiceSpec { unit, ports, url } = wanted;
        let mut service = Service { running: None, unit, ports, url, place };
        service.run();
        // Its steps are done, for the next start too.
        service.unit.prepare.clear();
        service
    }

    /// Its URL for clients.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its port for clients, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.named_port("main")
    }

    /// The port of this name.
    ///
    /// # Panics
    /// If no port has the name.
    #[must_use]
    pub fn named_port(&self, name: &str) -> u16 {
        *self.ports.get(name).unwrap_or_else(|| panic!("no port is called `{name}`"))
    }

    /// The process of its program.
    ///
    /// # Panics
    /// If the service was killed.
    #[must_use]
    pub fn pid(&self) -> u32 {
        let pid = self.running.as_ref().and_then(|running| running.pid());
        pid.unwrap_or_else(|| panic!("{} does not run", self.unit.name))
    }

    /// All its processes; none after a kill.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let Some(first) = self.running.as_ref().and_then(|running| running.pid()) else { return Vec::new() };
        let Some(own) = namespace(first) else { return Vec::new() };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(|&pid| namespace(pid).as_ref() == Some(&own) && !is_shell(pid)).collect()
    }

    /// The folder with its files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.unit.workdir
    }

    /// The last lines of its log.
    #[must_use]
    pub fn log(&self) -> String {
        LogTail::of(&self.unit.log, SHOWN).to_string()
    }

    /// Kills all its processes at once, like a power failure, and returns when they are gone. Its data stay
    /// as they were.
    ///
    /// # Panics
    /// If they do not end.
    pub fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            let killed = self.place.wait(async move { running.kill().await });
            killed.unwrap_or_else(|fault| panic!("{} was not killed: {fault}", self.unit.name));
        }
    }

    /// Starts it again on the same ports and with the same data, after killing it if it is running.
    ///
    /// # Panics
    /// If it does not become ready.
    pub fn restart(&mut self) {
        self.kill();
        self.run();
    }

    fn run(&mut self) {
        match self.place.create(&self.unit) {
            Ok(running) => self.running = Some(running),
            Err(why) => panic!("{} did not start: {why}", self.unit.name),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            // The guard ends the remains.
            let _ = self.place.wait(async move { running.kill().await });
        }
    }
}

/// Whether it is the first process of its namespace: a shell of the platform, reaped by the machine.
fn is_shell(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("NSpid:") && line.ends_with("\t1"))
}

/// The namespace of a process; `None` if it has ended.
fn namespace(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/pid")).ok()
}

//! One virtual machine of a site: created, booted, ended.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use barograph_platform::{
    Accounts, Facts, Fault, HERE, HostSpec, Readiness, Site, SiteSpec, Standstill, Unit, UnitHandle,
    ignore_lines,
};
use barograph_virtual_network::{Switch, Tap};

use crate::cache::NotedFolder;
use crate::clock::{now, now_nanos};
use crate::emulator::{Disk, Emulator, Hardware, Launched, StartMode};
use crate::host_commands::{HostCommands, Job, failed};
use crate::initramfs::{Guest, of_guest};
use crate::kernel::Kernel;
use crate::libvirt::identity;
use crate::port::Port;
use crate::preflight::FOLDER_SERVER;
use crate::settings::{Accel, Settings};
use crate::wire::{AgentCommand, AgentReply};

/// Longest wait for an agent's answer from its memory.
const PING_LIMIT: Duration = Duration::from_secs(30);

/// Number of questions for the offset of two clocks: the quickest answer is the most exact.
const PINGS: usize = 12;

/// Number of rounds to correct a clock; each comes nearer.
const CLOCK_ROUNDS: usize = 2;

/// Longest time to make a disk of a few hundred bytes, which takes hundredths of a second.
const IMAGE_LIMIT: Duration = Duration::from_secs(60);

/// Longest time to turn off: the agent ends its units, and the kernel writes back.
const OFF_LIMIT: Duration = Duration::from_secs(15);

/// Parts shared by all hosts of a site.
pub(crate) struct SiteContext {
    pub(crate) spec: SiteSpec,
    pub(crate) settings: Settings,
    pub(crate) work: HostCommands,
    pub(crate) switch: Switch,
    /// Measured precision of links' delays; empty if no link has a delay.
    pub(crate) delays: Facts,
    pub(crate) kernel: Kernel,
    pub(crate) modules: Vec<PathBuf>,
    pub(crate) accel: Accel,
    pub(crate) programs: PathBuf,
    pub(crate) shared: Option<PathBuf>,
    pub(crate) empty: PathBuf,
    /// Keeps these three in the cache.
    pub(crate) uses: NotedFolder,
    /// Folder of the disks.
    pub(crate) disks: PathBuf,
    /// Path of the agent and its arguments.
    pub(crate) agent: Vec<String>,
}

/// Offset between the clocks of a guest and of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// Guest's clock minus this machine's, in nanoseconds.
    pub nanos: i64,
    /// Largest error of the offset, in nanoseconds: half of the quickest answer's time.
    pub error_nanos: u64,
}

impl ClockOffset {
    /// The time by which the guest's clock fell back since an earlier offset.
    pub(crate) fn standstill_since(self, before: ClockOffset) -> Standstill {
        let lost = u64::try_from(before.nanos - self.nanos).unwrap_or(0);
        let error = before.error_nanos + self.error_nanos;
        Standstill { length: Duration::from_nanos(lost), error: Duration::from_nanos(error) }
    }
}

/// A running virtual machine.
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) spec: HostSpec,
    pub(crate) port: Port,
    pub(crate) inner: tokio::sync::Mutex<HostState>,
    /// Accounts of the emulator; they change when the guest moves.
    accounts: Mutex<Accounts>,
    pub(crate) offset: Mutex<ClockOffset>,
    /// Time from the start of its QEMU to the agent's first message, and the part counted by the guest's
    /// kernel.
    pub(crate) booted: (Duration, Duration),
}

/// State that changes when a guest moves, or its disk does.
pub(crate) struct HostState {
    /// `None` once the host is closed or was ended.
    pub(crate) emulator: Option<Emulator>,
    pub(crate) hardware: Hardware,
    /// Servers of shared folders, which end with the guest.
    pub(crate) servers: Vec<Box<dyn UnitHandle>>,
    /// Number of emulators, disks and jobs so far.
    pub(crate) count: u32,
    /// Names of the snapshots in its present disk.
    pub(crate) snapshots: BTreeSet<String>,
}

impl Host {
    /// Creates a host, on a new disk or on `disk`, and boots it until its agent reports. On failure
    /// everything is ended, and its name is free again.
    pub(crate) async fn boot(plant: &SiteContext, spec: HostSpec, disk: Option<Disk>) -> Result<Host, Fault> {
        let name = spec.name.clone();
        let tap = plant.switch.tap(&name, &spec.link).await?;
        let booted = Host::boot_at(plant, spec, disk, tap).await;
        if booted.is_err() {
            // A tap that stays is removed with the switch; the first fault is reported.
            let _ = plant.switch.remove(&name).await;
        }
        booted
    }

    async fn boot_at(
        plant: &SiteContext,
        spec: HostSpec,
        disk: Option<Disk>,
        tap: Tap,
    ) -> Result<Host, Fault> {
        let name = spec.name.clone();
        let disk = match disk {
            Some(disk) => disk,
            None => plant.disk_on(&plant.empty, "raw", &format!("{name}.qcow2"), "disk0").await?,
        };
        let (servers, folders) = plant.serve_folders(&name).await?;
        let archive = plant.archive(&spec, &tap).await?;
        let images = [Some(plant.programs.clone()), plant.shared.clone()].into_iter().flatten().collect();
        let kernel = plant.kernel.image.clone();
        let identity = identity().map_err(|error| failed(format!("identify host `{name}`"), error))?;
        let (host, accel) = (spec.clone(), plant.accel);
        let hardware = Hardware { host, accel, kernel, archive, images, disk, folders, identity };
        let begun = now();
        let (tag, manager) = (format!("{name}-0"), plant.settings.manager);
        let begin = (tap, StartMode::Boot);
        let launched = Launched::start(&plant.work, &hardware, begin, (manager, &tag)).await?;
        let (emulator, stream) = launched.connect().await?;
        let (port, up) = match first_word(&name, stream, plant.settings.boot_limit).await {
            Ok(spoke) => spoke,
            Err(why) => {
                let why = format!("{why}{}", emulator.last_words().await);
                return Err(failed(format!("boot host `{name}`"), why));
            }
        };
        let accounts = Mutex::new(accounts_of(&emulator));
        let inner =
            HostState { emulator: Some(emulator), hardware, servers, count: 0, snapshots: BTreeSet::new() };
        let booted = (begun.elapsed(), up);
        let inner = tokio::sync::Mutex::new(inner);
        let host = Host { name, spec, port, inner, accounts, offset: Mutex::default(), booted };
        if let Err(fault) = host.set_clock().await {
            host.end_now().await;
            return Err(fault);
        }
        Ok(host)
    }

    /// Returns the accounts of the machine's resource use.
    pub(crate) fn accounts(&self) -> Accounts {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that another emulator runs the guest.
    pub(crate) fn moved_to(&self, emulator: &Emulator) {
        *self.accounts.lock().unwrap_or_else(PoisonError::into_inner) = accounts_of(emulator);
    }

    /// Corrects the guest's clock, and measures the remaining offset.
    pub(crate) async fn set_clock(&self) -> Result<(), Fault> {
        for _ in 0..CLOCK_ROUNDS {
            let offset = self.measure_clock().await?;
            self.port.ask(AgentCommand::MoveClock(-offset.nanos), &self.name, PING_LIMIT).await?;
        }
        let offset = self.measure_clock().await?;
        *self.offset.lock().unwrap_or_else(PoisonError::into_inner) = offset;
        Ok(())
    }

    pub(crate) async fn measure_clock(&self) -> Result<ClockOffset, Fault> {
        let mut best: Option<ClockOffset> = None;
        for _ in 0..PINGS {
            // The time between the two readings is part of the error, as all time until the answer is.
            let (begun, before) = (now(), now_nanos());
            let reply = self.port.ask(AgentCommand::Ping, &self.name, PING_LIMIT).await?;
            let half = i64::try_from(begun.elapsed().as_nanos() / 2).unwrap_or(i64::MAX);
            let AgentReply::Clock(there) = reply else { continue };
            let offset = ClockOffset { nanos: there - (before + half), error_nanos: half.unsigned_abs() };
            if best.is_none_or(|best| offset.error_nanos < best.error_nanos) {
                best = Some(offset);
            }
        }
        best.ok_or_else(|| failed(format!("measure the clock of host `{}`", self.name), "it tells no time"))
    }

    /// Ends the agent, the guest and its servers.
    pub(crate) async fn close(&self) -> Result<(), Fault> {
        let mut inner = self.inner.lock().await;
        let Some(emulator) = inner.emulator.take() else { return Ok(()) };
        // A guest that cannot be asked any more is ended without asking.
        let _ = self.port.ask(AgentCommand::Leave, &self.name, OFF_LIMIT).await;
        emulator.went_off(OFF_LIMIT).await?;
        for server in inner.servers.drain(..) {
            server.kill().await?;
        }
        Ok(())
    }

    /// Ends the guest without asking, and its servers. Processes that cannot be ended stay in the ledger.
    async fn end_now(&self) {
        let mut inner = self.inner.lock().await;
        if let Some(emulator) = inner.emulator.take() {
            let _ = emulator.running.kill().await;
        }
        for server in inner.servers.drain(..) {
            let _ = server.kill().await;
        }
    }
}

/// Opens the port, and waits for the agent's first message with the guest's uptime. An error is the reason
/// why none came.
async fn first_word(
    name: &str,
    stream: tokio::net::UnixStream,
    limit: Duration,
) -> Result<(Port, Duration), String> {
    let stream = stream.into_std().and_then(|stream| stream.set_nonblocking(false).map(|()| stream));
    let port = stream.and_then(|stream| Port::open(name, stream)).map_err(|error| error.to_string())?;
    match tokio::time::timeout(limit, port.hello()).await {
        Ok(Some(up)) => Ok((port, up)),
        Ok(None) => Err("it went off".to_owned()),
        Err(_) => Err(format!("its agent said nothing for {limit:?}")),
    }
}

fn accounts_of(emulator: &Emulator) -> Accounts {
    Accounts { machine: true, pid: emulator.running.pid(), ..emulator.running.accounts() }
}

impl SiteContext {
    /// Makes a disk that reads unwritten blocks from `below`.
    pub(crate) async fn disk_on(
        &self,
        below: &Path,
        form: &str,
        name: &str,
        node: &str,
    ) -> Result<Disk, Fault> {
        let path = self.disks.join(name);
        let words = ["create", "-q", "-f", "qcow2", "-F", form, "-b"].map(str::to_owned);
        let paths = [below, &path].map(|path| path.to_string_lossy().into_owned());
        let args = words.into_iter().chain(paths).collect();
        self.work.run(Job { program: "qemu-img", args, workdir: &self.disks, limit: IMAGE_LIMIT }).await?;
        Ok(Disk { path, node: node.to_owned() })
    }

    async fn archive(&self, spec: &HostSpec, tap: &Tap) -> Result<PathBuf, Fault> {
        let names = self.spec.hosts.iter().map(|host| host.name.clone());
        let neighbours =
            names.filter_map(|name| self.switch.address(&name).map(|address| (name, address))).collect();
        let inside = SiteSpec {
            id: spec.name.clone(),
            folder: self.spec.folder.clone(),
            writable: self.spec.writable.clone(),
            options: self.spec.options.iter().filter(|(name, _)| name == "hold").cloned().collect(),
            disks: self.spec.disks.clone(),
            ..SiteSpec::default()
        };
        let act = || format!("write the first files of host `{}`", spec.name);
        let inside = serde_json::to_string(&inside).map_err(|error| failed(act(), error))?;
        let mut agent = self.agent.clone();
        agent.extend(["--address".to_owned(), tap.address.to_string(), "--site".to_owned(), inside]);
        let guest = Guest {
            name: spec.name.clone(),
            address: tap.address,
            prefix: tap.prefix,
            gateway: tap.gateway,
            folder: self.spec.folder.clone(),
            has_shared: self.shared.is_some(),
            writable: self.tags(),
            agent,
            neighbours,
        };
        let path = self.work.folder.join(format!("{}.cpio", spec.name));
        let (kernel, mut modules, to) = (self.kernel.clone(), self.modules.clone(), path.clone());
        if guest.writable.is_empty() {
            modules.retain(|module| !is_folder_module(module));
        }
        self.work.blocking(&act(), move || fs::write(to, of_guest(&kernel, &modules, &guest)?)).await?;
        Ok(path)
    }

    fn tags(&self) -> Vec<(String, PathBuf)> {
        self.spec.writable.iter().enumerate().map(|(n, path)| (format!("w{n}"), path.clone())).collect()
    }

    /// Starts a server for each writable shared folder. Each guest needs its own servers.
    async fn serve_folders(
        &self,
        host: &str,
    ) -> Result<(Vec<Box<dyn UnitHandle>>, Vec<(String, PathBuf)>), Fault> {
        let (mut servers, mut folders) = (Vec::new(), Vec::new());
        for (tag, path) in self.tags() {
            let socket = self.work.folder.join(format!("{host}-{tag}.fs"));
            let name = format!("vm-{host}-{tag}");
            let mut unit = Unit::new(&name, PathBuf::from(FOLDER_SERVER), Readiness::Runs);
            unit.host = HERE.to_owned();
            unit.log = self.work.folder.join(format!("{name}.log"));
            // Without the right to raise limits, the server would fail when it tried.
            unit.args = ["-f", "--rlimit-nofile=0", "-o", "cache=auto", "-o"].map(str::to_owned).to_vec();
            unit.args.push(format!("source={}", path.display()));
            unit.args.push(format!("--socket-path={}", socket.display()));
            servers.push(self.work.here.create(&unit, ignore_lines()).await?);
            let there = wait_for(&socket, PING_LIMIT).await;
            there.map_err(|error| {
                failed(format!("serve folder `{}` to host `{host}`", path.display()), error)
            })?;
            folders.push((tag, socket));
        }
        Ok((servers, folders))
    }
}

fn is_folder_module(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "fuse" || stem == "virtiofs")
}

async fn wait_for(path: &Path, limit: Duration) -> std::io::Result<()> {
    let deadline = now() + limit;
    while !path.exists() {
        if now() >= deadline {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

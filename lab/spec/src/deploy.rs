//! The keys of `[deploy]` common to all applications: the kind of platform, hosts and links, and limits of
//! each tier. The parts of an application are in the keys of its workload.

use std::path::PathBuf;

use barograph_model::{Ability, Nanos, Offloads};

use crate::catalogue::Catalogue;
use crate::cluster::{self, ClusterPlan};
use crate::cores::Cores;
use crate::settings_reader::SettingsReader;

/// Most MiB of memory or disk of a part: 16 TiB.
pub(crate) const MOST_MIB: u64 = 16_777_216;

/// Most instances of a tier: a bridge has 1,024 ports, one for each host, and some are for others than instances.
pub const MOST_INSTANCES: u64 = 1_000;

/// Smallest useful file system.
const LEAST_DISK_MIB: u64 = 32;

/// Default size in MiB of the file system of a part that a fault fills: a database server with a small data
/// set fits.
const USUAL_DISK_MIB: u64 = 1_024;

/// The platform of plans that are read without a list of platforms.
const UNLISTED: &str = "process";

/// The value of `deploy.hosts` for parts that share a host.
const TOGETHER: &str = "together";

/// The tier of drivers, which every plan has.
pub(crate) const DRIVER: &str = "driver";

/// Least megabytes a second of a disk: with less a part takes minutes to start.
const LEAST_DISK_MB_S: f64 = 0.01;

/// Most megabytes a second of a disk, beyond any.
const MOST_DISK_MB_S: f64 = 1e6;

/// Limits of each instance of a tier, by the ends of their keys: `deploy.driver_cpus`.
pub(crate) const LIMITS: [&str; 7] =
    ["cpus", "cores", "memory_mib", "disk_mib", "disk_mb_s", "offloads", "programs"];

/// Place of the deployment, and limits of its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct DeployPlan {
    /// Name of the kind of platform.
    pub platform: String,
    /// Its abilities.
    pub abilities: &'static [Ability],
    /// Settings of the services: `vanilla` or `tuned`.
    pub flavour: String,
    /// `apart` for a host per instance, `together` for one host, or for some hosts ([`Self::spread_over`]).
    pub hosts: String,
    /// Number of hosts over which the applications of several loads are spread, the parts of each together; 0 for
    /// hosts as [`Self::hosts`] says.
    pub spread_over: u32,
    /// Limits of each tier's instances: CPU time, cores, memory and disk.
    pub limits: Vec<TierLimits>,
    /// The link between hosts.
    pub link: Link,
    /// Whether services are polled for their statistics under load.
    pub statistics: bool,
    /// Dense mode of the host.
    pub dense: DenseMode,
    /// Time from one check of the host to the next, in automatic dense mode.
    pub dense_every: Nanos,
    /// Network of containers: `bridge` or `host`.
    pub container_network: String,
    /// Address of a container engine of this machine, such as `unix:///run/podman/podman.sock`; by default
    /// one is searched for at the usual places, or started.
    pub container_engine: Option<String>,
    /// Settings for a cluster.
    pub cluster: ClusterPlan,
    /// Acceleration of guests: `kvm`, emulation (`tcg`), or whichever works here (`auto`).
    pub vm_accel: String,
    /// What starts guests and carries out operations on them: this program (`qemu`), or `libvirt`.
    pub vm_manager: String,
}

/// Dense mode: settings of the host's kernel for many small servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenseMode {
    /// Settings stay as they are.
    Off,
    /// Settings are switched for the whole load.
    On,
    /// Settings are switched while the host is dense.
    Automatic,
}

impl DenseMode {
    /// Names in plans, the default first.
    const NAMES: [&str; 3] = ["off", "on", "automatic"];

    /// Returns the name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        DenseMode::NAMES[self as usize]
    }
}

/// Limits of each instance of a tier.
#[derive(Clone, Debug, PartialEq)]
pub struct TierLimits {
    /// The tier.
    pub tier: &'static str,
    /// CPU time, in cores; 0 for no limit.
    pub cpus: f64,
    /// The cores it may run on.
    pub cores: Cores,
    /// Memory in MiB; 0 for no limit.
    pub memory_mib: u64,
    /// Size in MiB of a separate file system for its files; 0 for none, unless a fault fills it.
    pub disk_mib: u64,
    /// Megabytes a second that it may read from each disk, and write to it; 0 for no limit.
    pub disk_mb_s: f64,
    /// Offloads of the link ends of its hosts.
    pub offloads: Offloads,
    /// Folder with the programs of its services; `None` for those of the machine.
    pub programs: Option<PathBuf>,
}

/// The link between a host and the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Most megabits per second, each way; 0 for no limit.
    pub mbit: u64,
    /// Additional delay of a packet, each way.
    pub delay: Nanos,
    /// Share of lost packets, each way.
    pub loss: f64,
}

impl Link {
    /// Additional delay of a packet in milliseconds, the unit of plans.
    #[must_use]
    pub fn delay_ms(&self) -> f64 {
        self.delay.0 as f64 / 1e6
    }
}

impl DeployPlan {
    /// Whether its platform has an ability.
    #[must_use]
    pub fn has(&self, ability: Ability) -> bool {
        self.abilities.contains(&ability)
    }

    /// Whether parts see no folder of this machine, as their files are sent to pods.
    #[must_use]
    pub fn sends_files(&self) -> bool {
        self.has(Ability::Pods) && self.cluster.sends_files
    }

    /// Limits of a tier.
    #[must_use]
    pub fn limits_of(&self, tier: &str) -> Option<&TierLimits> {
        self.limits.iter().find(|limits| limits.tier == tier)
    }

    /// Size in MiB of the separate file system of a part of this tier; `None` if it has none. `filled` if a
    /// fault fills it.
    #[must_use]
    pub fn disk_mib(&self, tier: &str, filled: bool) -> Option<u64> {
        let given = self.limits_of(tier).map(|limits| limits.disk_mib).filter(|mib| *mib > 0);
        given.or(filled.then_some(USUAL_DISK_MIB))
    }
}

/// Reads the keys. `tiers` are those of the application that the plan's workload can deploy.
pub(crate) fn deploy(
    g: &mut SettingsReader,
    tiers: &[&'static str],
    catalogue: Catalogue<'_>,
) -> Option<DeployPlan> {
    let names: Vec<&str> = catalogue.platforms.iter().map(|kind| kind.name).collect();
    let platform = g.word("platform", &names, names.first().unwrap_or(&UNLISTED));
    let kind = catalogue.platforms.iter().find(|kind| platform.as_deref() == Some(kind.name));
    let flavour = g.word("deploy.flavour", &["vanilla", "tuned"], "tuned");
    let hosts = g.word("deploy.hosts", &["apart", TOGETHER], "apart");
    let spread_over = spread_over(g);
    let container_network = g.word("deploy.container_network", &["bridge", "host"], "bridge");
    let container_engine = engine(g);
    let cluster = cluster::cluster(g);
    let vm_accel = g.word("deploy.vm_accel", &["auto", "kvm", "tcg"], "auto");
    let vm_manager = g.word("deploy.vm_manager", &["qemu", "libvirt"], "qemu");
    let statistics = g.flag("deploy.statistics", true);
    let dense = dense(g);
    let tiers: Vec<&'static str> = tiers.iter().copied().chain([DRIVER]).collect();
    let limits = limits(g, &tiers);
    let link = link(g);
    let plan = DeployPlan {
        platform: platform?,
        abilities: kind.map_or(&[][..], |kind| kind.abilities),
        flavour: flavour?,
        hosts: if spread_over? > 0 { TOGETHER.to_owned() } else { hosts? },
        spread_over: spread_over?,
        limits: limits?,
        link: link?,
        statistics: statistics?,
        dense: dense?.0,
        dense_every: dense?.1,
        container_network: container_network?,
        container_engine: container_engine?,
        cluster: cluster?,
        vm_accel: vm_accel?,
        vm_manager: vm_manager?,
    };
    on_the_platform(g, &plan, catalogue);
    Some(plan)
}

fn engine(g: &mut SettingsReader) -> Option<Option<String>> {
    let (key, allowed) = ("deploy.container_engine", "a socket, as in \"unix:///run/podman/podman.sock\"");
    let engine = g.optional_word(key, allowed)?;
    if let Some(other) = engine.as_ref().filter(|engine| !engine.starts_with("unix:///")) {
        g.refuse(key, format!("{other:?}"), allowed, "name the socket of an engine on this machine");
    }
    Some(engine)
}

/// Reads dense mode, and the time between checks.
fn dense(g: &mut SettingsReader) -> Option<(DenseMode, Nanos)> {
    let mode = g.choice("deploy.dense", &DenseMode::NAMES, "off");
    let is_automatic = mode.is_none_or(|mode| mode == "automatic");
    g.only_with("deploy.dense_every_s", is_automatic, "deploy.dense = \"automatic\"");
    let every = g.number("deploy.dense_every_s", 1..=3_600, 60);
    let mode = match mode? {
        "on" => DenseMode::On,
        "automatic" => DenseMode::Automatic,
        _ => DenseMode::Off,
    };
    Some((mode, Nanos::from_secs(every?)))
}

/// Reads the limits of instances of these tiers.
pub(crate) fn limits(g: &mut SettingsReader, tiers: &[&'static str]) -> Option<Vec<TierLimits>> {
    let of = |tier: &'static str| {
        let cpus = g.fraction(&format!("deploy.{tier}_cpus"), 0.0..=1_024.0, 0.0);
        let cores = g.cores(&format!("deploy.{tier}_cores"));
        let memory = g.number(&format!("deploy.{tier}_memory_mib"), 0..=MOST_MIB, 0);
        let (disk, rate) = (disk(g, tier), disk_rate(g, tier));
        let (offloads, programs) = (offloads(g, tier), programs(g, tier));
        let (cpus, cores, memory_mib, disk_mib) = (cpus?, cores?, memory?, disk?);
        let (disk_mb_s, offloads, programs) = (rate?, offloads?, programs?);
        Some(TierLimits { tier, cpus, cores, memory_mib, disk_mib, disk_mb_s, offloads, programs })
    };
    // All are read before the first failure returns, so that each is refused.
    let all: Vec<Option<TierLimits>> = tiers.iter().copied().map(of).collect();
    all.into_iter().collect()
}

fn disk(g: &mut SettingsReader, tier: &str) -> Option<u64> {
    let key = format!("deploy.{tier}_disk_mib");
    let size = g.number(&key, 0..=MOST_MIB, 0);
    if let Some(small) = size.filter(|size| (1..LEAST_DISK_MIB).contains(size)) {
        let allowed = format!("0 for none, or at least {LEAST_DISK_MIB}");
        g.refuse(&key, small, &allowed, "give it more: a file system needs room for itself");
    }
    size
}

/// Reads the rate of disks of a tier, in megabytes a second; 0 for no limit.
fn disk_rate(g: &mut SettingsReader, tier: &str) -> Option<f64> {
    let key = format!("deploy.{tier}_disk_mb_s");
    let rate = g.fraction(&key, 0.0..=MOST_DISK_MB_S, 0.0);
    if let Some(small) = rate.filter(|rate| *rate > 0.0 && *rate < LEAST_DISK_MB_S) {
        let allowed = format!("0 for none, or at least {LEAST_DISK_MB_S}");
        g.refuse(&key, small, &allowed, "give it more: starting the part takes as much of its disk");
    }
    rate
}

/// Reads the offloads of a tier; those of the system without the key.
fn offloads(g: &mut SettingsReader, tier: &str) -> Option<Offloads> {
    let key = format!("deploy.{tier}_offloads");
    let Some(text) = g.optional_word(&key, Offloads::FORM)? else { return Some(Offloads::default()) };
    let offloads = text.parse().ok();
    if offloads.is_none() {
        g.refuse(&key, format!("{text:?}"), Offloads::FORM, "correct it, or leave it out");
    }
    offloads
}

/// Reads the folder with the programs of a tier; those of the machine without the key.
fn programs(g: &mut SettingsReader, tier: &str) -> Option<Option<PathBuf>> {
    // A driver is this program.
    if tier == DRIVER {
        return Some(None);
    }
    let (key, allowed) = (format!("deploy.{tier}_programs"), "the absolute path of a folder with programs");
    let folder = g.optional_word(&key, allowed)?.map(PathBuf::from);
    if let Some(relative) = folder.as_ref().filter(|folder| !folder.is_absolute()) {
        g.refuse(&key, format!("{:?}", relative.display().to_string()), allowed, "write its whole path");
    }
    Some(folder)
}

fn link(g: &mut SettingsReader) -> Option<Link> {
    let mbit = g.number("deploy.link_mbit", 0..=1_000_000, 0);
    let delay = g.fraction("deploy.link_delay_ms", 0.0..=10_000.0, 0.0);
    let loss = g.fraction("deploy.link_loss", 0.0..=0.9, 0.0);
    Some(Link { mbit: mbit?, delay: Nanos::from_secs_f64(delay? / 1e3), loss: loss? })
}

/// Reads the number of hosts for the applications of several loads.
fn spread_over(g: &mut SettingsReader) -> Option<u32> {
    let hosts = g.number("deploy.spread_over", 0..=MOST_INSTANCES, 0)? as u32;
    if hosts > 0 {
        let allowed = "left out with deploy.spread_over, by which the parts of an application are together";
        g.refuse_asked("deploy.hosts", allowed, "leave one of the two out");
    }
    Some(hosts)
}

/// Refuses settings that the hosts of the platform lack.
fn on_the_platform(g: &mut SettingsReader, plan: &DeployPlan, catalogue: Catalogue<'_>) {
    if plan.link != Link::default() && !catalogue.is_able(plan, Ability::Links) {
        let (key, value) = match plan.link {
            Link { mbit: 1.., .. } => ("deploy.link_mbit", plan.link.mbit.to_string()),
            Link { delay: Nanos(1..), .. } => ("deploy.link_delay_ms", plan.link.delay_ms().to_string()),
            Link { .. } => ("deploy.link_loss", plan.link.loss.to_string()),
        };
        let allowed = format!("0, unless {}", catalogue.with(Ability::Links));
        g.refuse(key, value, &allowed, "leave it out, or choose one of these platforms");
    }
    let offloads = plan.limits.iter().filter(|limits| !limits.offloads.is_default());
    for limits in offloads.filter(|_| !catalogue.is_able(plan, Ability::Offloads)) {
        let key = format!("deploy.{}_offloads", limits.tier);
        let allowed = format!("left out, unless {}", catalogue.with(Ability::Offloads));
        let value = format!("{:?}", limits.offloads.to_string());
        g.refuse(&key, value, &allowed, "leave it out, or choose one of these platforms");
    }
    let rates = plan.limits.iter().filter(|limits| limits.disk_mb_s > 0.0);
    for limits in rates.filter(|_| !catalogue.is_able(plan, Ability::DiskRates)) {
        let key = format!("deploy.{}_disk_mb_s", limits.tier);
        let allowed = format!("0, unless {}", catalogue.with(Ability::DiskRates));
        g.refuse(&key, limits.disk_mb_s, &allowed, "leave it out, or choose one of these platforms");
    }
    if plan.has(Ability::Machines) && plan.hosts == TOGETHER {
        let key = if plan.spread_over > 0 { "deploy.spread_over" } else { "deploy.hosts = \"together\"" };
        let allowed = format!(
            "left out with platform = {:?} and {key}: all parts are in one virtual machine, which runs on its cores as \
             a whole",
            plan.platform
        );
        // Drivers have hosts of their own in any case.
        for limits in plan.limits.iter().filter(|limits| limits.tier != DRIVER && !limits.cores.is_all()) {
            let (key, value) = (format!("deploy.{}_cores", limits.tier), limits.cores.to_string());
            g.refuse(&key, format!("{value:?}"), &allowed, "leave it out, or set deploy.hosts = \"apart\"");
        }
    }
}

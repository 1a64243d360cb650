//! From the description of a site to guests whose agents answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{Facts, Fault, HostSpec, Ledger, SiteSpec};
use barograph_platform_process::Local;
use barograph_virtual_network::{RelayProgram, Switch};
use tokio::task::JoinSet;

use crate::cache::{Cache, NotedFolder};
use crate::host::{Host, SiteContext};
use crate::host_commands::{HostCommands, failed};
use crate::kernel::Kernel;
use crate::preflight::{accel_facts, look};
use crate::settings::{Accel, Settings};
use crate::site::VmSite;
use crate::{Program, accel, image};

/// Module for file systems of units in files.
const FILES: &str = "loop";

/// Module for writable shared folders.
const FOLDERS: &str = "virtiofs";

/// Parts of a site in the cache.
struct CachedFiles {
    kernel: Kernel,
    modules: Vec<PathBuf>,
    accel: Accel,
    programs: PathBuf,
    shared: Option<PathBuf>,
    empty: PathBuf,
    uses: NotedFolder,
}

/// Creates all hosts of a site. On failure everything is removed: processes and switch by being dropped,
/// folders here.
pub(crate) async fn open(program: &Program, site: &SiteSpec, ledger: &Ledger) -> Result<VmSite, Fault> {
    look(site).map_err(|missing| match missing.into_iter().next() {
        Some(first) => failed("make virtual machines", first),
        None => failed("make virtual machines", "this machine cannot"),
    })?;
    let settings = Settings::of(site).map_err(|missing| failed("make virtual machines", missing))?;
    let own = SiteSpec { hosts: Vec::new(), disks: Vec::new(), ..site.clone() };
    let here = Arc::new(Local::open(&own, ledger).with_folder()?);
    // Its path is short, as the address of a Unix socket must be.
    let folder = NotedFolder::make(std::env::temp_dir().join(format!("bg-vm-{}", site.id)), ledger)?;
    let work = HostCommands::new(here.clone(), ledger.clone(), folder.path().to_owned());
    match make(program, site, settings, work).await {
        Ok((plant, hosts)) => {
            let facts = facts(&plant, &hosts);
            Ok(VmSite::new(Arc::new(plant), hosts, folder, facts))
        }
        Err(fault) => {
            if let Some(here) = Arc::into_inner(here) {
                // Things that cannot be removed are swept; the first fault is reported.
                let _ = barograph_platform::Site::close(Box::new(here)).await;
            }
            Err(fault)
        }
    }
}

async fn make(
    program: &Program,
    site: &SiteSpec,
    settings: Settings,
    work: HostCommands,
) -> Result<(SiteContext, Vec<Host>), Fault> {
    let relay = RelayProgram { program: program.path.clone(), args: program.relay.clone() };
    let (ready, switch) =
        tokio::join!(ready(program, site, &settings, &work), Switch::open(&site.id, relay, &work.ledger));
    let switch = switch?;
    // Before the guests exist, so that their traffic does not disturb it.
    let delays = match longest_delay(&site.hosts) {
        Some(delay) => switch.calibrate(delay).await?.facts(),
        None => Facts::new(),
    };
    let CachedFiles { kernel, modules, accel, programs, shared, empty, uses } = ready?;
    let disks = site.folder.join(".disks");
    std::fs::create_dir_all(&disks)
        .map_err(|error| failed(format!("make folder `{}`", disks.display()), error))?;
    let agent = std::iter::once(program.path.to_string_lossy().into_owned()).chain(program.agent.clone());
    let plant = Arc::new(SiteContext {
        spec: site.clone(),
        settings,
        work,
        switch,
        delays,
        kernel,
        modules,
        accel,
        programs,
        shared,
        empty,
        uses,
        disks,
        agent: agent.collect(),
    });
    let hosts = boot_all(&plant, &site.hosts).await?;
    let plant = Arc::into_inner(plant).ok_or_else(|| failed("boot the hosts", "one is still booting"))?;
    Ok((plant, hosts))
}

/// Returns the longest delay of a link that delays or drops packets.
fn longest_delay(hosts: &[HostSpec]) -> Option<Duration> {
    let links = hosts.iter().map(|host| host.link).filter(|link| !link.delay.is_zero() || link.loss > 0.0);
    links.map(|link| link.delay).max()
}

/// Returns everything that stays in the cache.
async fn ready(
    program: &Program,
    site: &SiteSpec,
    settings: &Settings,
    work: &HostCommands,
) -> Result<CachedFiles, Fault> {
    let cache = Cache::open(&settings.cache, &work.ledger).await?;
    let kernel = Kernel::get(&cache, work).await?;
    let accel = match settings.accel {
        Some(accel) => accel,
        None => accel::choose(&cache, work, &kernel).await?,
    };
    let mut wanted = settings.modules.clone();
    if !site.writable.is_empty() {
        wanted.push(FOLDERS.to_owned());
    }
    if !site.disks.is_empty() {
        wanted.push(FILES.to_owned());
    }
    let find = kernel.clone();
    let modules =
        work.blocking("find the modules of the guests' kernel", move || find.modules(&wanted)).await?;
    let mut paths = site.shared.clone();
    paths.push(program.path.clone());
    let (programs, shared, empty) = tokio::join!(
        image::programs(&cache, work, &settings.left_out),
        image::shared(&cache, work, &paths, &settings.left_out),
        image::empty_disk(&cache, work, settings.disk_gib),
    );
    let uses = cache.uses(&site.id)?;
    Ok(CachedFiles {
        kernel,
        modules,
        accel,
        programs: uses.link(&programs?)?,
        shared: shared?.map(|shared| uses.link(&shared)).transpose()?,
        empty: uses.link(&empty?)?,
        uses,
    })
}

/// Boots all at once. The first fault cancels the others.
async fn boot_all(plant: &Arc<SiteContext>, specs: &[HostSpec]) -> Result<Vec<Host>, Fault> {
    let mut booting = JoinSet::new();
    for spec in specs.iter().cloned() {
        let plant = plant.clone();
        booting.spawn(async move { Host::boot(&plant, spec, None).await });
    }
    let mut hosts = Vec::new();
    while let Some(booted) = booting.join_next().await {
        match booted.unwrap_or_else(|error| Err(failed("boot a host", error))) {
            Ok(host) => hosts.push(host),
            Err(fault) => {
                booting.shutdown().await;
                return Err(fault);
            }
        }
    }
    Ok(hosts)
}

fn facts(plant: &SiteContext, hosts: &[Host]) -> Facts {
    let mut facts = vec![("platform".to_owned(), "vm".to_owned())];
    facts.extend(accel_facts(plant.accel.name()));
    facts.push(("manager".to_owned(), plant.settings.manager.name().to_owned()));
    facts.push(("guest kernel".to_owned(), plant.kernel.version.clone()));
    for host in hosts {
        let (took, up) = (host.booted.0.as_secs_f64(), host.booted.1.as_secs_f64());
        let offset = *host.offset.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        facts.push((
            format!("host {}", host.name),
            format!(
                "ready after {took:.2} s ({up:.2} s of them by its own clock), its clock off by {} us, known to {} us",
                offset.nanos / 1000,
                offset.error_nanos / 1000
            ),
        ));
    }
    facts
}

//! The deploy phase: a site of the plan's platform, and on it every part of the topology, ready to be asked.

mod deployed;
mod drivers;
mod place;
mod recipe;
mod start;
mod stored;

pub(crate) use place::link;

pub(crate) use deployed::{Deployed, Hold, Started};
pub use stored::outlook;

pub(crate) use drivers::{TIER as DRIVERS, count as drivers_apart, waiting as waiting_drivers};

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use barograph_model::{Nanos, Phase};
use barograph_platform::{Ability, DiskSpec, Limits, Missing, Platform, SiteSpec};
use barograph_record::{Entry, KeptPart, KeptSnapshot, KeptTopology};
use barograph_services::Service;
use barograph_spec::Plan;
use barograph_workload::Application;
use barograph_workload::topology::{Topology, Value, Work};

use crate::HarnessError;
use crate::fleet::Token;
use crate::run::Run;

/// The folder of everything that hosts keep, in that of the run.
pub(crate) const SITE: &str = "site";

/// The folder that all hosts see and may write to, in that of the run.
pub(crate) const COMMON: &str = "common";

/// The platform of a plan.
pub(crate) fn platform<'p>(
    platforms: &[&'p dyn Platform],
    plan: &Plan,
) -> Result<&'p dyn Platform, HarnessError> {
    let name = plan.deploy.platform.as_str();
    let found = platforms.iter().find(|platform| platform.name() == name);
    found.copied().ok_or_else(|| HarnessError::NoPlatform { name: name.to_owned() })
}

/// A topology with the drivers that are parts of it.
#[must_use]
pub fn whole(mut topology: Topology, plan: &Plan) -> Topology {
    drivers::add(&mut topology, plan);
    topology
}

/// What keeps a deployment from being made here: programs, kernel features, rights; each with what a person can do.
/// Nothing is created.
pub async fn missing(topology: &Topology, platform: &dyn Platform, plan: &Plan) -> Vec<Missing> {
    let mut all: Vec<Missing> = topology.services().iter().filter_map(|service| service.missing()).collect();
    let nowhere = Path::new("/nonexistent");
    let mut spec =
        SiteSpec { id: "check".to_owned(), ..site_spec(topology, plan, platform, (nowhere, nowhere)) };
    if platform.limits_hosts_as_units() {
        // Parts have limits and hosts have none; here the one can be limited where the other can.
        for host in &mut spec.hosts {
            let limited = topology.parts.iter().find(|part| part.host == host.name && !part.limits.is_none());
            host.limits = limited.map_or_else(Limits::default, |part| part.limits.clone());
        }
    }
    if let Err(missing) = platform.preflight(&spec).await {
        all.extend(missing);
    }
    all
}

/// The site of a topology, still without a name.
fn site_spec(
    topology: &Topology,
    plan: &Plan,
    platform: &dyn Platform,
    (folder, common): (&Path, &Path),
) -> SiteSpec {
    let link = link(&plan.deploy.link);
    let mut hosts = topology.hosts();
    // Parts have their limits; only a machine of its own has a size besides, and two quotas on one another would keep a
    // fault from lifting one.
    for host in &mut hosts {
        host.link = link;
        if !platform.has(Ability::Machines) {
            host.limits = Limits::default();
        }
    }
    SiteSpec {
        id: String::new(),
        folder: folder.to_owned(),
        hosts,
        shared: topology.shared.clone(),
        writable: if shares_files(topology) { vec![common.to_owned()] } else { Vec::new() },
        options: options(topology, plan),
        disks: disks(topology, plan),
    }
}

/// Whether parts use the folder that all hosts see. A virtual machine with such a folder can be neither moved nor kept.
pub(crate) fn shares_files(topology: &Topology) -> bool {
    let is_shared = |value: &Value| matches!(value, Value::SiteFile(_) | Value::SiteFolder(_));
    let mut values = topology.parts.iter().flat_map(|part| &part.values);
    !topology.files.is_empty() || values.any(|(_, value)| is_shared(value))
}

/// File systems of their own, for parts that serve.
fn disks(topology: &Topology, plan: &Plan) -> Vec<DiskSpec> {
    let parts = topology.parts.iter().filter(|part| matches!(part.work, Work::Service(_)));
    let sized = parts.filter_map(|part| Some((part, crate::check::disk_mib(plan, part)?)));
    sized.map(|(part, mib)| DiskSpec { unit: part.name.clone(), bytes: mib << 20 }).collect()
}

/// Settings of single kinds of platforms; others do not look at them.
fn options(topology: &Topology, plan: &Plan) -> Vec<(String, String)> {
    let deploy = &plan.deploy;
    let floating = topology.floating.as_ref().map(|floating| ("virtual-addresses", floating.name.to_owned()));
    let network = Some(("network", deploy.container_network.clone()));
    let engine = deploy.container_engine.clone().map(|engine| ("engine", engine));
    // Containers refuse an option that they do not know.
    let accel = deploy.has(Ability::Machines).then(|| ("accel", deploy.vm_accel.clone()));
    let all = [network, engine, accel, floating].into_iter().flatten();
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Makes everything, the application where there is one and drivers where they are units. What was made so far is in
/// `made` also when this fails.
pub(crate) async fn deploy(
    run: &mut Run<'_>,
    application: Option<&dyn Application>,
    made: &mut Option<Deployed>,
) -> Result<(), HarnessError> {
    let topology = match application {
        Some(application) => whole(application.topology(&run.plan, run.data_set()), &run.plan),
        None => whole(Topology::empty(), &run.plan),
    };
    let platform = platform(run.world.platforms, &run.plan)?;
    let services = topology.parts.iter().filter(|part| matches!(part.work, Work::Service(_))).count();
    let about = match services {
        1 => format!("one service on platform {}", platform.name()),
        n => format!("{n} services on platform {}", platform.name()),
    };
    run.phase(Phase::Deploy, &about)?;
    let begun = run.clock.now();
    let (folder, common) = (run.folder(SITE), run.folder(COMMON));
    run.ledger.make_directory(&common)?;
    make_files(&common, &topology)?;
    let token = make_token(run, &common)?;
    let spec = SiteSpec {
        id: place::site_id(&run.world.id),
        ..site_spec(&topology, &run.plan, platform, (&folder, &common))
    };
    let (ledger, stop) = (run.ledger.clone(), run.world.stop.clone());
    let facts = match stop.or(platform.preflight(&spec)).await? {
        Ok(facts) => facts,
        Err(mut missing) => return Err(HarnessError::Missing(missing.swap_remove(0))),
    };
    let site = stop.or(platform.open(&spec, &ledger)).await??;
    let opened = run.clock.now() - begun;
    let (mut parts, fronts) = place::place(run, application, &topology, site.as_ref(), (&folder, &common))?;
    if platform.has(Ability::Machines) {
        // A machine runs on these cores of ours as a whole, and those that its parts see have other numbers.
        parts.iter_mut().for_each(|placed| placed.unit.limits.cpu_set.clear());
    }
    let deployed = made.insert(Deployed::new(site, (&topology, fronts), token));
    let snapshot = stored::start_all(run, platform, (&topology, &common), (deployed, parts)).await?;
    deployed.put_in_order(&topology);
    if let Some(application) = application {
        let limit = run.plan.target.start_timeout;
        stop.or(start::until_front_answers(application, &deployed.url(), (run.clock.clone(), limit)))
            .await??;
    }
    let took = run.clock.now() - begun;
    keep(run, (platform, facts, snapshot), deployed, (opened, took)).await?;
    if application.is_some() {
        let mut services = deployed.services().filter_map(|part| part.running().pid());
        let process = match (services.next(), services.next()) {
            (Some(pid), None) => format!(" (process {pid})"),
            _ => String::new(),
        };
        let (url, took) = (deployed.url(), took.as_secs_f64());
        run.say(&format!("the application answers at {url} after {took:.1} s{process}"));
    }
    run.done()
}

/// The files that all hosts see.
fn make_files(common: &Path, topology: &Topology) -> Result<(), HarnessError> {
    let failed = |path: &Path| {
        let folder = path.to_owned();
        |why| HarnessError::MakeFolder { folder, why }
    };
    for file in &topology.files {
        let path = common.join(file.name);
        let mut options = OpenOptions::new();
        let mut open =
            options.write(true).create_new(true).mode(file.mode).open(&path).map_err(failed(&path))?;
        open.write_all(&file.bytes).map_err(failed(&path))?;
    }
    Ok(())
}

/// The secret of drivers that are units; `None` when there are none.
fn make_token(run: &Run<'_>, common: &Path) -> Result<Option<Token>, HarnessError> {
    if drivers::count(&run.plan) == 0 {
        return Ok(None);
    }
    let path = common.join(drivers::TOKEN);
    let made = Token::fresh().and_then(|token| token.write(&path).map(|()| token));
    made.map(Some).map_err(|why| HarnessError::MakeFolder { folder: path, why })
}

/// What was deployed goes into the record, with every configuration file.
async fn keep(
    run: &mut Run<'_>,
    (platform, facts, snapshot): (&dyn Platform, Vec<(String, String)>, Option<KeptSnapshot>),
    deployed: &Deployed,
    (opened, took): (Nanos, Nanos),
) -> Result<(), HarnessError> {
    let stop = run.world.stop.clone();
    let versions = stop.or(versions(deployed)).await?;
    let mut facts = facts;
    facts.extend(deployed.site().facts());
    facts.extend(deployed.site().network().map_or_else(Vec::new, |network| network.facts()));
    let mut parts = Vec::new();
    for started in deployed.parts() {
        keep_files(run, started)?;
        let version = match started.work {
            Work::Service(service) => versions.get(service.name()).cloned().unwrap_or_default(),
            Work::Job => String::new(),
        };
        parts.push(KeptPart {
            name: started.name.clone(),
            tier: started.tier.to_owned(),
            service: started.work.title(),
            version,
            host: started.unit.host.clone(),
            url: started.endpoint.url.clone(),
            node: started.node,
            uses: started.uses.clone(),
            start_s: started.took.as_secs_f64(),
            cpus: started.unit.limits.cpus,
            // Not those of its unit: that has none where its whole machine runs on them.
            cores: run.plan.deploy.limits_of(started.tier).map_or_else(String::new, |l| l.cores.to_string()),
            memory_bytes: started.unit.limits.memory_bytes,
        });
    }
    let mut fronts = deployed.fronts().iter();
    let topology = KeptTopology {
        platform: platform.name().to_owned(),
        abilities: Some(platform.kind().abilities.iter().map(|ability| ability.name().to_owned()).collect()),
        facts,
        front: fronts.next().cloned().unwrap_or_default(),
        beside: fronts.cloned().collect(),
        parts,
        open_s: opened.as_secs_f64(),
        ready_s: took.as_secs_f64(),
        snapshot,
    };
    Ok(run.record.append(&Entry::Topology(Box::new(topology)))?)
}

/// What each service says of its version; one that does not say has none.
async fn versions(deployed: &Deployed) -> BTreeMap<&'static str, String> {
    let services = deployed.services().filter_map(|part| match part.work {
        Work::Service(service) => Some((service.name(), service)),
        Work::Job => None,
    });
    let once: BTreeMap<&str, &'static Service> = services.collect();
    let asked = once.into_iter().map(|(name, service)| async move {
        let asked = tokio::task::spawn_blocking(move || service.version()).await;
        (name, asked.ok().and_then(Result::ok).unwrap_or_default())
    });
    futures::future::join_all(asked).await.into_iter().collect()
}

/// Configuration as it was given to the service.
fn keep_files(run: &Run<'_>, started: &deployed::Started) -> Result<(), HarnessError> {
    for file in &started.unit.files {
        // Keys are no configuration, and are nobody's business.
        if file.mode & 0o077 == 0 {
            continue;
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let to = run.record.services_dir().join(format!("{}.{name}", started.name));
        std::fs::write(&to, &file.bytes).map_err(|why| HarnessError::MakeFolder { folder: to, why })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use barograph_platform::{Facts, Fault, Later, Ledger, LedgerError, PlatformKind, Site, Swept};

    use super::*;
    use crate::testing::TestWorkload;

    /// A platform that is only looked at, and keeps the limits of the hosts it was asked for.
    #[derive(Default)]
    struct Looking {
        abilities: &'static [Ability],
        limits_hosts_as_units: bool,
        asked: Mutex<Vec<Limits>>,
    }

    impl Platform for Looking {
        fn kind(&self) -> PlatformKind {
            PlatformKind { name: "looking", abilities: self.abilities }
        }
        fn limits_hosts_as_units(&self) -> bool {
            self.limits_hosts_as_units
        }
        fn preflight<'a>(&'a self, site: &'a SiteSpec) -> Later<'a, Result<Facts, Vec<Missing>>> {
            let limits = site.hosts.iter().map(|host| host.limits.clone());
            self.asked.lock().unwrap().extend(limits);
            Box::pin(async { Ok(Facts::new()) })
        }
        fn open<'a>(&'a self, _: &'a SiteSpec, _: &'a Ledger) -> Later<'a, Result<Box<dyn Site>, Fault>> {
            unreachable!("nothing is made")
        }
        fn sweep<'a>(&'a self, _: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>> {
            unreachable!("nothing is left")
        }
    }

    #[tokio::test]
    async fn hosts_are_looked_at_with_limits_only_where_those_mean_something() {
        let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p", "", &[]).unwrap();
        let workload = TestWorkload::default();
        let mut topology = workload.topology(&plan, None);
        let limits = Limits { cpus: Some(0.5), ..Limits::default() };
        topology.parts[0].limits = limits.clone();
        let machines = Looking { abilities: &[Ability::Machines], ..Looking::default() };
        let groups = Looking { limits_hosts_as_units: true, ..Looking::default() };
        let others = Looking::default();
        for (platform, wanted) in [(&machines, &limits), (&groups, &limits), (&others, &Limits::default())] {
            missing(&topology, platform, &plan).await;
            assert_eq!(*platform.asked.lock().unwrap(), std::slice::from_ref(wanted));
        }
    }
}

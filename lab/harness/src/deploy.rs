//! The deploy phase: a site of the plan's platform and on it every part of the topology, ready for use.

mod deployment;
mod drivers;
mod kept;
mod placement;
mod planned;
mod recipe;
mod start;
mod stored;

pub(crate) use placement::link;

pub(crate) use deployment::{Deployment, PauseAction, StartedPart};
pub use stored::outlook;

pub(crate) use drivers::{
    TIER as DRIVERS, cores_of_own as cores_of_own_driver, parts as drivers, waiting as waiting_drivers,
};
pub use planned::{PlannedApplication, outline, plan_of_all, planned};
pub(crate) use planned::{application_of, topology_of};

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use barograph_model::{Nanos, Phase};
use barograph_platform::{Ability, DiskSpec, Limits, MissingRequirement, Platform, SiteSpec};
use barograph_spec::Plan;
use barograph_workload::topology::{self, PartWork, Topology, Value};

use crate::HarnessError;
use crate::fleet::Token;
use crate::run::Run;

/// Folder with the files of all hosts, in the folder of the run.
pub(crate) const SITE: &str = "site";

/// Folder shared by all hosts with write access, in the folder of the run.
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

/// Programs, kernel features and rights that a deployment needs and that are missing, each with a remedy.
/// Nothing is created. The list is empty if nothing is deployed.
pub async fn missing(planned: &[PlannedApplication<'_>], platform: &dyn Platform) -> Vec<MissingRequirement> {
    let Some(plan) = planned.first().map(|first| first.plan) else { return Vec::new() };
    let services = topology::services(planned::parts(planned));
    let mut all: Vec<MissingRequirement> = services.iter().filter_map(|service| service.missing()).collect();
    let nowhere = Path::new("/nonexistent");
    let mut spec =
        SiteSpec { id: "check".to_owned(), ..site_spec(planned, plan, platform, (nowhere, nowhere)) };
    if platform.limits_hosts_as_units() {
        // Parts have limits and hosts have none; a machine that can limit hosts can limit parts.
        for host in &mut spec.hosts {
            let limited =
                planned::parts(planned).find(|part| part.host == host.name && !part.limits.is_none());
            host.limits = limited.map_or_else(Limits::default, |part| part.limits.clone());
        }
    }
    if let Err(missing) = platform.preflight(&spec).await {
        all.extend(missing);
    }
    all
}

/// The site of the whole deployment, without a name. `plan` has the keys shared by all loads.
fn site_spec(
    planned: &[PlannedApplication<'_>],
    plan: &Plan,
    platform: &dyn Platform,
    (folder, common): (&Path, &Path),
) -> SiteSpec {
    let link = link(&plan.deploy.link);
    let mut hosts = topology::hosts(&planned::parts(planned));
    // Limits belong to parts. Only a virtual machine has a size as well: of two nested quotas, the outer one
    // would keep a fault from lifting the inner one.
    for host in &mut hosts {
        host.link = link;
        host.offloads = offloads(planned, plan, &host.name);
        if !platform.has(Ability::Machines) {
            host.limits = Limits::default();
        }
    }
    let of = |planned: &PlannedApplication<'_>| shares_files(&planned.topology);
    let mut shared: Vec<_> = planned.iter().flat_map(|planned| planned.topology.shared.clone()).collect();
    shared.sort();
    shared.dedup();
    SiteSpec {
        id: String::new(),
        folder: folder.to_owned(),
        hosts,
        shared,
        writable: if planned.iter().any(of) { vec![common.to_owned()] } else { Vec::new() },
        options: options(planned, plan),
        disks: planned.iter().flat_map(disks).collect(),
    }
}

/// Offloads of a host: those of the first of its parts whose tier has some.
fn offloads(planned: &[PlannedApplication<'_>], plan: &Plan, host: &str) -> String {
    let of_tier = |tier: &str| plan.deploy.limits_of(tier).map(|limits| limits.offloads);
    let mut all =
        planned::parts(planned).filter(|part| part.host == host).filter_map(|part| of_tier(part.tier));
    all.find(|offloads| !offloads.is_default()).map_or_else(String::new, |offloads| offloads.to_string())
}

/// Whether parts use the shared folder. A virtual machine with a shared folder can be neither moved nor
/// saved.
pub(crate) fn shares_files(topology: &Topology) -> bool {
    let is_shared = |value: &Value| matches!(value, Value::SiteFile(_) | Value::SiteFolder(_));
    let mut values = topology.parts.iter().flat_map(|part| &part.values);
    !topology.files.is_empty() || values.any(|(_, value)| is_shared(value))
}

/// File systems of their own, for parts that serve.
fn disks(planned: &PlannedApplication<'_>) -> Vec<DiskSpec> {
    let parts = planned.topology.parts.iter().filter(|part| matches!(part.work, PartWork::Service(_)));
    let sized = parts.filter_map(|part| Some((part, crate::check::disk_mib(planned.plan, part)?)));
    sized.map(|(part, mib)| DiskSpec { unit: part.name.clone(), bytes: mib << 20 }).collect()
}

/// Settings for single kinds of platforms; the others ignore them.
fn options(planned: &[PlannedApplication<'_>], plan: &Plan) -> Vec<(String, String)> {
    let deploy = &plan.deploy;
    let floating = planned.iter().filter_map(|planned| planned.topology.floating.as_ref());
    let floating: Vec<&str> = floating.map(|floating| floating.name.as_str()).collect();
    let floating = (!floating.is_empty()).then(|| ("virtual-addresses", floating.join(" ")));
    let network = Some(("network", deploy.container_network.clone()));
    let engine = deploy.container_engine.clone().map(|engine| ("engine", engine));
    // Containers refuse unknown options.
    let has_machines = deploy.has(Ability::Machines);
    let accel = has_machines.then(|| ("accel", deploy.vm_accel.clone()));
    let manager = has_machines.then(|| ("manager", deploy.vm_manager.clone()));
    let all = [network, engine, accel, manager, floating].into_iter().flatten();
    let pods = if deploy.has(Ability::Pods) { of_pods(plan, planned) } else { Vec::new() };
    all.chain(pods).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Settings for a cluster.
fn of_pods(plan: &Plan, planned: &[PlannedApplication<'_>]) -> Vec<(&'static str, String)> {
    let cluster = &plan.deploy.cluster;
    let drivers = planned::parts(planned).filter(|part| part.tier == DRIVERS);
    let drivers: Vec<&str> = drivers.map(|part| part.host.as_str()).collect();
    // Drivers are the only group of hosts with nodes of its own.
    let group = Some(drivers.join(",")).filter(|hosts| !hosts.is_empty());
    let access = cluster.access.as_ref().map(|path| path.display().to_string());
    let given = [
        ("kubernetes-access", access),
        ("kubernetes-context", cluster.context.clone()),
        ("kubernetes-namespace", cluster.namespace.clone()),
        ("kubernetes-image", cluster.image.clone()),
        ("kubernetes-files", cluster.sends_files.then(|| "sent".to_owned())),
        ("kubernetes-nodes", cluster.nodes.clone()),
        ("kubernetes-group-nodes", cluster.driver_nodes.clone().filter(|_| group.is_some())),
        ("kubernetes-group-apart", (group.is_some() && cluster.drivers_apart).then(|| "true".to_owned())),
        ("kubernetes-group", group),
        ("kubernetes-storage-class", cluster.storage_class.clone()),
        ("kubernetes-autoscaler", plan.elasticity.follows_platform().then(|| "true".to_owned())),
        ("kubernetes-requests", Some(cluster.requests.to_string())),
        ("kubernetes-pending-s", Some(Duration::from(cluster.pending).as_secs().to_string())),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Creates everything: one application after another, and drivers that are units. On failure, `made` holds
/// what was created so far.
pub(crate) async fn deploy(run: &mut Run<'_>, made: &mut Option<Deployment>) -> Result<(), HarnessError> {
    let loads = run.loads.clone();
    let planned = planned(&loads);
    if planned.is_empty() {
        return Ok(());
    }
    let platform = platform(run.world.platforms, &run.plan)?;
    let services = planned::parts(&planned).filter(|part| matches!(part.work, PartWork::Service(_))).count();
    let about = match services {
        1 => format!("one service on platform {}", platform.name()),
        n => format!("{n} services on platform {}", platform.name()),
    };
    run.phase(Phase::Deploy, &about)?;
    let begun = run.clock.now();
    let (folder, common) = (run.folder(SITE), run.folder(COMMON));
    run.ledger.make_directory(&common)?;
    for each in &planned {
        make_files(&each.common(&common), &each.topology)?;
    }
    let token = make_token(run, &common)?;
    let spec = SiteSpec {
        id: placement::site_id(&run.world.id),
        ..site_spec(&planned, &run.plan, platform, (&folder, &common))
    };
    let (ledger, stop) = (run.ledger.clone(), run.world.stop.clone());
    let facts = match stop.or(platform.preflight(&spec)).await? {
        Ok(facts) => facts,
        Err(mut missing) => return Err(HarnessError::Missing(missing.swap_remove(0))),
    };
    let site = stop.or(platform.open(&spec, &ledger)).await??;
    let opened = run.clock.now() - begun;
    let placing =
        placement::PartPlacement { run: &*run, site: site.as_ref(), folder: &folder, common: &common };
    let (placed, targets) = placing.place(&planned)?;
    let deployed = made.insert(Deployment::new(site, targets, token));
    let mut snapshots = Vec::new();
    for (each, mut parts) in planned.iter().zip(placed) {
        if platform.has(Ability::Machines) {
            // The whole machine runs on these cores of the host; the guest numbers its cores differently.
            parts.iter_mut().for_each(|placed| placed.unit.limits.cpu_set.clear());
        }
        let common = each.common(&common);
        snapshots.push(stored::start_all(run, platform, (each, &common), (deployed, parts)).await?);
        answers(run, each, deployed, begun).await?;
    }
    deployed.put_in_order(&planned);
    let times = (opened, run.clock.now() - begun);
    kept::keep(run, (platform, facts), (deployed, &planned, snapshots), times).await?;
    run.done()
}

/// Waits until an application answers through its front.
async fn answers(
    run: &mut Run<'_>,
    planned: &PlannedApplication<'_>,
    deployed: &Deployment,
    begun: Nanos,
) -> Result<(), HarnessError> {
    let Some((application, load)) = planned.application.zip(planned.load) else { return Ok(()) };
    let (url, limit) = (deployed.url(load), planned.plan.target.start_timeout);
    let stop = run.world.stop.clone();
    stop.or(start::until_front_answers(application, &url, (run.clock.clone(), limit))).await??;
    let mut pids = deployed.services().filter_map(|part| part.running().pid());
    let process = match (pids.next(), pids.next()) {
        (Some(pid), None) => format!(" (process {pid})"),
        _ => String::new(),
    };
    let of = match planned.name() {
        "" => String::new(),
        name => format!(" of load {name}"),
    };
    let took = (run.clock.now() - begun).as_secs_f64();
    run.say(&format!("the application{of} answers at {url} after {took:.1} s{process}"));
    Ok(())
}

/// Writes the files shared by all hosts.
fn make_files(common: &Path, topology: &Topology) -> Result<(), HarnessError> {
    let failed = |path: &Path| {
        let folder = path.to_owned();
        |why| HarnessError::MakeFolder { folder, why }
    };
    std::fs::create_dir_all(common).map_err(failed(common))?;
    for file in &topology.files {
        let path = common.join(file.name);
        let mut options = OpenOptions::new();
        let mut open =
            options.write(true).create_new(true).mode(file.mode).open(&path).map_err(failed(&path))?;
        open.write_all(&file.bytes).map_err(failed(&path))?;
    }
    Ok(())
}

/// Writes the token of drivers that are units; `None` without such drivers.
fn make_token(run: &Run<'_>, common: &Path) -> Result<Option<Token>, HarnessError> {
    if run.plan.driver_units() == 0 {
        return Ok(None);
    }
    let path = common.join(drivers::TOKEN);
    let made = Token::fresh().and_then(|token| token.write(&path).map(|()| token));
    made.map(Some).map_err(|why| HarnessError::MakeFolder { folder: path, why })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use barograph_platform::{BoxFuture, Facts, Fault, Ledger, LedgerError, PlatformKind, Site, SweepResult};

    use super::*;
    use crate::testing::TestWorkload;

    /// A platform that records the limits of the requested hosts and creates nothing.
    #[derive(Default)]
    struct InspectedPlatform {
        abilities: &'static [Ability],
        limits_hosts_as_units: bool,
        asked: Mutex<Vec<Limits>>,
    }

    impl Platform for InspectedPlatform {
        fn kind(&self) -> PlatformKind {
            PlatformKind { name: "looking", abilities: self.abilities }
        }
        fn limits_hosts_as_units(&self) -> bool {
            self.limits_hosts_as_units
        }
        fn preflight<'a>(
            &'a self,
            site: &'a SiteSpec,
        ) -> BoxFuture<'a, Result<Facts, Vec<MissingRequirement>>> {
            let limits = site.hosts.iter().map(|host| host.limits.clone());
            self.asked.lock().unwrap().extend(limits);
            Box::pin(async { Ok(Facts::new()) })
        }
        fn open<'a>(&'a self, _: &'a SiteSpec, _: &'a Ledger) -> BoxFuture<'a, Result<Box<dyn Site>, Fault>> {
            unreachable!("nothing is made")
        }
        fn sweep<'a>(&'a self, _: &'a Ledger) -> BoxFuture<'a, Result<SweepResult, LedgerError>> {
            unreachable!("nothing is left")
        }
    }

    #[tokio::test]
    async fn hosts_are_looked_at_with_limits_only_where_those_mean_something() {
        let plan = barograph_spec::read(barograph_spec::Catalogue::default(), "p", "", &[]).unwrap();
        let workload = TestWorkload::default();
        let mut topology = topology_of(&workload, &plan, None);
        let limits = Limits { cpus: Some(0.5), ..Limits::default() };
        topology.parts[0].limits = limits.clone();
        let application: Option<&dyn barograph_workload::Application> = Some(&workload);
        let planned = [PlannedApplication { load: Some(0), plan: &plan, application, data: None, topology }];
        let machines = InspectedPlatform { abilities: &[Ability::Machines], ..InspectedPlatform::default() };
        let groups = InspectedPlatform { limits_hosts_as_units: true, ..InspectedPlatform::default() };
        let others = InspectedPlatform::default();
        for (platform, wanted) in [(&machines, &limits), (&groups, &limits), (&others, &Limits::default())] {
            missing(&planned, platform).await;
            assert_eq!(*platform.asked.lock().unwrap(), std::slice::from_ref(wanted));
        }
    }
}

//! The deployment in the record.

use barograph_model::Nanos;
use barograph_platform::Platform;
use barograph_record::{Entry, PartRecord, SnapshotRecord, TopologyRecord};
use barograph_services::Service;
use barograph_workload::topology::PartWork;

use super::deployment::{Deployment, StartedPart};
use super::planned::{PlannedApplication, application_of};
use crate::HarnessError;
use crate::run::Run;

/// Records the deployment with every configuration file. Each of several loads that goes to a deployed
/// application also gets the parts of that application in its record.
pub(super) async fn keep(
    run: &mut Run<'_>,
    (platform, facts): (&dyn Platform, Vec<(String, String)>),
    (deployed, planned, snapshots): (&Deployment, &[PlannedApplication<'_>], Vec<Option<SnapshotRecord>>),
    (opened, took): (Nanos, Nanos),
) -> Result<(), HarnessError> {
    let stop = run.world.stop.clone();
    let versions = stop.or(versions(deployed)).await?;
    let mut facts = facts;
    facts.extend(deployed.site().facts());
    facts.extend(deployed.site().network().map_or_else(Vec::new, |network| network.facts()));
    let empty = TopologyRecord {
        platform: platform.name().to_owned(),
        abilities: Some(platform.kind().abilities.iter().map(|ability| ability.name().to_owned()).collect()),
        facts,
        open_s: opened.as_secs_f64(),
        ready_s: took.as_secs_f64(),
        ..TopologyRecord::default()
    };
    let of = |planned: &[&PlannedApplication<'_>], snapshot: Option<SnapshotRecord>| {
        let fronts = planned.iter().flat_map(|planned| planned.topology.front_names().cloned());
        let mut fronts = fronts.collect::<Vec<_>>().into_iter();
        let of_load =
            |started: &StartedPart| planned.iter().find(|planned| planned.load == started.load).copied();
        let parts = deployed.parts().iter().filter_map(|part| Some(kept(part, of_load(part)?, &versions)));
        TopologyRecord {
            front: fronts.next().unwrap_or_default(),
            beside: fronts.collect(),
            parts: parts.collect(),
            snapshot,
            ..empty.clone()
        }
    };
    for started in deployed.parts() {
        keep_files(run, started)?;
    }
    let only = snapshots.iter().flatten().next().filter(|_| snapshots.iter().flatten().count() == 1).cloned();
    let whole = of(&planned.iter().collect::<Vec<_>>(), only);
    run.record.append(&Entry::Topology(Box::new(whole)))?;
    if run.loads.len() == 1 {
        return Ok(());
    }
    for at in 0..run.loads.len() {
        let application = application_of(&run.loads, at);
        let own = planned.iter().zip(&snapshots).find(|(planned, _)| planned.load == application);
        if let Some((own, snapshot)) = own.filter(|_| application.is_some()) {
            let own = of(&[own], snapshot.clone());
            run.record.of_load(at).append(&Entry::Topology(Box::new(own)))?;
        }
    }
    Ok(())
}

/// Returns a part in the form of the record.
fn kept(
    started: &StartedPart,
    planned: &PlannedApplication<'_>,
    versions: &[(&'static Service, String)],
) -> PartRecord {
    let version = match started.work {
        PartWork::Service(service) => {
            let asked = versions.iter().find(|(other, _)| std::ptr::eq(*other, service));
            asked.map(|(_, version)| version.clone()).unwrap_or_default()
        }
        PartWork::Job => String::new(),
    };
    PartRecord {
        name: started.name.clone(),
        load: planned.name().to_owned(),
        tier: started.tier.to_owned(),
        service: started.work.title(),
        version,
        host: started.unit.host.clone(),
        url: started.endpoint.url.clone(),
        node: started.node,
        uses: started.uses.clone(),
        start_s: started.took.as_secs_f64(),
        cpus: started.unit.limits.cpus,
        // Not the cores of the unit: it has none if its whole machine is bound to them.
        cores: planned.plan.deploy.limits_of(started.tier).map_or_else(String::new, |l| l.cores.to_string()),
        memory_bytes: started.unit.limits.memory_bytes,
        disk_bytes_s: started.unit.limits.disk_bytes_s,
    }
}

/// Asks each service for its version; services that report none are left out.
async fn versions(deployed: &Deployment) -> Vec<(&'static Service, String)> {
    let mut once: Vec<&'static Service> = Vec::new();
    for part in deployed.services() {
        if let PartWork::Service(service) = part.work
            && !once.iter().any(|known| std::ptr::eq(*known, service))
        {
            once.push(service);
        }
    }
    let asked = once.into_iter().map(|service| async move {
        let asked = tokio::task::spawn_blocking(move || service.version()).await;
        (service, asked.ok().and_then(Result::ok).unwrap_or_default())
    });
    futures::future::join_all(asked).await.into_iter().collect()
}

/// Records the configuration files of a service.
fn keep_files(run: &Run<'_>, started: &StartedPart) -> Result<(), HarnessError> {
    for file in &started.unit.files {
        // Private keys are not configuration and are left out.
        if file.mode & 0o077 == 0 {
            continue;
        }
        let name = file.path.file_name().unwrap_or_default().to_string_lossy();
        let to = run.record.services_dir().join(format!("{}.{name}", started.name));
        std::fs::write(&to, &file.bytes).map_err(|why| HarnessError::MakeFolder { folder: to, why })?;
    }
    Ok(())
}

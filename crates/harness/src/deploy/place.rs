//! Every part gets its place: address, ports, folder, words, and so becomes a unit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use barograph_platform::{HERE, LinkSpec, Readiness, Site, Unit};
use barograph_record::RunId;
use barograph_services::Place;
use barograph_spec::Link;
use barograph_workload::topology::{self, Endpoint, Part, Topology, Work};
use barograph_workload::{Application, Job};

use crate::HarnessError;
use crate::run::Run;

/// A part that can be started.
pub(super) struct Placed {
    pub(super) part: Part,
    pub(super) unit: Unit,
    pub(super) endpoint: Endpoint,
}

/// The site's short name: runs are named by their time and process, and only letters, digits and `-` are allowed.
pub(super) fn site_id(run: &RunId) -> String {
    let kept: String = run.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let kept = kept.to_ascii_lowercase();
    kept[kept.len().saturating_sub(20)..].to_owned()
}

pub(crate) fn link(link: &Link) -> LinkSpec {
    LinkSpec {
        bits_per_second: (link.mbit > 0).then(|| link.mbit * 1_000_000),
        delay: Duration::from(link.delay),
        loss: link.loss,
    }
}

/// Addresses and ports for all, and with them the units; and where the load goes.
pub(super) fn place(
    run: &Run<'_>,
    application: Option<&dyn Application>,
    topology: &Topology,
    site: &dyn Site,
    (folder, common): (&Path, &Path),
) -> Result<(Vec<Placed>, Vec<SocketAddr>), HarnessError> {
    // The front first: the plan may say its port, which then nobody else may be given.
    let (fronts, others): (Vec<&Part>, Vec<&Part>) =
        topology.parts.iter().partition(|part| topology.fronts.contains(&part.name));
    let all = fronts.into_iter().chain(others);
    let places = all.map(|part| Ok((part.name.clone(), endpoint(run, topology, part, site)?)));
    let mut places: BTreeMap<String, Endpoint> = places.collect::<Result<_, HarnessError>>()?;
    if let Some(floating) = &topology.floating {
        let address = site.address(floating.name);
        let address = address.ok_or_else(|| HarnessError::NoAddress { unit: floating.name.to_owned() })?;
        let first = places.get(&floating.first).cloned();
        let first = first.ok_or_else(|| HarnessError::NoAddress { unit: floating.first.clone() })?;
        places.insert(floating.name.to_owned(), Endpoint { address, ..first });
    }
    let own_program = std::env::current_exe().map_err(HarnessError::OwnProgram)?;
    let mut placed = Vec::new();
    for part in &topology.parts {
        let own = folder.join(&part.host).join(&part.name);
        let words = topology::words(part, &places, common, &own);
        let log = run.record.services_dir().join(format!("{}.log", part.name));
        let log = std::path::absolute(&log).unwrap_or(log);
        let endpoint = places[&part.name].clone();
        let unit = match part.work {
            Work::Job => {
                let job = Job { log, ..run.job("") };
                let unit = application.and_then(|made| made.job_unit(&part.name, &words, &job));
                unit.ok_or_else(|| HarnessError::NoJob { part: part.name.clone() })?
            }
            Work::Service(service) => {
                let place = Place {
                    name: &part.name,
                    host: &part.host,
                    address: endpoint.address,
                    ports: &endpoint.ports,
                    folder: &own,
                    log: &log,
                    flavour: topology.flavour,
                    limits: &part.limits,
                    machine: machine(),
                    values: &words,
                    own_program: &own_program,
                };
                service
                    .unit(&place)
                    .map_err(|why| HarnessError::Service { part: part.name.clone(), why: Box::new(why) })?
            }
        };
        placed.push(Placed { part: part.clone(), unit: patient(unit, run), endpoint });
    }
    let fronts = topology.fronts.iter().map(|name| {
        let found = places.get(name).map(Endpoint::socket);
        found.ok_or_else(|| HarnessError::NoAddress { unit: name.clone() })
    });
    let fronts = fronts.collect::<Result<_, HarnessError>>()?;
    Ok((placed, fronts))
}

/// The plan says how long the application may take to become ready; no service is given less than it asks for.
fn patient(mut unit: Unit, run: &Run<'_>) -> Unit {
    let allowed = Duration::from(run.plan.target.start_timeout);
    match &mut unit.ready {
        Readiness::StdoutLine { timeout } | Readiness::Answers { timeout, .. } => {
            *timeout = allowed.max(*timeout);
        }
        Readiness::Exit { .. } | Readiness::Runs => {}
    }
    unit
}

fn endpoint(
    run: &Run<'_>,
    topology: &Topology,
    part: &Part,
    site: &dyn Site,
) -> Result<Endpoint, HarnessError> {
    let Work::Service(service) = part.work else {
        let address = site.address(HERE).unwrap_or_else(|| std::net::Ipv4Addr::LOCALHOST.into());
        return Ok(Endpoint { address, ports: BTreeMap::new(), url: String::new(), port: 0 });
    };
    let address = site.address(&part.host);
    let address = address.ok_or_else(|| HarnessError::NoAddress { unit: part.name.clone() })?;
    let mut ports = BTreeMap::new();
    for (at, (name, usual)) in service.ports().iter().enumerate() {
        let asked = run.plan.target.port;
        let port = match topology.fronts == [part.name.as_str()] && at == 0 && asked != 0 {
            true => site.take_port(&part.host, asked).map(|()| asked)?,
            false => site.port(&part.host, *usual)?,
        };
        ports.insert(name.clone(), port);
    }
    let port = service.ports().first().and_then(|(name, _)| ports.get(name)).copied().unwrap_or(0);
    Ok(Endpoint { address, url: service.url(address, &ports), ports, port })
}

/// Cores and bytes of memory of this machine.
pub(super) fn machine() -> (usize, u64) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    (cores, memory.map_or(1 << 30, |kib| kib << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_site_is_short_and_plain() {
        let run: RunId = "20301120-184500-0001".parse().unwrap();
        assert_eq!(site_id(&run), "203011201845000001");
    }
}

//! Places of parts: address, ports, folder and words, which make a part a unit.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use barograph_model::Nanos;
use barograph_platform::{HERE, LinkSpec, Readiness, Site, Unit};
use barograph_record::RunId;
use barograph_services::Placement;
use barograph_spec::Link;
use barograph_workload::Job;
use barograph_workload::topology::{self, Endpoint, Part, PartWork};

use super::deployment::url;
use super::planned::PlannedApplication;
use crate::HarnessError;
use crate::run::Run;

/// URL of each load's application, by the index of the load.
pub(super) type Urls = BTreeMap<usize, String>;

/// A part ready to start.
pub(super) struct PlacedPart {
    /// Index of the load that deploys it; `None` for drivers.
    pub(super) load: Option<usize>,
    pub(super) part: Part,
    pub(super) unit: Unit,
    pub(super) endpoint: Endpoint,
}

/// Short name of the site. Run names contain a time and a process; a site allows letters, digits and `-`
/// only.
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

/// Assigns places to the parts of a run.
pub(super) struct PartPlacement<'r, 'w> {
    pub(super) run: &'r Run<'w>,
    pub(super) site: &'r dyn Site,
    /// Folder of the site.
    pub(super) folder: &'r Path,
    /// Folder shared by all hosts.
    pub(super) common: &'r Path,
}

impl PartPlacement<'_, '_> {
    /// Assigns addresses and ports. Returns the units of each deployment and the URL of each load's
    /// application.
    pub(super) fn place(
        &self,
        planned: &[PlannedApplication<'_>],
    ) -> Result<(Vec<Vec<PlacedPart>>, Urls), HarnessError> {
        let places = self.places(planned)?;
        let mut urls = Urls::new();
        for each in planned {
            let fronts = each.topology.fronts.iter().map(|name| {
                // A further port of a front is written PART:PORT.
                let found = match name.split_once(':') {
                    None => places.get(name).map(Endpoint::socket),
                    Some((part, port)) => places.get(part).and_then(|place| place.named_socket(port)),
                };
                found.ok_or_else(|| HarnessError::NoAddress { unit: name.clone() })
            });
            let fronts: Vec<SocketAddr> = fronts.collect::<Result<_, HarnessError>>()?;
            urls.extend(each.load.map(|load| (load, url(each.topology.scheme, &fronts))));
        }
        let parts = planned.iter().map(|each| self.units(each, &places)).collect::<Result<_, _>>()?;
        Ok((parts, urls))
    }

    /// Addresses of all parts and moving addresses, by name.
    fn places(&self, planned: &[PlannedApplication<'_>]) -> Result<BTreeMap<String, Endpoint>, HarnessError> {
        let all = planned.iter().flat_map(|each| each.topology.parts.iter().map(move |part| (each, part)));
        // Fronts first: a plan may name the port of a front, which no other part may get.
        let (fronts, others): (Vec<_>, Vec<_>) =
            all.partition(|(each, part)| each.topology.fronts.contains(&part.name));
        let all = fronts.into_iter().chain(others);
        let places = all.map(|(each, part)| Ok((part.name.clone(), endpoint(each, part, self.site)?)));
        let mut places: BTreeMap<String, Endpoint> = places.collect::<Result<_, HarnessError>>()?;
        for floating in planned.iter().filter_map(|each| each.topology.floating.as_ref()) {
            let no_address = |unit: &String| HarnessError::NoAddress { unit: unit.clone() };
            let address = self.site.address(&floating.name).ok_or_else(|| no_address(&floating.name))?;
            let first = places.get(&floating.first).cloned().ok_or_else(|| no_address(&floating.first))?;
            places.insert(floating.name.clone(), Endpoint { address, ..first });
        }
        Ok(places)
    }

    fn units(
        &self,
        planned: &PlannedApplication<'_>,
        places: &BTreeMap<String, Endpoint>,
    ) -> Result<Vec<PlacedPart>, HarnessError> {
        let own_program = std::env::current_exe().map_err(HarnessError::OwnProgram)?;
        let common = planned.common(self.common);
        let mut placed = Vec::new();
        for part in &planned.topology.parts {
            let own = self.folder.join(&part.host).join(&part.name);
            let words = topology::words(part, places, &common, &own);
            let log = self.run.record.services_dir().join(format!("{}.log", part.name));
            let log = std::path::absolute(&log).unwrap_or(log);
            let endpoint = places[&part.name].clone();
            let unit = match part.work {
                PartWork::Job => {
                    let job = Job { plan: planned.plan, data: planned.data, log };
                    let name = planned.name_within(&part.name);
                    let unit = planned.application.and_then(|made| made.job_unit(name, &words, &job));
                    unit.ok_or_else(|| HarnessError::NoJob { part: part.name.clone() })?
                }
                PartWork::Service(service) => {
                    let place = Placement {
                        name: &part.name,
                        host: &part.host,
                        address: self.site.listen_address(&part.host).unwrap_or(endpoint.address),
                        ports: &endpoint.ports,
                        folder: &own,
                        log: &log,
                        flavour: planned.topology.flavour,
                        limits: &part.limits,
                        machine: machine(),
                        values: &words,
                        own_program: &own_program,
                    };
                    service.unit(&place).map_err(|why| HarnessError::Service {
                        part: part.name.clone(),
                        why: Box::new(why),
                    })?
                }
            };
            let unit = patient(unit, planned.plan.target.start_timeout);
            placed.push(PlacedPart { load: planned.load, part: part.clone(), unit, endpoint });
        }
        Ok(placed)
    }
}

/// Applies the plan's time for the application to become ready; a service never gets less than it asks for.
fn patient(mut unit: Unit, start_timeout: Nanos) -> Unit {
    let allowed = Duration::from(start_timeout);
    match &mut unit.ready {
        Readiness::StdoutLine { timeout } | Readiness::Answers { timeout, .. } => {
            *timeout = allowed.max(*timeout);
        }
        Readiness::Exit { .. } | Readiness::Runs => {}
    }
    unit
}

fn endpoint(
    planned: &PlannedApplication<'_>,
    part: &Part,
    site: &dyn Site,
) -> Result<Endpoint, HarnessError> {
    let PartWork::Service(service) = part.work else {
        let address = site.address(HERE).unwrap_or_else(|| std::net::Ipv4Addr::LOCALHOST.into());
        return Ok(Endpoint { address, ports: BTreeMap::new(), url: String::new(), port: 0 });
    };
    let address = site.address(&part.host);
    let address = address.ok_or_else(|| HarnessError::NoAddress { unit: part.name.clone() })?;
    let mut ports = BTreeMap::new();
    for (at, (name, usual)) in service.ports().iter().enumerate() {
        let asked = planned.plan.target.port;
        let port = match planned.topology.fronts == [part.name.as_str()] && at == 0 && asked != 0 {
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

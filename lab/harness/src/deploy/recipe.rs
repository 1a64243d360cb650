//! Recipe of loaded stores: lines that determine their files. Equal lines mean equal files.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use barograph_platform::Limits;
use barograph_services::{Placement, Service, ServiceError};
use barograph_workload::DataSet;
use barograph_workload::topology::{self, Endpoint, Part, PartWork, StoredData, Topology};

use super::placement::machine;
use crate::snapshots::digest;

/// Version of the format; raised when snapshots are made or used differently.
const FORMAT: u32 = 1;

/// Root of all parts in a recipe: addresses, ports and folders of a run do not affect the files.
const NOWHERE: &str = "/barograph";

/// Lines for the stores of a topology. `folders` is the platform's description of its folders on this
/// machine.
pub(super) fn recipe(
    topology: &Topology,
    stored: &StoredData,
    folders: &str,
    data: &DataSet,
) -> Result<Vec<String>, ServiceError> {
    let mut lines = vec![
        format!("snapshot {FORMAT}, folders as of a {folders}"),
        format!("data {}, loaded in form {}", data.stamp, stored.form),
    ];
    let places = usual_places(topology);
    for part in &topology.parts {
        match part.work {
            PartWork::Job if part.name == stored.job => {
                lines.push(format!("{}: {:?}", part.name, part.values))
            }
            PartWork::Service(service) if stored.services.contains(&part.name) => {
                let unit = unit(topology, part, service, &places)?;
                lines.push(format!("{}: {} {}, {unit}", part.name, service.title(), service.version()?));
            }
            _ => {}
        }
    }
    lines.extend(stored.folders.iter().map(|name| format!("folder {name}")));
    Ok(lines)
}

/// Digest of everything a store is started with: programs, steps, configuration, limits.
fn unit(
    topology: &Topology,
    part: &Part,
    service: &Service,
    places: &BTreeMap<String, Endpoint>,
) -> Result<String, ServiceError> {
    let (folder, nowhere) = (Path::new(NOWHERE).join(&part.name), Path::new(NOWHERE));
    let words = topology::words(part, places, nowhere, &folder);
    let endpoint = &places[&part.name];
    // How fast a disk is changes no file.
    let limits = Limits { disk_bytes_s: None, ..part.limits.clone() };
    let place = Placement {
        name: &part.name,
        host: &part.host,
        address: endpoint.address,
        ports: &endpoint.ports,
        folder: &folder,
        log: nowhere,
        flavour: topology.flavour,
        limits: &limits,
        machine: machine(),
        values: &words,
        own_program: nowhere,
    };
    let unit = service.unit(&place)?;
    Ok(digest(format!("{unit:?}").as_bytes()))
}

fn usual_places(topology: &Topology) -> BTreeMap<String, Endpoint> {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let place = |part: &Part| {
        let PartWork::Service(service) = part.work else { return None };
        let ports: BTreeMap<String, u16> = service.ports().iter().cloned().collect();
        let port = service.ports().first().map_or(0, |(_, port)| *port);
        Some((part.name.clone(), Endpoint { address, url: service.url(address, &ports), ports, port }))
    };
    topology.parts.iter().filter_map(place).collect()
}

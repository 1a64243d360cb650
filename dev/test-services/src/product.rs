//! Services of the product, by their descriptions.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::Duration;

use barograph_platform::{HERE, Limits, MissingRequirement, Readiness, Unit};
use barograph_services::{Flavour, find};

use crate::kept;
use crate::place::ServiceSite;
use crate::service::{Service, ServiceSpec};

/// Address of all services.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Time limit until a service is ready: the limits in descriptions are those of idle machines.
const READY: Duration = Duration::from_secs(600);

/// Connections of databases, for several nodes of an application with a pool each; their defaults are 100 and
/// 151.
const CONNECTIONS: (&str, &str) = ("connections", "200");

/// The service of this name with these values for its `service.toml`.
///
/// # Errors
/// If it is not installed.
///
/// # Panics
/// If there is no such service, a value is unknown, or it does not start.
pub fn product(name: &str, words: &[(&str, &str)]) -> Result<Service, MissingRequirement> {
    let service = find(name).unwrap_or_else(|| panic!("no service is called `{name}`"));
    if let Some(missing) = service.missing() {
        return Err(missing);
    }
    let place = ServiceSite::make();
    let ports: BTreeMap<String, u16> =
        service.ports().iter().map(|(name, _)| (name.clone(), place.port())).collect();
    let values = words.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let (folder, log) = (place.folder(name), place.root().join("log"));
    let mut unit = service
        .unit(&barograph_services::Placement {
            name,
            host: HERE,
            address: ADDRESS,
            ports: &ports,
            folder: &folder,
            log: &log,
            flavour: Flavour::Vanilla,
            limits: &Limits::default(),
            machine: (2, 2 << 30),
            values: &values,
            own_program: Path::new("/no/own/program"),
        })
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Readiness::Answers { timeout, .. } = &mut unit.ready {
        *timeout = READY;
    }
    prepared(service, &mut unit, &place);
    let url = service.url(ADDRESS, &ports);
    Ok(Service::start(place, ServiceSpec { unit, ports, url }))
}

/// Puts the results of the unit's steps in place, from a copy that is made once.
fn prepared(service: &barograph_services::Service, unit: &mut Unit, place: &ServiceSite) {
    let Some(keep) = service.keeps().filter(|_| !unit.prepare.is_empty()) else { return };
    let version = service.version().unwrap_or_else(|error| panic!("{}: {error}", service.name()));
    let made = kept::kept(&format!("{}-{version}", service.name()), |to| {
        let steps = Unit { program: "/bin/true".into(), args: Vec::new(), ..unit.clone() };
        let steps = Unit { ready: Readiness::Exit { timeout: READY }, ..steps };
        place.create(&steps).unwrap_or_else(|why| panic!("{}: {why}", service.name()));
        kept::copy(&unit.workdir.join(keep), to);
    });
    if !unit.workdir.join(keep).exists() {
        kept::copy(&made, &unit.workdir.join(keep));
    }
    unit.prepare.clear();
}

/// PostgreSQL with a superuser `postgres` without a password. Commits are durable.
///
/// # Errors
/// If it is not installed.
pub fn postgres() -> Result<Service, MissingRequirement> {
    // After a kill all files are flushed to the disk first. Those of a copy never were, and one by one that
    // takes 3 s.
    product("postgres", &[CONNECTIONS, ("settings", "recovery_init_sync_method=syncfs")])
}

/// MariaDB with a user and an empty database `auction`. Commits are durable.
///
/// # Errors
/// If it is not installed.
pub fn mariadb() -> Result<Service, MissingRequirement> {
    product("mariadb", &[CONNECTIONS])
}

/// FerretDB, which serves MongoDB's protocol and stores its data in SQLite.
///
/// # Errors
/// If it is not built.
pub fn ferretdb() -> Result<Service, MissingRequirement> {
    product("ferretdb", &[])
}

/// NFS-Ganesha, which serves a folder over NFSv4.
///
/// # Errors
/// If it is not installed.
pub fn ganesha() -> Result<Service, MissingRequirement> {
    product("ganesha", &[])
}

/// RabbitMQ, with user and password `guest`. It takes about 10 s to start.
///
/// # Errors
/// If it is not installed.
pub fn rabbitmq() -> Result<Service, MissingRequirement> {
    product("rabbitmq", &[])
}

/// NATS, with JetStream and its files.
///
/// # Errors
/// If it is not installed.
pub fn nats() -> Result<Service, MissingRequirement> {
    product("nats", &[("jetstream", "on")])
}

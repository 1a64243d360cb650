//! Creation of the hosts of a site.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use barograph_platform::{Fault, HERE, HostSpec, Ledger, MissingRequirement, SiteSpec};
use barograph_platform_process::{HostEntry, Local};
use barograph_virtual_network::RelayProgram;
use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest, SystemInfo, SystemInfoCgroupDriverEnum};
use futures::future::try_join_all;

use crate::container_process::open_process;
use crate::engine::Engine;
use crate::groups::{SiteGroup, failed};
use crate::image::Image;
use crate::limits::Machine;
use crate::mounts::View;
use crate::names;
use crate::options::{Networking, Options};
use crate::own::{OwnEngine, OwnEngineOptions};
use crate::remover::Remover;
use crate::render::Common;
use crate::resources::{Holder, SiteResources};
use crate::site::ContainerSite;

/// Usual addresses of engines.
const USUAL: [&str; 3] =
    ["unix:///var/run/docker.sock", "unix:///run/docker.sock", "unix:///run/podman/podman.sock"];

/// Finds an existing engine: the requested one, or one at a usual address. `None` if there is none at any
/// usual address.
pub(crate) async fn find_engine(options: &Options) -> Result<Option<Engine>, MissingRequirement> {
    if let Some(address) = &options.engine {
        return match Engine::connect(address).await {
            Ok(engine) => Ok(Some(engine)),
            Err(error) => Err(MissingRequirement {
                what: format!("no container engine answers at `{address}` ({error})"),
                hint: "start it, or leave option `engine` (deploy.container_engine) out".to_owned(),
            }),
        };
    }
    for address in USUAL {
        if let Ok(engine) = Engine::connect(address).await {
            return Ok(Some(engine));
        }
    }
    Ok(None)
}

/// Whether an engine accepts paths of control groups, as this platform's own engine does.
pub(crate) fn takes_groups(info: &SystemInfo, options: &Options) -> bool {
    info.cgroup_driver == Some(SystemInfoCgroupDriverEnum::CGROUPFS) && !options.remote
}

/// Creates everything; on failure, or if the future is dropped, nothing of it is left.
pub(crate) async fn open(
    relay: &RelayProgram,
    spec: &SiteSpec,
    ledger: &Ledger,
) -> Result<ContainerSite, Fault> {
    let options = Options::of(spec).map_err(|missing| first(missing, "read the options of the site"))?;
    let local = Local::open(spec, ledger).with_folder()?;
    let mut made = SiteResources::nothing(ledger);
    match build(&mut made, &options, relay, spec).await {
        Ok(built) => Ok(ContainerSite::new(made, built, local, spec)),
        Err(fault) => {
            // The fault is reported; things that stay are in the ledger.
            let _ = made.unmake().await;
            let _ = barograph_platform::Site::close(Box::new(local)).await;
            Err(fault)
        }
    }
}

/// State of a site other than the things that must be removed.
pub(crate) struct SiteParts {
    pub(crate) engine: Engine,
    pub(crate) common: Common,
    /// Address of units on this machine, as seen from containers.
    pub(crate) here: HostEntry,
    pub(crate) hosts: Vec<(String, HostEntry)>,
}

async fn build(
    made: &mut SiteResources,
    options: &Options,
    relay: &RelayProgram,
    spec: &SiteSpec,
) -> Result<SiteParts, Fault> {
    let act = "look for a container engine";
    let found = find_engine(options).await.map_err(failed(act))?;
    let engine = match found {
        Some(engine) => engine,
        None => start_own(made, relay, spec).await?,
    };
    let info = engine.info().await.map_err(failed("ask the container engine what it is"))?;
    let group = group(made, &info, options, spec)?;
    let image = match &options.image {
        Some(name) => Image::given(name),
        None => Image::make(&engine, &spec.id, options.keep_image, &made.ledger).await?,
    };
    let common = Common {
        site: spec.id.clone(),
        image: image.name.clone(),
        given_image: options.image.is_some(),
        networking: options.networking,
        network: names::network(&spec.id),
        view: View::new(options.image.is_none(), &spec.shared, &spec.writable),
        machine: Machine::of(&info),
        group,
        remote: options.remote,
    };
    made.image = Some(image);
    if options.networking == Networking::Bridge {
        make_network(made, &engine, &common, options).await?;
    }
    let holding = spec.hosts.iter().map(|host| hold(made.ledger.clone(), &engine, &common, host));
    made.holders = try_join_all(holding).await?.into_iter().collect();
    addresses(made, options, engine, common).await
}

async fn start_own(made: &mut SiteResources, relay: &RelayProgram, spec: &SiteSpec) -> Result<Engine, Fault> {
    let act = "start a container engine";
    let missing = OwnEngine::lacking();
    if !missing.is_empty() {
        return Err(first(missing, act));
    }
    if spec.folder == Path::new("") {
        return Err(failed(act)("the site has no folder for its files"));
    }
    let wishes = OwnEngineOptions { id: spec.id.clone(), folder: spec.folder.join("engine"), tcp: false };
    let own = OwnEngine::start(&wishes, relay.clone(), &made.ledger).await?;
    let address = own.address();
    made.own = Some(own);
    Engine::connect(&address).await.map_err(failed(act))
}

/// Control group of the site, if the engine accepts one.
fn group(
    made: &mut SiteResources,
    info: &SystemInfo,
    options: &Options,
    spec: &SiteSpec,
) -> Result<Option<String>, Fault> {
    if !takes_groups(info, options) {
        return match spec.hosts.iter().find(|host| !host.limits.is_none()) {
            Some(host) => Err(first(vec![no_host_limits(&host.name)], "limit hosts")),
            None => Ok(None),
        };
    }
    let group = SiteGroup::note(&spec.id, &made.ledger)?;
    let name = group.name().to_owned();
    let limited = group.limit(&spec.hosts);
    made.group = Some(group);
    limited.map(|()| Some(name))
}

/// The missing requirement of a site with limits of hosts.
pub(crate) fn no_host_limits(host: &str) -> MissingRequirement {
    MissingRequirement {
        what: format!("host `{host}` has limits, and this container engine takes no control groups of ours"),
        hint: "limit the units instead, or use an engine of this machine with the driver cgroupfs".to_owned(),
    }
}

async fn make_network(
    made: &mut SiteResources,
    engine: &Engine,
    common: &Common,
    options: &Options,
) -> Result<(), Fault> {
    let own = made.own.as_ref().map(|own| own.subnet().to_owned());
    let subnet = options.subnet.clone().or(own);
    let config = subnet.map(|subnet| vec![IpamConfig { subnet: Some(subnet), ..IpamConfig::default() }]);
    let request = NetworkCreateRequest {
        name: common.network.clone(),
        driver: Some("bridge".to_owned()),
        ipam: config.map(|config| Ipam { config: Some(config), ..Ipam::default() }),
        labels: Some(common.labels()),
        ..NetworkCreateRequest::default()
    };
    made.make_network(engine, request).await
}

/// Creates the holder of one host.
async fn hold(
    ledger: Ledger,
    engine: &Engine,
    common: &Common,
    host: &HostSpec,
) -> Result<(String, Holder), Fault> {
    let act = format!("make host `{}`", host.name);
    let name = names::holder(&common.site, &host.name);
    let note = |source| Fault::Note { unit: host.name.clone(), source };
    let remover = Remover::of_container(engine, &name, &ledger).map_err(note)?;
    let body = common.holder(host);
    let made = remover.make(|engine, name| async move { engine.create(&name, body).await });
    let remover = made.await.map_err(failed(&act))?;
    engine.start(&name).await.map_err(failed(&act))?;
    let found = engine.inspect(&name).await.map_err(failed(&act))?;
    let state = found.state.unwrap_or_default();
    if state.running != Some(true) {
        let text = format!("it ended with code {}", state.exit_code.unwrap_or(-1));
        return Err(failed(&act)(text));
    }
    let pid = state.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|_| !common.remote);
    let networks = found.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
    let own = networks.get(&common.network).and_then(|endpoint| endpoint.ip_address.clone());
    let address = own.and_then(|text| text.parse().ok());
    if common.networking == Networking::Bridge && address.is_none() {
        return Err(failed(&act)("the container engine gave it no address"));
    }
    Ok((host.name.clone(), Holder { remover, address, process: pid.and_then(open_process) }))
}

/// Returns the addresses of all hosts.
async fn addresses(
    made: &SiteResources,
    options: &Options,
    engine: Engine,
    common: Common,
) -> Result<SiteParts, Fault> {
    let bridge = options.networking == Networking::Bridge;
    let far = options.engine.as_deref().and_then(host_of);
    // All hosts on the engine's own network have the engine's address.
    let shared = made.own.as_ref().map(OwnEngine::own_address).or(far);
    let address_of = |holder: &Holder| holder.address.or(shared).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let on = |address| HostEntry { address, prefix: Vec::new(), own_ports: bridge || shared.is_some() };
    let hosts = made.holders.iter().map(|(name, holder)| (name.clone(), on(address_of(holder)))).collect();
    let here = match (&options.here, &made.own) {
        (Some(address), _) => Some(*address),
        (None, Some(own)) => Some(own.leg()),
        // The machine is the gateway of a network that its own engine created.
        (None, None) if bridge && !options.remote => gateway(&engine, &common.network).await?,
        (None, None) => None,
    };
    let here = HostEntry { address: here.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), ..HostEntry::default() };
    Ok(SiteParts { engine, common, here, hosts })
}

async fn gateway(engine: &Engine, network: &str) -> Result<Option<IpAddr>, Fault> {
    let found = engine.inspect_network(network).await.map_err(failed("ask where this machine is"))?;
    let configs = found.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
    Ok(configs.into_iter().find_map(|config| config.gateway?.parse().ok()))
}

/// Returns the machine of an engine that answers over TCP.
fn host_of(address: &str) -> Option<IpAddr> {
    let (host, _) = address.strip_prefix("tcp://")?.rsplit_once(':')?;
    host.trim_matches(['[', ']']).parse().ok()
}

/// A site is refused for the first missing requirement; a preflight reports all of them.
fn first(missing: Vec<MissingRequirement>, act: &str) -> Fault {
    match missing.into_iter().next() {
        Some(missing) => failed(act)(missing),
        None => failed(act)("nobody knows what is missing"),
    }
}

/// Registers the address of this machine's own units with [`Local`].
pub(crate) fn tell(local: Local, built: &SiteParts) -> Local {
    let local = local.with_host(HERE, built.here.clone());
    built.hosts.iter().fold(local, |local, (name, on)| local.with_host(name, on.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_of_an_engine_is_in_its_address() {
        assert_eq!(host_of("tcp://10.1.2.3:2375"), Some("10.1.2.3".parse().unwrap()));
        assert_eq!(host_of("tcp://[fd00::1]:2375"), Some("fd00::1".parse().unwrap()));
        assert_eq!(host_of("unix:///run/docker.sock"), None);
    }
}

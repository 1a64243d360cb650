//! Creation of the hosts of a site: a namespace, and a service for each host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use barograph_platform::{Fault, HERE, Ledger, Site, SiteSpec};
use barograph_platform_process::{HostEntry, Local};
use futures::future::try_join_all;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::{Api, Client};
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use crate::access::{Access, is_gone, refused};
use crate::claims::Claims;
use crate::drained::DrainedNodes;
use crate::mounts::View;
use crate::names;
use crate::nodes::{self, Found};
use crate::objects;
use crate::options::Options;
use crate::removal::{SiteObjects, apply_service, failed};
use crate::site::{HostPorts, KubernetesSite};
use crate::unit_pod::Common;
use crate::watch::PodWatch;

/// Account of pods that name none. A controller makes it a moment after the namespace.
const ACCOUNT: &str = "default";

/// Longest wait for it.
const ACCOUNT_WAIT: Duration = Duration::from_secs(60);

/// Interval between questions for it.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Creates everything; on failure, or if the future is dropped, nothing of it is left.
pub(crate) async fn open(spec: &SiteSpec, ledger: &Ledger) -> Result<KubernetesSite, Fault> {
    let act = "open a site in the cluster";
    let options = Options::of(spec).map_err(|missing| failed(act)(missing[0].clone()))?;
    let access = Access::of(&options);
    let (client, _) = access.connect().await.map_err(failed(act))?;
    let image = match &options.image {
        Some(image) => image.clone(),
        None => machine_image(&client, &options).await?,
    };
    let local = Local::open(&SiteSpec { hosts: Vec::new(), ..spec.clone() }, ledger).with_folder()?;
    let own = options.namespace.is_none();
    let namespace = options.namespace.clone().unwrap_or_else(|| names::namespace(&spec.id));
    let common = Common {
        site: spec.id.clone(),
        image,
        given_image: options.image.is_some(),
        view: if options.sent_files {
            View::default()
        } else {
            View::new(options.image.is_none(), &spec.shared, &spec.writable)
        },
        requests: options.requests,
        nodes: options.nodes.clone(),
        group: options.group.clone(),
        claims: Claims::of(spec, options.storage_class.clone()),
        sent_folders: options.sent_files.then(|| spec.writable.clone()),
    };
    let wanted = own.then(|| objects::namespace(&spec.id, true));
    let place = (spec.id.as_str(), namespace.as_str());
    let objects = match SiteObjects::make(&client, &access, place, wanted, ledger).await {
        Ok(objects) => objects,
        Err(fault) => {
            // The fault is reported; things that stay are in the ledger.
            let _ = Box::new(local).close().await;
            return Err(fault);
        }
    };
    match make_hosts(&client, spec, &namespace).await {
        Ok(hosts) => {
            let here = here(&hosts).await;
            let local = tell(local, here, &hosts);
            let pods = Api::<Pod>::namespaced(client.clone(), &namespace);
            let watch = PodWatch::begin(pods, &spec.id);
            let ports = hosts.into_keys().map(|host| (host, HostPorts::default())).collect();
            Ok(KubernetesSite {
                objects,
                watch,
                local,
                common,
                client,
                namespace,
                pending: options.pending,
                ports: Mutex::new(ports),
                made_pods: AtomicU64::new(0),
                drained: DrainedNodes::default(),
            })
        }
        Err(fault) => {
            // The fault is reported; things that stay are in the ledger.
            let _ = objects.remove().await;
            let _ = Box::new(local).close().await;
            Err(fault)
        }
    }
}

/// Returns an image that all nodes have.
async fn machine_image(client: &Client, options: &Options) -> Result<String, Fault> {
    let act = "find an image on the nodes";
    let nodes = nodes::list_all(client, options).await;
    let Found { of_all: mut nodes, of_group } = nodes.map_err(|error| failed(act)(refused(&error)))?;
    nodes.extend(of_group);
    nodes::common_image(&nodes).ok_or_else(|| failed(act)("they have none in common"))
}

/// Makes the services of all hosts, and returns their addresses.
async fn make_hosts(
    client: &Client,
    spec: &SiteSpec,
    namespace: &str,
) -> Result<BTreeMap<String, IpAddr>, Fault> {
    until_account(client, namespace).await?;
    let making = spec.hosts.iter().filter(|host| host.name != HERE).map(|host| async move {
        let failed = failed(&format!("make host `{}`", host.name));
        let made = apply_service(client, (namespace, &spec.id), &host.name, &BTreeSet::new()).await;
        let made = made.map_err(|error| failed(refused(&error)))?;
        let address = made.spec.and_then(|spec| spec.cluster_ip).and_then(|text| text.parse::<IpAddr>().ok());
        let address = address.ok_or_else(|| failed("the cluster gave it no address".to_owned()))?;
        Ok::<_, Fault>((host.name.clone(), address))
    });
    Ok(try_join_all(making).await?.into_iter().collect())
}

/// Waits until pods can be made in a namespace.
async fn until_account(client: &Client, namespace: &str) -> Result<(), Fault> {
    let act = format!("wait for the account of pods in namespace `{namespace}`");
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), namespace);
    let there = async {
        loop {
            match accounts.get_metadata(ACCOUNT).await {
                Ok(_) => return Ok(()),
                Err(error) if is_gone(&error) => sleep(ASK_EVERY).await,
                Err(error) => return Err(failed(&act)(refused(&error))),
            }
        }
    };
    let late = |_| failed(&act)(format!("there is none after {ACCOUNT_WAIT:?}"));
    timeout(ACCOUNT_WAIT, there).await.map_err(late)?
}

/// Returns the address of this machine on the way to the cluster. Nothing is sent.
async fn here(hosts: &BTreeMap<String, IpAddr>) -> IpAddr {
    let local = IpAddr::from([127, 0, 0, 1]);
    let Some(host) = hosts.values().next() else { return local };
    let any = if host.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let Ok(socket) = UdpSocket::bind(any).await else { return local };
    let connected = socket.connect(SocketAddr::new(*host, 1)).await;
    connected.and_then(|()| socket.local_addr()).map_or(local, |address| address.ip())
}

/// Registers the addresses with [`Local`].
fn tell(local: Local, here: IpAddr, hosts: &BTreeMap<String, IpAddr>) -> Local {
    let local = local.with_host(HERE, HostEntry { address: here, ..HostEntry::default() });
    let on = |address: &IpAddr| HostEntry { address: *address, prefix: Vec::new(), own_ports: true };
    hosts.iter().fold(local, |local, (name, address)| local.with_host(name, on(address)))
}

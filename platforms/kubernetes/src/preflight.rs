//! Checks that a site could be opened, without creating anything.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use barograph_platform::{Facts, HostSpec, Limits, MissingRequirement, SiteSpec};
use barograph_platform_process::Local;
use k8s_openapi::api::core::v1::{Namespace, Service};
use kube::{Api, Client};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::access::{Access, is_gone, refused};
use crate::autoscaler::METRICS;
use crate::names;
use crate::nodes::{self, Found, FreeNode, Room};
use crate::options::{Group, Options};
use crate::rights;

/// Longest wait for an answer through a service.
const ANSWER: Duration = Duration::from_secs(3);

/// Returns all missing requirements, or facts.
pub(crate) async fn look(site: &SiteSpec) -> Result<Facts, Vec<MissingRequirement>> {
    let options = Options::of(site)?;
    let mut missing: Vec<MissingRequirement> = site.hosts.iter().flat_map(of_host).collect();
    let mut facts = vec![fact("platform", "kubernetes")];
    match Local::look(&SiteSpec { hosts: Vec::new(), ..site.clone() }) {
        Ok(more) => facts.extend(more.into_iter().map(|(name, value)| (format!("here {name}"), value))),
        Err(more) => missing.extend(more),
    }
    let access = Access::of(&options);
    match access.connect().await {
        Err(lacks) => missing.push(lacks),
        Ok((client, version)) => {
            facts.push(fact("cluster version", &version));
            match of_cluster(&client, site, &options).await {
                Ok(more) => facts.extend(more),
                Err(more) => missing.extend(more),
            }
        }
    }
    if missing.is_empty() { Ok(facts) } else { Err(missing) }
}

fn fact(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// What pods do not have.
fn of_host(host: &HostSpec) -> Vec<MissingRequirement> {
    let mut missing = Vec::new();
    if !host.link.is_plain() {
        missing.push(MissingRequirement {
            what: format!("host `{}` wants a link of its own, and pods share their node's", host.name),
            hint: "use platform `namespace`, or leave the link out".to_owned(),
        });
    }
    if !host.limits.cpu_set.is_empty() {
        missing.push(MissingRequirement {
            what: format!("host `{}` wants certain cores, and a cluster chooses them itself", host.name),
            hint: "leave deploy.TIER_cores out, or set deploy.TIER_cpus".to_owned(),
        });
    }
    missing
}

/// Asks the cluster for everything that a site needs of it.
async fn of_cluster(
    client: &Client,
    site: &SiteSpec,
    options: &Options,
) -> Result<Facts, Vec<MissingRequirement>> {
    let own = names::namespace(&site.id);
    let namespace = options.namespace.as_deref().unwrap_or(&own);
    let (rights, there, reached, metrics, nodes) = tokio::join!(
        rights::lacking(client, namespace, (site, options)),
        namespace_is_there(client, options),
        reached(client),
        has_metrics(client, options),
        nodes::list_all(client, options)
    );
    let missing = [rights, there, reached, metrics].into_iter().flatten();
    let mut missing: Vec<MissingRequirement> = missing.collect();
    let mut facts = Facts::new();
    match nodes {
        // The right to it is missing, which is said above.
        Err(_) if !missing.is_empty() => {}
        Err(error) => missing.push(MissingRequirement {
            what: format!("the cluster does not say which nodes it has ({})", refused(&error)),
            hint: "look at the cluster".to_owned(),
        }),
        Ok(Found { of_all, of_group }) => {
            missing.extend(of_hosts(&of_all, &of_group, (site, options)));
            let is_new = |node: &&FreeNode| !of_all.iter().any(|known| known.name == node.name);
            let others: Vec<FreeNode> = of_group.iter().filter(is_new).cloned().collect();
            facts.extend(nodes::facts(&[of_all, others].concat()));
        }
    }
    facts.extend(more(options, namespace));
    if !site.disks.is_empty() {
        let class = options.storage_class.as_deref().unwrap_or("that of the cluster");
        let units: Vec<&str> = site.disks.iter().map(|disk| disk.unit.as_str()).collect();
        facts.push(fact("volumes", &format!("of {}, class {class}", units.join(", "))));
    }
    if missing.is_empty() { Ok(facts) } else { Err(missing) }
}

/// Checks that a namespace that was named exists.
async fn namespace_is_there(client: &Client, options: &Options) -> Option<MissingRequirement> {
    let name = options.namespace.as_ref()?;
    let found = Api::<Namespace>::all(client.clone()).get_metadata(name).await;
    // Without the right to look, the first object tells.
    let gone = found.is_err_and(|error| is_gone(&error));
    gone.then(|| MissingRequirement {
        what: format!("the cluster has no namespace `{name}`"),
        hint: "make it, or leave deploy.kubernetes_namespace out for one of the run's own".to_owned(),
    })
}

/// Checks that the cluster has metrics of pods for its autoscaler.
async fn has_metrics(client: &Client, options: &Options) -> Option<MissingRequirement> {
    if !options.autoscaler {
        return None;
    }
    let why = match client.list_api_group_resources(METRICS).await {
        Ok(_) => return None,
        Err(error) if is_gone(&error) => "the API has no such group".to_owned(),
        Err(error) => refused(&error),
    };
    Some(MissingRequirement {
        what: format!("the cluster's autoscaler has no metrics of pods: {METRICS} does not answer ({why})"),
        hint: "install metrics-server in the cluster, or set elasticity.scaler = \"cpu\"".to_owned(),
    })
}

/// Checks that this process reaches addresses of services, by that of the cluster itself.
async fn reached(client: &Client) -> Option<MissingRequirement> {
    // Without the right to look, the first unit tells.
    let service = Api::<Service>::namespaced(client.clone(), "default").get("kubernetes").await.ok()?;
    let spec = service.spec?;
    let port = spec.ports?.first().and_then(|port| u16::try_from(port.port).ok())?;
    let address = SocketAddr::new(spec.cluster_ip?.parse().ok()?, port);
    let reached = timeout(ANSWER, TcpStream::connect(address)).await;
    let why = match reached {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {ANSWER:?}"),
    };
    Some(MissingRequirement {
        what: format!("this process does not reach services of the cluster at {address} ({why})"),
        hint: "run Barograph on a node or in a pod, or where there is a route to the cluster's addresses"
            .to_owned(),
    })
}

/// Checks nodes against what the hosts ask of them: those of the group on its own nodes, if it has some.
fn of_hosts(
    of_all: &[FreeNode],
    of_group: &[FreeNode],
    (site, options): (&SiteSpec, &Options),
) -> Vec<MissingRequirement> {
    let Group { hosts, nodes, apart } = &options.group;
    let is_apart = |host: &&HostSpec| !nodes.is_empty() && hosts.contains(&host.name);
    let (grouped, others): (Vec<_>, Vec<_>) = site.hosts.iter().partition(is_apart);
    let mut missing = of_nodes(of_all, &options.nodes, &others, options);
    let (own, labels) = if grouped.is_empty() { (of_all, &options.nodes) } else { (of_group, nodes) };
    if !grouped.is_empty() {
        missing.extend(of_nodes(own, labels, &grouped, options));
    }
    if *apart && !own.is_empty() && own.len() < hosts.len() {
        missing.push(MissingRequirement {
            what: format!(
                "{} hosts want a node each, and the cluster has {} for them",
                hosts.len(),
                own.len()
            ),
            hint: "ask for fewer, or add nodes".to_owned(),
        });
    }
    missing
}

/// Checks nodes with these labels against what these hosts ask of them.
fn of_nodes(
    nodes: &[FreeNode],
    labels: &BTreeMap<String, String>,
    hosts: &[&HostSpec],
    options: &Options,
) -> Vec<MissingRequirement> {
    if nodes.is_empty() {
        let labels = labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let with = if labels.is_empty() { String::new() } else { format!(" with {}", labels.join(",")) };
        return vec![MissingRequirement {
            what: format!("no node{with} takes pods"),
            hint: "look at `kubectl get nodes`; nodes with taints are left out".to_owned(),
        }];
    }
    let mut missing = Vec::new();
    if options.image.is_none() {
        missing.extend(machine_programs(nodes));
    }
    let asked = |limits: &Limits| Room {
        cpus: limits.cpus.unwrap_or_default() * options.requests,
        memory: limits.memory_bytes.unwrap_or_default() as f64 * options.requests,
    };
    let pods: Vec<(String, Room)> =
        hosts.iter().map(|host| (host.name.clone(), asked(&host.limits))).collect();
    missing.extend(nodes::lacking(nodes, &pods));
    missing
}

/// Checks that pods can run this machine's programs.
fn machine_programs(nodes: &[FreeNode]) -> Option<MissingRequirement> {
    if let Some(other) = nodes.iter().find(|node| !node.is_here) {
        return Some(MissingRequirement {
            what: format!("node {} is another machine, and has not the programs of this one", other.name),
            hint: "name an image with the programs (deploy.kubernetes_image), or nodes of this machine \
                   (deploy.kubernetes_nodes)"
                .to_owned(),
        });
    }
    nodes::common_image(nodes).is_none().then(|| MissingRequirement {
        what: "the nodes have no image in common, in which pods could see this machine's programs".to_owned(),
        hint: "import one, with `ctr --namespace k8s.io images import`; it may be an empty one".to_owned(),
    })
}

fn more(options: &Options, namespace: &str) -> Facts {
    let programs = match &options.image {
        Some(image) => format!("those of image {image}"),
        None => "the machine's own, by read-only mounts".to_owned(),
    };
    let space = match &options.namespace {
        Some(name) => format!("{name}, which was there"),
        None => format!("{namespace}, of the run"),
    };
    let autoscaler = options.autoscaler.then(|| fact("autoscaler", &format!("the cluster's, by {METRICS}")));
    let all = [
        fact("namespace", &space),
        fact("isolation", "a pod for each unit"),
        fact("programs", &programs),
        fact("network", "a service for each host, with an address of the cluster"),
        fact("requests", &format!("{} of the limits", options.requests)),
        fact("logs", "read through the API server; stdout and stderr are one"),
    ];
    all.into_iter().chain(autoscaler).collect()
}

//! Topology of an application: its services and jobs, their hosts, and their needs.

mod builder;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use barograph_platform::{HERE, HostSpec, Limits};
use barograph_record::{PartRecord, TopologyRecord};
use barograph_services::{Flavour, Service};
use barograph_spec::{Cores, DeployPlan, TierLimits};

pub use builder::TopologyBuilder;

/// The whole deployment of an application.
#[derive(Clone, Debug)]
pub struct Topology {
    /// The parts, from the users to the stores.
    pub parts: Vec<Part>,
    /// Parts that receive the load, in the order of their addresses in the URL; or the address that moves
    /// between such parts. `PART:PORT` is a further port of a part, by its name.
    pub fronts: Vec<String>,
    /// An address that moves between hosts.
    pub floating: Option<FloatingAddress>,
    /// Scheme of the URL: `http`, `redis`.
    pub scheme: &'static str,
    /// Folders and files of this machine that hosts must see.
    pub shared: Vec<PathBuf>,
    /// Files for every host, in the site's common folder.
    pub files: Vec<SiteFile>,
    /// Settings of the services.
    pub flavour: Flavour,
    /// Data that a job loads into stores from a data set, if later runs may start with them.
    pub stored: Option<StoredData>,
}

/// Result of a load job: everything in the folders of some services and in some folders of the site.
#[derive(Clone, Debug)]
pub struct StoredData {
    /// Name of the job's part.
    pub job: String,
    /// Parts whose folders hold the data. Parts that need them are created from them.
    pub services: Vec<String>,
    /// Folders of the site, by their names within it. Their files are only ever replaced, never written into.
    pub folders: Vec<&'static str>,
    /// Form of the data in the stores: equal only if the same data set, loaded into the same products, gives
    /// the same result.
    pub form: String,
}

/// An address that moves between hosts, and has a name as parts do.
#[derive(Clone, Debug)]
pub struct FloatingAddress {
    /// Name of the address.
    pub name: String,
    /// Part that has it first, with the ports for clients.
    pub first: String,
}

/// Limits for the parts of a tier from a plan; `None` if the plan does not limit the tier.
#[must_use]
pub fn limits_of(limits: Option<&TierLimits>) -> Limits {
    let Some(limits) = limits else { return Limits::default() };
    Limits {
        cpus: Some(limits.cpus).filter(|cpus| *cpus > 0.0),
        cpu_set: limits.cores.numbers().to_vec(),
        memory_bytes: Some(limits.memory_mib << 20).filter(|bytes| *bytes > 0),
        disk_bytes_s: Some((limits.disk_mb_s * 1e6) as u64).filter(|bytes| *bytes > 0),
    }
}

/// A file for every host.
#[derive(Clone, Debug)]
pub struct SiteFile {
    /// Name for [`Value::SiteFile`].
    pub name: &'static str,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Permission bits.
    pub mode: u32,
}

/// A part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name: its tier and a number.
    pub name: String,
    /// Tier of the part.
    pub tier: &'static str,
    /// Host of the part.
    pub host: String,
    /// Whether it is a process of the application itself, not a service beside it.
    pub node: bool,
    /// Work of the part.
    pub work: PartWork,
    /// Parts that must be ready before it starts.
    pub needs: Vec<String>,
    /// Parts that it connects to, for the diagram.
    pub uses: Vec<String>,
    /// Values for its configuration.
    pub values: Vec<(&'static str, Value)>,
    /// Limits of its resources.
    pub limits: Limits,
}

/// Work of a part.
#[derive(Clone, Copy, Debug)]
pub enum PartWork {
    /// Serves for the whole run.
    Service(&'static Service),
    /// Does one job, given by [`crate::Application::job_unit`], on this machine.
    Job,
}

impl PartWork {
    /// Returns the product's name for users; `job` for a job.
    #[must_use]
    pub fn title(self) -> String {
        match self {
            PartWork::Service(service) => service.title().to_owned(),
            PartWork::Job => "job".to_owned(),
        }
    }
}

/// A value in the configuration of a part.
#[derive(Clone, Debug)]
pub enum Value {
    /// A literal text.
    Text(String),
    /// A path in the folder of the part itself.
    Folder(&'static str),
    /// A path in a folder of the site, as a `file://` URL; every host may write there.
    SiteFolder(&'static str),
    /// The path of a [`SiteFile`].
    SiteFile(&'static str),
    /// A text for each of several parts, with a separator; `{name}`, `{address}`, `{port}`, `{port:NAME}` and
    /// `{url}` in it are those of the part.
    Each {
        /// The parts.
        of: Vec<String>,
        /// The text.
        pattern: &'static str,
        /// Separator.
        between: &'static str,
    },
}

impl Value {
    /// Returns the URL of a part as a value.
    #[must_use]
    pub fn url_of(part: &str) -> Self {
        Value::Each { of: vec![part.to_owned()], pattern: "{url}", between: "" }
    }
}

/// Address of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Address of its host.
    pub address: IpAddr,
    /// Its ports, by name.
    pub ports: BTreeMap<String, u16>,
    /// URL for clients.
    pub url: String,
    /// The port for clients; 0 for a job.
    pub port: u16,
}

impl Endpoint {
    /// Returns address and port for clients.
    #[must_use]
    pub fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }

    /// Returns address and port by the name of the port.
    #[must_use]
    pub fn named_socket(&self, port: &str) -> Option<SocketAddr> {
        self.ports.get(port).map(|port| SocketAddr::new(self.address, *port))
    }
}

impl Topology {
    /// Returns a topology without parts.
    #[must_use]
    pub fn empty() -> Self {
        Topology {
            parts: Vec::new(),
            fronts: Vec::new(),
            floating: None,
            scheme: "http",
            shared: Vec::new(),
            files: Vec::new(),
            flavour: Flavour::Vanilla,
            stored: None,
        }
    }

    /// Returns the names of the fronts, without their further ports.
    pub fn front_names(&self) -> impl Iterator<Item = &String> {
        self.fronts.iter().filter(|front| !front.contains(':'))
    }

    /// Renames everything, for a place beside other topologies: parts become `NAME-PART`, and hosts, unless
    /// shared, `PREFIX-HOST`.
    #[must_use]
    pub fn apart(mut self, name: &str, host_prefix: Option<&str>) -> Self {
        let begin = |with: &str, of: &mut String| *of = format!("{with}-{of}");
        for part in &mut self.parts {
            if let Some(prefix) = host_prefix.filter(|_| part.host != HERE) {
                begin(prefix, &mut part.host);
            }
            let of = part.values.iter_mut().filter_map(|(_, value)| match value {
                Value::Each { of, .. } => Some(of),
                _ => None,
            });
            let named = of.flatten().chain(&mut part.needs).chain(&mut part.uses).chain([&mut part.name]);
            named.for_each(|of| begin(name, of));
        }
        let floating =
            self.floating.iter_mut().flat_map(|floating| [&mut floating.name, &mut floating.first]);
        let stored =
            self.stored.iter_mut().flat_map(|stored| stored.services.iter_mut().chain([&mut stored.job]));
        self.fronts.iter_mut().chain(floating).chain(stored).for_each(|of| begin(name, of));
        self
    }

    /// Takes the programs of services from the folders that the plan names for their tiers.
    #[must_use]
    pub fn with_programs(mut self, deploy: &DeployPlan) -> Self {
        for part in &mut self.parts {
            let folder = deploy.limits_of(part.tier).and_then(|limits| limits.programs.as_deref());
            if let (PartWork::Service(service), Some(folder)) = (part.work, folder) {
                let other = service.with_programs(folder);
                self.shared.extend(other.own_programs());
                part.work = PartWork::Service(other);
            }
        }
        self.shared.sort();
        self.shared.dedup();
        self
    }

    /// Moves all parts to one host, but for those of this machine.
    #[must_use]
    pub fn on(mut self, host: &str) -> Self {
        for part in self.parts.iter_mut().filter(|part| part.host != HERE) {
            host.clone_into(&mut part.host);
        }
        self
    }

    /// Returns the deployment in the form of the record, before it is made; addresses and start times are
    /// unknown.
    #[must_use]
    pub fn outline(&self, platform: &str) -> TopologyRecord {
        let part = |part: &Part| PartRecord {
            name: part.name.clone(),
            tier: part.tier.to_owned(),
            service: part.work.title(),
            host: part.host.clone(),
            node: part.node,
            uses: part.uses.clone(),
            cpus: part.limits.cpus,
            cores: part.limits.cpu_set.iter().copied().collect::<Cores>().to_string(),
            memory_bytes: part.limits.memory_bytes,
            disk_bytes_s: part.limits.disk_bytes_s,
            ..PartRecord::default()
        };
        TopologyRecord {
            platform: platform.to_owned(),
            front: self.front_names().next().cloned().unwrap_or_default(),
            beside: self.front_names().skip(1).cloned().collect(),
            parts: self.parts.iter().map(part).collect(),
            ..TopologyRecord::default()
        }
    }
}

/// Returns every service of the parts once, and each version that the plan names apart.
#[must_use]
pub fn services<'p>(parts: impl Iterator<Item = &'p Part>) -> Vec<&'static Service> {
    let mut all: Vec<&'static Service> = Vec::new();
    for part in parts {
        if let PartWork::Service(service) = part.work
            && !all.iter().any(|known| std::ptr::eq(*known, service))
        {
            all.push(service);
        }
    }
    all
}

/// Returns the hosts of the parts, each once. The limits of a host are the sum of those of its parts.
#[must_use]
pub fn hosts<'p>(parts: &(impl Iterator<Item = &'p Part> + Clone)) -> Vec<HostSpec> {
    let mut hosts: Vec<HostSpec> = Vec::new();
    for part in parts.clone().filter(|part| matches!(part.work, PartWork::Service(_))) {
        if hosts.iter().all(|host| host.name != part.host) {
            hosts.push(HostSpec { name: part.host.clone(), ..HostSpec::default() });
        }
    }
    for host in &mut hosts {
        host.limits = together(parts.clone().filter(|part| part.host == host.name));
    }
    hosts
}

/// Sum of the parts' limits; unlimited if one of them is.
fn together<'p>(parts: impl Iterator<Item = &'p Part> + Clone) -> Limits {
    Limits {
        cpus: parts.clone().map(|part| part.limits.cpus).sum(),
        cpu_set: cores_together(parts.clone()),
        memory_bytes: parts.clone().map(|part| part.limits.memory_bytes).sum(),
        disk_bytes_s: parts.map(|part| part.limits.disk_bytes_s).sum(),
    }
}

/// Cores that any of the parts may run on; all cores if one of them may run on all.
fn cores_together<'p>(parts: impl Iterator<Item = &'p Part> + Clone) -> Vec<usize> {
    if parts.clone().any(|part| part.limits.cpu_set.is_empty()) {
        return Vec::new();
    }
    let all: Cores = parts.flat_map(|part| part.limits.cpu_set.iter().copied()).collect();
    all.numbers().to_vec()
}

/// Fills in the values of a part once all addresses are known. `site_folder` and `folder` are those of the
/// site and of the part.
#[must_use]
pub fn words(
    part: &Part,
    places: &BTreeMap<String, Endpoint>,
    site_folder: &std::path::Path,
    folder: &std::path::Path,
) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        Value::Folder(name) => folder.join(name).display().to_string(),
        Value::SiteFolder(name) => format!("file://{}", site_folder.join(name).display()),
        Value::SiteFile(name) => site_folder.join(name).display().to_string(),
        Value::Each { of, pattern, between } => {
            let of = of.iter().filter_map(|name| Some((name, places.get(name)?)));
            of.map(|(name, place)| of_one(pattern, name, place)).collect::<Vec<_>>().join(between)
        }
    };
    part.values.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect()
}

fn of_one(pattern: &str, name: &str, place: &Endpoint) -> String {
    let address = match place.address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let by_name = |text: String, (name, port): (&String, &u16)| {
        text.replace(&format!("{{port:{name}}}"), &port.to_string())
    };
    place
        .ports
        .iter()
        .fold(pattern.to_owned(), by_name)
        .replace("{name}", name)
        .replace("{address}", &address)
        .replace("{port}", &place.port.to_string())
        .replace("{url}", &place.url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, host: &str, cpus: Option<f64>) -> Part {
        Part {
            name: name.to_owned(),
            tier: "application",
            host: host.to_owned(),
            node: false,
            work: PartWork::Service(&barograph_services::all()[0]),
            needs: vec![],
            uses: vec![],
            values: vec![
                (
                    "upstream",
                    Value::Each {
                        of: vec!["a-1".into(), "a-2".into()],
                        pattern: "server {name} {address}:{port} {port:x};",
                        between: "\n",
                    },
                ),
                ("state", Value::Folder("state")),
                ("pictures", Value::SiteFolder("pictures")),
                ("store", Value::url_of("a-1")),
            ],
            limits: Limits { cpus, ..Limits::default() },
        }
    }

    #[test]
    fn words_name_the_places_of_others() {
        let at = |last: u8, port: u16| Endpoint {
            address: IpAddr::from([10, 0, 0, last]),
            ports: BTreeMap::from([("x".to_owned(), port + 10)]),
            url: format!("postgres://10.0.0.{last}:{port}/x"),
            port,
        };
        let places = BTreeMap::from([("a-1".to_owned(), at(1, 80)), ("a-2".to_owned(), at(2, 81))]);
        let words = words(&part("w-1", "w-1", None), &places, "/s".as_ref(), "/s/w-1".as_ref());
        assert_eq!(words["upstream"], "server a-1 10.0.0.1:80 90;\nserver a-2 10.0.0.2:81 91;");
        assert_eq!(
            (words["state"].as_str(), words["pictures"].as_str()),
            ("/s/w-1/state", "file:///s/pictures")
        );
        assert_eq!(words["store"], "postgres://10.0.0.1:80/x");
    }

    #[test]
    fn a_host_has_what_its_parts_have_together() {
        let hosts = |parts: &[Part]| super::hosts(&parts.iter());
        let of = hosts(&[part("a-1", "one", Some(1.0)), part("b-1", "one", Some(0.5))]);
        assert_eq!((of.len(), of[0].limits.cpus), (1, Some(1.5)));
        let of = hosts(&[part("a-1", "one", Some(1.0)), part("b-1", "one", None)]);
        assert_eq!(of[0].limits.cpus, None);
        let on = |name: &str, cpu_set: &[usize]| Part {
            limits: Limits { cpu_set: cpu_set.to_vec(), ..Limits::default() },
            ..part(name, "one", None)
        };
        let of = hosts(&[on("a-1", &[2, 3]), on("b-1", &[0, 2])]);
        assert_eq!(of[0].limits.cpu_set, [0, 2, 3]);
        let of = hosts(&[on("a-1", &[2, 3]), on("b-1", &[])]);
        assert_eq!(of[0].limits.cpu_set, Vec::<usize>::new(), "one of them may run on all");
    }

    #[test]
    fn a_topology_beside_others_has_names_of_its_own() {
        let mut job = Part { work: PartWork::Job, needs: vec!["a-1".to_owned()], ..part("w-1", HERE, None) };
        job.uses.clone_from(&job.needs);
        let topology = Topology {
            parts: vec![part("a-1", "one", None), job],
            fronts: vec!["front".to_owned()],
            floating: Some(FloatingAddress { name: "front".to_owned(), first: "a-1".to_owned() }),
            stored: Some(StoredData {
                job: "w-1".to_owned(),
                services: vec!["a-1".to_owned()],
                folders: vec![],
                form: String::new(),
            }),
            ..Topology::empty()
        };
        let apart = topology.clone().apart("shop", Some("b"));
        let [store, job] = &apart.parts[..] else { panic!("{apart:?}") };
        assert_eq!((store.name.as_str(), store.host.as_str()), ("shop-a-1", "b-one"));
        assert_eq!((job.name.as_str(), job.host.as_str()), ("shop-w-1", HERE));
        assert_eq!((&job.needs[..], &job.uses[..]), (&["shop-a-1".to_owned()][..], &job.needs[..]));
        let of = store.values.iter().filter_map(|(_, value)| match value {
            Value::Each { of, .. } => Some(of.join(" ")),
            _ => None,
        });
        assert_eq!(of.collect::<Vec<_>>(), ["shop-a-1 shop-a-2", "shop-a-1"]);
        let (floating, stored) = (apart.floating.unwrap(), apart.stored.unwrap());
        assert_eq!((apart.fronts[0].as_str(), floating.name.as_str()), ("shop-front", "shop-front"));
        let ports =
            Topology { fronts: vec!["mail-1".to_owned(), "mail-1:imap".to_owned()], ..Topology::empty() };
        assert_eq!(ports.front_names().collect::<Vec<_>>(), ["mail-1"]);
        assert_eq!(ports.outline("process").beside, [""; 0]);
        assert_eq!((floating.first.as_str(), stored.job.as_str()), ("shop-a-1", "shop-w-1"));
        assert_eq!(stored.services, ["shop-a-1"]);
        assert_eq!(topology.apart("shop", None).parts[0].host, "one", "a host of all");
    }
}

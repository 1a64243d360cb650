//! The parts of the auction application: the plan's `[deploy]` as parts that need and use each other.

use std::path::{Path, PathBuf};

use barograph_auction::MOST_THREADS;
use barograph_platform::{HERE, Limits};
use barograph_services::{Flavour, Service};
use barograph_spec::{Ability, Plan};
use barograph_workload::DataSet;
use barograph_workload::topology::{
    FloatingAddress, Part, PartWork, SiteFile, StoredData, Topology, Value, limits_of,
};

use crate::plan::{AuctionPlan, Parts};
use crate::seam::connections;
use crate::{BidUpdates, profile};

/// Tiers of nodes.
const NODES: [&str; 2] = ["application", "bids"];

/// The common host, if all parts are together.
const TOGETHER: &str = "all-1";

/// The job that loads the filled data into the stores.
pub(super) const LOAD: &str = "load-1";

/// The folder of pictures shared by all nodes, below that of the site.
const PICTURES: &str = "pictures";

/// Memory for thumbnails and previews of a node without a memory limit; otherwise a share of the limit.
const CACHE_MIB: u32 = 512;

/// Default memory of a virtual machine for one service.
const MACHINE_MIB: u64 = 1_024;

/// The address that moves between balancers.
const FRONT: &str = "front";

/// Highest priority of a balancer's host; the highest has the address.
const HIGHEST_PRIORITY: u32 = 250;

/// File of the web servers' certificate, in the folder shared by all hosts.
const CERTIFICATE: &str = "certificate.pem";
/// File of its key, in the same folder.
const KEY: &str = "key.pem";

/// The parts for a plan. With a certificate, clients use TLS to the web tier.
pub(super) fn topology(
    plan: &Plan,
    own: &AuctionPlan,
    data: &DataSet,
    certificate: Option<&Certificate>,
) -> Topology {
    let mut making = TopologyBuilder {
        plan,
        made_of: &own.deploy,
        threads: own.threads,
        room_for: room_for(plan, own, data),
        data_dir: absolute(&data.dir_in(&plan.data.dir)),
        certificate,
        parts: Vec::new(),
        stored: None,
    };
    let nodes = making.nodes();
    let web = making.web(&nodes);
    let balancers = making.balancers(&web, &nodes);
    let floating = making.virtual_address(&balancers);
    let fronts = match &floating {
        Some(floating) => vec![floating.name.clone()],
        None if !balancers.is_empty() => balancers,
        None => web.into_iter().chain(nodes).take(1).collect(),
    };
    making.parts.sort_by_key(|part| order(part.tier));
    let shared = making.shared();
    Topology {
        parts: making.parts,
        fronts,
        floating,
        scheme: if certificate.is_some() { "https" } else { "http" },
        shared,
        files: certificate.map_or_else(Vec::new, Certificate::files),
        flavour: if plan.deploy.flavour == "vanilla" { Flavour::Vanilla } else { Flavour::Tuned },
        stored: making.stored,
    }
}

/// Threads of a node: the plan's number, or the number of cores it may use; 0 stands for the whole machine.
fn threads(plan: &Plan, asked: usize, tier: &str) -> usize {
    let cpus = plan.deploy.limits_of(tier).map_or(0.0, |limits| limits.cpus);
    match asked {
        0 => cpus.ceil() as usize,
        threads => threads,
    }
}

/// Tables of open files over which connections are spread: one for each thread of a node that is alone.
pub(super) fn tables(plan: &Plan, own: &AuctionPlan) -> usize {
    let parts = &own.deploy;
    if !parts.is_embedded() || parts.web_nodes + parts.balancer_nodes > 0 {
        return 1;
    }
    match threads(plan, own.threads, NODES[0]) {
        0 => MOST_THREADS,
        given => given,
    }
}

/// Connections of all users, if they determine the number of tables.
fn room_for(plan: &Plan, own: &AuctionPlan, data: &DataSet) -> u64 {
    if threads(plan, own.threads, NODES[0]) > 0 || tables(plan, own) == 1 {
        return 0;
    }
    // Several loads may share the application.
    let users = if plan.scale.is_some() { data.max_users } else { plan.most_users() };
    let news = profile::news(&plan.profile).unwrap_or(BidUpdates::Polled);
    connections(users, plan.driver.connections, news)
}

/// Rank of a tier, from the users to the stores.
fn order(tier: &str) -> usize {
    let tiers =
        ["address", "balancer", "web", "application", "bids", "bus", "relational", "events", "files", "load"];
    tiers.iter().position(|known| *known == tier).unwrap_or(tiers.len())
}

/// A certificate for the web tier, made for one run and trusted by clients as its own authority.
pub(super) struct Certificate {
    /// The certificate, as PEM.
    pub(super) pem: String,
    key: String,
}

impl Certificate {
    /// Its subject, independent of the web tier's address.
    pub(super) const NAME: &str = "auction.barograph.test";

    /// Makes a certificate.
    pub(super) fn new() -> Result<Self, rcgen::Error> {
        let made = rcgen::generate_simple_self_signed([Certificate::NAME.to_owned()])?;
        Ok(Certificate { pem: made.cert.pem(), key: made.signing_key.serialize_pem() })
    }

    fn files(&self) -> Vec<SiteFile> {
        let file = |name, text: &String, mode| SiteFile { name, bytes: text.clone().into_bytes(), mode };
        vec![file(CERTIFICATE, &self.pem, 0o644), file(KEY, &self.key, 0o600)]
    }
}

struct TopologyBuilder<'p> {
    plan: &'p Plan,
    made_of: &'p Parts,
    threads: usize,
    /// Connections that a node must have room for; 0 leaves its threads unchanged.
    room_for: u64,
    data_dir: PathBuf,
    certificate: Option<&'p Certificate>,
    parts: Vec<Part>,
    stored: Option<StoredData>,
}

impl TopologyBuilder<'_> {
    /// Adds the application and its stores. Returns the names of its nodes, bid nodes last.
    fn nodes(&mut self) -> Vec<String> {
        let stores = self.stores();
        let bus: Vec<String> = (1..=self.made_of.bus_nodes)
            .map(|number| self.add("bus", number, self.made_of.bus, vec![]))
            .collect();
        let mut all = Vec::new();
        for (tier, count) in NODES.into_iter().zip([self.made_of.application_nodes, self.made_of.bid_nodes]) {
            for number in 1..=count {
                let name = self.add(tier, number, "auction", self.node_values(tier, number, &stores, &bus));
                let part = self.parts.last_mut().expect("it was added just now");
                part.uses = stores.parts().chain(&bus).cloned().collect();
                part.uses.dedup();
                part.needs = stores.load.iter().chain(&bus).cloned().collect();
                all.push(name);
            }
        }
        all
    }

    fn node_values(
        &self,
        tier: &str,
        number: u32,
        stores: &Stores,
        bus: &[String],
    ) -> Vec<(&'static str, Value)> {
        let text = |text: String| Value::Text(text);
        let mut values = vec![
            ("node", text(format!("{tier}-{number}"))),
            // It ends with this program, even if this is killed.
            ("supervised", text("yes".to_owned())),
        ];
        if !stores.have_pictures() {
            values.push(("data", text(self.data_dir.display().to_string())));
        }
        let threads = threads(self.plan, self.threads, tier);
        if threads > 0 {
            values.push(("threads", text(threads.to_string())));
        }
        if self.room_for > 0 {
            values.push(("room_for", text(self.room_for.to_string())));
        }
        if self.plan.deploy.limits_of(tier).is_none_or(|limits| limits.memory_mib == 0) {
            values.push(("cache_mib", text(CACHE_MIB.to_string())));
        }
        if self.made_of.bid_nodes > 0 {
            values.push(("role", text(tier.to_owned())));
        }
        values.extend(stores.values());
        if !bus.is_empty() {
            values.push(("bus", urls_of(bus)));
        }
        values
    }

    /// Adds the servers of the data; none for the embedded form.
    fn stores(&mut self) -> Stores {
        if self.made_of.is_embedded() {
            return Stores::default();
        }
        let relational = vec![self.relational()];
        let events = match self.made_of.events {
            "same" => relational.clone(),
            name => {
                let values = if name == "postgres" { self.durability() } else { vec![] };
                (1..=self.made_of.event_nodes)
                    .map(|number| self.add("events", number, name, values.clone()))
                    .collect()
            }
        };
        let mut urls = vec![("relational", relational), ("events", events.clone())];
        let pictures = match self.made_of.images {
            "events" => Some(events),
            "nfs" => Some(vec![self.add("files", 1, "ganesha", vec![])]),
            _ => None,
        };
        let in_files = pictures.is_none();
        urls.extend(pictures.map(|parts| ("images", parts)));
        let nodes = self.made_of.nodes();
        let mut stores = Stores { urls, shared_pictures: nodes > 1 && in_files, load: None };
        let mut values = stores.values();
        values.push(("data", Value::Text(self.data_dir.display().to_string())));
        let mut needs: Vec<String> = stores.parts().cloned().collect();
        needs
            .extend(self.parts.iter().filter(|part| part.tier == "relational").map(|part| part.name.clone()));
        needs.sort();
        needs.dedup();
        self.parts.push(Part {
            name: LOAD.to_owned(),
            tier: "load",
            host: HERE.to_owned(),
            node: false,
            work: PartWork::Job,
            uses: needs.clone(),
            needs,
            values,
            limits: Limits::default(),
        });
        stores.load = Some(LOAD.to_owned());
        self.stored = self.kept(&stores);
        stores
    }

    /// Durability settings of every PostgreSQL.
    fn durability(&self) -> Vec<(&'static str, Value)> {
        match self.made_of.sql_durability {
            "off" => vec![("not_durable", Value::Text("yes".to_owned()))],
            _ => vec![],
        }
    }

    /// The loaded stores that can be kept as snapshots; `None` if one of the products has no known data
    /// folder.
    fn kept(&self, stores: &Stores) -> Option<StoredData> {
        let mut services: Vec<String> = stores.parts().cloned().collect();
        services.sort();
        services.dedup();
        let keeps = |name: &String| {
            self.parts.iter().any(|part| match part.work {
                PartWork::Service(service) => part.name == *name && service.keeps().is_some(),
                PartWork::Job => false,
            })
        };
        let folders = if stores.shared_pictures { vec![PICTURES] } else { Vec::new() };
        let form = barograph_auction::load::form();
        services.iter().all(keeps).then(|| StoredData { job: LOAD.to_owned(), services, folders, form })
    }

    /// Adds the relational store, with its standby if the plan requests one. Returns the name of the first
    /// server.
    fn relational(&mut self) -> String {
        let kind = self.made_of.relational;
        if !self.made_of.standby {
            return self.add("relational", 1, kind, self.durability());
        }
        let standby = "relational-2";
        let mut values = self.durability();
        values.push(("standby", of_one(standby, "{name}")));
        let first = self.add("relational", 1, kind, values);
        let mut values = self.durability();
        values.push(("primary", of_one(&first, "{address}:{port}")));
        self.add("relational", 2, kind, values);
        let second = self.parts.last_mut().expect("it was added just now");
        second.needs = vec![first.clone()];
        second.uses = vec![first.clone()];
        first
    }

    /// Web servers in front of the nodes.
    fn web(&mut self, nodes: &[String]) -> Vec<String> {
        if self.made_of.web == "none" {
            return Vec::new();
        }
        let service = self.made_of.web;
        let (application, bids): (Vec<String>, Vec<String>) =
            nodes.iter().cloned().partition(|name| name.starts_with("application"));
        let mut values = vec![("servers", addresses(&application))];
        if !bids.is_empty() {
            values.push(("bid_servers", addresses(&bids)));
        }
        if self.certificate.is_some() {
            values.push(("tls_certificate", Value::SiteFile(CERTIFICATE)));
            values.push(("tls_key", Value::SiteFile(KEY)));
        }
        (1..=self.made_of.web_nodes)
            .map(|number| {
                let name = self.add("web", number, service, values.clone());
                self.parts.last_mut().expect("it was added just now").uses = nodes.to_vec();
                name
            })
            .collect()
    }

    /// Adds balancers in front of the web servers, or of the nodes if there are none.
    fn balancers(&mut self, web: &[String], nodes: &[String]) -> Vec<String> {
        let behind = if web.is_empty() { nodes } else { web };
        (1..=self.made_of.balancer_nodes)
            .map(|number| {
                let mut values = vec![("servers", addresses(behind))];
                if self.made_of.tls {
                    // The web servers end TLS; here connections pass unchanged.
                    values.push(("mode", Value::Text("tcp".to_owned())));
                    values.push(("check", Value::Text("connect".to_owned())));
                }
                if self.made_of.virtual_addresses > 0 {
                    values.push(("bind", of_one(FRONT, "{address}")));
                }
                let name = self.add("balancer", number, "haproxy", values);
                self.parts.last_mut().expect("it was added just now").uses = behind.to_vec();
                name
            })
            .collect()
    }

    /// Adds Keepalived on each balancer's host, which takes the address over when the other one disappears.
    fn virtual_address(&mut self, balancers: &[String]) -> Option<FloatingAddress> {
        let first = balancers.first().filter(|_| self.made_of.virtual_addresses > 0)?.clone();
        for (number, balancer) in (1..).zip(balancers) {
            let others: Vec<String> = balancers.iter().filter(|other| *other != balancer).cloned().collect();
            let values = vec![
                ("virtual_address", of_one(FRONT, "{address}/24")),
                ("watch", of_one(balancer, "{address}:{port}")),
                ("priority", Value::Text((HIGHEST_PRIORITY - number).to_string())),
                ("peers", Value::Each { of: others, pattern: "{address}", between: " " }),
            ];
            self.add("address", number, "keepalived", values);
            let part = self.parts.last_mut().expect("it was added just now");
            part.host = host_of("balancer", number);
            part.needs = vec![balancer.clone()];
            part.uses = vec![balancer.clone()];
        }
        Some(FloatingAddress { name: FRONT.to_owned(), first })
    }

    /// Adds a part on a host of its own, or on the common one.
    fn add(
        &mut self,
        tier: &'static str,
        number: u32,
        service: &str,
        values: Vec<(&'static str, Value)>,
    ) -> String {
        let name = format!("{tier}-{number}");
        let mut limits = limits_of(self.plan.deploy.limits_of(tier));
        // A separate machine has a known size, for which services are tuned.
        if self.plan.deploy.has(Ability::Machines) {
            limits.memory_bytes.get_or_insert(MACHINE_MIB << 20);
        }
        self.parts.push(Part {
            name: name.clone(),
            tier,
            host: if self.plan.deploy.hosts == "together" {
                TOGETHER.to_owned()
            } else {
                host_of(tier, number)
            },
            node: NODES.contains(&tier),
            work: PartWork::Service(service_of(service)),
            needs: vec![],
            uses: vec![],
            values,
            limits,
        });
        name
    }

    /// Folders of this machine that hosts must see: the data, and programs in unusual places.
    fn shared(&self) -> Vec<PathBuf> {
        // Files and not their folders: shared ones may be copied.
        let own = std::env::current_exe().ok();
        let programs = self.parts.iter().flat_map(|part| match part.work {
            PartWork::Service(service) => service.own_programs(),
            PartWork::Job => Vec::new(),
        });
        let mut all: Vec<PathBuf> = [self.data_dir.clone()].into_iter().chain(own).chain(programs).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// Name of the host of a part alone on it; platforms allow 12 characters.
fn host_of(tier: &str, number: u32) -> String {
    let short = match tier {
        "balancer" => "lb",
        "application" => "app",
        "bids" => "bid",
        "relational" => "db",
        "events" => "doc",
        other => other,
    };
    format!("{short}-{number}")
}

/// Addresses of the parts, as `ADDRESS:PORT` separated by spaces.
fn addresses(parts: &[String]) -> Value {
    Value::Each { of: parts.to_vec(), pattern: "{name}={address}:{port}", between: " " }
}

/// URLs of the parts, separated by spaces.
fn urls_of(parts: &[String]) -> Value {
    Value::Each { of: parts.to_vec(), pattern: "{url}", between: " " }
}

/// A value derived from one part.
fn of_one(part: &str, pattern: &'static str) -> Value {
    Value::Each { of: vec![part.to_owned()], pattern, between: "" }
}

/// A service named in a plan: plans and services use the same names.
fn service_of(name: &str) -> &'static Service {
    barograph_services::find(name).expect("every word of the plan is a service, as a test holds")
}

/// Servers that hold data.
#[derive(Default)]
struct Stores {
    /// Option of the application and names of the parts.
    urls: Vec<(&'static str, Vec<String>)>,
    /// Whether pictures are in a folder shared by all nodes.
    shared_pictures: bool,
    /// The job that loads them.
    load: Option<String>,
}

impl Stores {
    /// Names of all parts; one may occur several times.
    fn parts(&self) -> impl Iterator<Item = &String> {
        self.urls.iter().flat_map(|(_, parts)| parts)
    }

    /// Whether pictures are elsewhere than in the folder of the data.
    fn have_pictures(&self) -> bool {
        self.shared_pictures || self.urls.iter().any(|(option, _)| *option == "images")
    }

    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut all: Vec<(&'static str, Value)> =
            self.urls.iter().map(|(option, parts)| (*option, urls_of(parts))).collect();
        if self.shared_pictures {
            all.push(("images", Value::SiteFolder(PICTURES)));
        }
        all
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

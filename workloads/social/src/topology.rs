//! The parts that a run deploys: the site with its geocoder, and what stands before and behind it.

use barograph_social::FilePlace;
use barograph_spec::Plan;
use barograph_workload::topology::{Topology, TopologyBuilder, Value};

use crate::plan::SocialPlan;

/// The tier of the service in front of the nodes.
pub(crate) const FRONT: &str = "front";

/// The tier of the site's nodes.
pub(crate) const SITE: &str = "site";

/// The tier of the geocoder.
pub(crate) const GEOCODER: &str = "geocoder";

/// The tier of the cache of rows.
pub(crate) const CACHE: &str = "cache";

/// The tier of the database server.
pub(crate) const DATABASE: &str = "database";

/// All tiers, from the users on.
pub(crate) const TIERS: [&str; 5] = [FRONT, SITE, GEOCODER, CACHE, DATABASE];

/// The folder of pictures and documents that several nodes share.
const FILES: &str = "pictures";

/// Beginnings of the paths of files, which never change under their names.
const FILE_PATHS: &str = "/static/|/files/";

/// Sessions of a database server beside those of nodes.
const FURTHER_SESSIONS: u32 = 20;

/// The parts of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    /// The database: `sqlite`, or a service.
    pub(crate) database: &'static str,
    /// The cache of rows; `none` for none.
    pub(crate) cache: &'static str,
    /// The service in front of the nodes; `none` for none.
    pub(crate) front: &'static str,
    /// Nodes of the site.
    pub(crate) nodes: u32,
    /// Sessions of each node at the database server.
    pub(crate) sessions: u32,
    /// Disk of the front for static files, pictures and documents; 0 to pass all requests on.
    pub(crate) front_cache_mib: u64,
    /// Commits of the database server wait for the disk.
    pub(crate) is_durable: bool,
    /// URL of the bucket of pictures and documents; `None` for a folder.
    pub(crate) bucket: Option<String>,
}

impl Parts {
    /// Whether rows are in a database server.
    pub(crate) fn has_server(&self) -> bool {
        self.database != "sqlite"
    }

    /// The parts in words.
    pub(crate) fn explain(&self) -> String {
        let Parts { database, cache, front, nodes, is_durable, .. } = *self;
        let bucket = self.bucket.as_ref().and_then(|url| FilePlace::Bucket(url.clone()).title().ok());
        if !self.has_server() && cache == "none" && front == "none" && bucket.is_none() {
            return "the site of this program on a SQLite file, with its geocoder".to_owned();
        }
        let site = match nodes {
            1 => "the site of this program".to_owned(),
            nodes => format!("{nodes} nodes of the site of this program"),
        };
        let rows = match (self.has_server(), is_durable) {
            (false, _) => "a SQLite file".to_owned(),
            (true, true) => database.to_owned(),
            (true, false) => format!("{database} whose commits wait for no disk"),
        };
        let files = bucket.as_deref().unwrap_or("none");
        let all = [front, &site, cache, &rows, files].into_iter().filter(|part| *part != "none");
        let mut all: Vec<String> = all.map(str::to_owned).collect();
        all.push("the geocoder".to_owned());
        let last = all.pop().unwrap_or_default();
        format!("{}, and {last}", all.join(", "))
    }
}

/// The parts for a plan.
pub(crate) fn topology(plan: &Plan) -> Topology {
    let deploy = &SocialPlan::of(plan).deploy;
    let text = |text: &str| Value::Text(text.to_owned());
    let mut making = TopologyBuilder::new(plan);
    // They end with this program, even if this is killed.
    let supervised = ("supervised", text("yes"));
    let geocoder = making.add((GEOCODER, 1), "geocoder", vec![supervised.clone()], &[]);
    let at = Value::Each { of: vec![geocoder.clone()], pattern: "{address}:{port}", between: "" };
    let (mut behind, mut values) = (vec![geocoder], vec![supervised, ("geocoder", at)]);
    if deploy.cache != "none" {
        let words = if deploy.cache == "redis" { vec![("cache", text("yes"))] } else { Vec::new() };
        let cache = making.add((CACHE, 1), deploy.cache, words, &[]);
        values.push(("cache", Value::url_of(&cache)));
        behind.push(cache);
    }
    if deploy.has_server() {
        let sessions = deploy.nodes * deploy.sessions + FURTHER_SESSIONS;
        let mut words = vec![("connections", text(&sessions.to_string()))];
        if !deploy.is_durable {
            words.push(("not_durable", text("yes")));
        }
        let database = making.add((DATABASE, 1), deploy.database, words, &[]);
        values.extend([
            ("database", Value::url_of(&database)),
            ("sessions", text(&deploy.sessions.to_string())),
        ]);
        behind.push(database);
    }
    match &deploy.bucket {
        Some(url) => values.push(("files", text(url))),
        None if deploy.nodes > 1 => values.push(("files", Value::SiteFolder(FILES))),
        None => {}
    }
    let mut fronts: Vec<String> = (1..=deploy.nodes)
        .map(|number| making.add((SITE, number), "social", values.clone(), &behind))
        .collect();
    if deploy.front != "none" {
        let servers = Value::Each { of: fronts.clone(), pattern: "{name}={address}:{port}", between: " " };
        let mib = deploy.front_cache_mib.to_string();
        let words = vec![("servers", servers), ("cached", text(FILE_PATHS)), ("image_cache_mib", text(&mib))];
        fronts = vec![making.add((FRONT, 1), deploy.front, words, &fronts)];
    }
    let mut topology = making.finish(&TIERS, ("http", fronts));
    topology.parts.iter_mut().for_each(|part| part.node = part.tier == SITE);
    topology.shared.extend(std::env::current_exe());
    topology.shared.sort();
    topology.shared.dedup();
    topology
}

#[cfg(test)]
mod tests {
    use barograph_spec::Catalogue;

    use super::*;
    use crate::Social;

    fn of_plan(sets: &[&str]) -> Topology {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let plan =
            barograph_spec::read(Catalogue::of(&[&Social]), "a plan", "workload = \"social\"\n", &sets);
        topology(&plan.unwrap_or_else(|why| panic!("{why}")))
    }

    /// Names of the parts with those that they use.
    fn parts(topology: &Topology) -> Vec<String> {
        topology.parts.iter().map(|part| format!("{} > {}", part.name, part.uses.join(" "))).collect()
    }

    fn words(topology: &Topology, part: &str) -> Vec<&'static str> {
        let part = topology.parts.iter().find(|known| known.name == part).unwrap();
        part.values.iter().map(|(word, _)| *word).collect()
    }

    #[test]
    fn the_site_asks_its_geocoder() {
        let topology = of_plan(&[]);
        assert_eq!(parts(&topology), ["site-1 > geocoder-1", "geocoder-1 > "]);
        assert_eq!(topology.fronts, ["site-1"]);
        assert_eq!(words(&topology, "site-1"), ["supervised", "geocoder"]);
    }

    #[test]
    fn nodes_share_their_files_and_all_that_is_behind() {
        for (database, cache) in [("postgres", "memcached"), ("mariadb", "redis")] {
            let sets = [format!("deploy.database={database}"), format!("deploy.cache={cache}")];
            let topology = of_plan(&[&sets[0], &sets[1], "deploy.front=nginx", "deploy.site_nodes=2"]);
            let behind = "geocoder-1 cache-1 database-1";
            let (one, two) = (format!("site-1 > {behind}"), format!("site-2 > {behind}"));
            let expected =
                ["front-1 > site-1 site-2", &one, &two, "geocoder-1 > ", "cache-1 > ", "database-1 > "];
            assert_eq!(parts(&topology), expected);
            assert_eq!(topology.fronts, ["front-1"]);
            let of_site = ["supervised", "geocoder", "cache", "database", "sessions", "files"];
            assert_eq!(words(&topology, "site-2"), of_site);
            assert_eq!(words(&topology, "front-1"), ["servers", "cached", "image_cache_mib"]);
        }
        let one = of_plan(&["deploy.database=postgres", "social.durability=off"]);
        assert_eq!(words(&one, "site-1"), ["supervised", "geocoder", "database", "sessions"]);
        assert_eq!(words(&one, "database-1"), ["connections", "not_durable"]);
        let url = "s3://pictures?endpoint=http://h:9000";
        let bucket = of_plan(&[&format!("deploy.files={url}")]);
        assert_eq!(words(&bucket, "site-1"), ["supervised", "geocoder", "files"]);
        assert!(matches!(&bucket.parts[0].values[2].1, Value::Text(text) if text == url));
    }
}

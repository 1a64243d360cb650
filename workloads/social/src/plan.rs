//! The keys of the workload in plans: `[social]`.

use std::sync::Arc;

use barograph_model::words::{count, figure, listed};
use barograph_model::{MeasureSpec, Nanos};
use barograph_social::{FileKind, FilePlace, FillOrder};
use barograph_spec::{Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::ask;
use crate::measures::MEASURES;
use crate::operation::{Operation, stationary};
use crate::rules;
use crate::seam::{NAME, Social};
use crate::topology::{CACHE, DATABASE, FRONT, Parts, TIERS};

/// Settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SocialPlan {
    /// Concurrent users that the data are for.
    pub(crate) users: u32,
    /// People for each of them.
    pub(crate) people_each: u32,
    /// Factor on the sizes of pictures and documents.
    pub(crate) file_scale: f64,
    /// Mean time from start to start of a user, before the cut.
    pub(crate) cycle: Nanos,
    /// The parts that a run deploys.
    pub(crate) deploy: Parts,
}

/// The value of `deploy.files` for a folder.
const FOLDER: &str = "folder";

/// Nodes of the site at the most.
const MOST_NODES: u64 = 32;

impl SocialPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// The fill of the site.
    pub(crate) fn order(&self, seed: u64) -> FillOrder {
        let SocialPlan { users, people_each, file_scale, .. } = *self;
        FillOrder { users, people_each, seed, file_scale }
    }

    /// Bytes of all pictures and documents.
    pub(crate) fn file_bytes(&self) -> u64 {
        let size = self.order(0).size();
        let of =
            |kinds: &[FileKind]| kinds.iter().map(|kind| kind.bytes(self.file_scale) as u64).sum::<u64>();
        size.people * of(&FileKind::OF_PERSON) + size.events * of(&FileKind::OF_EVENT)
    }
}

/// Reads the keys of the parts; `None` if one is refused.
fn parts(g: &mut SettingsReader) -> Option<Parts> {
    let database = g.choice("deploy.database", &["sqlite", "postgres", "mariadb"], "sqlite");
    let cache = g.choice("deploy.cache", &["none", "memcached", "redis"], "none");
    let front = g.choice("deploy.front", &["none", "nginx"], "none");
    let is_server = database.is_some_and(|database| database != "sqlite");
    for key in ["deploy.site_sessions", "social.durability"] {
        g.only_with(key, is_server, "a server as deploy.database");
    }
    g.only_with("deploy.front_cache_mib", front == Some("nginx"), "deploy.front = \"nginx\"");
    let nodes = g.number("deploy.site_nodes", 1..=MOST_NODES, 1);
    let sessions = g.number("deploy.site_sessions", 1..=1_000, 16);
    let front_cache_mib = g.number("deploy.front_cache_mib", 0..=1_000_000, 256);
    let files = g.word("deploy.files", &[], FOLDER);
    let durability = g.choice("social.durability", &["full", "off"], "full");
    Some(Parts {
        database: database?,
        cache: cache?,
        front: front?,
        nodes: nodes? as u32,
        sessions: sessions? as u32,
        front_cache_mib: front_cache_mib?,
        is_durable: durability? == "full",
        bucket: files.filter(|place| place != FOLDER),
    })
}

/// Refuses parts that do not go together.
fn check_parts(deploy: &Parts, g: &mut SettingsReader) {
    if deploy.nodes > 1 && (!deploy.has_server() || deploy.front == "none") {
        let allowed = "1, unless nginx is in front of the nodes and a server has their rows";
        let remedy = "set deploy.front = \"nginx\" and deploy.database, or leave it out";
        g.refuse("deploy.site_nodes", deploy.nodes, allowed, remedy);
    }
    // A URL may hold a secret, so it is not told.
    let refused = match deploy.bucket.as_deref().map(FilePlace::of) {
        Some(bucket @ FilePlace::Bucket(_)) => bucket.title().err().map(|why| why.to_string()),
        Some(FilePlace::Folder(_)) => Some("it begins otherwise".to_owned()),
        None => None,
    };
    if let Some(why) = refused {
        let allowed =
            "`folder`, or s3://[KEY:SECRET@]BUCKET[/PREFIX][?endpoint=http://HOST:PORT&region=NAME]";
        g.refuse("deploy.files", format!("an address: {why}"), allowed, "correct it");
    }
    let absent = [
        (FRONT, "deploy.front", deploy.front == "none"),
        (CACHE, "deploy.cache", deploy.cache == "none"),
        (DATABASE, "deploy.database", !deploy.has_server()),
    ];
    for (tier, key, _) in absent.into_iter().filter(|(_, _, is_absent)| *is_absent) {
        g.refuse_limits(tier, "left out without such a part", &format!("leave it out, or set {key}"));
    }
}

impl WorkloadKeys for Social {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &TIERS
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let users = g.number("social.users", 1..=20_000, 100);
        let people_each = g.number("social.people_each", 1..=1_000, 100);
        let file_scale = g.fraction("social.file_scale", 0.02..=1.0, 0.02);
        let cycle = g.time("social.cycle_s", 0.01..=3_600.0, 5.0);
        let deploy = parts(g);
        Some(Arc::new(SocialPlan {
            users: users? as u32,
            people_each: people_each? as u32,
            file_scale: file_scale?,
            cycle: cycle?,
            deploy: deploy?,
        }))
    }
}

impl WorkloadSettings for SocialPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        if plan.most_users() > self.users {
            let allowed = format!("at least the {} users of the load", plan.most_users());
            g.refuse("social.users", self.users, &allowed, "raise it: users log in as people of their own");
        }
        // Parts are refused anyway where nothing is deployed.
        let Some(url) = &plan.target.url else { return check_parts(&self.deploy, g) };
        if !url.starts_with("load:")
            && let Err(why) = ask::check(url)
        {
            g.refuse("target.url", format!("{url:?}"), &format!("http://HOST:PORT ({why})"), "correct it");
        }
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let rows = self.order(plan.seed).size().rows().map(|(name, rows)| format!("{} {name}", count(rows)));
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let mix: Vec<String> = Operation::ALL
            .into_iter()
            .zip(stationary())
            .map(|(operation, share)| {
                format!("{} {:.2}", Operation::SPECS[operation as usize].name, share * 100.0)
            })
            .collect();
        let target = match &plan.target.url {
            Some(url) => url.clone(),
            None => self.deploy.explain(),
        };
        vec![
            format!("data      for {} users: {}", count(self.users.into()), listed(&rows)),
            format!(
                "files     {} MB of pictures and documents, sizes {} of the published; thumbnails have theirs",
                figure(self.file_bytes() as f64 / 1e6),
                self.file_scale
            ),
            format!(
                "users     one operation every {:.2} s in the mean, mix in percent: {}",
                rules::mean_s(self.cycle),
                mix.join(", ")
            ),
            format!("target    {target}; everything added is looked for after the load"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use barograph_model::words::in_one_line;
    use barograph_spec::{Catalogue, Refusals};

    use super::*;

    fn plan(sets: &[&str]) -> Result<Plan, Refusals> {
        let users = ["load.strategy=fixed", "load.users=20"];
        let sets: Vec<String> = users.iter().chain(sets).map(|set| (*set).to_owned()).collect();
        barograph_spec::read(Catalogue::of(&[&Social]), "a plan", "workload = \"social\"\n", &sets)
    }

    #[test]
    fn a_plan_says_what_will_happen() {
        let usual = plan(&[]).unwrap();
        let lines = SocialPlan::of(&usual).explain(&usual);
        assert_eq!(
            lines,
            [
                "data      for 100 users: 10,000 people, 150,000 friends, 2,311 tags, 6,933 events, 381,315 attendees, \
                 69,330 comments and 27,732 tags of events",
                "files     344 MB of pictures and documents, sizes 0.02 of the published; thumbnails have theirs",
                "users     one operation every 4.97 s in the mean, mix in percent: Home 26.15, Login 10.22, TagSearch 33.45, \
                 Event 24.68, Person 2.61, AddPerson 0.84, AddEvent 2.04",
                "target    the site of this program on a SQLite file, with its geocoder; everything added is looked for \
                 after the load",
            ]
        );
        let full = plan(&["social.file_scale=1.0"]).unwrap();
        assert_eq!(SocialPlan::of(&full).file_bytes() / 100_000_000, 123, "the published size is 12.4 GB");
    }

    #[test]
    fn parts_that_do_not_go_together_are_refused() {
        for (sets, expected) in [
            (&["deploy.site_nodes=2"][..], "unless nginx is in front"),
            (&["deploy.site_nodes=2", "deploy.database=postgres"], "unless nginx is in front"),
            (&["deploy.site_sessions=2"], "a server as deploy.database"),
            (&["social.durability=off"], "a server as deploy.database"),
            (&["deploy.front_cache_mib=2"], "deploy.front"),
            (&["deploy.cache_cpus=1"], "left out without such a part"),
            (&["deploy.database_cpus=1"], "left out without such a part"),
            (&["deploy.front_cpus=1"], "left out without such a part"),
            (&["target.url=ftp://h"], "http://HOST:PORT ("),
            (&["target.url=http://h:1", "deploy.cache=redis"], "left out with target.url"),
            (&["deploy.files=/srv/pictures"], "`folder`, or s3://"),
            (&["deploy.files=s3://key@pictures"], "there is a key and no secret"),
        ] {
            let text = in_one_line(&plan(sets).unwrap_err());
            assert!(text.contains(expected), "{sets:?}: {text}");
        }
        let whole = plan(&[
            "deploy.site_nodes=2",
            "deploy.front=nginx",
            "deploy.database=mariadb",
            "deploy.cache=redis",
            "deploy.cache_cpus=1",
            "social.durability=off",
        ])
        .unwrap();
        let target = SocialPlan::of(&whole).explain(&whole).pop().unwrap();
        let expected = "target    nginx, 2 nodes of the site of this program, redis, mariadb whose commits wait for no disk, \
                        and the geocoder; everything added is looked for after the load";
        assert_eq!(target, expected);
    }

    #[test]
    fn more_users_than_the_data_have_are_refused() {
        let text = in_one_line(&plan(&["social.users=19"]).unwrap_err());
        assert!(text.contains("at least the 20 users"), "{text}");
    }
}

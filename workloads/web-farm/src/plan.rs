//! The keys of the workload in plans: `[farm]`, and the servers that are deployed.

use std::sync::Arc;

use barograph_model::words::count;
use barograph_model::{MOST_BESIDE, MeasureSpec, Nanos, Share, Strategy};
use barograph_spec::{Ability, MOST_INSTANCES, Plan, SettingsReader, WorkloadKeys, WorkloadSettings};

use crate::measures::MEASURES;
use crate::prepared;
use crate::seam::{NAME, WebFarm};
use crate::sets::FILES;
use crate::topology::TIER;

/// Servers that a plan may name: those of this program, nginx, Apache httpd.
pub(crate) const SERVERS: [&str; 3] = ["embedded", "nginx", "httpd"];

/// Most servers with hosts of their own: addresses of their network, less those of the machine, of drivers and of others.
const MOST_HOSTS: u32 = 240;

/// Default number of connections to a server: those of a browser to one host.
const USUAL_CONNECTIONS: u64 = 6;

/// Most fetches per second of one server that a plan may ask for.
const MOST_RATE: u64 = 100_000;

/// Profiles with the fetches per second of each server; the first is the default.
pub(crate) const PROFILES: [(&str, u32); 2] = [("medium", 25), ("high", 50)];

/// Settings of the workload in a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FarmPlan {
    /// Most connections of the client of a server, which bound its fetches in flight.
    pub(crate) connections: u32,
    /// Fetches per second of each server in the place of those of the profile.
    pub(crate) rate: Option<u32>,
    /// Whether hashes of files are compared with those expected. Lengths always are.
    pub(crate) verify: bool,
    /// Judged quantile of response time.
    pub(crate) quantile: Share,
    /// Limit of response time.
    pub(crate) limit: Nanos,
    /// Largest busy share of the host's CPU; 1 if it is not judged.
    pub(crate) most_cpu: f64,
    /// Largest share of failed fetches.
    pub(crate) failures: Share,
    /// Kind of the deployed servers.
    pub(crate) server: &'static str,
    /// Number of deployed servers.
    pub(crate) servers: u32,
}

impl FarmPlan {
    /// The settings in a plan of this workload.
    pub(crate) fn of(plan: &Plan) -> &Self {
        plan.settings().expect("a plan of this workload is read with its keys")
    }

    /// Fetches per second of each server with a profile.
    pub(crate) fn rate(&self, profile: &str) -> Option<u32> {
        let (_, usual) = rate_of(profile)?;
        Some(self.rate.unwrap_or(usual))
    }

    /// Whether the CPU of the host is judged, where the servers are on the driver's host.
    pub(crate) fn judges_cpu(&self) -> bool {
        self.most_cpu < 1.0
    }

    /// Refuses levels that are no number of servers.
    fn check_level(&self, plan: &Plan, g: &mut SettingsReader) {
        if plan.open.is_some() {
            let allowed =
                "\"users\": each server has a rate of its own, and a user is the client of one server";
            g.refuse("load.unit", "\"rate\"", allowed, "leave it out, and choose a profile for the rate");
        } else if matches!(plan.strategy, Strategy::Search(bounds) if bounds.max == 0) {
            let allowed = format!("a number of servers, as the {} of deploy.servers", self.servers);
            g.refuse("load.max_users", 0, &allowed, "set it: a user is the client of one server");
        }
    }

    /// Refuses numbers of servers that do not go with the load, or with the hosts.
    fn check_servers(&self, plan: &Plan, g: &mut SettingsReader) {
        let most = plan.most_users();
        if most > self.servers {
            let allowed = format!("at least the {most} users of the load: each is the client of one server");
            g.refuse("deploy.servers", self.servers, &allowed, "raise it, or lower the load");
        }
        let apart = plan.deploy.has(Ability::Hosts) && plan.deploy.hosts != "together";
        if apart && self.servers > MOST_HOSTS {
            let allowed =
                format!("at most {MOST_HOSTS} with hosts of their own, whose network has 256 addresses");
            g.refuse(
                "deploy.servers",
                self.servers,
                &allowed,
                "lower it, or set deploy.hosts = \"together\"",
            );
        }
    }
}

impl WorkloadSettings for FarmPlan {
    fn check(&self, plan: &Plan, g: &mut SettingsReader) {
        self.check_level(plan, g);
        let Some(url) = &plan.target.url else {
            self.check_servers(plan, g);
            return;
        };
        if !url.starts_with("load:")
            && let Err(why) = prepared::check_addresses(url)
        {
            let allowed = format!("http://HOST:PORT,HOST:PORT with an address for each server ({why})");
            g.refuse("target.url", format!("{url:?}"), &allowed, "correct it");
        }
        let allowed = "left out with target.url, where the servers are there already";
        for key in ["deploy.server", "deploy.servers", "farm.most_cpu"] {
            g.refuse_asked(key, allowed, "leave it out, or leave target.url out");
        }
        g.refuse_limits(TIER, allowed, "leave it out, or leave target.url out");
    }

    fn explain(&self, plan: &Plan) -> Vec<String> {
        let (profile, usual) = rate_of(&plan.profile).unwrap_or(PROFILES[0]);
        let (rate, of) = self.rate.map_or((usual, profile), |rate| (rate, "farm.rate"));
        let mut lines = vec![
            format!(
                "fetches   of each server {}/s ({of}), its whole set of {} files, about 100 KB",
                count(rate.into()),
                FILES.len()
            ),
            format!("          over up to {} connections; they do not wait for each other", self.connections),
        ];
        if plan.target.url.is_none() {
            let kind = if self.server == "embedded" { "of this program" } else { self.server };
            lines.push(format!(
                "target    {} static servers ({kind}), all deployed; a user is the client of one of them",
                count(self.servers.into())
            ));
        }
        lines
    }
}

/// A profile with its rate.
pub(crate) fn rate_of(profile: &str) -> Option<(&'static str, u32)> {
    PROFILES.into_iter().find(|(known, _)| *known == profile)
}

impl WorkloadKeys for WebFarm {
    fn name(&self) -> &'static str {
        NAME
    }

    fn tiers(&self) -> &'static [&'static str] {
        &[TIER]
    }

    fn measures(&self) -> &'static [MeasureSpec] {
        &MEASURES
    }

    fn read(&self, g: &mut SettingsReader) -> Option<Arc<dyn WorkloadSettings>> {
        let connections = g.number("farm.connections", 1..=MOST_BESIDE.into(), USUAL_CONNECTIONS);
        let rate = g.number("farm.rate", 0..=MOST_RATE, 0);
        let verify = g.flag("farm.verify", false);
        let quantile = g.fraction("farm.quantile", 0.5..=0.99999, 0.95);
        let limit_ms = g.fraction("farm.limit_ms", 0.1..=3_600_000.0, 100.0);
        let most_cpu = g.fraction("farm.most_cpu", 0.05..=1.0, 0.9);
        let failures = g.fraction("farm.failures", 0.0..=1.0, 0.001);
        let server = g.choice("deploy.server", &SERVERS, "embedded");
        let servers = g.number("deploy.servers", 1..=MOST_INSTANCES, 100);
        Some(Arc::new(FarmPlan {
            connections: connections? as u32,
            rate: Some(rate? as u32).filter(|rate| *rate > 0),
            verify: verify?,
            quantile: Share::new(quantile?).ok()?,
            limit: Nanos::from_secs_f64(limit_ms? / 1e3),
            most_cpu: most_cpu?,
            failures: Share::new(failures?).ok()?,
            server: server?,
            servers: servers? as u32,
        }))
    }
}

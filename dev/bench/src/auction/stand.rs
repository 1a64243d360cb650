//! Services below the nodes: database servers with the data loaded, a bus, a proxy in front.

use std::process::Command;

use anyhow::Context;
use barograph_test_services::{self as services, Service};

use crate::auction::ground::{BenchSetup, said};
use crate::auction::node::{Node, pids};
use crate::auction::options::BusKind;
use crate::say::say;

/// Store of users, auctions and items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relational {
    Embedded,
    Postgres,
    MariaDb,
}

/// Store of bids and attendance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    /// The relational one.
    Same,
    FerretDb,
}

/// Running services that hold the data.
pub(crate) struct DataServices {
    pub(crate) relational: Option<Service>,
    events: Option<Service>,
    pub(crate) bus: Option<Service>,
}

impl DataServices {
    /// Starts services and loads the data into them.
    pub(crate) fn start(
        ground: &BenchSetup,
        relational: Relational,
        events: Events,
        bus: Option<BusKind>,
    ) -> anyhow::Result<DataServices> {
        let relational = match relational {
            Relational::Embedded => None,
            Relational::Postgres => Some(services::postgres()?),
            Relational::MariaDb => Some(services::mariadb()?),
        };
        let events = match events {
            Events::Same => None,
            Events::FerretDb => Some(services::ferretdb()?),
        };
        let bus = match bus {
            None => None,
            Some(BusKind::Nats) => Some(services::nats()?),
            Some(BusKind::RabbitMq) => Some(services::rabbitmq()?),
        };
        let stand = DataServices { relational, events, bus };
        stand.load(ground)?;
        Ok(stand)
    }

    fn load(&self, ground: &BenchSetup) -> anyhow::Result<()> {
        if self.relational.is_none() {
            return Ok(());
        }
        let mut command = ground.command(&["load", "auction", "--data"]);
        command.arg(&ground.data).args(self.stores());
        let loaded = said(&mut command).context("load the data")?;
        say(loaded.trim_end());
        Ok(())
    }

    fn stores(&self) -> Vec<String> {
        let mut words = Vec::new();
        let all = [("--relational", &self.relational), ("--events", &self.events)];
        for (option, service) in all {
            words.extend(service.iter().flat_map(|s| [option.to_owned(), s.url().to_owned()]));
        }
        words
    }

    /// Starts a node on these services.
    pub(crate) fn node(&self, ground: &BenchSetup, name: &str) -> anyhow::Result<Node> {
        let mut words = self.stores();
        words.extend(self.bus.iter().flat_map(|bus| ["--bus".to_owned(), bus.url().to_owned()]));
        Node::start(ground, name, &words)
    }

    /// Processes by tier, for a meter.
    pub(crate) fn processes(&self, nodes: &[Node], proxy: Option<&Service>) -> Vec<(String, Vec<u32>)> {
        let mut all = vec![("nodes".to_owned(), pids(nodes))];
        let tiers = [("relational", &self.relational), ("events", &self.events), ("bus", &self.bus)];
        for (tier, service) in tiers {
            all.extend(service.iter().map(|s| (tier.to_owned(), s.pids())));
        }
        all.extend(proxy.map(|s| ("proxy".to_owned(), s.pids())));
        all
    }

    /// PostgreSQL's answer to a query, a row per line.
    pub(crate) fn sql(&self, question: &str) -> anyhow::Result<String> {
        let url = self.relational.as_ref().context("ask the database: there is none")?.url();
        said(Command::new("psql").args([url, "-AtX", "-F", " ", "-c", question]))
            .context("ask the database (apt-get install postgresql-client)")
    }
}

/// nginx in front of these nodes.
pub(crate) fn nginx(ground: &BenchSetup, nodes: &[Node]) -> anyhow::Result<Service> {
    let template = template(ground, "nginx/auction.conf")?;
    let lines = nodes.iter().map(|n| format!("server {} max_fails=0;", n.address)).collect::<Vec<_>>();
    Ok(services::nginx(&template.replace("{upstream}", &lines.join("\n")), &[])?)
}

/// HAProxy in front of these nodes.
pub(crate) fn haproxy(ground: &BenchSetup, nodes: &[Node]) -> anyhow::Result<Service> {
    let template = template(ground, "haproxy/auction.cfg")?;
    let lines = nodes.iter().map(|n| format!("server {} {}", n.name, n.address)).collect::<Vec<_>>();
    Ok(services::haproxy(&template.replace("{servers}", &lines.join("\n    ")), &[])?)
}

/// A configuration without its comments, which contain the placeholders in braces.
fn template(ground: &BenchSetup, name: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(ground.root.join("services").join(name))
        .with_context(|| format!("read services/{name}"))?;
    Ok(text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .map(|line| format!("{line}\n"))
        .collect())
}

//! The fixed load on three ways to build the application.

use std::time::Instant;

use barograph_test_services::Service;

use crate::auction::ground::BenchSetup;
use crate::auction::load::{Job, Load, Outcome};
use crate::auction::options::{BusKind, Options};
use crate::auction::page::Report;
use crate::auction::stand::{DataServices, Events, Relational, nginx};
use crate::auction::usage::{Meter, words};
use crate::say::say;

/// A way to build it.
struct Variant {
    name: &'static str,
    relational: Relational,
    events: Events,
    bus: Option<BusKind>,
}

/// All variants.
const VARIANTS: [Variant; 3] = [
    Variant { name: "embedded", relational: Relational::Embedded, events: Events::Same, bus: None },
    Variant {
        name: "postgres",
        relational: Relational::Postgres,
        events: Events::FerretDb,
        bus: Some(BusKind::RabbitMq),
    },
    Variant {
        name: "mariadb",
        relational: Relational::MariaDb,
        events: Events::FerretDb,
        bus: Some(BusKind::Nats),
    },
];

pub(crate) fn measure(ground: &BenchSetup, options: &Options) -> anyhow::Result<Report> {
    let columns = [
        "variant",
        "verdict",
        "ops/s",
        "worst operation",
        "failures",
        "data checks",
        "cores used",
        "users per node core",
    ];
    let mut report = Report::new(&format!("{} users on one node", options.users), &columns);
    report.notes = vec![
        "The variant postgres has PostgreSQL, RabbitMQ, FerretDB for events and nginx in front; mariadb has MariaDB, NATS, FerretDB and nginx.".to_owned(),
        "Databases are durable: a commit is on disk before it is answered.".to_owned(),
        "The worst operation is the one whose judged quantile comes closest to its limit.".to_owned(),
    ];
    for variant in VARIANTS.iter().filter(|v| options.wants(v.name)) {
        say(&format!("==> {}", variant.name));
        report.add(variant.name, run(ground, options, variant));
    }
    Ok(report)
}

fn run(ground: &BenchSetup, options: &Options, variant: &Variant) -> anyhow::Result<Vec<String>> {
    let stand = DataServices::start(ground, variant.relational, variant.events, variant.bus)?;
    let nodes = [stand.node(ground, "n1")?];
    let proxy: Option<Service> = match variant.relational {
        Relational::Embedded => None,
        Relational::Postgres | Relational::MariaDb => Some(nginx(ground, &nodes)?),
    };
    let url = proxy.as_ref().map_or_else(|| nodes[0].url(), |proxy| proxy.url().to_owned());
    let job = Job { name: variant.name, url: &url, users: options.users, timing: options.timing };
    let load = Load::start(ground, &job)?;
    let (from, meter) = (load.reach("hold")?, Meter::begin(&stand.processes(&nodes, proxy.as_ref())));
    load.reach("drain")?;
    let cores = meter
        .cores(&stand.processes(&nodes, proxy.as_ref()), Instant::now().duration_since(from).as_secs_f64());
    Ok(cells(&load.end()?, &cores))
}

fn cells(outcome: &Outcome, cores: &[(String, f64)]) -> Vec<String> {
    let of_nodes = cores.first().map_or(f64::NAN, |(_, cores)| *cores);
    let mut all = cores.to_vec();
    all.extend(outcome.trial.resources.driver_cores.map(|cores| ("driver".to_owned(), cores)));
    outcome.say_reasons();
    let users = format!("{:.0}", f64::from(outcome.trial.window.users) / of_nodes);
    outcome.cells().into_iter().chain([words(&all), users]).collect()
}

//! One, two and four nodes behind HAProxy; in the middle of the window the bus is killed and restarted, then
//! a node is killed for good.

use std::time::{Duration, Instant};

use crate::auction::ask::Session;
use crate::auction::ground::BenchSetup;
use crate::auction::load::{Job, Load};
use crate::auction::node::Node;
use crate::auction::options::{BusKind, Options};
use crate::auction::outages::{self, OutageObserver};
use crate::auction::page::Report;
use crate::auction::stand::{DataServices, Events, Relational, haproxy};
use crate::auction::usage::{Meter, words};
use crate::auction::watch::Watch;
use crate::say::say;

/// Numbers of nodes.
const SIZES: [usize; 3] = [1, 2, 4];

/// Time within the window at which the bus is killed, as a share of it.
const BUS_AT: f64 = 0.2;
/// Time within the window at which a node is killed, as a share of it.
const NODE_AT: f64 = 0.5;

pub(crate) fn measure(ground: &BenchSetup, options: &Options) -> anyhow::Result<Report> {
    let bus = match options.bus {
        BusKind::Nats => "NATS",
        BusKind::RabbitMq => "RabbitMQ",
    };
    let columns = [
        "nodes",
        "bus back: all connected (ms)",
        "bus back: a bid crosses (ms)",
        "auctions of the killed node",
        "all owned again (ms)",
        "bid told in its auctions",
        "verdict",
        "ops/s",
        "worst operation",
        "failures",
        "data checks",
        "cores used",
    ];
    let title = format!("{} users on many nodes, PostgreSQL and {bus}, with faults", options.users);
    let mut report = Report::new(&title, &columns);
    report.notes = vec![
        "HAProxy stands in front of the nodes; one node alone is not killed.".to_owned(),
        "In the window the bus is killed and started again 2 s later; times count from the moment it takes connections.".to_owned(),
        "Later a node is killed with SIGKILL; times count from that moment, and living nodes are asked every 20 ms.".to_owned(),
        "In every auction of the killed node somebody bids at a living one until a follower there is told of a change.".to_owned(),
    ];
    for size in SIZES.into_iter().filter(|size| options.wants(&size.to_string())) {
        say(&format!("==> {size} nodes, {bus}"));
        report.add(&size.to_string(), run(ground, options, size));
    }
    Ok(report)
}

fn run(ground: &BenchSetup, options: &Options, size: usize) -> anyhow::Result<Vec<String>> {
    let mut stand = DataServices::start(ground, Relational::Postgres, Events::Same, Some(options.bus))?;
    let started: anyhow::Result<Vec<Node>> =
        (1..=size).map(|n| stand.node(ground, &format!("n{n}"))).collect();
    let mut nodes = started?;
    let session = Session::login(nodes[0].address, ground.spare_user())?;
    let auctions: Vec<i64> = session.auctions(nodes[0].address)?.iter().map(|auction| auction.id.0).collect();
    outages::settled(&nodes, auctions.len())?;
    let proxy = haproxy(ground, &nodes)?;
    let watch = Watch::start(nodes[0].address, session.token(), &auctions);
    let name = format!("{size}-nodes");
    let job = Job { name: &name, url: proxy.url(), users: options.users, timing: options.timing };
    let load = Load::start(ground, &job)?;
    let from = load.reach("hold")?;
    let meter = Meter::begin(&stand.processes(&nodes, Some(&proxy)));
    let by = OutageObserver { session: &session, watch: &watch, auctions: &auctions };
    let at = |share: f64| from + Duration::from_secs_f64(f64::from(options.timing.window) * share);
    let mut cells = vec!["-".to_owned(); 5];
    let mut cores = None;
    if size > 1 {
        load.pass(at(BUS_AT).saturating_duration_since(Instant::now()))?;
        cells.splice(0..2, outages::bus(&mut stand, &nodes, &by, &load)?);
        load.pass(at(NODE_AT).saturating_duration_since(Instant::now()))?;
        // The killed node's account ends here.
        cores = Some(read(&meter, &stand.processes(&nodes, Some(&proxy)), from));
        cells.splice(2..5, outages::node(&stand, &mut nodes, &by)?);
    }
    load.reach("drain")?;
    let cores = cores.unwrap_or_else(|| read(&meter, &stand.processes(&nodes, Some(&proxy)), from));
    let outcome = load.end()?;
    outcome.say_reasons();
    cells.extend(outcome.cells());
    cells.push(words(&cores));
    Ok(cells)
}

fn read(meter: &Meter, processes: &[(String, Vec<u32>)], from: Instant) -> Vec<(String, f64)> {
    meter.cores(processes, from.elapsed().as_secs_f64())
}

//! One auction followed by all users, with bidders that bid as fast as answers come: the time until the last
//! follower has received an accepted bid.
//!
//! Followers and bidders are tasks of one thread, so that sending and receiving are read from one clock. The
//! thread's own time to read a thousand answers is part of the figures.

mod crowd;
mod follower_log;

use std::rc::Rc;
use std::time::{Duration, Instant};

use barograph_reactor::Reactor;

use crate::auction::ask::{Session, metric};
use crate::auction::ground::BenchSetup;
use crate::auction::node::{Node, pids};
use crate::auction::options::{BusKind, Options};
use crate::auction::outages::settled;
use crate::auction::pace::BeatClock;
use crate::auction::page::Report;
use crate::auction::quantile::quantiles;
use crate::auction::stand::{DataServices, Events, Relational};
use crate::auction::usage::cpu_s;
use crate::say::say;
use crowd::{CrowdContext, UpdateDelivery, gather};
use follower_log::ContentionResult;

/// Pause after failed attempts, and interval of checks for the end.
const BEAT: Duration = Duration::from_millis(20);

/// The counter of accepted bids.
const ACCEPTED: &str = "auction_bids_decided_total{result=\"accepted\"}";

struct Variant {
    name: &'static str,
    relational: Relational,
    nodes: usize,
    news: UpdateDelivery,
}

const fn variant(name: &'static str, relational: Relational, nodes: usize, news: UpdateDelivery) -> Variant {
    Variant { name, relational, nodes, news }
}

/// All variants.
const VARIANTS: [Variant; 6] = [
    variant("embedded-stream", Relational::Embedded, 1, UpdateDelivery::Stream),
    variant("embedded-poll", Relational::Embedded, 1, UpdateDelivery::Poll),
    variant("postgres-stream", Relational::Postgres, 1, UpdateDelivery::Stream),
    variant("postgres-poll", Relational::Postgres, 1, UpdateDelivery::Poll),
    variant("two-nodes-stream", Relational::Postgres, 2, UpdateDelivery::Stream),
    variant("two-nodes-poll", Relational::Postgres, 2, UpdateDelivery::Poll),
];

pub(crate) fn measure(ground: &BenchSetup, options: &Options) -> anyhow::Result<Report> {
    let columns = [
        "variant",
        "bids/s",
        "accepted/s",
        "last follower told p50 (ms)",
        "last follower told p99 (ms)",
        "median follower told p50 (ms)",
        "median follower told p99 (ms)",
        "bids timed",
        "overtaken",
        "states told/s, all followers",
        "node cores",
        "driver cores",
    ];
    let title = format!("{} followers of one auction", options.users);
    let mut report = Report::new(&title, &columns);
    report.notes = vec![
        format!(
            "{} bidders bid in one auction as fast as answers come, and wait for the state after their bid, for {} s.",
            options.bidders, options.timing.window
        ),
        "Times are from sending an accepted bid until a follower is told of it or of a later one; the follower's own reading is in them.".to_owned(),
        "A bid is overtaken when no follower was told of it before a later one; it has no time.".to_owned(),
        "PostgreSQL is durable; two nodes talk over NATS, and half of the followers and bidders are on each.".to_owned(),
    ];
    for variant in VARIANTS.iter().filter(|v| options.wants(v.name)) {
        say(&format!("==> {}", variant.name));
        report.add(variant.name, run(ground, options, variant));
    }
    Ok(report)
}

fn run(ground: &BenchSetup, options: &Options, variant: &Variant) -> anyhow::Result<Vec<String>> {
    let bus = (variant.nodes > 1).then_some(BusKind::Nats);
    let stand = DataServices::start(ground, variant.relational, Events::Same, bus)?;
    let started: anyhow::Result<Vec<Node>> =
        (1..=variant.nodes).map(|n| stand.node(ground, &format!("n{n}"))).collect();
    let nodes = started?;
    let session = Session::login(nodes[0].address, ground.spare_user())?;
    let auctions = session.auctions(nodes[0].address)?;
    if bus.is_some() {
        settled(&nodes, auctions.len())?;
    }
    let auction = auctions.first().ok_or_else(|| anyhow::anyhow!("no auction is running"))?.id;
    let beat = Rc::new(BeatClock::every(BEAT));
    let addresses: Vec<_> = nodes.iter().map(|node| node.address).collect();
    let pids = pids(&nodes);
    let seconds = u64::from(options.timing.window);
    let (news, counts) = (variant.news, (options.users, options.bidders));
    let reactor = Reactor::new()?;
    let pace = Rc::clone(&beat);
    let main = async move {
        let accepted = || -> anyhow::Result<f64> { addresses.iter().map(|at| metric(*at, ACCEPTED)).sum() };
        let scene = CrowdContext::new(&addresses, auction, counts, Rc::clone(&beat));
        gather(&scene, news).await?;
        let (before, cpu, from) = (accepted()?, [cpu_s(&pids), own_cpu_s()], Instant::now());
        scene.begin();
        beat.pass(seconds).await;
        let measured = scene.end();
        let span = from.elapsed().as_secs_f64();
        let cores = [cpu_s(&pids) - cpu[0], own_cpu_s() - cpu[1]].map(|cpu| cpu / span);
        let accepted = (accepted()? - before) / span;
        anyhow::Ok(cells(&measured, span, accepted, cores))
    };
    reactor.run(main, &*pace)?
}

fn own_cpu_s() -> f64 {
    cpu_s(&[std::process::id()])
}

fn cells(measured: &ContentionResult, span: f64, accepted: f64, [node, driver]: [f64; 2]) -> Vec<String> {
    let ms = |times: &[f64]| -> [String; 2] {
        let found = quantiles(times, [0.5, 0.99]);
        found.map_or_else(|| ["-".to_owned(), "-".to_owned()], |q| q.map(|ns| format!("{:.1}", ns / 1e6)))
    };
    let [last_50, last_99] = ms(&measured.last);
    let [median_50, median_99] = ms(&measured.median);
    if measured.faults > 0 {
        say(&format!("      {} answers were missing or refused", measured.faults));
    }
    vec![
        format!("{:.0}", measured.bids as f64 / span),
        format!("{accepted:.0}"),
        last_50,
        last_99,
        median_50,
        median_99,
        measured.last.len().to_string(),
        measured.overtaken.to_string(),
        format!("{:.0}", measured.tellings as f64 / span),
        format!("{node:.2}"),
        format!("{driver:.2}"),
    ]
}

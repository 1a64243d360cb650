//! Users per application core on PostgreSQL beside embedded stores: both run all the time and are loaded in
//! turns, so that other load of the machine affects both.

use std::time::Instant;

use crate::auction::ground::BenchSetup;
use crate::auction::load::{Job, Load};
use crate::auction::node::Node;
use crate::auction::options::Options;
use crate::auction::page::Report;
use crate::auction::quantile::spread;
use crate::auction::stand::{DataServices, Events, Relational};
use crate::auction::usage::Meter;
use crate::say::say;

/// Resources used by one side in its windows.
#[derive(Default)]
struct Side {
    /// CPU of the node per user, in thousandths of a core.
    node_milli: Vec<f64>,
    /// The same including the database.
    all_milli: Vec<f64>,
    p99_ms: Vec<f64>,
    words: Vec<&'static str>,
}

pub(crate) fn measure(ground: &BenchSetup, options: &Options) -> anyhow::Result<Report> {
    let columns = [
        "stores",
        "windows",
        "node CPU per user (1/1000 core)",
        "users per node core",
        "node and database CPU per user (1/1000 core)",
        "worst p99 (ms)",
        "verdicts",
    ];
    let mut report = Report::new("Users per application core, PostgreSQL beside embedded", &columns);
    report.notes = vec![
        format!(
            "{} users on either, one node each, both up all the time and loaded in turns; {} windows of {} s on each side.",
            options.users, options.rounds, options.timing.window
        ),
        "Figures are the median over the windows, with the least and the most of them.".to_owned(),
    ];
    let embedded = DataServices::start(ground, Relational::Embedded, Events::Same, None)?;
    let postgres = DataServices::start(ground, Relational::Postgres, Events::Same, None)?;
    let sides = [
        ("embedded", [embedded.node(ground, "embedded")?], embedded),
        ("postgres", [postgres.node(ground, "postgres")?], postgres),
    ];
    let mut found = [Side::default(), Side::default()];
    for round in 0..options.rounds as usize {
        for turn in 0..sides.len() {
            // Each is first in every second round.
            let place = (turn + round) % sides.len();
            let (name, nodes, stand) = &sides[place];
            let name = format!("{name}-{}", round + 1);
            say(&format!("==> {name}"));
            if let Err(why) = window(ground, options, (&name, nodes, stand), &mut found[place]) {
                say(&format!("    {why:#}"));
                report.trouble.push(format!("{name}: {why:#}"));
            }
        }
    }
    for ((name, ..), side) in sides.iter().zip(&found) {
        report.add(name, Ok(cells(side)));
    }
    Ok(report)
}

fn window(
    ground: &BenchSetup,
    options: &Options,
    (name, nodes, stand): (&str, &[Node], &DataServices),
    side: &mut Side,
) -> anyhow::Result<()> {
    let url = nodes[0].url();
    let load = Load::start(ground, &Job { name, url: &url, users: options.users, timing: options.timing })?;
    let (from, meter) = (load.reach("hold")?, Meter::begin(&stand.processes(nodes, None)));
    load.reach("drain")?;
    let seconds = Instant::now().duration_since(from).as_secs_f64();
    let cores = meter.cores(&stand.processes(nodes, None), seconds);
    let outcome = load.end()?;
    let users = f64::from(outcome.trial.window.users);
    let milli = |cores: f64| cores * 1e3 / users;
    side.node_milli.push(milli(cores[0].1));
    side.all_milli.push(milli(cores.iter().map(|(_, cores)| cores).sum()));
    side.p99_ms.push(outcome.worst_p99_ms());
    side.words.push(outcome.word);
    say(&format!(
        "    {}: {:.0} ops/s, {}",
        outcome.word,
        outcome.ops_s(),
        crate::auction::usage::words(&cores)
    ));
    Ok(())
}

fn cells(side: &Side) -> Vec<String> {
    let per_core: Vec<f64> = side.node_milli.iter().map(|milli| 1e3 / milli).collect();
    vec![
        side.words.len().to_string(),
        spread(&side.node_milli, 3),
        spread(&per_core, 0),
        spread(&side.all_milli, 3),
        spread(&side.p99_ms, 0),
        side.words.join(", "),
    ]
}

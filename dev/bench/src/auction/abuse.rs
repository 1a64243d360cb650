//! Slow, idle, oversized, endless and foreign requests beside a small load: their effect on the load, and
//! their remains.

mod attack;

use crate::auction::ask::is_ready;
use crate::auction::ground::BenchSetup;
use crate::auction::load::{Job, Load, Outcome};
use crate::auction::node::Node;
use crate::auction::options::Options;
use crate::auction::page::Report;
use crate::auction::stand::{DataServices, Events, Relational};
use crate::auction::usage::{cpu_s, rss_mib};
use crate::say::say;
use attack::Attack;

/// Figures of one window.
struct AbuseWindow {
    outcome: Outcome,
    cores: f64,
    rss_mib: f64,
}

pub(crate) fn measure(ground: &BenchSetup, options: &Options) -> anyhow::Result<Report> {
    let columns = [
        "",
        "verdict",
        "ops/s",
        "worst operation",
        "worst p99 (ms)",
        "failures",
        "node cores",
        "node RSS (MiB)",
    ];
    let mut report = Report::new(&format!("{} users beside abuse, embedded", options.users), &columns);
    let stand = DataServices::start(ground, Relational::Embedded, Events::Same, None)?;
    let nodes = [stand.node(ground, "n1")?];
    say("==> without abuse");
    let calm = window(ground, options, ("calm", &nodes[0]), None);
    report.add("before", calm.map(|seen| cells(&seen)));
    say("==> with abuse");
    let attack = Attack::begin(nodes[0].address)?;
    let under = window(ground, options, ("abused", &nodes[0]), Some(&attack));
    report.add("under abuse", under.map(|seen| cells(&seen)));
    report.notes = vec![attack::WORDS.to_owned(), format!("What became of it: {}.", attack.end())];
    say("==> after abuse");
    let after = window(ground, options, ("after", &nodes[0]), None);
    report.add("after", after.map(|seen| cells(&seen)));
    if !is_ready(nodes[0].address) {
        report.trouble.push("the node was not ready after all".to_owned());
    }
    Ok(report)
}

fn window(
    ground: &BenchSetup,
    options: &Options,
    (name, node): (&str, &Node),
    attack: Option<&Attack>,
) -> anyhow::Result<AbuseWindow> {
    let url = node.url();
    let load = Load::start(ground, &Job { name, url: &url, users: options.users, timing: options.timing })?;
    let (from, cpu) = (load.reach("hold")?, cpu_s(&[node.pid()]));
    load.reach("drain")?;
    let cores = (cpu_s(&[node.pid()]) - cpu) / from.elapsed().as_secs_f64();
    if let Some(attack) = attack {
        say(&format!("    {}", attack.words()));
    }
    let rss_mib = rss_mib(node.pid());
    Ok(AbuseWindow { outcome: load.end()?, cores, rss_mib })
}

fn cells(seen: &AbuseWindow) -> Vec<String> {
    let AbuseWindow { outcome, cores, rss_mib } = seen;
    outcome.say_reasons();
    vec![
        outcome.word.to_owned(),
        format!("{:.0}", outcome.ops_s()),
        outcome.worst(),
        format!("{:.0}", outcome.worst_p99_ms()),
        outcome.failures(),
        format!("{cores:.2}"),
        format!("{rss_mib:.0}"),
    ]
}

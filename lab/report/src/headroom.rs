//! Headroom: distance of each measured resource from its limit in the deciding window, and the level of load
//! at which it would be used up; beside it the resulting bounds of throughput.

mod bounds;

use barograph_model::{Ability, CheckId};
use barograph_record::{
    AboutRecord, IntervalRow, PartRecord, ProbeRow, ResultRecord, Run, Trial, WindowRecord,
};
use barograph_stats::headroom::Use;

use self::bounds::Bounds;
use crate::answer::{capitalised, mean, mean_cores, samples};
use crate::words;

/// Most resources named; those further away hardly matter.
const MOST_NAMED: usize = 6;

/// Least level, as a part of that at which a resource is used up, that counts as limited by it: queueing
/// makes response times bend before the last of it is taken.
const ENDS_IT: f64 = 0.90;

/// Multiple of the measured level beyond which a level is a guess, …
const FAR: f64 = 3.0;
/// … and the multiple beyond which a resource is not mentioned.
const NEVER: f64 = 100.0;

/// The section of the report.
pub(crate) struct Headroom {
    pub(crate) title: String,
    pub(crate) points: Vec<String>,
    pub(crate) bounds: Option<Bounds>,
}

/// Use of a resource that serves one operation after the other; a resource that only fills up has none.
#[derive(Clone, Copy)]
enum WorkKind {
    /// Cores busy.
    Cores,
    /// Mbit/s sent or received.
    Link,
}

/// One resource at the level of the window.
struct Resource {
    /// Its name within a sentence.
    name: String,
    /// Used and available amount.
    amount: String,
    of: Use,
    work: Option<WorkKind>,
    /// The level at which it is used up.
    used_up_at: f64,
}

/// `None` if the answer rests on no passing window, or no resource with a limit was measured in it. Also
/// `None` for several loads, which share the use, and for a target on the driver's machine, where use does not grow with the
/// load.
pub(crate) fn headroom(run: &Run) -> Option<Headroom> {
    if run.load.is_some() {
        return None;
    }
    let verdict = run.verdict().filter(|verdict| verdict.valid)?;
    let subject = verdict.answer.as_ref().map(|answer| &answer.about);
    if let Some(AboutRecord::Target { is_of_driver: true, .. }) = subject {
        return None;
    }
    // Above its edge a target does not carry the offered load, and the law does not apply.
    let trial = run.deciding_trial().filter(|trial| trial.result == ResultRecord::Pass)?;
    let mut found = resources(run, trial);
    found.sort_by(|a, b| a.used_up_at.total_cmp(&b.used_up_at));
    let first = found.first()?;
    let mut points = next(run, trial, first, found.get(1));
    // Without a higher trial the capacity is a lower bound.
    let at_least = verdict.search.as_ref().is_none_or(|search| search.at_least);
    points.extend(verdict.capacity.filter(|_| !at_least).map(|capacity| ended_by(run, capacity, first)));
    points.extend(found.iter().take(MOST_NAMED).map(|resource| {
        let at = about(run, resource.used_up_at);
        format!("{}: {}, used up at {at}", capitalised(&resource.name), resource.amount)
    }));
    let rest = found.len().saturating_sub(MOST_NAMED);
    if rest > 0 {
        points.push(format!("{rest} more that would last longer"));
    }
    let bounds = bounds::bounds(run, trial, &found);
    Some(Headroom { title: format!("Headroom at {}", words::offered(trial.offered())), points, bounds })
}

/// A level by the law, in words.
fn about(run: &Run, level: f64) -> String {
    format!("about {}", words::offered(run.unit().offered(three_digits(level))))
}

/// The resource used up first, the additional load until then, and the next one.
fn next(run: &Run, trial: &Trial, first: &Resource, second: Option<&Resource>) -> Vec<String> {
    let more = three_digits(first.used_up_at).saturating_sub(trial.level.whole());
    let mut said = vec![format!(
        "Next limit: {}, at most {} ({} more), if nothing else gives way",
        first.name,
        about(run, first.used_up_at),
        words::count(more.into())
    )];
    // Twice the resource lasts twice as long, unless another one is used up before.
    let doubled = 2.0 * first.used_up_at;
    said.push(match second.filter(|second| second.used_up_at < doubled) {
        Some(second) => {
            format!(
                "With twice of it the limit would be {}, set by {}",
                about(run, second.used_up_at),
                second.name
            )
        }
        None => format!("With twice of it the limit would be {}", about(run, doubled)),
    });
    if first.used_up_at > FAR * f64::from(trial.level) {
        said.push("That is far above the load that was measured, and no more than a guess".to_owned());
    }
    said
}

/// Whether that resource ended the search.
fn ended_by(run: &Run, capacity: u32, first: &Resource) -> String {
    let share = f64::from(capacity) / first.used_up_at;
    let (percent, load) = (words::percent(share.min(1.0)), words::offered(run.unit().offered(capacity)));
    if share >= ENDS_IT {
        format!("At the capacity of {load} {percent} of it is used, which explains where it ends")
    } else {
        format!("At the capacity of {load} only {percent} of it is used: what ends it is not measured here")
    }
}

fn resources(run: &Run, trial: &Trial) -> Vec<Resource> {
    let level = f64::from(trial.level);
    let all = [
        (Some(WorkKind::Cores), cores(run, trial)),
        (None, memory(run, trial)),
        (None, files(run, trial)),
        (Some(WorkKind::Link), network(run, trial)),
    ];
    let all = all.into_iter().flat_map(|(work, found)| found.into_iter().map(move |found| (work, found)));
    let resource = |(work, (name, amount, of)): (Option<WorkKind>, ResourceUse)| {
        let used_up_at = of.used_up_at(level).filter(|at| *at <= level * NEVER)?;
        Some(Resource { name, amount, of, work, used_up_at })
    };
    all.filter_map(resource).collect()
}

/// Name of a resource, its use in words, and as figures.
type ResourceUse = (String, String, Use);

/// Cores of the host, of parts with a limit of their own, and of the driver's busiest worker. An application
/// without a limit has those of the host, shared with the driver if both are on it.
fn cores(run: &Run, trial: &Trial) -> Vec<ResourceUse> {
    let of_run = run.verdict().map(|verdict| verdict.resources).unwrap_or_default();
    let kept = trial.resources;
    let mut found = Vec::new();
    let (busy, cores) =
        (kept.host_busy_cores.or(of_run.host_busy_cores), kept.host_cores.or(of_run.host_cores));
    found.extend(busy.zip(cores).map(|(used, limit)| {
        let part = |cores: Option<f64>| cores.map_or_else(|| words::NONE.to_owned(), |c| words::fixed(c, 2));
        let amount = format!(
            "{} (application {}, driver {})",
            of_cores(used, limit),
            part(kept.app_cores.or(of_run.app_cores)),
            part(kept.driver_cores.or(of_run.driver_cores))
        );
        ("the CPU of the host".to_owned(), amount, Use { idle: 0.0, used, limit })
    }));
    found.extend(parts(run).filter_map(|part| {
        let (used, limit) = (mean_cores(run, &part.name, &trial.window)?, part.cpus?);
        Some((format!("the CPU of {}", part.name), of_cores(used, limit), Use { idle: 0.0, used, limit }))
    }));
    // Not where the workers themselves do the operations.
    let checks = &trial.window.checks;
    let is_limit = checks.is_empty() || checks.iter().any(|check| check.is(CheckId::BusiestWorker));
    let busiest = mean(rows(run, &trial.window).map(|row| row.busiest_worker)).filter(|_| is_limit);
    found.extend(busiest.map(|used| {
        let amount = format!("{} of its core", words::percent(used));
        ("the busiest worker of the driver".to_owned(), amount, Use { idle: 0.0, used, limit: 1.0 })
    }));
    found
}

fn of_cores(used: f64, limit: f64) -> String {
    format!("{} of {limit} cores", words::fixed(used, 2))
}

/// Memory of the host, and of parts with a limit of their own. Of a virtual machine only the emulator is
/// visible, which keeps every page that the guest ever touched: it does not show the guest's free memory.
fn memory(run: &Run, trial: &Trial) -> Vec<ResourceUse> {
    let of_host = fact(run, "memory bytes").map(|limit| ("host", "the memory of the host".to_owned(), limit));
    let seen = has(run, Ability::Machines) == Some(false);
    let of_parts = parts(run).filter(|_| seen).filter_map(|part| {
        Some((part.name.as_str(), format!("the memory of {}", part.name), part.memory_bytes? as f64))
    });
    let found = |(subject, name, limit): (&str, String, f64)| {
        let of = grown(run, subject, &trial.window, limit, |row| row.rss_bytes)?;
        Some((name, format!("{} of {}", words::bytes(of.used), words::bytes(limit)), of))
    };
    of_host.into_iter().chain(of_parts).filter_map(found).collect()
}

/// Open files of the driver, whose workers have a table each, and of nodes that are local processes.
fn files(run: &Run, trial: &Trial) -> Vec<ResourceUse> {
    let Some(limit) = fact(run, "open files limit, soft") else { return Vec::new() };
    let decided = run.decisions().and_then(|decisions| decisions.workers);
    let workers = setting(run, "driver", "workers").or(decided.map(|workers| workers as f64));
    let alone = setting(run, "driver", "count").is_none_or(|count| count <= 1.0);
    let driver = workers
        .filter(|_| alone)
        .map(|workers| ("driver", "the open files of the driver".to_owned(), limit * workers));
    let here = has(run, Ability::Processes) == Some(true);
    let nodes = parts(run).filter(|part| here && part.node);
    let nodes = nodes.map(|part| (part.name.as_str(), format!("the open files of {}", part.name), limit));
    let found = |(subject, name, limit): (&str, String, f64)| {
        let of = grown(run, subject, &trial.window, limit, |row| row.fds)?;
        Some((name, format!("{} of {}", words::count(of.used as u64), words::count(limit as u64)), of))
    };
    driver.into_iter().chain(nodes).filter_map(found).collect()
}

/// Networks with a speed set by the plan: the fuller of the two directions.
fn network(run: &Run, trial: &Trial) -> Vec<ResourceUse> {
    let Some(mbit) = setting(run, "deploy", "link_mbit") else { return Vec::new() };
    let found = |part: &PartRecord| {
        let of = |figure: fn(&ProbeRow) -> Option<f64>| {
            mean(samples(run, &part.name, &trial.window).filter_map(figure))
        };
        let bytes = of(|row| row.net_rx_bytes_s)?.max(of(|row| row.net_tx_bytes_s)?);
        let used = bytes * 8.0 / 1e6;
        let amount = format!("{} of {} Mbit/s", words::figure(used), words::figure(mbit));
        Some((format!("the network of {}", part.name), amount, Use { idle: 0.0, used, limit: mbit }))
    };
    parts(run).filter_map(found).collect()
}

/// A resource in use before any load: the first sample under load is its idle use, the last in the window its
/// use under load.
fn grown(
    run: &Run,
    subject: &str,
    window: &WindowRecord,
    limit: f64,
    figure: fn(&ProbeRow) -> Option<u64>,
) -> Option<Use> {
    let start = run.load_start_s()?;
    let mut under_load = run.probes.iter().filter(|row| row.subject == subject && row.at_s >= start);
    let idle = under_load.find_map(figure)?;
    let used = samples(run, subject, window).filter_map(figure).last()?;
    Some(Use { idle: idle as f64, used: used as f64, limit })
}

/// The intervals of a window.
fn rows<'r>(run: &'r Run, window: &WindowRecord) -> impl Iterator<Item = &'r IntervalRow> {
    /// Rounding tolerance between the ends of windows and intervals, in seconds.
    const ROUNDING_S: f64 = 0.001;
    let (from, to) = (window.from_s - ROUNDING_S, window.to_s + ROUNDING_S);
    run.intervals().filter(move |row| row.from_s >= from && row.to_s <= to)
}

/// Whether the platform has an ability; `None` in older records, which lack it.
fn has(run: &Run, ability: Ability) -> Option<bool> {
    run.topology()?.has(ability)
}

/// The deployed parts without jobs.
fn parts(run: &Run) -> impl Iterator<Item = &PartRecord> {
    run.topology().into_iter().flat_map(|topology| &topology.parts).filter(|part| !part.url.is_empty())
}

/// A number among the facts of the host.
fn fact(run: &Run, name: &str) -> Option<f64> {
    run.disclosure.as_ref()?.get("host")?.get(name)?.as_str()?.parse().ok()
}

/// A positive number of the plan; zero stands for "decide yourself" or "without a limit".
fn setting(run: &Run, table: &str, key: &str) -> Option<f64> {
    let plan: toml::Table = run.plan.as_ref()?.parse().ok()?;
    let value = plan.get(table)?.get(key)?;
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    number.filter(|number| *number > 0.0)
}

/// A level with three significant digits: the law is not more exact.
fn three_digits(level: f64) -> u32 {
    let step = 10f64.powf((level.max(1.0).log10().floor() - 2.0).max(0.0));
    ((level / step).round() * step) as u32
}

#[cfg(test)]
mod tests;

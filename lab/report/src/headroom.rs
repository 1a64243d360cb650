//! Headroom: how far each measured resource was from its limit in the window the answer rests on, and at which level of
//! load it would be used up; beside it the bounds that follow for the throughput.

mod bounds;

use barograph_model::{Ability, CheckId};
use barograph_record::{IntervalRow, KeptPart, KeptResult, KeptWindow, ProbeRow, Run, Trial};
use barograph_stats::headroom::Use;

use self::bounds::Bounds;
use crate::answer::{capitalised, mean, mean_cores, samples};
use crate::words;

/// So many resources are named; those further away hardly matter to anybody.
const MOST_NAMED: usize = 6;

/// From this share of it on a resource that would be used up counts as what ended the growth: queueing makes response times
/// bend before the last of it is taken.
const ENDS_IT: f64 = 0.90;

/// A level so many times the measured one is a guess, …
const FAR: f64 = 3.0;
/// … and a resource that lasts so many times as long is not worth a word.
const NEVER: f64 = 100.0;

/// What there is to say.
pub(crate) struct Headroom {
    pub(crate) title: String,
    pub(crate) points: Vec<String>,
    pub(crate) bounds: Option<Bounds>,
}

/// What operations take of a resource that works for one after the other; one that only fills has none of it.
#[derive(Clone, Copy)]
enum Work {
    /// Cores busy.
    Cores,
    /// Mbit/s sent or received.
    Link,
}

/// One resource at the level of the window.
struct Resource {
    /// As it is called in the middle of a sentence.
    name: String,
    /// So much of so much.
    amount: String,
    of: Use,
    work: Option<Work>,
    /// Nothing is left of it at this level.
    used_up_at: f64,
}

/// `None` where the answer rests on nothing that passed, or nothing with a limit was measured in it. Of several loads none can
/// be told: what was used was used by all of them.
pub(crate) fn headroom(run: &Run) -> Option<Headroom> {
    if run.load.is_some() {
        return None;
    }
    let verdict = run.verdict().filter(|verdict| verdict.valid)?;
    // Above its edge a target does not do what is offered, and the law says nothing.
    let trial = run.deciding_trial().filter(|trial| trial.result == KeptResult::Pass)?;
    let mut found = resources(run, trial);
    found.sort_by(|a, b| a.used_up_at.total_cmp(&b.used_up_at));
    let first = found.first()?;
    let mut points = next(run, trial, first, found.get(1));
    // Where nothing higher was tried, nothing ended it.
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

/// What is used up first, how much more load fits until then, and what would follow.
fn next(run: &Run, trial: &Trial, first: &Resource, second: Option<&Resource>) -> Vec<String> {
    let more = three_digits(first.used_up_at).saturating_sub(trial.level.whole());
    let mut said = vec![format!(
        "Next limit: {}, at most {} ({} more), if nothing else gives way",
        first.name,
        about(run, first.used_up_at),
        words::count(more.into())
    )];
    // Twice of it lasts twice as long, unless another is used up before.
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

/// Was that what ended the search?
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
        (Some(Work::Cores), cores(run, trial)),
        (None, memory(run, trial)),
        (None, files(run, trial)),
        (Some(Work::Link), network(run, trial)),
    ];
    let all = all.into_iter().flat_map(|(work, found)| found.into_iter().map(move |found| (work, found)));
    let resource = |(work, (name, amount, of)): (Option<Work>, Found)| {
        let used_up_at = of.used_up_at(level).filter(|at| *at <= level * NEVER)?;
        Some(Resource { name, amount, of, work, used_up_at })
    };
    all.filter_map(resource).collect()
}

/// What a resource is called, how much of it is used, and the same as figures.
type Found = (String, String, Use);

/// Cores of the host, of parts with a limit of their own, and of the busiest worker of the driver. An application without a
/// limit has those of the host, which it shares with the driver where both are on it.
fn cores(run: &Run, trial: &Trial) -> Vec<Found> {
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
    // Not where operations are work of the workers themselves.
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

/// Memory of the host, and of parts with a limit of their own. Of a virtual machine only the emulator is seen, which keeps
/// every page that the guest ever touched: that says nothing of what the guest still has.
fn memory(run: &Run, trial: &Trial) -> Vec<Found> {
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

/// Open files of the driver, whose workers have a table each, and of nodes that are processes here.
fn files(run: &Run, trial: &Trial) -> Vec<Found> {
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

/// Networks with a speed that the plan sets: the fuller of the two directions.
fn network(run: &Run, trial: &Trial) -> Vec<Found> {
    let Some(mbit) = setting(run, "deploy", "link_mbit") else { return Vec::new() };
    let found = |part: &KeptPart| {
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

/// A resource that is in use before any load comes: its first sample under load is what it had then, and its last in the
/// window what the load made of it.
fn grown(
    run: &Run,
    subject: &str,
    window: &KeptWindow,
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
fn rows<'r>(run: &'r Run, window: &KeptWindow) -> impl Iterator<Item = &'r IntervalRow> {
    /// Windows and intervals end at the same instant but for rounding.
    const ROUNDING_S: f64 = 0.001;
    let (from, to) = (window.from_s - ROUNDING_S, window.to_s + ROUNDING_S);
    run.intervals().filter(move |row| row.from_s >= from && row.to_s <= to)
}

/// Whether the platform could do that; `None` where the record does not say, as older ones do not.
fn has(run: &Run, ability: Ability) -> Option<bool> {
    run.topology()?.has(ability)
}

/// What was deployed, jobs left out.
fn parts(run: &Run) -> impl Iterator<Item = &KeptPart> {
    run.topology().into_iter().flat_map(|topology| &topology.parts).filter(|part| !part.url.is_empty())
}

/// A figure that the host told of itself.
fn fact(run: &Run, name: &str) -> Option<f64> {
    run.disclosure.as_ref()?.get("host")?.get(name)?.as_str()?.parse().ok()
}

/// A number of the plan above zero, which stands for "decide yourself" or "without a limit".
fn setting(run: &Run, table: &str, key: &str) -> Option<f64> {
    let plan: toml::Table = run.plan.as_ref()?.parse().ok()?;
    let value = plan.get(table)?.get(key)?;
    let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
    number.filter(|number| *number > 0.0)
}

/// A level with three digits that count: the law is no more exact than that.
fn three_digits(level: f64) -> u32 {
    let step = 10f64.powf((level.max(1.0).log10().floor() - 2.0).max(0.0));
    ((level / step).round() * step) as u32
}

#[cfg(test)]
mod tests;

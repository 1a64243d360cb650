//! Explanation of a plan in words, and its duration.

use std::fmt::Write as _;

use barograph_model::words::{count, listed, offered, span, users};
use barograph_model::{Ability, LoadUnit, Nanos, SearchBounds, SearchMethod, Share, StartOf, Strategy};

use crate::deploy::DRIVER;
use crate::load::MOST_OPERATIONS;
use crate::{ArrivalsPlan, DenseMode, DeployPlan, Link, Plan, TierLimits};

/// Longest duration of the load of a plan, from its start to the end of the drain; fill and start-up come on
/// top.
#[must_use]
pub fn estimate(plan: &Plan) -> Nanos {
    let d = &plan.durations;
    let begin = d.ramp + d.warm_up;
    let end = d.drain;
    match plan.of_all() {
        Strategy::Fixed { windows, .. } => {
            begin + staggered(plan) + Nanos(d.window.0 * u64::from(*windows)) + end
        }
        Strategy::Search(bounds) => {
            // The first trial follows the ramp. Each later one changes the level and settles, and may be a
            // confirming one: after a failed confirmation another level is confirmed.
            let later = u64::from(bounds.max_trials.saturating_sub(1));
            let empties = emptying(plan);
            let trial = d.step + d.settle + d.window.max(d.confirm) + empties;
            begin + empties + d.window + Nanos(trial.0 * later) + spreading(plan).in_all + end
        }
        Strategy::Path(path) => {
            let steps = path.steps.iter().map(|step| {
                let settle = if step.hold > Nanos::ZERO { d.settle } else { Nanos::ZERO };
                (step.over + settle + step.hold).0
            });
            Nanos(steps.sum::<u64>().saturating_mul(path.repeats.into())) + end
        }
    }
}

/// Wait of a search by users, beyond settling, until users who came with a step have spread over their
/// sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpreadWait {
    /// A whole wait, including settling.
    pub whole: Nanos,
    /// Wait after a step that adds more than a few users.
    pub each: Nanos,
    /// Wait after all steps together. Later ones are small.
    pub in_all: Nanos,
}

/// Time for the users of a step to spread. They begin their sessions together, and do more of the early
/// operations until then. With settling it is a third of the plan's time for all users, its ramp and warm-up;
/// in all it is two thirds.
#[must_use]
pub fn spreading(plan: &Plan) -> SpreadWait {
    let d = &plan.durations;
    match (plan.unit_of_all(), plan.of_all()) {
        (LoadUnit::Users | LoadUnit::Scale | LoadUnit::Tiles, Strategy::Search(search))
            if !search.method.climbs() =>
        {
            // Whole seconds read better, and a part of one makes no difference.
            let whole = Nanos::from_secs((d.ramp + d.warm_up).0 / 3_000_000_000);
            SpreadWait { whole, each: whole - d.settle, in_all: whole + whole }
        }
        _ => SpreadWait::default(),
    }
}

/// Longest pause of a search by rate before it changes the level, for arrivals that still wait: those of a
/// window that offered a little more than the target carries are gone in less than another.
#[must_use]
pub fn emptying(plan: &Plan) -> Nanos {
    let rates = plan.all().any(|load| load.unit == LoadUnit::PerSecond);
    match rates {
        false => Nanos::ZERO,
        true => plan.durations.window.max(plan.durations.confirm),
    }
}

/// The course of a run, one sentence a line.
#[must_use]
pub fn explain(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let profile = match plan.profile.as_str() {
        "" => String::new(),
        name => format!(", profile {name}"),
    };
    match plan.beside.len() {
        0 => lines.push(format!(
            "plan      {} (workload {}{profile}, seed {})",
            plan.name, plan.workload, plan.seed
        )),
        more => lines.push(format!("plan      {} ({} loads, seed {})", plan.name, more + 1, plan.seed)),
    }
    lines.extend(tiles(plan));
    lines.extend(load(plan));
    for each in plan.all() {
        if !plan.beside.is_empty() {
            let how = match each.is_trace() {
                true => "as its trace says at any scale".to_owned(),
                false => format!("{} at 100 %", offered(each.whole().unwrap_or_default())),
            };
            lines.push(format!("load      {}: workload {}, {how}", each.load, each.workload));
        }
        lines.extend(started(each));
        lines.extend(each.own.explain(each));
    }
    lines.extend(links(plan));
    lines.extend(dense(plan));
    for limit in plan.all().flat_map(limits) {
        // Limits of drivers are the same in each load.
        if !lines.contains(&limit) {
            lines.push(limit);
        }
    }
    let actions = plan.all().map(|each| &each.actions).find(|actions| !actions.is_empty());
    for action in actions.into_iter().flatten() {
        let unit = if action.unit.is_empty() { "everything" } else { &action.unit };
        let again = action.every.map_or_else(String::new, |every| format!(", again every {}", span(every)));
        let limit = action.limit.map_or_else(String::new, |limit| format!(", within {}", span(limit)));
        lines.push(format!(
            "action    {} {unit} at {} of the load{again}{limit}",
            action.act,
            span(action.at)
        ));
    }
    lines.extend(plan.elasticity.explain());
    lines.extend(plan.power.explain());
    let paths = if plan.has_absolute_paths { ", with absolute paths" } else { "" };
    lines.push(format!("record    a new folder in {}{paths}", plan.runs.display()));
    let most = span(estimate(plan));
    lines.push(match (plan.durations.window, plan.operations) {
        (Nanos::ZERO, Some(_)) => format!("duration  at most {most} of load beside the operations"),
        (Nanos::ZERO, None) => format!("duration  at most {most} of load after the trace"),
        _ => format!("duration  at most {most} of load"),
    });
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").expect("writing to memory cannot fail");
    }
    text
}

/// Time by which the ramp of the last tile begins after that of the first.
fn staggered(plan: &Plan) -> Nanos {
    Nanos(plan.stagger.0 * u64::from(plan.tiles().unwrap_or(1) - 1))
}

/// The tiles of a run, and the reference of its score.
fn tiles(plan: &Plan) -> Option<String> {
    let tiles = plan.tiles()?;
    let mut members: Vec<&str> = Vec::new();
    for tile in plan.all().filter_map(|load| load.tile.as_ref()) {
        if !members.contains(&&*tile.member) {
            members.push(&tile.member);
        }
    }
    let apart = match plan.of_all() {
        Strategy::Fixed { .. } if plan.stagger > Nanos::ZERO => {
            format!(", ramps {} apart", span(plan.stagger))
        }
        _ => String::new(),
    };
    let score = match &plan.reference {
        Some(file) => format!("; scored against {}", file.display()),
        None => "; no score without load.reference".to_owned(),
    };
    Some(format!("tiles     {tiles} of {}{apart}{score}", listed(&members)))
}

/// Platform, hosts and flavour of the deployment: `on platform vm, all on one host, services tuned`.
#[must_use]
pub fn placed(deploy: &DeployPlan) -> String {
    let spread = format!("the parts of a load on one of {} hosts", deploy.spread_over);
    let hosts = match (deploy.has(Ability::Hosts), deploy.hosts.as_str()) {
        (false, _) => "as processes of this machine",
        (_, "together") if deploy.spread_over > 0 => &spread,
        (_, "together") => "all on one host",
        _ => "each part on a host of its own",
    };
    format!("on platform {}, {hosts}, services {}", deploy.platform, deploy.flavour)
}

/// The starts of operations in an open loop.
fn started(plan: &Plan) -> Option<String> {
    let open = plan.open.as_ref()?;
    let users = match open.most_users {
        0 => "as many users at work as rate and limits ask for".to_owned(),
        most => format!("at most {} at work", users(most)),
    };
    let waiting = count(open.most_waiting.into());
    let how = arrivals(&open.arrivals, open.start_of);
    Some(format!("          {how}; {users}, and at most {waiting} arrivals waiting"))
}

/// An existing target, and what is `done` about it, as a line of an explanation.
#[must_use]
pub fn there(url: &str, done: &str) -> String {
    match url.strip_prefix("load:") {
        Some(load) => format!("target    the application that load {load} deploys"),
        None => format!("target    {url}, which is there already: {done}"),
    }
}

/// Dense mode, unless it is off.
fn dense(plan: &Plan) -> Option<String> {
    let DeployPlan { dense, dense_every, .. } = plan.deploy;
    let words = match dense {
        DenseMode::Off => return None,
        DenseMode::On => "on for the whole load".to_owned(),
        DenseMode::Automatic => {
            format!("switched by the use of the host, checked every {}", span(dense_every))
        }
    };
    Some(format!("dense     {words}; settings of the kernel are set back at the end"))
}

/// The links between hosts.
fn links(plan: &Plan) -> Option<String> {
    let link = plan.deploy.link;
    let speed = if link.mbit > 0 { format!("{} Mbit/s", link.mbit) } else { "full speed".to_owned() };
    (link != Link::default()).then(|| {
        format!("links     {speed}, {} ms and {:.2} % loss each way", link.delay_ms(), link.loss * 100.0)
    })
}

/// The limits of the parts of a load, and of drivers.
fn limits(plan: &Plan) -> impl Iterator<Item = String> {
    plan.deploy.limits.iter().filter_map(|limits| {
        if limits.tier == DRIVER && plan.driver_units() == 0 {
            // Only its cores are limited.
            let of = if plan.load.is_empty() { String::new() } else { format!(" of {}", plan.load) };
            let cores = (!limits.cores.is_all()).then_some(&limits.cores);
            return cores.map(|cores| format!("limits    the driver{of}: on cores {cores}"));
        }
        let parts = match plan.letter.filter(|_| limits.tier != DRIVER) {
            Some(_) => format!("{}-{}", plan.load, limits.tier),
            None => limits.tier.to_owned(),
        };
        limited(&plan.deploy, limits).map(|limited| format!("limits    each part of {parts}: {limited}"))
    })
}

/// Limits of each part of a tier, if it has any.
fn limited(deploy: &DeployPlan, limits: &TierLimits) -> Option<String> {
    let TierLimits { tier: _, cpus, cores, memory_mib, disk_mib, disk_mb_s, offloads, programs } = limits;
    let on = if deploy.has(Ability::Machines) { "a virtual machine on cores" } else { "on cores" };
    let all = [
        (*cpus > 0.0).then(|| format!("CPU time of {cpus} cores")),
        (!cores.is_all()).then(|| format!("{on} {cores}")),
        (*memory_mib > 0).then(|| format!("{memory_mib} MiB of memory")),
        (*disk_mib > 0).then(|| format!("{disk_mib} MiB of disk")),
        (*disk_mb_s > 0.0).then(|| format!("{disk_mb_s} MB/s of each disk, each way")),
        (!offloads.is_default()).then(|| format!("a link end with {offloads}")),
        programs.as_ref().map(|folder| format!("programs of {}", folder.display())),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Whether the load is a trace: its window is as long as the trace, which is not read here.
fn is_trace(plan: &Plan) -> bool {
    plan.durations.window == Nanos::ZERO
}

/// A load that ends after a number of operations.
fn counted(plan: &Plan, operations: u64) -> String {
    let d = &plan.durations;
    let before = match d.ramp + d.warm_up {
        Nanos::ZERO => String::new(),
        before => format!(", after {} that are not counted", span(before)),
    };
    let most = match d.window {
        Nanos::ZERO => String::new(),
        most => format!(", for at most {}", span(most)),
    };
    let level = offered(plan.offered_by_all(plan.strategy.most()));
    if operations == MOST_OPERATIONS {
        return format!("load      {level}{before}{most}, without a steady state");
    }
    format!("load      {} of {level}{before}{most}", barograph_model::words::counted(operations, "operation"))
}

fn load(plan: &Plan) -> Vec<String> {
    let d = &plan.durations;
    if let Some(operations) = plan.operations {
        return vec![counted(plan, operations)];
    }
    match plan.of_all() {
        Strategy::Fixed { .. } if is_trace(plan) => {
            vec!["load      as the trace says, measured from its start to its end".to_owned()]
        }
        Strategy::Fixed { level, windows } => vec![format!(
            "load      {}: ramp {}, warm-up {}, {windows} measured window{} of {}",
            offered(plan.offered_by_all(*level)),
            span(d.ramp),
            span(d.warm_up),
            if *windows == 1 { "" } else { "s" },
            span(d.window)
        )],
        Strategy::Search(bounds) => search(plan, bounds),
        Strategy::Path(path) => {
            let times = if path.repeats == 1 {
                String::new()
            } else {
                format!(", {} times", count(path.repeats.into()))
            };
            let mut lines = vec![format!(
                "load      a path of {} steps{times}; each hold is measured and judged",
                path.steps.len()
            )];
            for step in &path.steps {
                let over = if step.over == Nanos::ZERO {
                    "at once".to_owned()
                } else {
                    format!("over {}", span(step.over))
                };
                let hold = if step.hold == Nanos::ZERO {
                    String::new()
                } else {
                    format!(", held for {}", span(step.hold))
                };
                lines.push(format!("          to {} {over}{hold}", offered(plan.offered_by_all(step.level))));
            }
            lines
        }
    }
}

fn search(plan: &Plan, bounds: &SearchBounds) -> Vec<String> {
    let d = &plan.durations;
    let unit = match plan.unit_of_all() {
        LoadUnit::Users => "the most users",
        LoadUnit::PerSecond => "the most starts/s",
        LoadUnit::Scale => "the highest scale of all loads",
        LoadUnit::Tiles => "the most percent of tiles",
    };
    let most = match (bounds.max, plan.unit_of_all()) {
        (0, LoadUnit::Users) => "what the data or this machine admit".to_owned(),
        (0, LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles) => "what it holds".to_owned(),
        (max, _) => count(max.into()),
    };
    let from = if bounds.min == 0 { String::new() } else { format!("from {} ", count(bounds.min.into())) };
    let head = format!(
        "load      search for {unit} that pass, {from}up to {most}, at most {} trials",
        bounds.max_trials
    );
    let change = d.step + d.settle;
    let change = match spreading(plan).each {
        Nanos::ZERO => format!("{} of change and settling", span(change)),
        more => format!(
            "{} of change and settling, {} where many users are added",
            span(change),
            span(change + more)
        ),
    };
    let windows = if d.window == d.confirm {
        format!("windows of {} after {change}", span(d.window))
    } else {
        format!("windows of {} after {change}; those that confirm take {}", span(d.window), span(d.confirm))
    };
    let begin = match bounds.method {
        SearchMethod::Posterior | SearchMethod::Bisect => format!("first ramp {}, then ", span(d.ramp)),
        SearchMethod::FindMax { .. } | SearchMethod::Staircase(_) => {
            format!("the first level for {}, then ", span(d.ramp + d.warm_up))
        }
    };
    vec![head, format!("          {begin}{windows}"), format!("          {}", how(plan, bounds))]
}

/// The method of the search and its end.
fn how(plan: &Plan, bounds: &SearchBounds) -> String {
    let exact = percent(bounds.resolution);
    let stride = |step: u32, otherwise: &str| match step {
        0 => otherwise.to_owned(),
        step => offered(plan.offered_by_all(step)),
    };
    match bounds.method {
        SearchMethod::Posterior => format!(
            "by posterior: each trial where it tells the most, until the 95 % interval is {exact} wide and its lower end \
             is confirmed"
        ),
        SearchMethod::Bisect => {
            format!("by bisect: the gap between pass and failure is halved down to {exact}, then confirmed")
        }
        SearchMethod::FindMax { step } => format!(
            "by findmax: a ramp in steps of {}, then steps that shrink until the gap is {exact}; no confidence is stated",
            stride(step, "1,000, or a tenth of the most")
        ),
        SearchMethod::Staircase(stair) => {
            let cpu = percent(stair.most_cpu);
            let gain = match stair.least_gain.get() > 0.0 {
                true => format!(", throughput gains less than {},", percent(stair.least_gain)),
                false => String::new(),
            };
            format!(
                "by staircase: steps of {} until a level fails{gain} or {cpu} of the host's CPU is used",
                stride(stair.step, "a twentieth of the most")
            )
        }
    }
}

/// A share for people. Four decimals are more than users write, and less than the error of binary forms.
fn percent(share: Share) -> String {
    format!("{} %", (share.get() * 1e6).round() / 1e4)
}

fn arrivals(arrivals: &ArrivalsPlan, start_of: StartOf) -> String {
    let what = if start_of == StartOf::Session { "sessions" } else { "operations" };
    match arrivals {
        ArrivalsPlan::Constant => format!("{what} start at equal distances"),
        ArrivalsPlan::Poisson => format!("{what} start as independent events (Poisson)"),
        ArrivalsPlan::Trace(file) => format!("{what} start at the instants in {}", file.display()),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_estimate_adds_up() {
        let plan = crate::read(crate::Catalogue::default(), "p", "", &[]).unwrap();
        // Quick: 90 ramp + 70 warm-up + 15 window + 7 x (5 + 10 + 15) + 106 in which new users spread + 5 drain.
        assert_eq!(super::estimate(&plan).as_secs_f64(), 496.0);
        assert!(super::explain(&plan).contains("at most 8 min 16 s"), "{}", super::explain(&plan));
        assert!(
            super::explain(&plan)
                .contains("after 15 s of change and settling, 58 s where many users are added")
        );
        let bisect =
            crate::read(crate::Catalogue::default(), "p", "", &["load.search=bisect".to_owned()]).unwrap();
        // 90 ramp + 70 warm-up + 45 window + 3 x (10 + 20 + 45) + 106 + 5 drain.
        assert_eq!(super::estimate(&bisect).as_secs_f64(), 541.0);
    }

    /// A search by posterior may not take longer than the one by bisection at the same pace.
    #[test]
    fn many_short_windows_take_no_longer_than_few_long_ones() {
        for pace in ["quick", "standard", "full"] {
            let takes = |method: &str| {
                let sets = [format!("load.duration={pace}"), format!("load.search={method}")];
                super::estimate(&crate::read(crate::Catalogue::default(), "p", "", &sets).unwrap())
            };
            assert!(takes("posterior") <= takes("bisect"), "{pace}");
        }
    }

    #[test]
    fn every_method_is_explained() {
        let says = |method: &str| {
            super::explain(
                &crate::read(crate::Catalogue::default(), "p", "", &[format!("load.search={method}")])
                    .unwrap(),
            )
        };
        assert!(says("posterior").contains("until the 95 % interval is 5 % wide"), "{}", says("posterior"));
        assert!(
            says("posterior").contains("first ramp 1 min 30 s, then windows of 15 s after 15 s of change")
        );
        assert!(says("bisect").contains("halved down to 5 %"), "{}", says("bisect"));
        assert!(says("findmax").contains("until the gap is 1 %"), "{}", says("findmax"));
        let stairs = says("staircase");
        assert!(stairs.contains("throughput gains less than 1 %, or 100 % of the host's"), "{stairs}");
    }

    #[test]
    fn shares_are_said_as_they_were_written() {
        let says = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(|set| format!("load.{set}")).collect();
            super::explain(&crate::read(crate::Catalogue::default(), "p", "", &sets).unwrap())
        };
        let posterior = says(&["resolution=0.07"]);
        assert!(posterior.contains("interval is 7 % wide"), "{posterior}");
        let stairs = says(&["search=staircase", "least_gain=0.07", "most_cpu=0.555"]);
        assert!(stairs.contains("gains less than 7 %, or 55.5 % of the host's"), "{stairs}");
        let any_gain = says(&["search=staircase", "least_gain=0"]);
        assert!(any_gain.contains("until a level fails or 100 % of the host's CPU is used"), "{any_gain}");
    }

    #[test]
    fn every_trial_but_the_first_may_take_the_longer_window() {
        let sets = [
            "ramp_s=10",
            "warm_up_s=20",
            "window_s=30",
            "step_s=1",
            "settle_s=2",
            "confirm_s=50",
            "drain_s=4",
        ];
        let mut sets: Vec<String> = sets.iter().map(|s| format!("load.{s}")).collect();
        sets.push("load.max_trials=5".to_owned());
        let plan = crate::read(crate::Catalogue::default(), "p", "", &sets).unwrap();
        let estimate = super::estimate(&plan).as_secs_f64();
        // New users spread for twice a third of 10 + 20 s.
        assert_eq!(estimate, 10.0 + 20.0 + 30.0 + 4.0 * (1.0 + 2.0 + 50.0) + 20.0 + 4.0);
    }
}

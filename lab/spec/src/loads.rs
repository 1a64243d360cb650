//! The list `[[loads]]`: several loads at once.
//!
//! A table of the list is a plan of its own: its keys override those outside of the list, which hold for
//! every load. The common level of all loads is in `[load]`, in percent of each load's own level.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use barograph_model::{Durations, Nanos, Strategy};

use crate::catalogue::Catalogue;
use crate::effect::CORES_OF_DRIVERS;
use crate::load::LoadPlan;
use crate::plan::{self, Plan};
use crate::settings_reader::SettingsReader;
use crate::tiles::{TileLoadPlan, TilePlan};
use crate::{Refusal, Refusals, load, tiles};

/// The list.
pub(crate) const LIST: &str = "loads";

/// Most loads of one run.
pub(crate) const MOST: usize = 64;

/// Most loads of one run that deploy: the names of their hosts differ by a letter.
const MOST_DEPLOYED: usize = 26;

/// Most letters of a name: it is also the name of a folder.
const LONGEST_NAME: usize = 64;

/// Keys of `[load]` that each load of the list has of its own; all others are those of the run.
const OF_A_LOAD: [&str; 8] = [
    "load.unit",
    "load.users",
    "load.rate",
    "load.arrivals",
    "load.trace",
    "load.start_of",
    "load.most_users",
    "load.most_waiting",
];

/// Keys outside of `[load]` that all loads of a run have in common, apart from the cores of drivers: a driver in
/// this process has workers of its own for each load.
const SHARED: [&str; 20] = [
    "runs",
    "record_paths",
    "seed",
    "platform",
    "actions",
    "faults",
    "elasticity.",
    "driver.",
    "power.",
    "deploy.hosts",
    "deploy.spread_over",
    "deploy.link_",
    "deploy.container_",
    "deploy.kubernetes_",
    "deploy.vm_accel",
    "deploy.vm_manager",
    "deploy.statistics",
    "deploy.driver_",
    "data.dir",
    "data.snapshots",
];

fn is_of_run(key: &str) -> bool {
    key.starts_with("load.") && !OF_A_LOAD.contains(&key) && !key.starts_with("load.most_")
}

/// The key of a load in the list, for refusals: keys common to all loads stand outside.
#[must_use]
pub fn key_of_load(at: usize, key: &str) -> String {
    if is_of_run(key) || is_shared(key) { key.to_owned() } else { format!("{LIST}[{at}].{key}") }
}

/// Whether a key concerns the deployment.
fn is_of_deployment(key: &str) -> bool {
    key.starts_with("actions")
        || key.starts_with("faults")
        || key.starts_with("deploy.") && key != CORES_OF_DRIVERS
}

/// Whether an element of the list deploys an application.
pub(crate) fn deploys(given: &SettingsReader, at: usize, catalogue: Catalogue<'_>) -> bool {
    let text = |key: &str| given.text(&format!("{LIST}[{at}].{key}")).or_else(|| given.text(key));
    let named = text("workload");
    let keys = match named {
        Some(name) => catalogue.workload(name),
        None => catalogue.workloads.first().copied(),
    };
    text("target.url").is_none() && keys.is_some_and(|keys| !keys.tiers().is_empty())
}

fn is_shared(key: &str) -> bool {
    key != CORES_OF_DRIVERS && SHARED.iter().any(|shared| key.starts_with(shared))
}

/// Reads a plan with a list of loads.
pub(crate) fn read(
    name: &str,
    mut given: SettingsReader,
    catalogue: Catalogue<'_>,
) -> Result<Plan, Refusals> {
    if !tiles::multiply(&mut given, LIST, catalogue) {
        return Err(Refusals(given.finish_taken()));
    }
    let allowed = format!("a list of 2 to {MOST} tables, each the plan of a load");
    let strays = given.strays(LIST);
    let Some(count) = given.tables(LIST, MOST, &allowed) else { return Err(Refusals(given.finish_taken())) };
    if count < 2 || !strays.is_empty() {
        if count < 2 {
            let what = "write the keys of an only load without a list";
            given.refuse(LIST, format!("{count} table"), &allowed, what);
        }
        return Err(Refusals([given.finish_taken(), strays].concat()));
    }
    // Keys of the deployment concern the loads that deploy, or the first one if none does.
    let deployed: Vec<usize> = (0..count).filter(|at| deploys(&given, *at, catalogue)).collect();
    let concerned = if deployed.is_empty() { vec![0] } else { deployed.clone() };
    let mut whole = given.only(is_of_run);
    let shape = load::of_all(&mut whole);
    let (mut refusals, mut outer) = (Vec::new(), OuterKeys::default());
    let (mut loads, mut texts, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for at in 0..count {
        let prefix = format!("{LIST}[{at}]");
        let is_its_own = |key: &str| !is_of_run(key) && (concerned.contains(&at) || !is_of_deployment(key));
        let mut each = given.element(&prefix, is_its_own);
        let mut misplaced = each.misplaced(|key| is_of_run(key) || is_shared(key), (&prefix, &given));
        // Its level is that at 100 %.
        each.set_at("load.strategy", "fixed", name);
        for (key, span) in shape.iter().flat_map(|shape| spans(&shape.durations)) {
            each.set_at(key, &(span.0 / 1_000_000_000).to_string(), name);
        }
        let plan = plan::check(name, &mut each, catalogue);
        plan.iter().for_each(|plan| spread_of(&mut each, plan.deploy.spread_over, deployed.len()));
        each.refuse_asked(tiles::INSTANCES, "left out in [[loads]]", "leave it out, or set tiles");
        // After the plan: its resolved form reads back as a plan of its own, which has no name.
        let called = each.label("name", "letters, digits and hyphens").flatten();
        let called = called.or_else(|| plan.as_ref().map(|plan| plan.workload.clone())).unwrap_or_default();
        let tile = tiles::of_element(&mut each, &called);
        name_of_load(&mut each, (&called, tile.as_ref()), &mut names);
        if let Some(plan) = plan {
            texts.push(table(&each, &called));
            loads.push(Plan { load: called, letter: letter(&deployed, at), tile, ..plan });
        }
        // Unknown keys are refused as such, and known ones that belong outside only once.
        misplaced.retain(|refusal| each.known().contains_key(&refusal.key[prefix.len() + 1..]));
        let (known, foreign) = (each.known().clone(), each.foreign_keys().clone());
        outer.known_to(known.keys().filter(|key| is_its_own(key)), (&prefix, &given));
        let is_of_all = |refusal: &Refusal| is_of_run(&refusal.key) && known.contains_key(&refusal.key);
        let found = each.finish().into_iter().filter(|refusal| !is_of_all(refusal));
        let found = found.map(|refusal| of_element(refusal, (&prefix, &foreign), &given));
        let twice = |refusal: &Refusal| misplaced.iter().any(|other| other.key == refusal.key);
        refusals.extend(found.filter(|refusal| !twice(refusal)).collect::<Vec<_>>());
        refusals.extend(misplaced);
    }
    refusals.extend(outer.unused(&given));
    let shared = shared(&given, catalogue, name);
    // Without its refused loads a list has other tiles and strategies than the plan.
    if let Some(shape) = shape.as_ref().filter(|_| loads.len() == count) {
        check_together(&mut whole, shape, &mut loads);
    }
    if deployed.len() > MOST_DEPLOYED {
        let allowed = format!("at most {MOST_DEPLOYED} loads that deploy an application");
        whole.refuse(LIST, deployed.len(), &allowed, "give the others a target.url");
    }
    let (resolved, numbers) = (whole.resolved(), plan::numbers(&whole));
    refusals.extend(whole.finish());
    distinct(&mut refusals);
    match shape.filter(|_| refusals.is_empty() && loads.len() == count) {
        Some(shape) => {
            let of_run = format!("{}{shared}{resolved}{}", tiles::copied(&given), texts.concat());
            Ok(together(loads, &shape, (&of_run, numbers)))
        }
        None => Err(Refusals(refusals)),
    }
}

/// Keys outside of the list that loads know, each with whether one of them uses it.
#[derive(Default)]
struct OuterKeys(BTreeMap<String, bool>);

impl OuterKeys {
    /// Adds the keys that an element of the list knows.
    fn known_to<'k>(
        &mut self,
        keys: impl Iterator<Item = &'k String>,
        (prefix, given): (&str, &SettingsReader),
    ) {
        for key in keys.filter(|key| given.stands(key) && !is_shared(key)) {
            let is_used = !given.stands(&format!("{prefix}.{key}"));
            *self.0.entry(key.clone()).or_default() |= is_used;
        }
    }

    /// Refusals of those that no load uses.
    fn unused(&self, given: &SettingsReader) -> Vec<Refusal> {
        let unused = self.0.iter().filter(|(_, is_used)| !**is_used);
        unused.filter_map(|(key, _)| given.overridden(key, LIST)).collect()
    }
}

/// Checks the shape of the run against all loads, and settings for tiles.
fn check_together(whole: &mut SettingsReader, shape: &LoadPlan, loads: &mut [Plan]) {
    if !matches!(shape.strategy, Strategy::Fixed { .. })
        && !loads.is_empty()
        && loads.iter().all(Plan::is_trace)
    {
        let allowed = "\"fixed\" where every load is a trace: none has a level that could be scaled";
        whole.refuse("load.strategy", "another", allowed, "leave it out, or add a load with a level");
    }
    if let Some(first) = loads.first() {
        plan::windows_can_be_judged(whole, &shape.strategy, &shape.durations, first.driver.interval);
    }
    tiles::check(whole, &shape.tiles, loads);
}

/// The first load, with the others beside it.
fn together(
    mut loads: Vec<Plan>,
    shape: &LoadPlan,
    (of_run, mut numbers): (&str, BTreeMap<String, f64>),
) -> Plan {
    let shared = loads[0].numbers.iter().filter(|(key, _)| is_shared(key));
    numbers.extend(shared.map(|(key, number)| (key.clone(), *number)));
    for load in &mut loads {
        load.numbers_of_run.clone_from(&numbers);
        load.scale = Some(shape.strategy.clone());
        let TileLoadPlan { one_by_one, stagger, reference } = shape.tiles.clone();
        (load.one_by_one, load.stagger, load.reference) = (one_by_one, stagger, reference);
        of_run.clone_into(&mut load.of_run);
    }
    let beside = loads.split_off(1);
    Plan { beside, ..loads.remove(0) }
}

/// The keys of durations.
fn spans(d: &Durations) -> [(&'static str, Nanos); 7] {
    [
        ("load.ramp_s", d.ramp),
        ("load.warm_up_s", d.warm_up),
        ("load.window_s", d.window),
        ("load.step_s", d.step),
        ("load.settle_s", d.settle),
        ("load.confirm_s", d.confirm),
        ("load.drain_s", d.drain),
    ]
}

/// Refuses a name that is unfit for a folder, or taken by another load.
fn name_of_load(
    each: &mut SettingsReader,
    (name, tile): (&str, Option<&TilePlan>),
    names: &mut BTreeSet<String>,
) {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain);
    if !is_plain || name.len() > LONGEST_NAME || !names.insert(name.to_lowercase()) {
        // The number of a tile was added to the name in the plan.
        let given = tile.map_or(name, |tile| &tile.member);
        let most = LONGEST_NAME - (name.len() - given.len());
        let allowed = format!("up to {most} letters, digits and hyphens, and no other load of this name");
        each.refuse("name", format!("{given:?}"), &allowed, "give each load a `name` of its own");
    }
}

/// Refuses more hosts than there are applications to be spread over them.
fn spread_of(each: &mut SettingsReader, hosts: u32, applications: usize) {
    if hosts > 0 && (applications < 2 || hosts as usize > applications) {
        let allowed =
            format!("up to the number of loads that deploy an application, at least 2; here {applications}");
        each.refuse("deploy.spread_over", hosts, &allowed, "name fewer hosts, or leave it out");
    }
}

/// The letter of the load at this index of the list; `None` unless it is one of several that deploy.
fn letter(deployed: &[usize], at: usize) -> Option<char> {
    let place = deployed.iter().position(|of| *of == at).filter(|_| deployed.len() > 1)?;
    ('a'..='z').nth(place)
}

/// A load as a table of the list.
fn table(each: &SettingsReader, name: &str) -> String {
    let mut text = format!("\n[[{LIST}]]\nname = {name:?}\n");
    let of_all = |key: &str| ["name", tiles::INSTANCES].contains(&key) || is_of_run(key) || is_shared(key);
    let own = each.values().filter(|(key, _)| !of_all(key));
    for (key, value) in own {
        writeln!(text, "{key} = {value}").expect("writing to memory cannot fail");
    }
    text
}

/// The keys that all loads have in common, with their defaults.
fn shared(given: &SettingsReader, catalogue: Catalogue<'_>, name: &str) -> String {
    let mut common = given.only(is_shared);
    let _ = plan::check(name, &mut common, catalogue);
    let mut text = String::new();
    for (key, value) in common.values().filter(|(key, _)| is_shared(key)) {
        writeln!(text, "{key} = {value}").expect("writing to memory cannot fail");
    }
    text
}

/// A refusal of a key that stands in a table of the list, or of one outside that other loads may have.
fn of_element(
    refusal: Refusal,
    (prefix, foreign): (&str, &BTreeSet<String>),
    given: &SettingsReader,
) -> Refusal {
    let inside = format!("{prefix}.{}", refusal.key);
    if given.stands(&inside) {
        return Refusal { key: inside, ..refusal };
    }
    if OF_A_LOAD.contains(&refusal.key.as_str()) && foreign.contains(&refusal.key) {
        let remedy = format!("give it to single loads, as in `{LIST}[0].{}`", refusal.key);
        return Refusal { remedy, ..refusal };
    }
    refusal
}

/// Each refusal once: keys outside of the list are read for every load.
fn distinct(refusals: &mut Vec<Refusal>) {
    let mut seen = BTreeSet::new();
    refusals
        .retain(|refusal| seen.insert((refusal.place.clone(), refusal.key.clone(), refusal.value.clone())));
}

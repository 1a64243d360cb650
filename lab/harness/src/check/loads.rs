//! All loads of a run, and the bounds of scaling them together.

use std::sync::Arc;

use barograph_model::{Level, LoadUnit, SearchBounds, Strategy};
use barograph_record::{Decisions, UnitRecord};
use barograph_spec::{MOST_RATE, MOST_USERS, Plan, Refusal, Refusals, WHOLE_TILE};
use barograph_workload::Workload;

use super::effect::shares_ports;
use super::{
    CheckedPlan, Machine, Target, WrongValue, check, elastic, search_of, tiles, unknown_units, volumes,
};
use crate::deploy;
use crate::run::CheckedLoad;

/// Prefix of a `target.url` that names the load whose application is the target.
pub(crate) const OF_LOAD: &str = "load:";

/// Default bounds of a search over the scale: a tenth to ten times each load's own level.
const LEFT_OPEN: (u32, u32) = (10, 1_000);

/// Checks every load of a plan against its workload, in order, and this machine.
///
/// # Errors
/// If the plan of any load is impossible.
pub fn check_all(
    plan: &Plan,
    workloads: Vec<Arc<dyn Workload>>,
    machine: Machine,
) -> Result<Vec<CheckedLoad>, Refusals> {
    let several = !plan.beside.is_empty();
    let share = Machine { open_files: machine.open_files / (plan.beside.len() as u64 + 1), ..machine };
    let (mut loads, mut refusals) = (Vec::new(), Vec::new());
    for (at, (plan, workload)) in plan.all().zip(workloads).enumerate() {
        match check(plan, workload.as_ref(), share) {
            Ok(checked) => loads.push(CheckedLoad { checked, workload }),
            Err(refused) => refusals.extend(refused.0.into_iter().map(|refusal| (at, refusal))),
        }
    }
    if !refusals.is_empty() {
        return Err(Refusals(of_loads(&refusals, plan.beside.len() + 1)));
    }
    if several {
        together(&mut loads)?;
    }
    elastic::elastic(&mut loads)?;
    volumes::volumes(&loads)?;
    volumes::shared_folders(&loads)?;
    Ok(loads)
}

/// Refusals of a run of `loads`, each with the index of its load: under the key of that load, or once under a
/// key outside of the list if all loads have the same.
fn of_loads(refusals: &[(usize, Refusal)], loads: usize) -> Vec<Refusal> {
    let mut all: Vec<Refusal> = Vec::new();
    for (at, refusal) in refusals {
        let same = refusals.iter().filter(|(_, other)| other == refusal).count();
        let key =
            if same == loads { refusal.key.clone() } else { barograph_spec::key_of_load(*at, &refusal.key) };
        let refusal = Refusal { key, ..refusal.clone() };
        if !all.contains(&refusal) {
            all.push(refusal);
        }
    }
    all
}

/// Checks that concern several loads only.
fn together(loads: &mut [CheckedLoad]) -> Result<(), Refusals> {
    distinct_notes(loads);
    tiles::reference(loads)?;
    let first = &loads[0].checked.plan;
    let refused = |key: &str, value: String, allowed: String, remedy: &str| {
        let (place, key) = (first.place(key).to_owned(), key.to_owned());
        Refusals(vec![Refusal { place, key, value, allowed, remedy: remedy.to_owned() }])
    };
    let deployed = loads.iter().filter(|load| load.checked.target == Target::Deployed);
    let names: Vec<&str> = deployed.map(|load| load.checked.plan.load.as_str()).collect();
    for (at, load) in loads.iter().enumerate() {
        let Target::There { url } = &load.checked.target else { continue };
        let Some(named) = url.strip_prefix(OF_LOAD) else { continue };
        if !names.contains(&named) {
            let quoted = names.iter().map(|name| format!("\"{OF_LOAD}{name}\"")).collect::<Vec<_>>();
            let allowed = match &quoted[..] {
                [] => "a URL: no load deploys an application".to_owned(),
                [only] => format!("a URL, or {only}, the load that deploys its application"),
                several => format!("a URL, or one of {}, the loads that deploy", several.join(", ")),
            };
            let key = format!("loads[{at}].target.url");
            return Err(refused(&key, format!("{url:?}"), allowed, "name where the target answers"));
        }
    }
    ports(loads)?;
    cores_of_drivers(loads)?;
    units_of_actions(loads)?;
    let most = loads.iter().filter_map(most_scale).min().unwrap_or(u32::MAX);
    let most = match first.unit_of_all() {
        LoadUnit::Tiles if most >= WHOLE_TILE => WHOLE_TILE * first.tiles().unwrap_or(1),
        _ => most,
    };
    let Some(mut scale) = first.scale.clone() else { return Ok(()) };
    let unit = first.unit_of_all();
    let key = match &scale {
        Strategy::Fixed { .. } => "load.scale",
        Strategy::Path(_) => "load.path",
        Strategy::Search(_) => "load.max_scale",
    };
    let asked = scale.most();
    if asked > most {
        let allowed =
            format!("at most {most}, which is what tiles, data, open files and rates admit of every load");
        return Err(refused(
            key,
            asked.to_string(),
            allowed,
            "lower it, or what the loads have of their own",
        ));
    }
    if let Strategy::Search(bounds) = &mut scale {
        *bounds = closed(*bounds, most, left_open(unit));
    }
    for load in loads {
        load.checked.plan.scale = Some(scale.clone());
    }
    Ok(())
}

/// Refuses other cores for one load than for another if drivers are units: each drives all loads.
fn cores_of_drivers(loads: &[CheckedLoad]) -> Result<(), Refusals> {
    let plans = || loads.iter().map(|load| &load.checked.plan);
    let of = |plan: &Plan| plan.deploy.limits_of(deploy::DRIVERS).map(|limits| limits.cores.to_string());
    let first = plans().next().filter(|plan| plan.driver_units() > 0);
    let other = first.and_then(|first| plans().enumerate().find(|(_, plan)| of(plan) != of(first)));
    let Some((at, plan)) = other else { return Ok(()) };
    let key = format!("deploy.{}_cores", deploy::DRIVERS);
    Err(Refusals(vec![Refusal {
        place: plan.place(&key).to_owned(),
        key: barograph_spec::key_of_load(at, &key),
        value: format!("{:?}", of(plan).unwrap_or_default()),
        allowed: "the same for every load: drivers that are units drive all of them".to_owned(),
        remedy: "move it above [[loads]], or set driver.place = \"own\"".to_owned(),
    }]))
}

/// Refuses two deploying loads with the same ports, if ports are those of this machine.
fn ports(loads: &[CheckedLoad]) -> Result<(), Refusals> {
    let mut seen = Vec::new();
    for (at, CheckedLoad { checked: CheckedPlan { plan, target, .. }, .. }) in loads.iter().enumerate() {
        let port = plan.target.port;
        if port == 0 || *target != Target::Deployed || !shares_ports(plan) {
            continue;
        }
        if seen.contains(&port) {
            let wrong = WrongValue {
                key: "target.port",
                value: port.to_string(),
                allowed: "a port that no other load has, or 0 for any".to_owned(),
                remedy: "choose another".to_owned(),
            };
            let key = barograph_spec::key_of_load(at, wrong.key);
            return Err(Refusals(vec![Refusal { key, ..wrong.at(plan) }]));
        }
        seen.push(port);
    }
    Ok(())
}

/// Refuses actions on parts that no load deploys, if several loads deploy.
fn units_of_actions(loads: &[CheckedLoad]) -> Result<(), Refusals> {
    let plan = &deploy::plan_of_all(loads).checked.plan;
    if plan.letter.is_none() {
        return Ok(());
    }
    let planned = deploy::planned(loads);
    let wrong = unknown_units(plan, planned.iter().flat_map(|planned| &planned.topology.parts));
    if wrong.is_empty() { Ok(()) } else { Err(Refusals(wrong)) }
}

/// Largest scale that the data, the open files and the unit of a load admit; `None` for a trace, which has no
/// level.
fn most_scale(load: &CheckedLoad) -> Option<u32> {
    let plan = &load.checked.plan;
    if plan.is_trace() {
        return None;
    }
    let most = match plan.unit {
        LoadUnit::Users => load.checked.most_users.min(MOST_USERS as u32),
        LoadUnit::PerSecond | LoadUnit::Scale | LoadUnit::Tiles => MOST_RATE,
    };
    plan.whole().map(|whole| (f64::from(most) * 100.0 / f64::from(whole.level.max(Level::LEAST))) as u32)
}

/// Removes repeated notes: notes on the machine are the same for every load.
fn distinct_notes(loads: &mut [CheckedLoad]) {
    let mut seen = std::collections::BTreeSet::new();
    for load in loads {
        load.checked.notes.retain(|note| seen.insert(note.clone()));
    }
}

/// Default bounds of a search. One over tiles goes from one to all of them.
fn left_open(unit: LoadUnit) -> (u32, u32) {
    if unit == LoadUnit::Tiles { (WHOLE_TILE, u32::MAX) } else { LEFT_OPEN }
}

/// Bounds with nothing left open.
fn closed(bounds: SearchBounds, most: u32, left_open: (u32, u32)) -> SearchBounds {
    let max = if bounds.max == 0 { left_open.1.min(most) } else { bounds.max };
    let min = if bounds.min == 0 { left_open.0 } else { bounds.min };
    SearchBounds { min: min.min(max), max, ..bounds }
}

/// Decisions about all loads of a run of several.
pub(crate) fn decisions_of_run(plan: &Plan) -> Option<Decisions> {
    let bounds = plan.scale.as_ref().and_then(search_of)?;
    let (lowest, highest) = (Some(bounds.min), Some(bounds.max));
    Some(Decisions { unit: UnitRecord::Percent, lowest, highest, ..Decisions::default() })
}

//! The tier whose nodes follow the load, and its demand curve.

use std::path::Path;
use std::sync::Arc;

use barograph_model::{Ability, LoadUnit};
use barograph_spec::{DemandFile, Plan, Refusal, Refusals};
use barograph_workload::topology::{Part, PartWork};

use super::WrongValue;
use super::tiles::read;
use crate::actions::{scalable, tier_of};
use crate::deploy;
use crate::run::CheckedLoad;

/// The key of the file.
const FILE: &str = "elasticity.demand";

/// Holds the tier against what is deployed, and reads the demand curve.
pub(super) fn elastic(loads: &mut [CheckedLoad]) -> Result<(), Refusals> {
    let plan = &deploy::plan_of_all(loads).checked.plan;
    if !plan.elasticity.is_measured() {
        return Ok(());
    }
    let planned = deploy::planned(loads);
    let wrong = wrong(plan, planned.iter().flat_map(|planned| &planned.topology.parts));
    if !wrong.is_empty() {
        return Err(Refusals(wrong.into_iter().map(|wrong| wrong.at(plan)).collect()));
    }
    let Some(file) = plan.elasticity.demand.as_deref() else { return Ok(()) };
    let demand = Arc::new(demand(plan, file)?);
    for load in loads {
        load.checked.demand = Some(Arc::clone(&demand));
    }
    Ok(())
}

/// What the tiers of the deployment cannot do.
fn wrong<'p>(plan: &Plan, parts: impl Iterator<Item = &'p Part>) -> Vec<WrongValue> {
    let serve: Vec<&Part> = parts.filter(|part| matches!(part.work, PartWork::Service(_))).collect();
    let (tiers, of) = (scalable(&serve), &plan.elasticity);
    let Some(nodes) = tiers.get(of.tier.as_str()) else {
        let several = "several nodes behind a balancer or web server";
        let allowed = match &tiers.keys().copied().collect::<Vec<_>>()[..] {
            [] => format!("left out where no tier has {several}"),
            tiers => format!("a tier of {several}: {}", tiers.join(", ")),
        };
        let value = format!("{:?}", of.tier);
        let remedy = "leave it out, or deploy such a tier".to_owned();
        return vec![WrongValue { key: "elasticity.tier", value, allowed, remedy }];
    };
    if of.follows_platform()
        && let Some(wrong) = unable_to_follow(plan, &serve)
    {
        return vec![wrong];
    }
    let rule = of.scaler.as_ref();
    let counts = [
        ("elasticity.first_nodes", of.first_nodes),
        ("elasticity.least_nodes", rule.map_or(0, |rule| rule.least_nodes)),
        ("elasticity.most_nodes", rule.map_or(0, |rule| rule.most_nodes)),
    ];
    let too_many = counts.into_iter().filter(|(_, count)| count > nodes);
    too_many
        .map(|(key, count)| WrongValue {
            key,
            value: count.to_string(),
            allowed: format!("at most {nodes}, the nodes of {} that are deployed", of.tier),
            remedy: "deploy more nodes, or lower it".to_owned(),
        })
        .collect()
}

/// What keeps the autoscaler of the platform from following the tier.
fn unable_to_follow(plan: &Plan, serve: &[&Part]) -> Option<WrongValue> {
    let tier = plan.elasticity.tier.as_str();
    let wrong = |allowed: String, remedy: String| WrongValue {
        key: "elasticity.scaler",
        value: "\"platform\"".to_owned(),
        allowed,
        remedy,
    };
    let ability = Ability::Autoscaler;
    if !plan.deploy.has(ability) {
        let allowed = format!("on a platform {}; {} has none", ability.words(), plan.deploy.platform);
        return Some(wrong(allowed, "name such a platform, or set elasticity.scaler = \"cpu\"".to_owned()));
    }
    let mut nodes = serve.iter().filter(|part| part.node && tier_of(&part.name) == tier);
    let without = nodes.find(|part| part.limits.cpus.is_none())?;
    let allowed = format!("where the nodes of {tier} have a limit of cores, of which the target is a share");
    Some(wrong(allowed, format!("set deploy.{}_cpus", without.tier)))
}

/// Reads the demand curve, whose loads are in the unit of the run.
fn demand(plan: &Plan, file: &Path) -> Result<DemandFile, Refusals> {
    let path = plan.file_of(FILE, file);
    let name = path.display().to_string();
    let refused = |value: String, allowed: String, remedy: &str| {
        let (place, key) = (plan.place(FILE).to_owned(), FILE.to_owned());
        Refusals(vec![Refusal { place, key, value, allowed, remedy: remedy.to_owned() }])
    };
    let text = read(&path).map_err(|why| {
        let allowed = format!("a file of text that can be read ({why})");
        refused(format!("{name:?}"), allowed, "write one with `barograph demand`, or leave it out")
    })?;
    let found = barograph_spec::demand(&name, &text).map_err(Refusals)?;
    let known = |unit: LoadUnit| if unit == LoadUnit::Tiles { LoadUnit::Scale } else { unit };
    let unit = plan.unit_of_all();
    if known(found.unit) != known(unit) {
        let allowed = format!("a curve of loads in {}, as the levels of this run", unit.name());
        let remedy = "name the curve of another study, or change load.unit";
        return Err(refused(format!("{name:?}, in {}", found.unit.name()), allowed, remedy));
    }
    Ok(found)
}

//! `barograph check`: explains a plan before anything happens.

use std::path::Path;

use anyhow::Context;
use barograph_harness::{CheckedLoad, HarnessError, PlannedApplication, outline, plan_of_all, planned};
use barograph_platform::{MissingRequirement, Platform};
use barograph_record::ExitCode;
use barograph_spec::Plan;
use barograph_workload::Application;

use super::{CommandFailure, CommandResult, rootless, run};
use crate::args::RunArgs;
use crate::{catalog, machine, terminal};

/// Plan of the main job, built in so that the program works without its source tree.
const DEFAULT_PLAN: &str = include_str!("../../../../plans/auction.toml");

/// Name of the built-in plan in refusals.
const DEFAULT_NAME: &str = "plans/auction.toml";

/// Reads the named plan and checks it against its workload and this machine.
pub(crate) fn load(args: &RunArgs) -> Result<Vec<CheckedLoad>, CommandFailure> {
    let (name, text) = match &args.plan {
        Some(path) => (path.display().to_string(), read(path)?),
        None => (DEFAULT_NAME.to_owned(), DEFAULT_PLAN.to_owned()),
    };
    of_plan(&catalog::WORKLOADS.read(&name, &text, &args.sets).map_err(HarnessError::Refused)?)
}

/// Checks the loads of a plan against their workloads and this machine.
pub(crate) fn of_plan(plan: &Plan) -> Result<Vec<CheckedLoad>, CommandFailure> {
    let workloads: Result<Vec<_>, _> = plan.all().map(|plan| catalog::WORKLOADS.of_plan(plan)).collect();
    let machine = machine::facts(&plan.data.dir);
    let checked = workloads.and_then(|workloads| barograph_harness::check_all(plan, workloads, machine));
    Ok(checked.map_err(HarnessError::Refused)?)
}

pub(super) fn read(path: &Path) -> Result<String, CommandFailure> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| {
        format!("read plan `{}`; `barograph list plans` shows those that exist", path.display())
    });
    text.map_err(|why| CommandFailure::new(ExitCode::Refused, why))
}

/// Describes what a run of the loads will do.
pub(crate) fn describe(loads: &[CheckedLoad]) -> String {
    let mut text = barograph_spec::explain(&loads[0].checked.plan);
    let planned = planned(loads);
    let platform = catalog::platform(&plan_of_all(loads).checked.plan).ok();
    planned.iter().for_each(|planned| text.push_str(&with_data(planned, platform)));
    let deploys = planned.iter().any(|planned| planned.application.is_some());
    if deploys && planned.iter().map(|planned| planned.topology.parts.len()).sum::<usize>() > 1 {
        let name = platform.map_or("", |platform| platform.name());
        text.push('\n');
        text.push_str(&barograph_report::topology_text(&outline(&planned, name)));
        text.push('\n');
    }
    for note in loads.iter().flat_map(|load| &load.checked.notes) {
        text.push_str(&format!("note      {note}\n"));
    }
    text
}

/// Describes the data of an application, and how its stores will be loaded.
fn with_data(planned: &PlannedApplication<'_>, platform: Option<&dyn Platform>) -> String {
    let PlannedApplication { plan, application, data, .. } = planned;
    let of = plan.letter.map_or_else(String::new, |_| format!("{}: ", plan.load));
    let mut text = String::new();
    if let Some((sets, data)) = application.and_then(Application::data_sets).zip(*data) {
        let dir = data.dir_in(&plan.data.dir);
        let how = if sets.is_filled(&dir) { "there already" } else { "to be filled first" };
        text.push_str(&format!(
            "fill      {of}for {} users, about {:.1} GB, {how}: {}\n",
            data.max_users,
            data.bytes as f64 / 1e9,
            dir.display()
        ));
    }
    if let Some(stores) = platform.and_then(|platform| barograph_harness::outlook(planned, platform)) {
        text.push_str(&format!("stores    {of}{stores}\n"));
    }
    text
}

/// Checks a plan and explains it.
pub(crate) fn check(args: &RunArgs) -> CommandResult {
    let mut loads = load(args)?;
    rootless::enter(&plan_of_all(&loads).checked)?;
    rootless::note(&mut loads);
    let mut text = describe(&loads);
    for explained in loads.iter().filter_map(|load| load.workload.explain()) {
        text.push('\n');
        text.push_str(&explained);
    }
    let missing = missing(&loads)?;
    for MissingRequirement { what, hint } in &missing {
        text.push_str(&format!("\nmissing   {what}\n  to do:   {hint}"));
    }
    terminal::result(text.trim_end());
    Ok(if missing.is_empty() { ExitCode::Fine } else { ExitCode::Refused })
}

/// Lists what this machine lacks for the policies and the deployment of a plan.
pub(crate) fn missing(loads: &[CheckedLoad]) -> Result<Vec<MissingRequirement>, CommandFailure> {
    let plan = &plan_of_all(loads).checked.plan;
    let mut all = barograph_harness::missing_policies(plan);
    let planned = planned(loads);
    // Drivers may be the only units.
    if !planned.is_empty() {
        let platform = catalog::platform(plan).map_err(HarnessError::Refused)?;
        all.extend(run::runtime()?.block_on(barograph_harness::missing(&planned, platform)));
    }
    Ok(all)
}

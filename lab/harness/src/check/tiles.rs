//! The reference rates of the tiles of a run, and of operations on their infrastructure.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use barograph_model::words::listed;
use barograph_spec::{ActionPlan, Reference, Refusal, Refusals};

use crate::deploy::plan_of_all;
use crate::run::CheckedLoad;

/// The key of the file.
const KEY: &str = "load.reference";

/// Longest file: far more than the rates of 64 loads.
const LONGEST: u64 = 1 << 20;

/// Rates of a window that any load has.
const RATES: [&str; 3] = ["throughput", "goodput", "requests"];

/// Reads the reference of a run of tiles, and holds it against the loads.
pub(super) fn reference(loads: &mut [CheckedLoad]) -> Result<(), Refusals> {
    let plan = &loads[0].checked.plan;
    let Some(file) = &plan.reference else { return Ok(()) };
    let path = plan.file_of(KEY, file);
    let refused = |value: String, allowed: String| {
        let (place, key) = (plan.place(KEY).to_owned(), KEY.to_owned());
        let remedy = "name a file with the rate of each load of a tile".to_owned();
        Refusals(vec![Refusal { place, key, value, allowed, remedy }])
    };
    let name = path.display().to_string();
    let text = read(&path)
        .map_err(|why| refused(format!("{name:?}"), format!("a file of text that can be read ({why})")))?;
    let reference = barograph_spec::reference(&name, &text).map_err(Refusals)?;
    let actions = &plan_of_all(loads).checked.plan.actions;
    if let Some((of, allowed)) = wrong(&reference, loads).or_else(|| not_done(&reference, actions)) {
        return Err(refused(format!("{of:?} of {name}"), allowed));
    }
    let reference = Arc::new(reference);
    for load in loads {
        load.checked.reference = Some(Arc::clone(&reference));
    }
    Ok(())
}

/// Reads a file of text up to a bound.
pub(super) fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// A load of the reference that no tile has, or whose rate its load does not have, with what is allowed.
fn wrong(reference: &Reference, loads: &[CheckedLoad]) -> Option<(String, String)> {
    let member = |load: &CheckedLoad| load.checked.plan.tile.as_ref().map(|tile| tile.member.clone());
    reference.rates.iter().find_map(|(name, rate)| {
        let Some(load) = loads.iter().find(|load| member(load).as_ref() == Some(name)) else {
            let mut members: Vec<String> = loads.iter().filter_map(member).collect();
            members.sort();
            members.dedup();
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            return Some((name.clone(), format!("the loads of a tile: {}", listed(&members))));
        };
        let measures = load.workload.measures().iter().map(|measure| measure.id);
        let known: Vec<&str> = RATES.into_iter().chain(measures).collect();
        (!known.contains(&rate.of.as_str())).then(|| {
            (name.clone(), format!("one of {} for this load, and not {:?}", known.join(", "), rate.of))
        })
    })
}

/// An operation of the reference that no action of the plan does, with what is allowed.
fn not_done(reference: &Reference, actions: &[ActionPlan]) -> Option<(String, String)> {
    let acts: BTreeSet<&str> = actions.iter().map(|action| action.act.name()).collect();
    let missing = reference.operations.keys().find(|act| !acts.contains(act.as_str()))?;
    let acts: Vec<&str> = acts.into_iter().collect();
    let allowed = match &acts[..] {
        [] => "no operations, because the plan has no actions".to_owned(),
        acts => format!("the acts of the plan: {}", listed(acts)),
    };
    Some((missing.clone(), allowed))
}

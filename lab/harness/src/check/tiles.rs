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
    let wrong: Vec<Refusal> = wrong(&reference, loads).chain(not_done(&reference, actions)).collect();
    if !wrong.is_empty() {
        return Err(Refusals(wrong));
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

/// Refusals of loads of the reference that no tile has, and of rates that a load does not have.
fn wrong<'a>(reference: &'a Reference, loads: &'a [CheckedLoad]) -> impl Iterator<Item = Refusal> + use<'a> {
    let member = |load: &CheckedLoad| load.checked.plan.tile.as_ref().map(|tile| tile.member.clone());
    reference.rates.iter().filter_map(move |(name, rate)| {
        let key = format!("rates.{name}");
        let Some(load) = loads.iter().find(|load| member(load).as_ref() == Some(name)) else {
            let members: BTreeSet<String> = loads.iter().filter_map(member).collect();
            let members: Vec<&str> = members.iter().map(String::as_str).collect();
            let allowed = format!("a load of a tile: {}", listed(&members));
            return Some(refusal(reference, key, name, allowed, "name one of them, or remove the table"));
        };
        let measures = load.workload.measures().iter().map(|measure| measure.id);
        let known: Vec<&str> = RATES.into_iter().chain(measures).collect();
        (!known.contains(&rate.of.as_str())).then(|| {
            let allowed = format!("one of {}", known.join(", "));
            refusal(reference, format!("{key}.of"), &rate.of, allowed, "name a rate that the load has")
        })
    })
}

/// Refusals of operations of the reference that no action of the plan does.
fn not_done(reference: &Reference, actions: &[ActionPlan]) -> Vec<Refusal> {
    let acts: BTreeSet<&str> = actions.iter().map(|action| action.act.name()).collect();
    let names: Vec<&str> = acts.iter().copied().collect();
    let allowed = match &names[..] {
        [] => "no operations, because the plan has no actions".to_owned(),
        names => format!("an act of the plan: {}", listed(names)),
    };
    let remedy = "remove the table, or add an action to the plan that does it";
    let missing = reference.operations.keys().filter(|act| !acts.contains(act.as_str()));
    missing.map(|act| refusal(reference, format!("operations.{act}"), act, allowed.clone(), remedy)).collect()
}

/// The refusal of a table or a value of the reference.
fn refusal(reference: &Reference, key: String, value: &str, allowed: String, remedy: &str) -> Refusal {
    let place = reference.places.get(&key).cloned().unwrap_or_default();
    Refusal { place, key, value: format!("{value:?}"), allowed, remedy: remedy.to_owned() }
}

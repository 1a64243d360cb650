//! Scripts of a scenario: functions of a user's values by name.

use barograph_scenario::{Call, Chooser, DrawSource, Generator, Scenario, Values as _, View};
use barograph_scenario_script::{Bounds, FunctionResult, Scalar, ScriptError, Scripts, Values};

use crate::ScenarioError;
use crate::memory::UserValues;
use crate::worker::Worker;

/// Compiles all scripts of a scenario, for one worker.
pub(crate) fn compile(scenario: &Scenario) -> Result<Vec<Scripts>, ScriptError> {
    let one = |s: &barograph_scenario::Script| {
        Scripts::compile(&s.path.display().to_string(), &s.source, Bounds::default())
    };
    scenario.scripts.iter().map(one).collect()
}

/// Checks that the functions called by a scenario exist.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let scripts = compile(scenario).map_err(ScenarioError::Script)?;
    let of_draws = scenario.draws.iter().filter_map(|draw| match &draw.what {
        DrawSource::Generated(Generator::Script(call)) => Some(call),
        _ => None,
    });
    let of_choosers = scenario.choosers.iter().filter_map(|chooser| match chooser {
        Chooser::Script { call, .. } => Some(call),
        Chooser::When { .. } => None,
    });
    for call in of_draws.chain(of_choosers) {
        let at = usize::from(call.script.0);
        let known: Vec<&str> = scripts[at].functions().map(|(name, ..)| name).collect();
        if !known.contains(&&*call.function) {
            return Err(ScenarioError::Function {
                script: scenario.scripts[at].path.display().to_string(),
                function: call.function.to_string(),
                known: known.join(", "),
            });
        }
    }
    Ok(())
}

/// The values of one user, by name.
struct ScriptValues<'a>(&'a UserValues<'a>);

impl Values for ScriptValues<'_> {
    fn value(&self, name: &str) -> Option<Scalar<'_>> {
        let source = self.0.scenario.names.get(name)?;
        match self.0.view(*source) {
            View::Text(text) => Some(Scalar::Text(text)),
            View::Integer(n) => Some(Scalar::Integer(n)),
            View::Number(x) => Some(Scalar::Number(x)),
            // A function takes single values; lists are for choosing from.
            View::Absent | View::List(_) => None,
        }
    }
}

/// Calls a function for a value.
pub(crate) fn value(
    worker: &Worker,
    call: &Call,
    sight: &UserValues<'_>,
    rng: &mut dyn FnMut() -> f64,
) -> Result<FunctionResult, String> {
    let scripts = &worker.scripts[usize::from(call.script.0)];
    scripts.call_value(&call.function, &ScriptValues(sight), rng).map_err(|e| said(&e))
}

/// Calls a function for a branch.
pub(crate) fn choose(
    worker: &Worker,
    call: &Call,
    branches: usize,
    sight: &UserValues<'_>,
) -> Result<usize, String> {
    let scripts = &worker.scripts[usize::from(call.script.0)];
    match scripts.call_choose(&call.function, &ScriptValues(sight)) {
        Ok(branch) if branch < branches => Ok(branch),
        Ok(branch) => {
            let function = &call.function;
            Err(format!(
                "the function `{function}` chose branch {branch}; there are {branches}, counted from 0"
            ))
        }
        Err(e) => Err(said(&e)),
    }
}

fn said(error: &ScriptError) -> String {
    error.to_string()
}

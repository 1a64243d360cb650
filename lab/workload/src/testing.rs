//! Load commands in tests: the load and the plan that words become.

use barograph_spec::{Catalogue, Plan, Refusals, read};

use crate::{LoadOptions, TypedLoad, WorkloadFactory};

/// Returns the load of a workload's command with these words after its name.
///
/// # Errors
/// The text of a refusal.
pub fn typed(of: &dyn WorkloadFactory, words: &str, options: &LoadOptions) -> Result<TypedLoad, String> {
    let command = of.load_command().ok_or("the workload has no load command")?;
    let words = std::iter::once("load").chain(words.split_whitespace());
    let typed = command.arguments().try_get_matches_from(words).map_err(|why| why.to_string())?;
    command.load(&typed, options).map_err(|why| why.why.to_string())
}

/// Returns the plan of a typed load, with its users in a closed loop.
///
/// # Errors
/// Refused keys.
pub fn plan(of: &dyn WorkloadFactory, load: &TypedLoad) -> Result<Plan, Refusals> {
    let url = Some(&load.url).filter(|url| !url.is_empty()).map(|url| format!("target.url = {url:?}"));
    let users = format!("load.strategy = \"fixed\"\nload.users = {}", load.users);
    let lines: Vec<String> = url.into_iter().chain([users]).chain(load.keys.iter().cloned()).collect();
    let text = format!("workload = {:?}\n{}\n", of.name(), lines.join("\n"));
    read(Catalogue::of(&[of]), "typed", &text, &[])
}

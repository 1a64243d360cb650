//! What the user asks for: reads, checks, explains and defaults a plan.
//!
//! A plan is a TOML file; `--set key=value` overrides single keys; nothing else is read. All user-visible settings
//! are named in [`plan`](mod@plan) and nowhere else. Every refusal names the file and line, the key, the value, what is
//! allowed and what to do.

mod durations;
mod explain;
mod given;
pub mod plan;
mod refusal;

pub use explain::{estimate, explain};
pub use given::Given;
pub use plan::{Connections, DEFAULT_MIN_USERS, DataPlan, DriverPlan, FEWEST_INTERVALS, Plan, TargetPlan};
pub use refusal::{Refusal, Refused};

/// Reads a plan from text with overrides of the form `key=value`, checks it and fills in defaults.
///
/// `name` is what refusals call the text: its path.
pub fn read(name: &str, text: &str, sets: &[String]) -> Result<Plan, Refused> {
    let mut given = Given::parse(name, text, sets)?;
    let plan = plan::check(name, &mut given);
    let refusals = given.finish();
    match plan {
        Some(plan) if refusals.is_empty() => Ok(plan),
        _ => Err(Refused(refusals)),
    }
}

//! The scenario workload: performs the operations of a scenario file over the measured HTTP client, and
//! explains the file.
//!
//! [`runnable`] prepares a checked [`Scenario`] for a target, and the engine runs it. The scenario defines
//! the users' operations, pace and limits; the engine reads the clock and counts; this crate renders
//! requests, judges answers, and keeps the users' values. In steady state an exchange that keeps neither
//! lists nor groups of regular expressions allocates nothing.

mod beside;
mod coding;
mod cookies;
mod draw;
mod exchange_result;
mod explain;
mod http;
mod judge;
mod memory;
mod origins;
mod program;
mod reach;
mod redirect;
mod render;
mod running_operation;
mod script;
mod seam;
mod slot;
mod stream;
mod streams;
mod together;
mod traffic;
mod user;
mod worker;

use std::sync::{Arc, Mutex};

use barograph_engine::Runnable;
use barograph_http::ResolvedTarget;
use barograph_model::Nanos;
use barograph_scenario::Scenario;

pub use barograph_workload::{Reason, Reasons};
pub use program::ScenarioError;
pub use reach::reach;
pub use seam::{ScenarioFile, ScenarioFiles, read};

use crate::program::Program;
use crate::worker::ScenarioWorkload;

/// Options of a run, beside its target.
#[derive(Clone)]
pub struct Options {
    /// The time of day since 1970, for requests that contain it and for the expiry of cookies; never for
    /// measurements.
    pub clock: fn() -> Nanos,
    /// Counts of failures with their reasons; the caller keeps the other handle to read them.
    pub reasons: Arc<Mutex<Reasons>>,
}

/// Prepares a scenario for a target. Paths of the scenario are appended to the path of the target's address.
///
/// # Errors
/// If a constant request cannot be sent, or a script lacks a function.
pub fn runnable(
    scenario: Arc<Scenario>,
    target: ResolvedTarget,
    options: Options,
) -> Result<Box<dyn Runnable>, ScenarioError> {
    runnable_at(scenario, (target, Vec::new()), options)
}

/// The same for a scenario whose requests go to further origins.
pub(crate) fn runnable_at(
    scenario: Arc<Scenario>,
    targets: (ResolvedTarget, Vec<ResolvedTarget>),
    options: Options,
) -> Result<Box<dyn Runnable>, ScenarioError> {
    let program = Arc::new(Program::new(scenario, targets, options.clock)?);
    Ok(barograph_engine::runnable(move || ScenarioWorkload::new(&program, &options.reasons)))
}

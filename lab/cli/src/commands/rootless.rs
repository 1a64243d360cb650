//! Runs without root: the program starts itself again in a user namespace, where it may create networks.

use std::os::unix::process::CommandExt as _;

use barograph_harness::{CheckedLoad, CheckedPlan, HarnessError, Target};
use barograph_platform::in_user_namespace;
use barograph_platform_namespace::rootless;
use barograph_record::ExitCode;
use barograph_spec::{Refusal, Refusals};

use super::CommandFailure;
use crate::args::WatchArgs;

/// Platform that works without root.
const PLATFORM: &str = "namespace";

/// Differences inside the user namespace, for the terminal and the record.
const NOTE: &str = "this user is not root, so everything runs inside a user namespace: no limits by control groups, and \
                    hosts have the kernel's own network settings";

/// Replaces this program by itself inside a user namespace, if the plan needs one and this user may create
/// one. The process id stays, so signals reach it and its exit code is the caller's. Returns if no namespace
/// is needed, and if none may be created: then the platform reports what is missing.
pub(crate) fn enter(checked: &CheckedPlan) -> Result<(), CommandFailure> {
    if !is_needed(checked) {
        return Ok(());
    }
    if checked.target != Target::Deployed {
        return not_reachable(checked);
    }
    if !rootless::possible() {
        return Ok(());
    }
    let failed = |why: std::io::Error| {
        let why = anyhow::Error::from(why).context("start again inside a user namespace");
        CommandFailure::new(ExitCode::PlatformFault, why)
    };
    let program = std::env::current_exe().map_err(failed)?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    Err(failed(rootless::command(&program, &args).exec()))
}

/// Whether this plan needs a user namespace here.
fn is_needed(checked: &CheckedPlan) -> bool {
    checked.plan.deploy.platform == PLATFORM && rootless::needed()
}

/// Refuses a live page and receivers if the program is going to enter a namespace: the page could not be
/// reached from outside, nor receivers from inside.
pub(crate) fn refuse_watching(checked: &CheckedPlan, watch: &WatchArgs) -> Result<(), CommandFailure> {
    if !is_needed(checked) || checked.target != Target::Deployed {
        return Ok(());
    }
    let asked = [("--live", watch.live.is_some()), ("--export-to", !watch.export_to.is_empty())];
    let refused = |(key, _): (&str, bool)| Refusal {
        place: "command line".to_owned(),
        key: key.to_owned(),
        value: String::new(),
        allowed: "runs that stay in the machine's network: root, or another platform".to_owned(),
        remedy: format!("leave {key} out, run as root, or set platform = \"process\""),
    };
    let refusals: Vec<Refusal> = asked.into_iter().filter(|(_, asked)| *asked).map(refused).collect();
    if refusals.is_empty() { Ok(()) } else { Err(HarnessError::Refused(Refusals(refusals)).into()) }
}

/// Refuses a target outside, which cannot be reached from inside. A driver that is this process stays
/// outside.
fn not_reachable(checked: &CheckedPlan) -> Result<(), CommandFailure> {
    let driver = &checked.plan.driver;
    if driver.count == 1 && driver.place != "unit" {
        return Ok(());
    }
    let place = checked.plan.place("platform").to_owned();
    Err(HarnessError::Refused(Refusals(vec![Refusal {
        place,
        key: "platform".to_owned(),
        value: format!("{PLATFORM:?}"),
        allowed: "\"process\" for drivers of a user who is not root: from a user namespace the target is not reached"
            .to_owned(),
        remedy: "set platform = \"process\", or run as root".to_owned(),
    }]))
    .into())
}

/// Notes that the run takes place inside a user namespace.
pub(crate) fn note(loads: &mut [CheckedLoad]) {
    let checked = &mut loads[0].checked;
    if checked.plan.deploy.platform == PLATFORM && in_user_namespace() {
        checked.notes.push(NOTE.to_owned());
    }
}

//! Without root: this program starts itself again where it may make networks.

use std::os::unix::process::CommandExt as _;

use barograph_harness::{Checked, CheckedLoad, HarnessError, Target};
use barograph_platform::in_user_namespace;
use barograph_platform_namespace::rootless;
use barograph_record::ExitCode;
use barograph_spec::{Refusal, Refused};

use super::Failed;
use crate::args::WatchArgs;

/// The platform that can do without root.
const PLATFORM: &str = "namespace";

/// What is different there, for the terminal and the record.
const NOTE: &str = "this user is not root, so everything runs inside a user namespace: no limits by control groups, and \
                    hosts have the kernel's own network settings";

/// Replaces this program by itself inside a user namespace, if this plan needs one here and this user may make one. The
/// number of the process stays, so signals reach it and its exit code is the caller's. Comes back when there is nothing
/// to do, and when it may not: then the platform says what is missing.
pub(crate) fn enter(checked: &Checked) -> Result<(), Failed> {
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
        Failed::new(ExitCode::PlatformFault, why)
    };
    let program = std::env::current_exe().map_err(failed)?;
    let args: Vec<String> = std::env::args().skip(1).collect();
    Err(failed(rootless::command(&program, &args).exec()))
}

/// Does this plan need a user namespace here?
fn is_needed(checked: &Checked) -> bool {
    checked.plan.deploy.platform == PLATFORM && rootless::needed()
}

/// Refuses those who look on where the program is going to be inside: from outside the live page is not reached, and
/// from inside no receiver is.
pub(crate) fn refuse_watching(checked: &Checked, watch: &WatchArgs) -> Result<(), Failed> {
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
    if refusals.is_empty() { Ok(()) } else { Err(HarnessError::Refused(Refused(refusals)).into()) }
}

/// From inside, nothing outside is reached. A driver that is this process stays where it is.
fn not_reachable(checked: &Checked) -> Result<(), Failed> {
    let driver = &checked.plan.driver;
    if driver.count == 1 && driver.place != "unit" {
        return Ok(());
    }
    let place = checked.plan.place("platform").to_owned();
    Err(HarnessError::Refused(Refused(vec![Refusal {
        place,
        key: "platform".to_owned(),
        value: format!("{PLATFORM:?}"),
        allowed: "\"process\" for drivers of a user who is not root: from a user namespace the target is not reached"
            .to_owned(),
        remedy: "set platform = \"process\", or run as root".to_owned(),
    }]))
    .into())
}

/// Notes that this is the inside.
pub(crate) fn note(loads: &mut [CheckedLoad]) {
    let checked = &mut loads[0].checked;
    if checked.plan.deploy.platform == PLATFORM && in_user_namespace() {
        checked.notes.push(NOTE.to_owned());
    }
}

//! Sudden death of the program in each phase on each platform: `clean` then removes everything, and a second
//! one finds nothing.
//!
//! On processes all phases are tried, in namespaces all from the deployment on, elsewhere those in which the
//! platform has things of its own; virtual machines are in `emulated`. `cargo xtask kill-matrix` covers every
//! phase.

use rustix::process::Signal;

use crate::going::{RunningProgram, until};
use crate::phases::{EndMethod, open_phase};
use crate::place::TestFolders;

pub(crate) const KILLED: EndMethod = EndMethod { name: "killed", end: killed };

fn killed(going: RunningProgram, place: &TestFolders, phase: &str) -> bool {
    going.signal(Signal::KILL);
    let ended = going.end();
    // The removal is the last phase, and may be over before the signal comes.
    let is_over = phase == "remove" && matches!(ended.code, Some(0 | 9));
    assert!(ended.code.is_none() || is_over, "killed in {phase}: {ended:?}");
    let met = ended.code.is_none() && open_phase(place).as_deref() == Some(phase);
    // Things that still end by themselves may do so first, or be removed by `clean`.
    until("a broom that finds everything", || {
        let cleaned = RunningProgram::start(place.program(&["clean"])).end();
        (cleaned.code == Some(0) && !cleaned.out.contains("still running")).then_some(())
    });
    until("the end of all processes", || place.processes().is_empty().then_some(()));
    met
}

mod processes {
    crate::phases::moments! {
        super::KILLED, "process",
        check = "check", fill = "fill", deploy = "deploy", ramp = "ramp", warm_up = "warm-up", hold = "hold", drain = "drain",
        verify = "verify", collect = "collect", remove = "remove",
    }
}

/// Check and fill precede everything of a platform.
mod namespaces {
    crate::phases::moments! {
        super::KILLED, "namespace",
        deploy = "deploy", ramp = "ramp", warm_up = "warm-up", hold = "hold", drain = "drain", verify = "verify",
        collect = "collect", remove = "remove",
    }
}

mod containers {
    crate::phases::moments! { super::KILLED, "container", deploy = "deploy", hold = "hold", remove = "remove" }
}

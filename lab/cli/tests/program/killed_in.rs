//! Sudden death of the program in each phase on each platform: `clean` then removes everything, and finds nothing when it
//! is asked again.
//!
//! On processes all phases are tried, in namespaces all from the deployment on, elsewhere those in which there is something
//! of the platform's own; virtual machines are in `emulated`. `cargo xtask kill-matrix` tries all of them everywhere.

use rustix::process::Signal;

use crate::going::{Going, until};
use crate::phases::{Way, open_phase};
use crate::place::Place;

pub(crate) const KILLED: Way = Way { name: "killed", end: killed };

fn killed(going: Going, place: &Place, phase: &str) -> bool {
    going.signal(Signal::KILL);
    let ended = going.end();
    // The removal is the last thing that the program does, and may be over before the signal comes.
    let is_over = phase == "remove" && matches!(ended.code, Some(0 | 9));
    assert!(ended.code.is_none() || is_over, "killed in {phase}: {ended:?}");
    let met = ended.code.is_none() && open_phase(place).as_deref() == Some(phase);
    // Whatever still ends by itself may do so first or meet the broom.
    until("a broom that finds everything", || {
        let cleaned = Going::start(place.program(&["clean"])).end();
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

/// Check and fill come before there is anything of a platform.
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

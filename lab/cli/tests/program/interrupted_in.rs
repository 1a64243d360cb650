//! Ctrl-C in each phase on each platform: the program ends by itself, with the right exit code and record,
//! and leaves nothing for `clean`.
//!
//! Most phases on processes are in `interrupts`; here are the others, the deployment on every platform, and
//! the window if it begins soon; virtual machines are in `emulated`. `cargo xtask kill-matrix --interrupt`
//! covers every phase.

use barograph_record::{ExitCode, PhaseOutcome, Run};
use rustix::process::Signal;

use crate::going::{PATIENCE_WITH_EMULATION, RunningProgram};
use crate::phases::{EndMethod, open_phase, unblock_collection};
use crate::place::TestFolders;

pub(crate) const INTERRUPTED: EndMethod = EndMethod { name: "interrupted", end: interrupted };

/// Phases without anything left to stop: the run has its answer and completes.
const ANSWERED: [&str; 2] = ["collect", "remove"];

fn interrupted(going: RunningProgram, place: &TestFolders, phase: &str) -> bool {
    going.signal(Signal::INT);
    // A program that was stopped to be met in its phase continues, with the other signal pending.
    going.signal(Signal::CONT);
    // Still open, so the signal came within it.
    let open = open_phase(place);
    if phase == "collect" {
        unblock_collection(place);
    }
    let what = format!("the end of a run that was interrupted in {phase}");
    let ended = going.end_of(&what, PATIENCE_WITH_EMULATION);
    let run = place.record();
    assert!(run.complete && run.damage.is_empty(), "{:?}", run.damage);
    let last = run.phases().pop().unwrap();
    assert_eq!((last.phase.as_str(), last.outcome), ("remove", Some(PhaseOutcome::Done)));
    if let Some(stopped) = run.interrupted() {
        assert_eq!(ended.code, Some(i32::from(ExitCode::Interrupted.code())), "{ended:?}");
        assert!(ended.err.ends_with("barograph: stopped before its end\n"), "{}", ended.err);
        assert!(run.verdict().is_none());
        assert_eq!(stopped.cause, "stopped before its end");
        assert!(shown(place, &run).contains(&stopped.cause));
        return stopped.phase == phase;
    }
    assert!(ANSWERED.contains(&phase), "interrupted in {phase}, and it went on: {ended:?}");
    let verdict = run.verdict().unwrap();
    assert_eq!(ended.code, Some(i32::from(verdict.exit_code)), "{ended:?}");
    assert!(shown(place, &run).contains(&verdict.sentence));
    open.as_deref() == Some(phase)
}

/// Output of `barograph show` for a run.
fn shown(place: &TestFolders, run: &Run) -> String {
    let shown = RunningProgram::start(place.program(&["show", run.dir.to_str().unwrap()])).end();
    assert_eq!(shown.code, Some(0), "{shown:?}");
    shown.out
}

mod processes {
    crate::phases::moments! {
        super::INTERRUPTED, "process",
        check = "check", deploy = crate::phases::DEPLOY_AT_ONCE, collect = "collect", remove = "remove",
    }
}

mod namespaces {
    crate::phases::moments! { super::INTERRUPTED, "namespace", deploy = crate::phases::DEPLOY_AT_ONCE, hold = "hold" }
}

mod containers {
    crate::phases::moments! { super::INTERRUPTED, "container", deploy = crate::phases::DEPLOY_AT_ONCE, hold = "hold" }
}

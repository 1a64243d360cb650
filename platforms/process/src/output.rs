//! Output of a unit that this machine reads from elsewhere.

use barograph_platform::{Fault, OnLine, Readiness, ReadyAddress, Unit, UnitOutput};
use tokio::sync::oneshot;

/// Opens the output of a unit. A unit that announces itself, or ends, also has its lines passed on, and the
/// content of its ready line comes through the receiver.
///
/// # Errors
/// If the log cannot be opened.
pub fn open_output(
    unit: &Unit,
    on_line: OnLine,
) -> Result<(UnitOutput, Option<oneshot::Receiver<ReadyAddress>>), Fault> {
    let opened = match unit.ready {
        Readiness::StdoutLine { .. } | Readiness::Exit { .. } => {
            let (announce, announced) = oneshot::channel();
            // The receiver is gone if the unit was given up; then the line does not matter.
            let output = UnitOutput::with_lines(&unit.log, on_line, move |line| drop(announce.send(line)));
            output.map(|output| (output, Some(announced)))
        }
        Readiness::Answers { .. } | Readiness::Runs => {
            UnitOutput::to_log(&unit.log).map(|output| (output, None))
        }
    };
    opened.map_err(|source| Fault::OpenLog { unit: unit.name.clone(), path: unit.log.clone(), source })
}

//! Units as child processes of this machine.
//!
//! A unit leads its own process group, so that a Ctrl-C in the terminal reaches the driver alone and a signal to the
//! unit reaches all its children. A driver that is killed takes its units along in two ways: a unit's stdin is a pipe
//! that only the driver holds, so a unit that watches stdin (ours do) sees its end and stops; any other is removed by
//! [`Platform::sweep`], which finds it by the ledger.

mod create;
mod lines;
mod preflight;
mod proc_fs;
mod running;
mod sweep;

use barograph_platform::{
    Facts, Fault, Later, Ledger, LedgerError, Missing, OnLine, Platform, Running, Swept, Unit,
};

/// Runs units as child processes. Needs a tokio runtime with time and I/O switched on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessPlatform;

impl Platform for ProcessPlatform {
    fn name(&self) -> &'static str {
        "process"
    }

    fn preflight<'a>(&'a self, unit: &'a Unit) -> Later<'a, Result<Facts, Missing>> {
        Box::pin(async move { preflight::look(unit) })
    }

    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        ledger: &'a Ledger,
        on_line: OnLine,
    ) -> Later<'a, Result<Box<dyn Running>, Fault>> {
        Box::pin(async move {
            let process = create::create(unit, ledger, on_line).await?;
            Ok(Box::new(process) as Box<dyn Running>)
        })
    }

    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>> {
        Box::pin(sweep::sweep(ledger))
    }
}

//! The seam to where things run: describe a unit, create it, ready, address, stop; the ledger of what was created.
//!
//! No platform is known here. A platform writes into the [`Ledger`] before it creates anything, so that whatever a
//! killed driver leaves behind can be swept later. The crate has no async runtime: futures are boxed.

mod ended;
mod fault;
mod ledger;
mod ready;
mod seam;
mod thing;
mod unit;

pub use ended::Ended;
pub use fault::{Fault, LogTail, Side};
pub use ledger::{Entry, Ledger, LedgerError, Left};
pub use ready::{BadReadyLine, ready_address};
pub use seam::{Facts, Later, Logs, Missing, OnLine, Pause, Platform, Running, Swept, ignore_lines};
pub use thing::{ProcessId, Thing};
pub use unit::{Readiness, Unit};

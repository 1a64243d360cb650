//! Watches one process until its whole unit has ended.

use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{Entry, Ledger, UnitExit};
use tokio::process::{Child, ChildStdin};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::containment::{ProcessTree, UnitContainment};

/// Longest wait for the end of killed processes, unless a disk is stuck; then the sweep finds them.
const GONE_WAIT: Duration = Duration::from_secs(10);

/// Interval between polls for them.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Whether other processes of the unit follow this one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IsLast {
    /// None; its control group is removed with it.
    Yes,
    /// It is a step, so others follow.
    No,
}

/// State of the watcher of a process.
pub(crate) struct WatchContext {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) held: Arc<ProcessTree>,
    pub(crate) last: IsLast,
    pub(crate) ledger: Ledger,
    pub(crate) entry: Entry,
    /// Changes, or closes, when the site is closed.
    pub(crate) site: watch::Receiver<()>,
}

/// Waits for the end of a process, ends the rest of it, records that and reports it.
pub(crate) async fn watch_process(mut watched: WatchContext, tell: watch::Sender<Option<UnitExit>>) {
    let status = tokio::select! {
        status = watched.child.wait() => status,
        _ = watched.site.changed() => {
            // A process that cannot be killed is awaited nevertheless.
            let _ = watched.held.kill();
            watched.child.wait().await
        }
    };
    let ended = match status {
        Ok(status) => UnitExit::from(status),
        Err(error) => UnitExit::Unknown(error.to_string()),
    };
    // A process that cannot be ended or recorded stays in the ledger for the next sweep.
    if end_the_rest(&watched).await {
        let _ = watched.ledger.removed(watched.entry);
    }
    drop(watched.stdin);
    let inside = matches!(*watched.held.holding, UnitContainment::Namespace);
    let _ = tell.send(Some(if inside { of_shell(ended) } else { ended }));
}

/// Ends the remaining processes. Returns whether nothing is left.
async fn end_the_rest(WatchContext { held, last, .. }: &WatchContext) -> bool {
    let rest = async {
        loop {
            // The leader's number is free now, but a group with members keeps it in use, and numbers are
            // reused slowly.
            let killed = held.kill();
            let empty = held.others().is_empty();
            let gone = match held.holding.group() {
                Some(group) if empty && *last == IsLast::Yes => group.try_remove(),
                _ => empty,
            };
            if killed.is_ok() && gone {
                break;
            }
            sleep(LOOK_EVERY).await;
        }
    };
    timeout(GONE_WAIT, rest).await.is_ok()
}

/// In a namespace a shell reports the end of the program: 128 plus the number of the signal, if there was
/// one.
fn of_shell(ended: UnitExit) -> UnitExit {
    match ended {
        UnitExit::Code(code @ 129..160) => UnitExit::Signal(code - 128),
        other => other,
    }
}

//! Watches one process until all of its unit is gone.

use std::sync::Arc;
use std::time::Duration;

use barograph_platform::{Ended, Entry, Ledger};
use tokio::process::{Child, ChildStdin};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::held::{Held, Holding};

/// Killed processes are gone within this, unless a disk is stuck; then the sweep finds them.
const GONE_WAIT: Duration = Duration::from_secs(10);

/// How often it is looked whether they are gone.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Whether anything of the unit comes after this process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// Its control group goes with it.
    Yes,
    /// It is a step.
    No,
}

/// What the watcher of a process needs to own.
pub(crate) struct Watched {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) held: Arc<Held>,
    pub(crate) last: Last,
    pub(crate) ledger: Ledger,
    pub(crate) entry: Entry,
    /// Changes, or closes, when the site goes.
    pub(crate) site: watch::Receiver<()>,
}

/// Waits for the end of a process, ends what is left of it, notes that and tells everybody.
pub(crate) async fn watch_process(mut watched: Watched, tell: watch::Sender<Option<Ended>>) {
    let status = tokio::select! {
        status = watched.child.wait() => status,
        _ = watched.site.changed() => {
            // What cannot be killed is waited for all the same.
            let _ = watched.held.kill();
            watched.child.wait().await
        }
    };
    let ended = match status {
        Ok(status) => Ended::from(status),
        Err(error) => Ended::Unknown(error.to_string()),
    };
    // What cannot be ended or noted stays in the ledger for the next sweep.
    if end_the_rest(&watched).await {
        let _ = watched.ledger.removed(watched.entry);
    }
    drop(watched.stdin);
    let inside = matches!(*watched.held.holding, Holding::Namespace);
    let _ = tell.send(Some(if inside { of_shell(ended) } else { ended }));
}

/// Whether nothing is left.
async fn end_the_rest(Watched { held, last, .. }: &Watched) -> bool {
    let rest = async {
        loop {
            // The leader's number is free now, but a group keeps it busy while it has members, and numbers go round
            // slowly.
            let killed = held.kill();
            let empty = held.others().is_empty();
            let gone = match held.holding.group() {
                Some(group) if empty && *last == Last::Yes => group.try_remove(),
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

/// In a namespace a shell tells how the program ended: 128 and the number of the signal, if one did.
fn of_shell(ended: Ended) -> Ended {
    match ended {
        Ended::Code(code @ 129..160) => Ended::Signal(code - 128),
        other => other,
    }
}

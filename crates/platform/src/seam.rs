//! The traits that a platform fulfils.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Ended, Fault, Ledger, LedgerError, LogTail, Thing, Unit};

/// A boxed future: these traits are used behind `dyn`, a few times per run.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Names and values for the disclosure.
pub type Facts = Vec<(String, String)>;

/// Called with every line a unit prints on stdout, the ready line included. Must return soon: it is called between
/// the reads of the unit's output.
pub type OnLine = Arc<dyn Fn(&str) + Send + Sync>;

/// For units whose lines nobody wants.
#[must_use]
pub fn ignore_lines() -> OnLine {
    Arc::new(|_| {})
}

/// Something that must be there before a unit can be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {hint}")]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// What a person can do.
    pub hint: String,
}

/// What a sweep found. A thing that could not be removed stays in the ledger for the next sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Removed now.
    pub removed: Vec<Thing>,
    /// Noted, and no longer there.
    pub already_gone: Vec<Thing>,
    /// Still there, with the reason.
    pub failed: Vec<(Thing, String)>,
}

impl Swept {
    /// Whether there was nothing at all to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.already_gone.is_empty() && self.failed.is_empty()
    }
}

/// A kind of place where units can run.
pub trait Platform: Send + Sync {
    /// Its name in plans and records.
    fn name(&self) -> &'static str;

    /// Looks whether `unit` could be created here, without creating anything.
    fn preflight<'a>(&'a self, unit: &'a Unit) -> Later<'a, Result<Facts, Missing>>;

    /// Creates `unit` and waits until it is ready (for a job: until it ended well). When this fails, or when its
    /// future is dropped, the unit does not run any more.
    fn create<'a>(
        &'a self,
        unit: &'a Unit,
        ledger: &'a Ledger,
        on_line: OnLine,
    ) -> Later<'a, Result<Box<dyn Running>, Fault>>;

    /// Removes everything that the ledger still names. Safe to repeat.
    fn sweep<'a>(&'a self, ledger: &'a Ledger) -> Later<'a, Result<Swept, LedgerError>>;
}

/// A unit that was created. Dropping it ends the unit without grace.
pub trait Running: Send + Sync {
    /// The unit's name.
    fn name(&self) -> &str;

    /// Its process on this machine, if it has one.
    fn pid(&self) -> Option<u32>;

    /// Where it answers; a job has no address.
    fn address(&self) -> Option<SocketAddr>;

    /// Waits for its end. May be called often and from several tasks at once; says at once how an ended unit ended.
    fn wait_exit(&self) -> Later<'_, Ended>;

    /// Asks it to end, and kills it after `grace`. A unit that has ended already is fine.
    fn stop(&self, grace: Duration) -> Later<'_, Result<Ended, Fault>>;

    /// Ends it at once.
    fn kill(&self) -> Later<'_, Result<Ended, Fault>>;

    /// The ability to be held and let go.
    fn pausing(&self) -> Option<&dyn Pause> {
        None
    }

    /// The ability to show its log.
    fn logs(&self) -> Option<&dyn Logs> {
        None
    }
}

/// A unit that can be held in place and let go on.
pub trait Pause {
    /// Holds it: it keeps its memory and connections, and does nothing.
    fn pause(&self) -> Result<(), Fault>;
    /// Lets it go on.
    fn resume(&self) -> Result<(), Fault>;
}

/// A unit whose log can be read.
pub trait Logs {
    /// Its last `lines` lines, or fewer.
    fn tail(&self, lines: usize) -> LogTail;
}

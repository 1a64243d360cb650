//! The control groups of one site: one for the site, below it one for each host, below that one for each unit.
//!
//! Only the group of the site is in the ledger, for a sweep of it takes along what is below.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use barograph_cgroup::{Error, Group, Hierarchies, Limits};
use barograph_platform::{Entry, Ledger, LedgerError, Thing};
use tokio::time::{sleep, timeout};

/// A group of ours begins with this; a sweep removes no other.
pub(crate) const PREFIX: &str = "barograph.";

/// Killed processes are gone within this, unless a disk is stuck.
const END_WAIT: Duration = Duration::from_secs(10);

/// How often a group is looked at that is to become empty.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A site that is dropped is waited for this long, since nobody can wait without blocking there. Killed processes end
/// within milliseconds, but a busy machine may leave them without the CPU that they need to end for seconds.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// Sites of this process so far.
static SITES: AtomicU32 = AtomicU32::new(0);

/// The groups of one site. Dropping it kills what is in them.
#[derive(Debug)]
pub(crate) struct Groups {
    hierarchies: Arc<Hierarchies>,
    ledger: Ledger,
    name: String,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    site: Option<(Group, Vec<Entry>)>,
    hosts: BTreeMap<String, Group>,
    units: u32,
}

/// Why a group is not there.
pub(crate) enum NoGroup {
    Ledger(LedgerError),
    Group(Error),
}

impl From<LedgerError> for NoGroup {
    fn from(error: LedgerError) -> Self {
        NoGroup::Ledger(error)
    }
}

impl From<Error> for NoGroup {
    fn from(error: Error) -> Self {
        NoGroup::Group(error)
    }
}

impl Groups {
    /// Makes nothing yet. The name tells the site from all others of this machine, also when somebody uses an
    /// identifier twice.
    pub(crate) fn new(hierarchies: Arc<Hierarchies>, ledger: &Ledger, id: &str) -> Self {
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}.{}-{number}", plain(id), std::process::id());
        Groups { hierarchies, ledger: ledger.clone(), name, made: Mutex::default() }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A group for one unit, and those above it where they are missing.
    pub(crate) fn unit(&self, host: (&str, &Limits), unit: (&str, &Limits)) -> Result<Group, NoGroup> {
        let mut made = self.made();
        if made.site.is_none() {
            made.site = Some(self.make_site()?);
        }
        let above = format!("{}/{}", self.name, plain(host.0));
        if !made.hosts.contains_key(host.0) {
            let group = Group::create(&self.hierarchies, &above, host.1)?;
            made.hosts.insert(host.0.to_owned(), group);
        }
        made.units += 1;
        // Units may be called as before after they ended, and like files of the kernel; so each has a number.
        let name = format!("{above}/{}.{}", plain(unit.0), made.units);
        Ok(Group::create(&self.hierarchies, &name, unit.1)?)
    }

    fn make_site(&self) -> Result<(Group, Vec<Entry>), NoGroup> {
        let things: Vec<Thing> =
            self.hierarchies.folders(&self.name).into_iter().map(|path| Thing::Cgroup { path }).collect();
        let mut entries = Vec::new();
        for thing in &things {
            entries.push(self.ledger.will(thing.clone())?);
        }
        let group = match Group::create(&self.hierarchies, &self.name, &Limits::default()) {
            Ok(group) => group,
            Err(error) => {
                entries.into_iter().try_for_each(|entry| self.ledger.removed(entry))?;
                return Err(error.into());
            }
        };
        for (entry, thing) in entries.iter().zip(things) {
            self.ledger.done(*entry, thing)?;
        }
        Ok((group, entries))
    }

    /// The folders of a host's group, once it has units.
    pub(crate) fn of_host(&self, host: &str) -> Vec<PathBuf> {
        self.made().hosts.get(host).map(Group::paths).unwrap_or_default()
    }

    /// Kills what is left and removes all groups.
    pub(crate) async fn close(&self) -> Result<(), NoGroup> {
        // Taken out only when it is gone: a future that is dropped leaves the rest to `drop`.
        let Some((group, _)) = self.made().site.clone() else { return Ok(()) };
        group.kill_all()?;
        let emptied = async {
            while !group.try_remove() {
                sleep(LOOK_EVERY).await;
            }
        };
        if timeout(END_WAIT, emptied).await.is_err() {
            // It says what holds it.
            group.remove(Duration::ZERO)?;
        }
        Ok(self.forget()?)
    }

    fn forget(&self) -> Result<(), LedgerError> {
        let entries = self.made().site.take().map(|(_, entries)| entries).unwrap_or_default();
        entries.into_iter().rev().try_for_each(|entry| self.ledger.removed(entry))
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        let Some((group, _)) = self.made().site.clone() else { return };
        // What fails here stays in the ledger for the next sweep.
        let _ = group.kill_all();
        if group.remove(DROP_WAIT).is_ok() {
            let _ = self.forget();
        }
    }
}

/// As a part of a file's name.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    name.chars().map(plain).collect()
}

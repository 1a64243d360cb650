//! Control groups of a site: one for the site, below it one for each host, below that one for each unit.
//!
//! Only the group of the site is in the ledger, as sweeping it includes everything below.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use barograph_cgroup::{Error, Group, Hierarchies, Limits};
use barograph_platform::{Entry, Ledger, LedgerError, Resource};
use tokio::time::{sleep, timeout};

/// Prefix of Barograph's groups; a sweep removes no others.
pub(crate) const PREFIX: &str = "barograph.";

/// Longest wait for the end of killed processes, unless a disk is stuck.
const END_WAIT: Duration = Duration::from_secs(10);

/// Interval between polls of a group that is to become empty.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Longest wait when a site is dropped, where waiting blocks. Killed processes end within milliseconds, but a
/// busy machine may withhold the CPU they need to end for seconds.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// Number of sites of this process so far.
static SITES: AtomicU32 = AtomicU32::new(0);

/// Groups of one site. Dropping it kills all processes in them.
#[derive(Debug)]
pub(crate) struct Groups {
    hierarchies: Arc<Hierarchies>,
    ledger: Ledger,
    name: String,
    made: Mutex<CreatedGroups>,
}

#[derive(Debug, Default)]
struct CreatedGroups {
    site: Option<(Group, Vec<Entry>)>,
    hosts: BTreeMap<String, Group>,
    units: u32,
}

/// Reason why a group does not exist.
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
    /// Creates nothing yet. The name distinguishes the site from all others of this machine, even if an
    /// identifier is used twice.
    pub(crate) fn new(hierarchies: Arc<Hierarchies>, ledger: &Ledger, id: &str) -> Self {
        let number = SITES.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}.{}-{number}", plain(id), std::process::id());
        Groups { hierarchies, ledger: ledger.clone(), name, made: Mutex::default() }
    }

    fn made(&self) -> MutexGuard<'_, CreatedGroups> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a group for one unit, with its missing parents.
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
        // Names of units may repeat after their end, or equal files of the kernel, so each has a number.
        let name = format!("{above}/{}.{}", plain(unit.0), made.units);
        Ok(Group::create(&self.hierarchies, &name, unit.1)?)
    }

    fn make_site(&self) -> Result<(Group, Vec<Entry>), NoGroup> {
        let things: Vec<Resource> =
            self.hierarchies.folders(&self.name).into_iter().map(|path| Resource::Cgroup { path }).collect();
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

    /// Returns the folders of a host's group, once it has units.
    pub(crate) fn of_host(&self, host: &str) -> Vec<PathBuf> {
        self.made().hosts.get(host).map(Group::paths).unwrap_or_default()
    }

    /// Kills the remaining processes and removes all groups.
    pub(crate) async fn close(&self) -> Result<(), NoGroup> {
        // Removed only after success: if the future is dropped, `drop` does the rest.
        let Some((group, _)) = self.made().site.clone() else { return Ok(()) };
        group.kill_all()?;
        let emptied = async {
            while !group.try_remove() {
                sleep(LOOK_EVERY).await;
            }
        };
        if timeout(END_WAIT, emptied).await.is_err() {
            // Reports what holds it.
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
        // On failure it stays in the ledger for the next sweep.
        let _ = group.kill_all();
        if group.remove(DROP_WAIT).is_ok() {
            let _ = self.forget();
        }
    }
}

/// Makes a valid part of a file name.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    name.chars().map(plain).collect()
}

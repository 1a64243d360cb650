//! Control groups of a site: one above its hosts, and one for each host with limits.

use std::path::PathBuf;

use barograph_cgroup::{Group, Hierarchies, trees};
use barograph_platform::{Entry, Fault, HostSpec, Ledger, Limits, Resource};

use crate::ending::end_group;

/// Name of a site's group. Its prefix shows a sweep that it belongs to Barograph.
pub(crate) fn name(site: &str) -> String {
    format!("barograph.{site}.containers")
}

/// Folders of a group in all hierarchies, existing or not. Engines use every hierarchy, even those without
/// limits.
pub(crate) fn folders(name: &str) -> Vec<PathBuf> {
    trees().into_iter().map(|tree| tree.mount.join(name)).collect()
}

/// The group of a site, recorded in the ledger.
#[derive(Debug)]
pub(crate) struct SiteGroup {
    name: String,
    ledger: Ledger,
    entries: Vec<Entry>,
}

impl SiteGroup {
    /// Records it. Engines create it with the first container.
    pub(crate) fn note(site: &str, ledger: &Ledger) -> Result<Self, Fault> {
        let name = name(site);
        let mut entries = Vec::new();
        for path in folders(&name) {
            let entry = ledger
                .will(Resource::Cgroup { path: path.clone() })
                .map_err(failed("note control groups"))?;
            entries.push(entry);
        }
        Ok(SiteGroup { name, ledger: ledger.clone(), entries })
    }

    /// Creates the groups of hosts with limits.
    pub(crate) fn limit(&self, hosts: &[HostSpec]) -> Result<(), Fault> {
        if hosts.iter().all(|host| host.limits.is_none()) {
            return Ok(());
        }
        let act = "limit hosts";
        let hierarchies = Hierarchies::find().map_err(failed(act))?;
        let trees = trees();
        if !hierarchies.list().iter().all(|ours| trees.iter().any(|tree| tree.mount == ours.base)) {
            return Err(failed(act)("control groups of this process do not begin where those of engines do"));
        }
        Group::create(&hierarchies, &self.name, &barograph_cgroup::Limits::default()).map_err(failed(act))?;
        for host in hosts.iter().filter(|host| !host.limits.is_none()) {
            let name = format!("{}/{}", self.name, host.name);
            Group::create(&hierarchies, &name, &as_group(&host.limits)).map_err(failed(act))?;
        }
        Ok(())
    }

    /// Returns its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Removes it, with all processes in it.
    pub(crate) async fn remove(self) -> Result<(), Fault> {
        end_group(&self.name).await.map_err(failed("remove control groups"))?;
        let note = failed("note control groups");
        self.entries.into_iter().try_for_each(|entry| self.ledger.removed(entry)).map_err(note)
    }
}

fn as_group(limits: &Limits) -> barograph_cgroup::Limits {
    barograph_cgroup::Limits {
        cpus: limits.cpus,
        cpu_set: limits.cpu_set.clone(),
        memory_bytes: limits.memory_bytes,
        disk_bytes_s: limits.disk_bytes_s,
    }
}

/// Converts a cause to a fault of the site.
pub(crate) fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(act: &str) -> impl Fn(E) -> Fault {
    let act = act.to_owned();
    move |source| Fault::Site { act: act.clone(), source: source.into() }
}

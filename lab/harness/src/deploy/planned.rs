//! Deployments of the loads of a run: an application for each load that has one, and drivers that are units.

use std::path::{Path, PathBuf};

use barograph_record::TopologyRecord;
use barograph_spec::Plan;
use barograph_workload::topology::{Part, Topology};
use barograph_workload::{Application, DataSet};

use super::drivers;
use crate::check::{CheckedPlan, OF_LOAD, Target};
use crate::run::CheckedLoad;

/// Parts that are deployed together.
pub struct PlannedApplication<'l> {
    /// Index of the load that deploys them; `None` for drivers.
    pub load: Option<usize>,
    /// Plan of that load; for drivers, the plan with the keys shared by all loads.
    pub plan: &'l Plan,
    /// The application; `None` for drivers.
    pub application: Option<&'l dyn Application>,
    /// Data set of the application.
    pub data: Option<&'l DataSet>,
    /// The parts, under their names in the run.
    pub topology: Topology,
}

impl<'l> PlannedApplication<'l> {
    /// The application of the load at this index; `None` if it deploys none.
    fn of((at, load): (usize, &'l CheckedLoad)) -> Option<Self> {
        let CheckedPlan { plan, data, target, .. } = &load.checked;
        let application = load.workload.application().filter(|_| *target == Target::Deployed)?;
        let data = data.as_ref();
        let topology = topology_of(application, plan, data);
        Some(PlannedApplication { load: Some(at), plan, application: Some(application), data, topology })
    }

    /// Name of the load if several loads deploy, else empty.
    pub(crate) fn name(&self) -> &str {
        self.plan.letter.filter(|_| self.application.is_some()).map_or("", |_| &self.plan.load)
    }

    /// Name of a part within its application.
    pub(super) fn name_within<'p>(&self, part: &'p str) -> &'p str {
        let own = part.strip_prefix(self.name()).and_then(|rest| rest.strip_prefix('-'));
        own.filter(|_| !self.name().is_empty()).unwrap_or(part)
    }

    /// The application's folder within the shared folder.
    pub(super) fn common(&self, common: &Path) -> PathBuf {
        if self.name().is_empty() { common.to_owned() } else { common.join(self.name()) }
    }
}

/// Parts of an application, under their names in the run.
pub(crate) fn topology_of(application: &dyn Application, plan: &Plan, data: Option<&DataSet>) -> Topology {
    let topology = application.topology(plan, data).with_programs(&plan.deploy);
    let Some(letter) = plan.letter else { return topology };
    // All applications may share one host, or some.
    let prefix = (plan.deploy.hosts != "together").then(|| letter.to_string());
    let topology = topology.apart(&plan.load, prefix.as_deref());
    match plan.deploy.spread_over {
        0 => topology,
        hosts => topology.on(&format!("all-{}", (u32::from(letter) - u32::from('a')) % hosts + 1)),
    }
}

/// Deployments of all loads, drivers last.
#[must_use]
pub fn planned(loads: &[CheckedLoad]) -> Vec<PlannedApplication<'_>> {
    let mut all: Vec<PlannedApplication<'_>> =
        loads.iter().enumerate().filter_map(PlannedApplication::of).collect();
    let plan = &plan_of_all(loads).checked.plan;
    let fronts: Vec<String> =
        all.iter().flat_map(|planned| planned.topology.front_names().cloned()).collect();
    let topology = of_drivers(plan, &fronts);
    if !topology.parts.is_empty() {
        all.push(PlannedApplication { load: None, plan, application: None, data: None, topology });
    }
    all
}

/// Drivers that are units. They are this program, which hosts with a root of their own do not have.
fn of_drivers(plan: &Plan, fronts: &[String]) -> Topology {
    let shared = std::env::current_exe().ok().into_iter().collect();
    Topology { parts: drivers::parts(plan, fronts), shared, ..Topology::empty() }
}

/// The load whose plan has the keys shared by all: the first that deploys its application, or the first.
///
/// # Panics
/// If `loads` is empty.
#[must_use]
pub fn plan_of_all(loads: &[CheckedLoad]) -> &CheckedLoad {
    loads.iter().find(|load| load.checked.target == Target::Deployed).unwrap_or(&loads[0])
}

/// Index of the load whose application is the target of the load at `at`; `None` if the target exists
/// already.
pub(crate) fn application_of(loads: &[CheckedLoad], at: usize) -> Option<usize> {
    match &loads[at].checked.target {
        Target::Deployed => Some(at),
        Target::There { url } => {
            let named = url.strip_prefix(OF_LOAD)?;
            loads.iter().position(|load| load.checked.plan.load == named)
        }
    }
}

/// All parts.
pub(super) fn parts<'p>(planned: &'p [PlannedApplication<'_>]) -> impl Iterator<Item = &'p Part> + Clone {
    planned.iter().flat_map(|planned| &planned.topology.parts)
}

/// Topology in the form of the record, before deploying; addresses and start times are not known yet.
#[must_use]
pub fn outline(planned: &[PlannedApplication<'_>], platform: &str) -> TopologyRecord {
    let mut whole = TopologyRecord { platform: platform.to_owned(), ..TopologyRecord::default() };
    let mut fronts = Vec::new();
    for each in planned {
        let mut outline = each.topology.outline(platform);
        outline.parts.iter_mut().for_each(|part| each.name().clone_into(&mut part.load));
        whole.parts.append(&mut outline.parts);
        fronts.extend(each.topology.front_names().cloned());
    }
    let mut fronts = fronts.into_iter();
    whole.front = fronts.next().unwrap_or_default();
    whole.beside = fronts.collect();
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_dealt_to_hosts() {
        let text = "instances = 5\n[load]\nstrategy = \"fixed\"\n";
        let hosts = |sets: &[&str]| -> Vec<String> {
            let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
            let plan = barograph_spec::read(crate::testing::CATALOGUE, "p", text, &sets).unwrap();
            let workload = crate::testing::TestWorkload::default();
            let of = |load: &Plan| topology_of(&workload, load, None).parts[0].host.clone();
            plan.all().map(of).collect()
        };
        assert_eq!(hosts(&["deploy.spread_over=2"]), ["all-1", "all-2", "all-1", "all-2", "all-1"]);
        assert_eq!(hosts(&["deploy.spread_over=5"]), ["all-1", "all-2", "all-3", "all-4", "all-5"]);
        let apart = ["a", "b", "c", "d", "e"].map(|letter| format!("{letter}-application-1"));
        assert_eq!(hosts(&[]), apart);
    }

    #[test]
    fn hosts_of_drivers_see_this_program() {
        let text = "driver.place = \"unit\"\n";
        let plan = barograph_spec::read(crate::testing::CATALOGUE, "p", text, &[]).unwrap();
        let topology = of_drivers(&plan, &[]);
        assert_eq!(topology.parts.len(), 1);
        assert_eq!(topology.shared, [std::env::current_exe().unwrap()]);
    }
}

//! What the loads of a run deploy: the application of each that has one to deploy, and drivers that are parts.

use std::path::{Path, PathBuf};

use barograph_record::KeptTopology;
use barograph_spec::Plan;
use barograph_workload::topology::{Part, Topology};
use barograph_workload::{Application, DataSet};

use super::drivers;
use crate::check::{Checked, OF_LOAD, Target};
use crate::run::CheckedLoad;

/// Parts that are deployed together.
pub struct Planned<'l> {
    /// Place of the load that deploys them; `None` for drivers.
    pub load: Option<usize>,
    /// The plan of that load; of drivers, the one that has the keys of all loads.
    pub plan: &'l Plan,
    /// The application; `None` for drivers.
    pub application: Option<&'l dyn Application>,
    /// Its data set.
    pub data: Option<&'l DataSet>,
    /// The parts, under the names that they have in the run.
    pub topology: Topology,
}

impl<'l> Planned<'l> {
    /// The application of the load at this place; `None` where it deploys none.
    fn of((at, load): (usize, &'l CheckedLoad)) -> Option<Self> {
        let Checked { plan, data, target, .. } = &load.checked;
        let application = load.workload.application().filter(|_| *target == Target::Deployed)?;
        let data = data.as_ref();
        let topology = topology_of(application, plan, data);
        Some(Planned { load: Some(at), plan, application: Some(application), data, topology })
    }

    /// The load's name where several loads deploy, else nothing.
    pub(crate) fn name(&self) -> &str {
        self.plan.letter.filter(|_| self.application.is_some()).map_or("", |_| &self.plan.load)
    }

    /// The name of a part within its application.
    pub(super) fn name_within<'p>(&self, part: &'p str) -> &'p str {
        let own = part.strip_prefix(self.name()).and_then(|rest| rest.strip_prefix('-'));
        own.filter(|_| !self.name().is_empty()).unwrap_or(part)
    }

    /// Its folder in the one that all hosts see.
    pub(super) fn common(&self, common: &Path) -> PathBuf {
        if self.name().is_empty() { common.to_owned() } else { common.join(self.name()) }
    }
}

/// The parts of an application, under the names that they have in the run.
pub(crate) fn topology_of(application: &dyn Application, plan: &Plan, data: Option<&DataSet>) -> Topology {
    let topology = application.topology(plan, data);
    let Some(letter) = plan.letter else { return topology };
    // All applications may be on one host.
    let prefix = (plan.deploy.hosts != "together").then(|| letter.to_string());
    topology.apart(&plan.load, prefix.as_deref())
}

/// Everything that loads deploy, drivers last.
#[must_use]
pub fn planned(loads: &[CheckedLoad]) -> Vec<Planned<'_>> {
    let mut all: Vec<Planned<'_>> = loads.iter().enumerate().filter_map(Planned::of).collect();
    let plan = &plan_of_all(loads).checked.plan;
    let fronts: Vec<String> =
        all.iter().flat_map(|planned| planned.topology.fronts.iter().cloned()).collect();
    let topology = Topology { parts: drivers::parts(plan, &fronts), ..Topology::empty() };
    if !topology.parts.is_empty() {
        all.push(Planned { load: None, plan, application: None, data: None, topology });
    }
    all
}

/// The load whose plan has the keys of all: the first that deploys its application, or the first.
///
/// # Panics
/// Without a load.
#[must_use]
pub fn plan_of_all(loads: &[CheckedLoad]) -> &CheckedLoad {
    loads.iter().find(|load| load.checked.target == Target::Deployed).unwrap_or(&loads[0])
}

/// The load whose application is the target of a load; `None` where the target is there already.
pub(crate) fn application_of(loads: &[CheckedLoad], at: usize) -> Option<usize> {
    match &loads[at].checked.target {
        Target::Deployed => Some(at),
        Target::There { url } => {
            let named = url.strip_prefix(OF_LOAD)?;
            loads.iter().position(|load| load.checked.plan.load == named)
        }
    }
}

/// Every part.
pub(super) fn parts<'p>(planned: &'p [Planned<'_>]) -> impl Iterator<Item = &'p Part> + Clone {
    planned.iter().flat_map(|planned| &planned.topology.parts)
}

/// What would be deployed, as a record has it; where and how quickly is not known before.
#[must_use]
pub fn outline(planned: &[Planned<'_>], platform: &str) -> KeptTopology {
    let mut whole = KeptTopology { platform: platform.to_owned(), ..KeptTopology::default() };
    let mut fronts = Vec::new();
    for each in planned {
        let mut outline = each.topology.outline(platform);
        outline.parts.iter_mut().for_each(|part| each.name().clone_into(&mut part.load));
        whole.parts.append(&mut outline.parts);
        fronts.extend(each.topology.fronts.iter().cloned());
    }
    let mut fronts = fronts.into_iter();
    whole.front = fronts.next().unwrap_or_default();
    whole.beside = fronts.collect();
    whole
}

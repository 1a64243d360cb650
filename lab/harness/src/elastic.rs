//! The nodes of a tier beside the load: their supply in the record, and the rule that scales them.
//!
//! The rule, or the autoscaler of the platform in its place, asks for a number of nodes in the form of an action
//! of the plan, which is carried out and recorded as any other.

use barograph_model::{Level, Nanos};
use barograph_platform::{Autoscaler, Fault, Limits, ScaledTier};
use barograph_record::{DemandRecord, LevelRecord, ProbeRow, SupplyRecord};
use barograph_spec::{ActionKind, ActionPlan, ElasticityPlan, ScaledBy, ScalerPlan};
use barograph_stats::elasticity::{LoadCourse, Scaler, TargetRule};

use crate::actions::{stop_surplus, tier_of};
use crate::check::CheckedPlan;
use crate::deploy::{Deployment, StartedPart};

/// The nodes of a tier that is watched.
pub(crate) struct Elastic<'d> {
    deployed: &'d Deployment,
    tier: String,
    /// Nodes that were ready after the latest change.
    ready: u32,
    scaling: Option<Scaling>,
    /// Level of the load, for a rule that looks at it.
    course: LoadCourse,
    /// Problem of the platform's autoscaler that was noted last.
    problem: Option<String>,
}

/// What scales the tier.
enum Scaling {
    Own(Rule),
    Platform(Box<dyn Autoscaler>),
}

/// The rule that scales the tier.
struct Rule {
    plan: ScalerPlan,
    scaler: Scaler,
    /// Time of its next look.
    next: Nanos,
    use_of_cores: CoreUse,
}

/// What a rule sees of an interval.
pub(crate) struct Look<'r> {
    /// Start and end of the interval.
    pub(crate) span: (Nanos, Nanos),
    /// Samples of the interval.
    pub(crate) rows: &'r [ProbeRow],
    /// Processors of the host.
    pub(crate) processors: u32,
    /// Whether an action is in progress.
    pub(crate) is_acting: bool,
}

/// Use of the cores of the nodes since the latest look.
#[derive(Clone, Copy, Debug, Default)]
struct CoreUse {
    /// Core-seconds in use.
    used: f64,
    /// Core-seconds that the nodes had.
    had: f64,
}

impl<'d> Elastic<'d> {
    /// Begins with the nodes that the plan wants at the start; the others are stopped. `None` if the plan
    /// does not ask for it. Returns the entries that begin the record of it.
    pub(crate) async fn begin(
        plan: &ElasticityPlan,
        deployed: Option<&'d Deployment>,
    ) -> Result<Option<Self>, Fault> {
        let Some(deployed) = deployed.filter(|_| plan.is_measured()) else { return Ok(None) };
        let nodes = nodes(deployed, &plan.tier).count() as u32;
        if plan.first_nodes > 0 {
            stop_surplus(deployed, &plan.tier, plan.first_nodes as usize).await?;
        }
        let mut elastic = Elastic {
            deployed,
            tier: plan.tier.clone(),
            ready: 0,
            scaling: None,
            course: LoadCourse::new(),
            problem: None,
        };
        elastic.ready = elastic.running();
        elastic.scaling = match plan.scaler {
            Some(scaler) if scaler.by == ScaledBy::Platform => {
                Some(Scaling::Platform(elastic.followed(&scaler, nodes).await?))
            }
            Some(scaler) => Some(Scaling::Own(Rule::new(scaler, nodes, elastic.ready))),
            None => None,
        };
        Ok(Some(elastic))
    }

    /// Lets the autoscaler of the platform follow the tier.
    async fn followed(&self, scaler: &ScalerPlan, count: u32) -> Result<Box<dyn Autoscaler>, Fault> {
        let of_tier = || nodes(self.deployed, &self.tier);
        let cores = of_tier().filter_map(|part| part.unit.limits.cpus).fold(f64::INFINITY, f64::min);
        let tier = ScaledTier {
            name: self.tier.clone(),
            units: of_tier().map(|part| part.name.clone()).collect(),
            first: self.ready,
            cores: scaler.target * cores,
            least: scaler.least_nodes,
            most: scaler.most_of(count),
            settle: scaler.settle.into(),
        };
        let unable = || Fault::Site {
            act: format!("let an autoscaler follow {}", self.tier),
            source: "the platform has none".into(),
        };
        self.deployed.site().autoscaling().ok_or_else(unable)?.follow(&tier).await
    }

    /// The nodes at the start.
    pub(crate) fn first(&self) -> SupplyRecord {
        self.supply(Nanos::ZERO, (self.ready, self.ready))
    }

    /// Nodes that run.
    fn running(&self) -> u32 {
        nodes(self.deployed, &self.tier).filter(|part| !part.has_ended()).count() as u32
    }

    fn supply(&self, at: Nanos, (ready, running): (u32, u32)) -> SupplyRecord {
        SupplyRecord { at_s: at.as_secs_f64(), tier: self.tier.clone(), ready, running }
    }

    /// Notes a change of the level of the load.
    pub(crate) fn level(&mut self, level: Level, at: Nanos, over: Nanos) -> LevelRecord {
        let change = LevelRecord { at_s: at.as_secs_f64(), level, over_s: over.as_secs_f64() };
        self.course.change(change.at_s, f64::from(level), change.over_s);
        change
    }

    /// The nodes during an action and after it. Nodes that start are ready at its end, and those that stop
    /// are not from its start on; they cost from the start to the end.
    pub(crate) fn acted(&mut self, action: &ActionPlan, began: Nanos, ended: Nanos) -> Vec<SupplyRecord> {
        let (before, after) = (self.ready, self.running());
        self.ready = after;
        let is_own = tier_of(&action.unit) == self.tier;
        let during = match action.act {
            ActionKind::Restart if is_own => before.saturating_sub(1),
            ActionKind::RollingRestart if action.unit == self.tier => before.saturating_sub(1),
            _ => before.min(after),
        };
        if (before, during) == (after, after) {
            return Vec::new();
        }
        vec![self.supply(began, (during, before.max(after))), self.supply(ended, (after, after))]
    }

    /// A problem of the platform's autoscaler that was not noted yet.
    pub(crate) fn new_problem(&mut self) -> Option<String> {
        let Some(Scaling::Platform(autoscaler)) = &self.scaling else { return None };
        let problem = autoscaler.decision().problem;
        if problem == self.problem {
            return None;
        }
        self.problem = problem;
        self.problem.as_ref().map(|why| format!("the platform's autoscaler cannot decide: {why}"))
    }

    /// The action that the rule asks for after an interval, if it looks now; it does not look while an action
    /// is in progress. `processors` are those of the host, for nodes without a limit.
    pub(crate) fn after(
        &mut self,
        Look { span: (from, to), rows, processors, is_acting }: Look<'_>,
    ) -> Option<ActionPlan> {
        let ready = self.running();
        let up: Vec<&StartedPart> =
            nodes(self.deployed, &self.tier).filter(|part| !part.has_ended()).collect();
        let scale = |wanted: u32| {
            (wanted != ready).then(|| ActionPlan::of_run(to, &self.tier, ActionKind::Scale(wanted)))
        };
        let rule = match self.scaling.as_mut()? {
            Scaling::Own(rule) => rule,
            Scaling::Platform(_) if is_acting => return None,
            Scaling::Platform(autoscaler) => return scale(autoscaler.decision().units),
        };
        rule.use_of_cores.add((to - from).as_secs_f64(), &up, rows, processors);
        if to < rule.next || is_acting {
            return None;
        }
        rule.next = to + rule.plan.every;
        let value = match rule.plan.by {
            ScaledBy::Cpu | ScaledBy::Platform => std::mem::take(&mut rule.use_of_cores).share(),
            ScaledBy::Load => self.course.level(to.as_secs_f64()) / f64::from(ready.max(1)),
        };
        let wanted = rule.scaler.nodes(to.as_secs_f64(), ready, value);
        scale(wanted)
    }
}

impl Rule {
    fn new(plan: ScalerPlan, nodes: u32, ready: u32) -> Self {
        let rule = TargetRule {
            target: plan.target,
            tolerance: plan.tolerance,
            least: plan.least_nodes,
            most: plan.most_of(nodes),
            settle_s: plan.settle.as_secs_f64(),
        };
        let (scaler, next) = (Scaler::new(rule, ready), plan.every);
        Rule { plan, scaler, next, use_of_cores: CoreUse::default() }
    }
}

impl CoreUse {
    /// Adds the use of these nodes in an interval. A node without samples counts on neither side.
    fn add(&mut self, seconds: f64, nodes: &[&StartedPart], rows: &[ProbeRow], processors: u32) {
        for node in nodes {
            let row = rows.iter().find(|row| row.subject == node.name);
            if let Some(cores) = row.and_then(ProbeRow::cores) {
                self.used += cores * seconds;
                self.had += cores_of(&node.unit.limits, processors) * seconds;
            }
        }
    }

    /// The part of the cores that is in use; NaN, by which a rule changes nothing, without samples.
    fn share(self) -> f64 {
        self.used / self.had
    }
}

/// Cores that a node may use.
fn cores_of(limits: &Limits, processors: u32) -> f64 {
    let set = match limits.cpu_set.len() {
        0 => f64::from(processors),
        cores => cores as f64,
    };
    limits.cpus.map_or(set, |cpus| cpus.min(set))
}

/// Nodes of a tier, those that run and the others.
fn nodes<'d>(deployed: &'d Deployment, tier: &str) -> impl Iterator<Item = &'d StartedPart> {
    deployed.services().filter(move |part| part.node && tier_of(&part.name) == tier)
}

/// The demand curve of a plan in the form of the record.
pub(crate) fn demand(checked: &CheckedPlan) -> Option<DemandRecord> {
    let file = checked.demand.as_ref()?;
    Some(DemandRecord {
        tier: checked.plan.elasticity.tier.clone(),
        about: file.about.clone(),
        unit: file.unit.into(),
        nodes: file.curve.points().iter().copied().map(Into::into).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_has_the_cores_of_its_limit_its_set_or_its_host() {
        let of = |cpus: Option<f64>, cpu_set: Vec<usize>| {
            cores_of(&Limits { cpus, cpu_set, ..Limits::default() }, 8)
        };
        assert_eq!(of(None, vec![]), 8.0);
        assert_eq!(of(Some(0.5), vec![]), 0.5);
        assert_eq!(of(None, vec![0, 3]), 2.0);
        assert_eq!(of(Some(4.0), vec![0, 3]), 2.0);
    }

    #[test]
    fn a_share_of_nothing_is_no_number() {
        assert!(CoreUse::default().share().is_nan());
        assert_eq!(CoreUse { used: 1.0, had: 4.0 }.share(), 0.25);
    }
}

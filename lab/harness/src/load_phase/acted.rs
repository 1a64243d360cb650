//! Actions that were carried out, in the record; and what follows from them for probes and nodes.

use barograph_model::{Level, Nanos};
use barograph_platform::UnitExit;
use barograph_record::{Entry, LevelRecord, ProbeRow, SupplyRecord};
use barograph_spec::{ActionKind, ActionPlan};
use barograph_stats::Interval;

use super::LoadPhase;
use crate::HarnessError;
use crate::actions::{self, ActionFailure, ActionResult};
use crate::deploy::StartedPart;
use crate::elastic::Look;

impl LoadPhase<'_, '_> {
    /// Records an action. One that failed does not end the run.
    pub(super) fn acted(
        &mut self,
        action: &ActionPlan,
        began: Nanos,
        done: Result<ActionResult, ActionFailure>,
    ) -> Result<(), HarnessError> {
        if let Ok(done) = &done {
            self.watch_again(action, done);
        }
        let now = self.now();
        let supplies = self.elastic.as_mut().map(|elastic| elastic.acted(action, began, now));
        let kept = actions::kept(action, (began, now - began), done);
        let outcome = kept.failed.as_ref().map_or_else(String::new, |why| format!(": not done, {why}"));
        self.run.say(&format!("action: {} {}{outcome}", kept.act, kept.unit));
        self.acted.push(kept.clone());
        self.run.record.append(&Entry::Action(kept))?;
        self.keep_supplies(supplies.unwrap_or_default())
    }

    fn keep_supplies(&mut self, supplies: Vec<SupplyRecord>) -> Result<(), HarnessError> {
        for supply in supplies {
            self.run.record.append(&Entry::Supply(supply))?;
        }
        Ok(())
    }

    /// Lets the parts of a lost node start elsewhere, if the plan wants that; any other end ends the run.
    pub(super) fn lost(&mut self, part: &StartedPart, ended: &UnitExit) -> Result<(), HarnessError> {
        let node = match ended {
            UnitExit::NodeLost(node) if self.run.plan.deploy.cluster.replaces_lost => node,
            _ => return Err(super::gone_as(self.app, part, ended.clone())),
        };
        part.expect_end(true);
        self.run.note(format!("{} was lost with its node {node}, and starts on another one", part.name))?;
        let now = self.now();
        self.actions.replace(node, &part.name, now);
        Ok(())
    }

    /// Finds the new processes of parts after an action.
    fn watch_again(&mut self, action: &ActionPlan, done: &ActionResult) {
        let Some(app) = self.app else { return };
        let host = app.services().find(|part| part.name == action.unit).map(|part| &part.unit.host);
        let is_new = |part: &&StartedPart| match action.act {
            ActionKind::Move | ActionKind::MoveWithDisk => Some(&part.unit.host) == host,
            _ => done.started().contains(&part.name),
        };
        for part in app.services().filter(is_new) {
            self.probes.started_again(&part.name, &part.running().accounts());
        }
    }

    /// Lets the rule that scales a tier, or the platform's autoscaler, look at an interval, unless an action is in
    /// progress.
    pub(super) fn scale_after(&mut self, interval: &Interval, rows: &[ProbeRow]) -> Result<(), HarnessError> {
        let (processors, is_acting) = (self.probes.processors(), self.actions.is_acting());
        let Some(elastic) = self.elastic.as_mut().filter(|_| self.control.is_some()) else { return Ok(()) };
        let problem = elastic.new_problem();
        let look = Look { span: (interval.from, interval.to), rows, processors, is_acting };
        if let Some(action) = elastic.after(look) {
            self.actions.add(action);
        }
        problem.map_or(Ok(()), |problem| self.run.note(problem))
    }

    /// Records a change of the level of the load, where nodes are held against it.
    pub(super) fn level_changes(&mut self, level: Level, at: Nanos, over: Nanos) -> Result<(), HarnessError> {
        let Some(elastic) = &mut self.elastic else { return Ok(()) };
        let change: LevelRecord = elastic.level(level, at, over);
        Ok(self.run.record.append(&Entry::Level(change))?)
    }
}

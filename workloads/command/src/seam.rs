//! The workload behind the seam.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use barograph_engine::{Runnable, runnable};
use barograph_model::{
    Behaviour, Behaviours, ChooserId, MeasureSpec, NextOp, OpId, OpSpec, Pace, Profile, QosRule, Share,
};
use barograph_spec::{Connections, Plan, Refusal, Refusals};
use barograph_supervisor::SupervisorProgram;
use barograph_workload::{
    FailureReason, LoadCommand, LoadError, LoadJob, Reasons, Rounds, Workload, WorkloadFactory,
};
use serde_json::{Map, Value, json};

use crate::kept::RunTable;
use crate::measures::{COUNTERS, MEASURES};
use crate::plan::CommandPlan;
use crate::user::{Program, Runners, Step};

/// Its name in plans, and that of its only profile.
pub(crate) const NAME: &str = "command";

/// The target of plans that name none: processes of this machine.
pub(crate) const TARGET: &str = "process://localhost";

/// Makes the workload of plans.
pub struct Commands;

impl WorkloadFactory for Commands {
    fn about(&self) -> &'static str {
        "any command as a job: elapsed time, CPU time, peak memory, exit status"
    }

    fn of_plan(&self, plan: &Plan) -> Result<Arc<dyn Workload>, Refusals> {
        Ok(Arc::new(CommandWorkload::new(CommandPlan::of(plan), SupervisorProgram::own())))
    }

    fn load_command(&self) -> Option<&dyn LoadCommand> {
        Some(self)
    }
}

/// The workload of a plan.
pub(crate) struct CommandWorkload {
    ops: Vec<OpSpec>,
    program: Arc<Program>,
}

impl CommandWorkload {
    pub(crate) fn new(plan: CommandPlan, supervisor: SupervisorProgram) -> Self {
        // Names of operations live as long as the program; a plan has a few.
        let leak = |name: &str| -> &'static str { Box::leak(name.to_owned().into_boxed_str()) };
        let names: Vec<&'static str> = plan.commands.iter().map(|command| leak(&command.name)).collect();
        let mut steps = vec![Step::Prepare];
        steps.extend((0..names.len()).map(Step::Run));
        steps.extend((plan.warm_up_runs > 0).then_some(Step::WarmUp));
        steps.extend(plan.cleanup.is_some().then_some(Step::Cleanup));
        let spec = |step: &Step| match step {
            Step::Prepare => OpSpec { name: "Prepare", about: "makes ready for the next command" },
            Step::Run(at) => OpSpec { name: names[*at], about: "runs the command" },
            Step::WarmUp => OpSpec { name: "WarmUp", about: "runs a command and does not count it" },
            Step::Cleanup => OpSpec { name: "Cleanup", about: "cleans up after a command" },
        };
        let ops = steps.iter().map(spec).collect();
        let (kept, reasons) = (RunTable::default(), Reasons::shared());
        CommandWorkload { ops, program: Arc::new(Program { plan, steps, names, supervisor, kept, reasons }) }
    }

    fn op_ids(&self) -> impl Iterator<Item = OpId> {
        (0..self.ops.len()).map(|at| OpId(u8::try_from(at).expect("a plan has 16 commands at most")))
    }
}

impl Workload for CommandWorkload {
    fn name(&self) -> &'static str {
        NAME
    }

    fn version(&self) -> u32 {
        crate::VERSION
    }

    fn ops(&self) -> &[OpSpec] {
        &self.ops
    }

    fn counters(&self) -> &[&'static str] {
        &COUNTERS
    }

    fn measures(&self) -> &[MeasureSpec] {
        &MEASURES
    }

    fn profiles(&self) -> Vec<&str> {
        vec![NAME]
    }

    /// No command may fail, and none has a limit.
    fn profile(&self, name: &str) -> Option<Profile> {
        let rule = |op: OpId| QosRule {
            op,
            quantile: Share::percent(50.0),
            limit: None,
            judged: true,
            mix: Share::ZERO,
            mix_tolerance: Share::ZERO,
            failures: Share::ZERO,
        };
        let rules: Vec<QosRule> = self.op_ids().map(rule).collect();
        (name == NAME).then(|| Profile::usual(NAME, &rules, None))
    }

    fn behaviours(&self, profile: &str) -> Option<Behaviours> {
        let branches: Vec<NextOp> = self.op_ids().map(NextOp::Op).collect();
        let next = Some(NextOp::Choose { chooser: ChooserId(0), branches });
        let next = vec![next; self.ops.len()];
        let main = Behaviour { name: "main", first: OpId(0), next, pace: Pace::AtOnce };
        Behaviours::new(vec![main]).ok().filter(|_| profile == NAME)
    }

    fn target(&self) -> Option<&str> {
        Some(TARGET)
    }

    fn target_is_of_driver(&self) -> bool {
        true
    }

    /// A socket to each supervisor, and its copy that is watched.
    fn connections(&self, users: u32, _: Connections) -> u64 {
        u64::from(users) * 2
    }

    fn refusals(&self, plan: &Plan) -> Vec<Refusal> {
        plan.drivers_elsewhere("commands run on its machine", None)
    }

    fn disclose(&self) -> Map<String, Value> {
        let plan = &self.program.plan;
        let commands: Vec<Value> =
            plan.commands.iter().map(|c| json!({ "name": c.name, "words": c.words })).collect();
        let section = json!({
            "commands": commands,
            "prepare": plan.prepare,
            "cleanup": plan.cleanup,
            "warm_up_runs": plan.warm_up_runs,
            "accounts": "CPU time of a command with all its descendants, peak memory of the largest of them",
        });
        Map::from_iter([(NAME.to_owned(), section)])
    }

    fn keep_in(&self, folder: &Path) {
        self.program.kept.begin(folder);
    }

    fn load(&self, _: &LoadJob<'_>) -> Result<Box<dyn Runnable>, LoadError> {
        let program = Arc::clone(&self.program);
        Ok(runnable(move || Runners(Arc::clone(&program))))
    }

    fn rounds(&self) -> Option<Rounds> {
        (self.program.names.len() > 1).then(|| self.program.kept.rounds())
    }

    fn failure_reasons(&self) -> Vec<FailureReason> {
        self.program.reasons.lock().unwrap_or_else(PoisonError::into_inner).by_name(&self.ops)
    }
}

//! The user: rounds of commands, each prepared, run and cleaned up after.

use std::cell::RefCell;
use std::io;
use std::sync::{Arc, Mutex};

use barograph_engine::{OpContext, Stream, User, UserFactory};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_supervisor::{End, Report, SupervisedCommand, SupervisorProgram};
use barograph_workload::{Failure, Reasons};
use rand::RngExt;

use crate::kept::{CommandRun, RunTable};
use crate::measures::{ELAPSED, PEAK, RUNS, SYSTEM, USER};
use crate::plan::CommandPlan;

/// Bytes of output in the reason of a failure: the last ones.
const SHOWN_OUTPUT: usize = 150;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Starts the supervisor of the next command, after the command that prepares it.
    Prepare,
    /// Runs the command with this index.
    Run(usize),
    /// Runs a command and does not count it.
    WarmUp,
    /// Runs the command that cleans up.
    Cleanup,
}

/// A load of commands; all workers share it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) plan: CommandPlan,
    /// Operations by index.
    pub(crate) steps: Vec<Step>,
    /// Names of the commands, by index.
    pub(crate) names: Vec<&'static str>,
    pub(crate) supervisor: SupervisorProgram,
    pub(crate) kept: RunTable,
    pub(crate) reasons: Arc<Mutex<Reasons>>,
}

impl Program {
    /// Index of the operation of a step.
    pub(crate) fn op(&self, step: Step) -> usize {
        self.steps.iter().position(|of| *of == step).unwrap_or(0)
    }

    /// Outcome of a command that has ended, with the reason if it failed.
    fn judge(&self, op: OpId, report: &io::Result<Report>) -> Outcome {
        let (outcome, why, seen) = match report {
            Ok(Report { end: End::Exited(code), .. }) if *code == 0 || self.plan.any_exit_code => {
                return Outcome::Good;
            }
            Ok(Report { end: end @ End::NotStarted(_), .. }) => (Outcome::DriverFault, end.to_string(), ""),
            Ok(Report { end, output, .. }) => (Outcome::Refused, end.to_string(), last_of(output)),
            Err(why) => (Outcome::DriverFault, format!("its supervisor failed: {why}"), ""),
        };
        self.failed(op, outcome, why, seen)
    }

    fn failed(&self, op: OpId, outcome: Outcome, why: String, seen: &str) -> Outcome {
        Reasons::note(&self.reasons, op, &Failure { outcome, why, seen: seen.as_bytes() });
        outcome
    }
}

/// Last part of an output, from the begin of a character.
fn last_of(output: &str) -> &str {
    let output = output.trim_end();
    let mut from = output.len().saturating_sub(SHOWN_OUTPUT);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    &output[from..]
}

/// Makes the users of a load.
pub(crate) struct Runners(pub(crate) Arc<Program>);

impl UserFactory for Runners {
    type User = Runner;

    fn user(&self, id: UserId) -> Runner {
        Runner { program: Arc::clone(&self.0), id, state: RefCell::default() }
    }
}

/// A user.
pub(crate) struct Runner {
    program: Arc<Program>,
    id: UserId,
    state: RefCell<State>,
}

/// Place of a user in its rounds.
#[derive(Default)]
struct State {
    /// Number of the current round, from 1.
    round: u64,
    /// Commands of the round that were not prepared yet, the next one last.
    order: Vec<usize>,
    /// Index of the command at hand.
    command: usize,
    /// Its supervisor, once it is prepared.
    ready: Option<SupervisedCommand>,
    /// The operation before.
    last: Option<Step>,
    /// The last run, until the operation has ended.
    run: Option<CommandRun>,
}

impl State {
    /// Goes on to the next command.
    fn advance(&mut self, commands: usize, rng: &mut Stream) {
        if self.order.is_empty() {
            self.round += 1;
            self.order.extend(0..commands);
            for end in (1..commands).rev() {
                self.order.swap(end, rng.random_range(0..=end));
            }
        }
        self.command = self.order.pop().unwrap_or(0);
    }
}

impl User for Runner {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        context.sent();
        let step = self.program.steps[op.index()];
        self.state.borrow_mut().last = Some(step);
        match step {
            Step::Prepare => self.prepare(op, context).await,
            Step::Run(_) | Step::WarmUp => self.run(op, step, context).await,
            Step::Cleanup => self.beside(op, self.program.plan.cleanup.as_deref()).await,
        }
    }

    fn choose(&self, _: ChooserId, _: &mut OpContext) -> usize {
        self.keep_run();
        let state = self.state.borrow();
        let plan = &self.program.plan;
        self.program.op(match state.last {
            Some(Step::Prepare) if state.round <= plan.warm_up_runs => Step::WarmUp,
            Some(Step::Prepare) => Step::Run(state.command),
            Some(Step::Run(_) | Step::WarmUp) if plan.cleanup.is_some() => Step::Cleanup,
            _ => Step::Prepare,
        })
    }
}

impl Runner {
    async fn prepare(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let plan = &self.program.plan;
        self.state.borrow_mut().advance(plan.commands.len(), &mut context.rng);
        let prepared = self.beside(op, plan.prepare.as_deref()).await;
        if prepared != Outcome::Good {
            return prepared;
        }
        let command = self.state.borrow().command;
        match SupervisedCommand::start(&self.program.supervisor, &plan.commands[command].words).await {
            Ok(ready) => {
                self.state.borrow_mut().ready = Some(ready);
                Outcome::Good
            }
            Err(why) => {
                let why = format!("cannot start a supervisor: {why}");
                self.program.failed(op, Outcome::DriverFault, why, "")
            }
        }
    }

    async fn run(&self, op: OpId, step: Step, context: &mut OpContext) -> Outcome {
        let ready = self.state.borrow_mut().ready.take();
        let Some(mut ready) = ready else {
            let why = "the command was not prepared".to_owned();
            return self.program.failed(op, Outcome::DriverFault, why, "");
        };
        let now = context.watch();
        let begun = now();
        let report = ready.run().await;
        let elapsed = now() - begun;
        let outcome = self.program.judge(op, &report);
        if let (Ok(report), Step::Run(command)) = (report, step) {
            let succeeded = outcome == Outcome::Good;
            if succeeded {
                let counts = [(RUNS, 1), (ELAPSED, elapsed.0), (USER, report.usage.user_us)];
                let more = [(SYSTEM, report.usage.system_us), (PEAK, report.usage.peak_kib)];
                counts.into_iter().chain(more).for_each(|(counter, amount)| context.add(counter, amount));
            }
            let mut state = self.state.borrow_mut();
            let (user, round, name) = (self.id.0, state.round, self.program.names[command]);
            state.run = Some(CommandRun { user, round, name, elapsed, succeeded, report });
        }
        // The supervisor ends after its report; waiting for it here would count.
        self.state.borrow_mut().ready = Some(ready);
        outcome
    }

    /// Runs a command beside the measured one, if there is any.
    async fn beside(&self, op: OpId, words: Option<&[String]>) -> Outcome {
        drop(self.state.borrow_mut().ready.take());
        let Some(words) = words else { return Outcome::Good };
        let report = match SupervisedCommand::start(&self.program.supervisor, words).await {
            Ok(mut supervised) => supervised.run().await,
            Err(why) => Err(why),
        };
        self.program.judge(op, &report)
    }

    /// Keeps the last run, outside of its measured time.
    fn keep_run(&self) {
        if let Some(run) = self.state.borrow_mut().run.take() {
            self.program.kept.keep(&run);
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.keep_run();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_every_command_once_in_random_order() {
        let (mut state, mut rng) = (State::default(), barograph_engine::stream(1, 0, 0));
        let mut orders = Vec::new();
        for round in 1..=20 {
            let mut order: Vec<usize> = (0..3)
                .map(|_| {
                    state.advance(3, &mut rng);
                    assert_eq!(state.round, round);
                    state.command
                })
                .collect();
            orders.push(order.clone());
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2]);
        }
        orders.sort_unstable();
        orders.dedup();
        assert!(orders.len() >= 4, "{orders:?}");
    }

    #[test]
    fn the_end_of_an_output_is_shown_from_the_begin_of_a_character() {
        assert_eq!(last_of("short\n"), "short");
        let long = "ä".repeat(200);
        assert_eq!(last_of(&long).len(), SHOWN_OUTPUT);
        assert_eq!(last_of(&format!("{long}x")).len(), SHOWN_OUTPUT - 1);
    }
}

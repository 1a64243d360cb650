//! One simulated user of a scenario.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use barograph_engine::{OpContext, User};
use barograph_http::{Client, Connections};
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_scenario::{Chooser, Order, Request};
use rand::RngExt as _;

use crate::draw::Drawing;
use crate::judge::ExchangeFailure;
use crate::memory::{FrameKey, Memory, UserValues};
use crate::running_operation::RunningOperation;
use crate::script;
use crate::streams::Streams;
use crate::worker::Worker;

/// One simulated user of a scenario.
pub(crate) struct ScenarioUser {
    pub(crate) worker: Rc<Worker>,
    pub(crate) connections: Connections,
    /// Connections to other origins than the target's, by their number among those of the worker.
    pub(crate) others: RefCell<Vec<(usize, Rc<Connections>)>>,
    /// Operations that chose one of several groups.
    turns: Cell<u32>,
    pub(crate) memory: RefCell<Memory>,
    pub(crate) streams: Streams,
}

impl ScenarioUser {
    pub(crate) fn new(worker: &Rc<Worker>, id: UserId) -> Self {
        let program = &worker.program;
        ScenarioUser {
            connections: worker.client.user(id.0),
            others: RefCell::default(),
            turns: Cell::default(),
            memory: RefCell::new(Memory::new(&program.scenario, id, program.counting)),
            streams: Streams::new(program.scenario.streams.len()),
            worker: Rc::clone(worker),
        }
    }

    /// Its connections to another origin than the target's.
    pub(crate) async fn connections_to(&self, origin: &str) -> Result<Rc<Connections>, String> {
        let (number, client) = self.worker.origins.client(origin, self.connections.target()).await?;
        self.worker.watching.give(&client);
        Ok(self.other(number, || client))
    }

    /// Its connections to the origin of a request; `None` for those to the target.
    pub(crate) fn way(&self, request: &Request) -> Option<Rc<Connections>> {
        let number = usize::from(request.origin).checked_sub(1)?;
        Some(self.other(number, || self.worker.origins.by_number(number)))
    }

    fn other(&self, number: usize, client: impl FnOnce() -> Rc<Client>) -> Rc<Connections> {
        let mut others = self.others.borrow_mut();
        if let Some((_, known)) = others.iter().find(|(other, _)| *other == number) {
            return Rc::clone(known);
        }
        let new = Rc::new(client().user(self.memory.borrow().user.0));
        others.push((number, Rc::clone(&new)));
        new
    }

    /// The index of the next of `count` groups, done one at a time.
    pub(crate) fn next_of(&self, order: Order, count: usize, context: &mut OpContext) -> usize {
        match order {
            Order::Random => context.rng.random_range(0..count),
            Order::InTurn => self.turns.replace(self.turns.get().wrapping_add(1)) as usize % count,
        }
    }

    fn branch(&self, chooser: &Chooser, at: FrameKey, context: &mut OpContext) -> Result<usize, String> {
        let worker = &*self.worker;
        let memory = &mut *self.memory.borrow_mut();
        if let Chooser::When { draws, .. } = chooser {
            Drawing { worker, memory, at, operation: &mut [], rng: &mut context.rng }.make(draws)?;
        }
        let sight =
            UserValues { scenario: &worker.program.scenario, memory, frame: at.number, operation: &[] };
        match chooser {
            Chooser::When { conditions, .. } => {
                let holds = conditions.iter().position(|condition| condition.holds(&sight));
                Ok(holds.unwrap_or(conditions.len()))
            }
            Chooser::Script { call, branches } => script::choose(worker, call, *branches, &sight),
        }
    }
}

impl User for ScenarioUser {
    async fn act(&self, op: OpId, context: &mut OpContext) -> Outcome {
        let Some(mut doing) = RunningOperation::begin(self, op, context) else {
            // The engine ends activities whose frame is gone before they get here.
            return Outcome::Cancelled;
        };
        let end = doing.exchanges().await;
        doing.end(end)
    }

    /// Chooses a branch. A chooser that fails takes the last one, the default, and counts as a failure.
    fn choose(&self, chooser: ChooserId, context: &mut OpContext) -> usize {
        let Some((at, op)) = self.memory.borrow_mut().settle(context.argument) else { return usize::MAX };
        let chooser = &self.worker.program.scenario.choosers[usize::from(chooser.0)];
        self.branch(chooser, at, context).unwrap_or_else(|why| {
            self.worker.note(op, ExchangeFailure::wrong(format!("the choice of what follows: {why}")), &[]);
            usize::MAX
        })
    }

    fn end_session(&self) {
        self.memory.borrow_mut().end_session();
        self.streams.close_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use barograph_http::{Policy, ResolvedTarget};
    use barograph_model::Nanos;

    use super::*;
    use crate::Reasons;
    use crate::program::Program;

    /// Most bytes of an operation in progress, and so of every user: the engine keeps the allocation between
    /// operations.
    const MOST: usize = 1_536;

    #[test]
    fn an_operation_in_progress_is_small() {
        let text = "[operations.Get]\n[[operations.Get.exchanges]]\npath = \"/{user}\"\n";
        let scenario = barograph_scenario::read("test", text, &|_| Err(std::io::Error::other("no files")));
        let resolved = ResolvedTarget::at(([127, 0, 0, 1], 1).into(), Policy::PerUser(1));
        let program =
            Program::new(Arc::new(scenario.unwrap()), (resolved, Vec::new()), || Nanos::ZERO).unwrap();
        let worker = Worker::new(&Arc::new(program), &Reasons::shared());
        let user = ScenarioUser::new(&worker, UserId(0));
        let mut context = OpContext::for_test();
        let size = size_of_val(&user.act(OpId(0), &mut context));
        assert!(size <= MOST, "{size} bytes");
    }
}

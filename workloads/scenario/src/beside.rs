//! Requests of an operation to the engine: start and end of activities, reset of the user.

use barograph_model::Outcome;
use barograph_scenario::{Condition, OperationEffects, Start};

use crate::draw::Drawing;
use crate::judge::ExchangeFailure;
use crate::memory::{Memory, UserValues};
use crate::running_operation::RunningOperation;

impl RunningOperation<'_> {
    /// Performs the requests of an operation that ended with `outcome`. Returns the final outcome: an
    /// operation whose activity cannot be started is not good.
    pub(crate) fn ask(&mut self, beside: &OperationEffects, outcome: Outcome) -> Outcome {
        if let Err(why) = self.draw(beside) {
            return self.spoilt(outcome, &why);
        }
        let holds = |condition: &Option<Condition>| {
            let memory = &*self.user.memory.borrow();
            condition.as_ref().is_some_and(|condition| condition.holds(&self.sight(memory)))
        };
        let (stop_others, end, reset) =
            (holds(&beside.stop_others), holds(&beside.end), holds(&beside.reset));
        let begins = |start: &&Start| start.when.is_none() || holds(&start.when);
        let start = beside.start.as_ref().filter(|_| outcome == Outcome::Good).filter(begins);
        let argument = match start.map(|start| self.argument(start)).transpose() {
            Ok(argument) => argument,
            Err(why) => return self.spoilt(outcome, &why),
        };
        self.end_frames(stop_others, end, reset);
        if let (Some(start), Some(argument)) = (start, argument) {
            let slots = self.program().scenario.slots.activity;
            let mut memory = self.user.memory.borrow_mut();
            if let Some(frame) = memory.start(start.behaviour, start.at_most, &argument, slots) {
                self.context.start(start.behaviour, frame);
            }
        }
        outcome
    }

    fn end_frames(&mut self, stop_others: bool, end: bool, reset: bool) {
        let mut memory = self.user.memory.borrow_mut();
        let own = self.at.number;
        if stop_others {
            self.context.stop_others();
            memory.finish_others(own);
        }
        if end {
            self.context.end();
            memory.finish(own);
        }
        if reset {
            self.context.reset();
            // The main activity continues, and keeps its values; the engine ends the session.
            memory.finish_others(0);
        }
    }

    fn draw(&mut self, beside: &OperationEffects) -> Result<(), String> {
        if beside.draws.is_empty() {
            return Ok(());
        }
        let memory = &mut *self.user.memory.borrow_mut();
        let worker = &*self.user.worker;
        Drawing { worker, memory, at: self.at, operation: &mut self.set, rng: &mut self.context.rng }
            .make(&beside.draws)
    }

    fn argument(&self, start: &Start) -> Result<String, String> {
        let memory = &*self.user.memory.borrow();
        let mut text = Vec::new();
        let rendered = start.argument.render(&self.sight(memory), &mut text);
        rendered.map_err(|source| self.program().is_absent(source))?;
        Ok(String::from_utf8(text).expect("templates and values are texts"))
    }

    fn spoilt(&self, outcome: Outcome, why: &str) -> Outcome {
        if outcome != Outcome::Good {
            return outcome;
        }
        let outcome = self.note(ExchangeFailure::wrong(format!("what is to happen beside: {why}")), &[]);
        self.user.memory.borrow_mut().end(self.at, outcome);
        outcome
    }

    fn sight<'m>(&'m self, memory: &'m Memory) -> UserValues<'m> {
        UserValues { scenario: &self.program().scenario, memory, frame: self.at.number, operation: &self.set }
    }
}

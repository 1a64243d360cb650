//! One operation in progress: its exchanges in their order, and its requests to the engine.

use barograph_engine::OpContext;
use barograph_http::{Connections, Fault};
use barograph_model::{OpId, Outcome};
use barograph_scenario::{Action, Exchange, Group, Operation, Request, Source};

use crate::draw::Drawing;
use crate::exchange_result::ExchangeResult;
use crate::judge::{ExchangeFailure, JudgeContext};
use crate::memory::{FrameKey, UserValues};
use crate::program::{PreparedExchange, Program};
use crate::redirect;
use crate::render::{RequestContext, Wire};
use crate::slot::Slot;
use crate::user::ScenarioUser;

/// One operation in progress.
pub(crate) struct RunningOperation<'u> {
    pub(crate) user: &'u ScenarioUser,
    pub(crate) context: &'u mut OpContext,
    op: OpId,
    pub(crate) at: FrameKey,
    /// The operation's own values.
    pub(crate) set: Box<[Slot]>,
    over: bool,
}

/// An exchange of the operation.
#[derive(Clone, Copy)]
pub(crate) struct OperationExchange<'u> {
    pub(crate) exchange: &'u Exchange,
    pub(crate) ready: &'u PreparedExchange,
}

impl<'u> RunningOperation<'u> {
    /// Begins an operation; `None` if the activity is over.
    pub(crate) fn begin(user: &'u ScenarioUser, op: OpId, context: &'u mut OpContext) -> Option<Self> {
        let at = user.memory.borrow_mut().begin(context.argument, op)?;
        user.worker.watch(context);
        Some(RunningOperation { user, context, op, at, set: user.worker.take_set(), over: false })
    }

    /// Performs the groups one after the other, until an exchange fails.
    pub(crate) async fn exchanges(&mut self) -> Result<(), Outcome> {
        for (group, ready) in self.groups() {
            match (group.as_slice(), ready.as_slice()) {
                ([exchange], [ready]) if exchange.for_each.is_none() => {
                    self.alone(OperationExchange { exchange, ready }).await?;
                }
                _ => Box::pin(self.together(group, ready)).await?,
            }
        }
        Ok(())
    }

    /// The groups to perform, with what was prepared for them.
    fn groups(&mut self) -> impl Iterator<Item = (&'u Group, &'u Vec<PreparedExchange>)> + use<'u> {
        let user = self.user;
        let program = &*user.worker.program;
        let op = self.op.index();
        let operation = &program.scenario.operations[op];
        let all = 0..operation.groups.len();
        let chosen = operation.order.map(|order| user.next_of(order, all.len(), self.context));
        let range = chosen.map_or(all, |one| one..one + 1);
        operation.groups[range.clone()].iter().zip(&program.ready[op][range])
    }

    /// Performs one exchange.
    pub(crate) async fn alone(&mut self, part: OperationExchange<'u>) -> Result<(), Outcome> {
        let OperationExchange { exchange, ready } = part;
        if !self.prepare(exchange)? {
            return Ok(());
        }
        let Action::Request(request) = &exchange.action else {
            return Box::pin(self.stream(part)).await;
        };
        let user = self.user;
        let wire = self.wire(ready, request)?;
        let other = user.way(request);
        let connections = other.as_deref().unwrap_or(&user.connections);
        self.context.sent();
        let mut answer = wire.send(connections).await.map_err(|fault| self.broken(&fault))?;
        if self.program().scenario.target.redirects > 0 && redirect::is_redirect(answer.status) {
            answer = Box::pin(self.follow(request, (ready.method, connections), answer)).await?;
        }
        self.take(exchange, &ExchangeResult::of(answer))
    }

    /// Makes the draws of an exchange; returns whether it is to be done.
    pub(crate) fn prepare(&mut self, exchange: &Exchange) -> Result<bool, Outcome> {
        let worker = &*self.user.worker;
        let memory = &mut *self.user.memory.borrow_mut();
        let (at, operation, rng) = (self.at, &mut *self.set, &mut self.context.rng);
        let drawn = Drawing { worker, memory, at, operation, rng }.make(&exchange.draws);
        drawn.map_err(|why| self.note(ExchangeFailure::wrong(why), &[]))?;
        let sight =
            UserValues { scenario: &worker.program.scenario, memory, frame: at.number, operation: &self.set };
        Ok(exchange.when.as_ref().is_none_or(|when| when.holds(&sight)))
    }

    /// Renders a request.
    pub(crate) fn wire(&self, ready: &'u PreparedExchange, request: &Request) -> Result<Wire<'u>, Outcome> {
        let memory = &*self.user.memory.borrow();
        match &ready.prepared {
            Some(prepared) if memory.jar.is_empty() => Ok(Wire::Prepared(prepared)),
            _ => {
                let mut draft = self.draft(ready, request, &[])?;
                draft.counts_body(ready.counts_body);
                Ok(Wire::Draft(draft))
            }
        }
    }

    /// Writes a request that offers these subprotocols.
    pub(crate) fn draft(
        &self,
        ready: &PreparedExchange,
        request: &Request,
        offers: &[Box<str>],
    ) -> Result<barograph_http::Draft, Outcome> {
        let other = self.user.way(request);
        let connections = other.as_deref().unwrap_or(&self.user.connections);
        self.with_ink(connections, |ink| ink.write(ready.method, request, offers))
    }

    /// Writes with the values of the operation.
    pub(crate) fn with_ink<T>(
        &self,
        connections: &Connections,
        write: impl FnOnce(&RequestContext<'_>) -> Result<T, Source>,
    ) -> Result<T, Outcome> {
        let program = self.program();
        let memory = &*self.user.memory.borrow();
        let ink = RequestContext {
            connections,
            target: connections.target(),
            base: &program.base,
            sight: UserValues {
                scenario: &program.scenario,
                memory,
                frame: self.at.number,
                operation: &self.set,
            },
            jar: (!memory.jar.is_empty()).then_some(&memory.jar),
            clock: program.clock,
            scratch: &self.user.worker.scratch,
        };
        write(&ink).map_err(|source| self.note(ExchangeFailure::wrong(program.is_absent(source)), &[]))
    }

    /// Judges an answer, and keeps its extracted values.
    pub(crate) fn take(&mut self, exchange: &Exchange, seen: &ExchangeResult<'_>) -> Result<(), Outcome> {
        self.greet(seen);
        self.judge(exchange, seen, &self.set)?;
        self.keep(exchange, seen)
    }

    /// Records status and cookies of any answer.
    pub(crate) fn greet(&self, seen: &ExchangeResult<'_>) {
        let program = self.program();
        let mut memory = self.user.memory.borrow_mut();
        if let Some(status) = seen.status() {
            memory.answered(self.at.number, status);
        }
        if program.scenario.target.cookies {
            seen.set_cookies().for_each(|header| memory.jar.set(header, program.clock));
        }
    }

    pub(crate) fn judge(
        &self,
        exchange: &Exchange,
        seen: &ExchangeResult<'_>,
        operation: &[Slot],
    ) -> Result<(), Outcome> {
        let program = self.program();
        let memory = &*self.user.memory.borrow();
        let sight = UserValues { scenario: &program.scenario, memory, frame: self.at.number, operation };
        let bench = JudgeContext { program, sight, scratch: &self.user.worker.scratch };
        bench.judge(exchange, seen).map_err(|bad| self.note(bad, seen.shown()))
    }

    pub(crate) fn keep(&mut self, exchange: &Exchange, seen: &ExchangeResult<'_>) -> Result<(), Outcome> {
        let kept = {
            let memory = &mut *self.user.memory.borrow_mut();
            seen.keep(exchange, memory, self.at, &mut self.set)
        };
        kept.map_err(|bad| self.note(bad, seen.shown()))
    }

    pub(crate) fn program(&self) -> &'u Program {
        &self.user.worker.program
    }

    pub(crate) fn sent(&mut self) {
        self.context.sent();
    }

    /// The outcome of a missing or invalid answer.
    pub(crate) fn broken(&self, fault: &Fault) -> Outcome {
        if let Fault::Status(status) = fault {
            self.user.memory.borrow_mut().answered(self.at.number, *status);
        }
        let mut why = fault.to_string();
        let mut cause = std::error::Error::source(fault);
        while let Some(deeper) = cause {
            why.push_str(&format!(": {deeper}"));
            cause = deeper.source();
        }
        self.note(ExchangeFailure { outcome: fault.outcome(), why }, &[])
    }

    /// Counts a failure and returns its outcome.
    pub(crate) fn note(&self, bad: ExchangeFailure, seen: &[u8]) -> Outcome {
        let outcome = bad.outcome;
        self.user.worker.note(self.op, bad, seen);
        outcome
    }

    /// Ends the operation: records its outcome, and performs its requests to the engine.
    pub(crate) fn end(mut self, end: Result<(), Outcome>) -> Outcome {
        self.finish(end.err().unwrap_or(Outcome::Good))
    }

    fn finish(&mut self, outcome: Outcome) -> Outcome {
        self.over = true;
        self.user.worker.count_traffic(self.context);
        self.user.memory.borrow_mut().end(self.at, outcome);
        let operation: &Operation = &self.program().scenario.operations[self.op.index()];
        self.ask(&operation.beside, outcome)
    }
}

impl Drop for RunningOperation<'_> {
    /// Dropped before its end, an operation has timed out, unless it was cancelled: then its activity is
    /// over, or the user is stopping, and its requests have no effect.
    fn drop(&mut self) {
        if !self.over && self.user.memory.borrow().is_going_on(self.at) {
            self.finish(Outcome::TimedOut);
        }
        self.user.worker.give_back(std::mem::take(&mut self.set));
    }
}

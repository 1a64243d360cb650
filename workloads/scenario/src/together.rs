//! Exchanges that run side by side, and repetitions over a list.

use barograph_http::{Answer, Fault};
use barograph_model::Outcome;
use barograph_scenario::{Action, Exchange, Group, Values as _, View};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::exchange_result::ExchangeResult;
use crate::memory::UserValues;
use crate::program::PreparedExchange;
use crate::render::Wire;
use crate::running_operation::{OperationExchange, RunningOperation};
use crate::slot::Slot;

/// One of several exchanges that were sent.
struct SentExchange<'u> {
    exchange: &'u Exchange,
    /// A copy of the operation's values at the time of sending, above all the item of a list.
    set: Box<[Slot]>,
    seen: ExchangeResult<'u>,
}

impl<'u> RunningOperation<'u> {
    /// Performs the exchanges of a group side by side. All are rendered first, in their order, so that draws
    /// do not depend on the order of answers; for the same reason values are kept only when all answers are
    /// there.
    pub(crate) async fn together(
        &mut self,
        group: &'u Group,
        ready: &'u [PreparedExchange],
    ) -> Result<(), Outcome> {
        let repeated_in_turn =
            |exchange: &Exchange| exchange.for_each.as_ref().is_some_and(|each| !each.side_by_side);
        let streams = group.iter().any(|exchange| !matches!(exchange.action, Action::Request(_)));
        if streams || group.iter().any(repeated_in_turn) {
            return self.in_turn(group, ready).await;
        }
        let user = self.user;
        let mut sent: Vec<SentExchange<'u>> = Vec::new();
        let answers = FuturesUnordered::new();
        for (exchange, ready) in group.iter().zip(ready) {
            let part = OperationExchange { exchange, ready };
            for item in self.items(exchange) {
                self.set_item(exchange, item);
                let Some(wire) = self.next_wire(part)? else { continue };
                let number = sent.len();
                sent.push(SentExchange { exchange, set: self.copy_set(), seen: ExchangeResult::Nothing });
                let other = match &exchange.action {
                    Action::Request(request) => user.way(request),
                    _ => None,
                };
                answers.push(async move {
                    let connections = other.as_deref().unwrap_or(&user.connections);
                    (number, wire.send(connections).await)
                });
            }
        }
        let end = self.collect(answers, &mut sent).await;
        for SentExchange { set, .. } in &mut sent {
            user.worker.give_back(std::mem::take(set));
        }
        end?;
        sent.iter().try_for_each(|sent| self.keep(sent.exchange, &sent.seen))
    }

    /// Takes the answers in order of arrival; the first bad one ends it.
    async fn collect(
        &self,
        mut answers: FuturesUnordered<impl Future<Output = (usize, Result<Answer, Fault>)>>,
        sent: &mut [SentExchange<'u>],
    ) -> Result<(), Outcome> {
        while let Some((number, answered)) = answers.next().await {
            let SentExchange { exchange, set, seen } = &mut sent[number];
            let answer = ExchangeResult::of(answered.map_err(|fault| self.broken(&fault))?);
            self.greet(&answer);
            self.judge(exchange, &answer, set)?;
            if !exchange.extract.is_empty() {
                *seen = answer;
            }
        }
        Ok(())
    }

    /// Repetitions of an exchange: one without an item, or one for each item of a list.
    fn items(&self, exchange: &Exchange) -> Vec<Option<Box<str>>> {
        let Some(each) = &exchange.for_each else { return vec![None] };
        let memory = &*self.user.memory.borrow();
        let scenario = &self.program().scenario;
        let sight = UserValues { scenario, memory, frame: self.at.number, operation: &self.set };
        let most = each.at_most as usize;
        match sight.view(each.list) {
            View::List(items) => items.iter().take(most).cloned().map(Some).collect(),
            View::Text(text) => vec![Some(text.into())],
            View::Integer(n) => vec![Some(n.to_string().into())],
            View::Number(x) => vec![Some(x.to_string().into())],
            View::Absent => Vec::new(),
        }
    }

    /// Performs the exchanges of a group one after the other: a stream has one slot, and two concurrent steps
    /// would need two.
    async fn in_turn(&mut self, group: &'u Group, ready: &'u [PreparedExchange]) -> Result<(), Outcome> {
        for (exchange, ready) in group.iter().zip(ready) {
            for item in self.items(exchange) {
                self.set_item(exchange, item);
                self.alone(OperationExchange { exchange, ready }).await?;
            }
        }
        Ok(())
    }

    fn set_item(&mut self, exchange: &Exchange, item: Option<Box<str>>) {
        if let (Some(item), Some(each)) = (item, &exchange.for_each) {
            self.user.memory.borrow_mut().slot(each.item, self.at, &mut self.set).set_text(&item);
        }
    }

    /// Renders one of several exchanges, if it is to be done.
    fn next_wire(&mut self, part: OperationExchange<'u>) -> Result<Option<Wire<'u>>, Outcome> {
        let Action::Request(request) = &part.exchange.action else { return Ok(None) };
        if !self.prepare(part.exchange)? {
            return Ok(None);
        }
        let wire = self.wire(part.ready, request)?;
        self.sent();
        Ok(Some(wire))
    }

    fn copy_set(&self) -> Box<[Slot]> {
        let mut copy = self.user.worker.take_set();
        copy.iter_mut().zip(&self.set).for_each(|(to, from)| to.copy(from));
        copy
    }
}

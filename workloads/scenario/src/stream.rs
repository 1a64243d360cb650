//! Steps of Server-Sent Events and WebSockets: open, wait, send, close.

use barograph_model::Outcome;
use barograph_scenario::{Action, Exchange, Request, StreamId, Template};

use crate::exchange_result::ExchangeResult;
use crate::judge::ExchangeFailure;
use crate::memory::UserValues;
use crate::running_operation::{OperationExchange, RunningOperation};
use crate::streams::{Flow, WaitResult};

impl<'u> RunningOperation<'u> {
    /// Performs a step of a stream.
    pub(crate) async fn stream(&mut self, part: OperationExchange<'u>) -> Result<(), Outcome> {
        let exchange = part.exchange;
        match &exchange.action {
            Action::Request(_) => Ok(()),
            Action::SseOpen(id, request) => self.open_events(*id, part, request).await,
            Action::SocketOpen(id, request, offers) => {
                let draft = self.draft(part.ready, request, offers)?;
                self.sent();
                let opened = self.user.connections.websocket_draft(draft).await;
                let socket = opened.map_err(|fault| self.broken(&fault))?;
                self.take(exchange, &ExchangeResult::Upgrade(socket.head()))?;
                self.put(*id, Flow::Socket(Box::new(socket)));
                Ok(())
            }
            Action::SseNext(id, name) => self.next(*id, exchange, name.as_deref()).await,
            Action::SocketReceive(id) => self.next(*id, exchange, None).await,
            Action::SocketSend(id, text) => self.send(*id, text).await,
            Action::SseClose(id) => {
                self.put(*id, Flow::Closed);
                Ok(())
            }
            Action::SocketClose(id) => self.close(*id).await,
        }
    }

    async fn open_events(
        &mut self,
        id: StreamId,
        part: OperationExchange<'u>,
        request: &Request,
    ) -> Result<(), Outcome> {
        let draft = self.draft(part.ready, request, &[])?;
        self.sent();
        let opened = self.user.connections.events_draft(draft).await;
        let stream = opened.map_err(|fault| self.broken(&fault))?;
        self.take(part.exchange, &ExchangeResult::Head(stream.head()))?;
        self.put(id, Flow::Events(Box::new(stream)));
        Ok(())
    }

    fn put(&self, id: StreamId, flow: Flow) {
        self.user.streams.put(id, flow);
    }

    async fn next(&mut self, id: StreamId, exchange: &Exchange, name: Option<&str>) -> Result<(), Outcome> {
        match self.user.streams.next(id, name).await {
            Some(WaitResult::Message(message)) => self.take(exchange, &ExchangeResult::Message(message)),
            Some(WaitResult::Broken(fault)) => Err(self.broken(&fault)),
            Some(WaitResult::Over(how)) => {
                let why = format!("the target {how} the stream `{}`", self.name(id));
                Err(self.note(ExchangeFailure { outcome: Outcome::Broken, why }, &[]))
            }
            // The user closed it, which says nothing about the target.
            Some(WaitResult::Closed) => Err(Outcome::Cancelled),
            None => Err(self.not_open(id)),
        }
    }

    async fn send(&mut self, id: StreamId, template: &Template) -> Result<(), Outcome> {
        let text = {
            let program = self.program();
            let memory = &*self.user.memory.borrow();
            let sight = UserValues {
                scenario: &program.scenario,
                memory,
                frame: self.at.number,
                operation: &self.set,
            };
            let mut text = Vec::new();
            let rendered = template.render(&sight, &mut text);
            rendered.map_err(|source| self.note(ExchangeFailure::wrong(program.is_absent(source)), &[]))?;
            String::from_utf8(text).expect("templates and values are texts")
        };
        let Some(mut taken) = self.user.streams.take_out(id) else { return Err(self.not_open(id)) };
        match taken.socket().send_text(&text).await {
            Ok(()) => {
                taken.put_back();
                Ok(())
            }
            Err(fault) => Err(self.broken(&fault)),
        }
    }

    async fn close(&mut self, id: StreamId) -> Result<(), Outcome> {
        let Some(mut taken) = self.user.streams.take_out(id) else { return Err(self.not_open(id)) };
        taken.socket().close().await.map_err(|fault| self.broken(&fault))
    }

    fn not_open(&self, id: StreamId) -> Outcome {
        let why = format!("the stream `{}` is not open, or another activity uses it", self.name(id));
        self.note(ExchangeFailure::wrong(why), &[])
    }

    fn name(&self, id: StreamId) -> &'static str {
        self.program().scenario.streams[usize::from(id.0)]
    }
}

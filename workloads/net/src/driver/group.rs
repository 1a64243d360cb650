//! The users of one connection: one, or in streams of both directions one who sends and one who receives.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use barograph_engine::{Group, Members, OpContext};
use barograph_model::words::in_one_line;
use barograph_model::{ChooserId, OpId, Outcome, UserId};
use barograph_net::Fault;
use barograph_reactor::Socket;

use super::connection::{Break, Connection};
use super::flow::{Flow, Watch};
use super::link::Link;
use super::worker::Worker;
use crate::measures::{BYTES, RECEIVED, SENT};
use crate::pattern::Pattern;

/// The place of the user who receives, in streams of both directions.
const RECEIVER: usize = 1;

/// The users of one connection.
pub(crate) struct NetGroup {
    worker: Rc<Worker>,
    line: Line,
    /// Operations in flight, by place.
    waiting: [Option<OpId>; 2],
    /// Whether the receiver is asked for its first operation, which is one of the sender.
    is_turned: bool,
    /// The clock of datagrams, from the first operation on.
    watch: Option<Watch>,
}

/// State of the connection.
enum Line {
    Closed,
    Connecting(Pin<Box<dyn Future<Output = Result<Socket, Fault>>>>),
    Open(Link),
}

impl NetGroup {
    pub(super) fn new(worker: &Rc<Worker>) -> Self {
        NetGroup {
            worker: Rc::clone(worker),
            line: Line::Closed,
            waiting: [None; 2],
            is_turned: false,
            watch: None,
        }
    }

    fn pattern(&self) -> Pattern {
        self.worker.load.settings.pattern
    }

    /// Whether the user at a place sends.
    fn sends(&self, place: usize) -> bool {
        place != RECEIVER && self.pattern() != Pattern::From
    }

    /// Whether the user at a place receives.
    fn receives(&self, place: usize) -> bool {
        place == RECEIVER || !matches!(self.pattern(), Pattern::To | Pattern::Both)
    }

    /// Hands the message of a user to the open connection.
    fn submit(&mut self, place: usize) {
        let (sends, receives) = (self.sends(place), self.receives(place));
        let Line::Open(link) = &mut self.line else { return };
        let settings = &self.worker.load.settings;
        let is_stream = settings.pattern.is_stream();
        if sends {
            link.send(if is_stream { settings.message } else { settings.request });
        }
        if receives {
            link.expect(if is_stream { settings.message } else { settings.answer });
        }
    }

    /// Ends all operations in flight with the connection.
    fn fail(&mut self, (outcome, why): (Outcome, &str), members: &mut Members) {
        for place in 0..self.waiting.len() {
            if let Some(op) = self.waiting[place].take() {
                self.worker.note(op, outcome, why);
                members.end(place, outcome);
            }
        }
    }

    /// Goes on with the connection of the operations in flight.
    fn connect(&mut self, cx: &mut Context<'_>) -> Result<(), Fault> {
        if let Line::Closed = self.line {
            let worker = Rc::clone(&self.worker);
            self.line = Line::Connecting(Box::pin(async move { worker.connect().await }));
        }
        let Line::Connecting(connecting) = &mut self.line else { return Ok(()) };
        let Poll::Ready(connected) = connecting.as_mut().poll(cx) else { return Ok(()) };
        self.line = Line::Closed;
        self.line = Line::Open(match &self.watch {
            Some(watch) => Link::Datagrams(Flow::new(connected?, &self.worker, watch)),
            None => Link::Stream(Connection::new(connected?, &self.worker)),
        });
        for place in 0..self.waiting.len() {
            if self.waiting[place].is_some() {
                self.submit(place);
            }
        }
        Ok(())
    }

    /// Ends the operations whose messages are sent and received.
    fn exchange(&mut self, cx: &Context<'_>, members: &mut Members) -> Result<(), Break> {
        for place in 0..self.waiting.len() {
            if self.waiting[place].is_none() {
                continue;
            }
            let receives = self.receives(place);
            let Line::Open(link) = &mut self.line else { return Ok(()) };
            // Streams of the target begin with the greeting.
            let is_sending = place != RECEIVER || !link.is_greeted();
            if is_sending && link.poll_send(cx)?.is_pending() {
                continue;
            }
            if receives && link.poll_receive(cx)?.is_pending() {
                continue;
            }
            self.waiting[place] = None;
            self.end(place, members);
        }
        Ok(())
    }

    fn end(&mut self, place: usize, members: &mut Members) {
        let settings = &self.worker.load.settings;
        let is_stream = settings.pattern.is_stream();
        let of = |applies: bool, bytes: u32| if applies { u64::from(bytes) } else { 0 };
        let sent = of(self.sends(place), if is_stream { settings.message } else { settings.request });
        let received = of(self.receives(place), if is_stream { settings.message } else { settings.answer });
        members.add(SENT, sent);
        members.add(RECEIVED, received);
        members.add(BYTES, sent + received);
        self.worker.load.sampler.take(|(counter, amount)| members.add(counter, amount));
        if settings.pattern == Pattern::Connect {
            self.line = Line::Closed;
        }
        members.end(place, Outcome::Good);
    }
}

impl Group for NetGroup {
    fn join(&mut self, _: usize, _: UserId) {}

    fn begin(&mut self, place: usize, op: OpId, context: &mut OpContext) {
        if place == RECEIVER && op == OpId(0) {
            self.is_turned = true;
            return;
        }
        self.waiting[place] = Some(op);
        context.sent();
        if self.worker.load.settings.datagrams && self.watch.is_none() {
            self.watch = Some(Rc::new(context.watch()));
        }
        self.submit(place);
    }

    fn abandon(&mut self, place: usize) {
        self.waiting[place] = None;
        if let Line::Open(link) = std::mem::replace(&mut self.line, Line::Closed) {
            self.line = link.abandon().map_or(Line::Closed, Line::Open);
        }
        // The other user of the connection goes on with a new one.
    }

    fn poll(&mut self, cx: &mut Context<'_>, members: &mut Members) {
        if std::mem::take(&mut self.is_turned) {
            members.end(RECEIVER, Outcome::Cancelled);
        }
        if self.waiting.iter().all(Option::is_none) {
            return;
        }
        if let Err(fault) = self.connect(cx) {
            return self.fail((fault.outcome(), &in_one_line(&fault)), members);
        }
        if let Err(why) = self.exchange(cx, members) {
            if let Line::Open(link) = std::mem::replace(&mut self.line, Line::Closed) {
                link.break_off(why);
            }
            let outcome = match why {
                Break::Wrong | Break::Unasked => Outcome::WrongAnswer,
                Break::Closed | Break::Reset | Break::Refused | Break::Other => Outcome::Broken,
            };
            self.fail((outcome, why.words()), members);
        }
    }

    fn choose(&mut self, place: usize, _: ChooserId, _: &mut OpContext) -> usize {
        place
    }
}

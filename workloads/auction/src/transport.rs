//! Transport of requests to the application: over HTTP, with or without TLS, or, in simulated time, by a call
//! in the same process.

use std::future::Future;
use std::rc::Rc;

use barograph_http::{
    Answer, Client, Connections, Event, EventStream, Fault, Options, Policy, Protocol, Request,
    ResolvedTarget, Tls,
};
use barograph_model::UserId;

use crate::{BidUpdates, CONNECTIONS_PER_USER};

/// Factory of the users' lines to the application.
pub trait Transport: 'static {
    /// One user's line.
    type Line: Line;

    /// The line of this user.
    fn line(&self, user: UserId) -> Self::Line;
}

/// One user's line to the application.
pub trait Line: 'static {
    /// A stream of events that is open.
    type Feed: Feed;

    /// Sends a request and waits for the answer.
    fn send(&self, request: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_, Self>;

    /// Requests a stream of events, over a connection of its own.
    fn events(
        &self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Self::Feed, Fault>> + use<'_, Self>;

    /// Notes that the user's main behaviour has ended an operation and will not need the line for a while.
    fn rest(&self);
}

/// Events of one auction, in order of arrival. Dropping it closes it.
pub trait Feed: 'static {
    /// Waits for the next event; `None` when the application has ended the stream. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Result<Option<Event<'_>>, Fault>>;
}

/// HTTP/1.1 over keep-alive connections of the user's own, over TLS if the address begins with https.
pub struct Http {
    client: Rc<Client>,
    keeping: ConnectionReuse,
}

/// Lifetime of a user's idle connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionReuse {
    /// From one operation to the next: up to four connections per user are open all the time.
    BetweenOperations,
    /// Until the operation of the main behaviour ends; connections of waiting followers stay. Needs little
    /// more than a connection per running follower, for machines with few open files, at the price of a new
    /// connection per operation.
    WithinOperation,
}

impl ConnectionReuse {
    /// Mean number of open connections per user, with some to spare. A poll waits on one of the user's
    /// connections; a stream is open in addition, and cannot be used for anything else.
    #[must_use]
    pub fn connections_per_user(self, news: BidUpdates) -> f64 {
        let kept = f64::from(CONNECTIONS_PER_USER);
        match (self, news) {
            (ConnectionReuse::BetweenOperations, BidUpdates::Polled) => kept,
            (ConnectionReuse::BetweenOperations, BidUpdates::Pushed) => kept + FOLLOWED_PER_USER,
            (ConnectionReuse::WithinOperation, _) => FOLLOWED_PER_USER,
        }
    }
}

/// Auctions followed per user, 1.5 on average, plus a tenth for the connections of operations in progress and
/// a reserve.
const FOLLOWED_PER_USER: f64 = 1.65;

impl Http {
    /// Options of the application as a target, with this trust in it over TLS.
    #[must_use]
    pub fn options(tls: Tls) -> Options {
        let policy = Policy::PerUser(CONNECTIONS_PER_USER);
        Options { protocol: Protocol::Http1, policy, tls, ..Options::default() }
    }

    /// Transport to the application at `to`, which has these [`Http::options`].
    #[must_use]
    pub fn new(to: &ResolvedTarget, keeping: ConnectionReuse) -> Self {
        Http { client: Client::new(to), keeping }
    }
}

/// One user's connections.
pub struct HttpLine {
    connections: Connections,
    keeping: ConnectionReuse,
}

impl Transport for Http {
    type Line = HttpLine;

    fn line(&self, user: UserId) -> HttpLine {
        HttpLine { connections: self.client.user(user.0), keeping: self.keeping }
    }
}

impl Feed for Box<EventStream> {
    fn next(&mut self) -> impl Future<Output = Result<Option<Event<'_>>, Fault>> {
        EventStream::next(self)
    }
}

impl Line for HttpLine {
    type Feed = Box<EventStream>;

    fn send(&self, request: &Request<'_>) -> impl Future<Output = Result<Answer, Fault>> + use<'_> {
        self.connections.send(request)
    }

    fn events(
        &self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Box<EventStream>, Fault>> + use<'_> {
        let opening = self.connections.events(request);
        async move { Ok(Box::new(opening.await?)) }
    }

    fn rest(&self) {
        if self.keeping == ConnectionReuse::WithinOperation {
            self.connections.close_idle();
        }
    }
}

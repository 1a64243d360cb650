//! Counts and times of requests, per route. Counting is an addition at a place fixed at the start: it neither
//! allocates nor waits.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::{Method, Request, Response, StatusCode};
use barograph_auction_api::routes;
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::clock::Clock;

/// Verbs with counts of their own; the last stands for all others.
pub(super) const VERBS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "other"];

/// Classes of status codes.
pub(super) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Upper ends of the histogram's buckets, in seconds; the last of them holds polls, which wait for up to 45 s.
pub(super) const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// The route of requests that no resource answers, and of the files of the browser application.
const OTHER: &str = "other";

/// Requests of one route.
pub(super) struct Route {
    /// Its path, with parameters in braces.
    pub(super) path: String,
    /// Requests by verb and class.
    pub(super) answered: [[AtomicU64; CLASSES.len()]; VERBS.len()],
    /// Requests by the bucket of their time; the last place is for longer ones.
    pub(super) times: [AtomicU64; BUCKETS.len() + 1],
    /// All times together, in microseconds.
    pub(super) sum_us: AtomicU64,
}

impl Route {
    fn new(path: String) -> Self {
        Route { path, answered: Default::default(), times: Default::default(), sum_us: AtomicU64::new(0) }
    }

    fn count(&self, verb: usize, status: StatusCode, took: Duration) {
        let class = usize::from(status.as_u16() / 100).clamp(1, CLASSES.len()) - 1;
        self.answered[verb][class].fetch_add(1, Ordering::Relaxed);
        let seconds = took.as_secs_f64();
        let bucket = BUCKETS.partition_point(|end| *end < seconds);
        self.times[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum_us.fetch_add(took.as_micros() as u64, Ordering::Relaxed);
    }
}

/// Traffic of a server.
pub(crate) struct Traffic {
    clock: Clock,
    /// Places in `routes`, by path.
    places: HashMap<String, usize>,
    routes: Vec<Route>,
    /// Connections open now.
    connections: AtomicU64,
    /// Connections that have been opened.
    opened: AtomicU64,
}

impl Traffic {
    /// Zero counts for these routes, which are relative to the application's base.
    pub(super) fn at(paths: &[&str], clock: Clock) -> Self {
        let mut routes: Vec<Route> =
            paths.iter().map(|path| Route::new(format!("{}{path}", routes::BASE))).collect();
        let places = routes.iter().enumerate().map(|(at, route)| (route.path.clone(), at)).collect();
        routes.push(Route::new(OTHER.to_owned()));
        Traffic { clock, places, routes, connections: AtomicU64::new(0), opened: AtomicU64::new(0) }
    }

    /// Requests by route.
    pub(super) fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Connections open now, and all that have been opened.
    pub(super) fn connections(&self) -> (u64, u64) {
        (self.connections.load(Ordering::Relaxed), self.opened.load(Ordering::Relaxed))
    }

    /// Counts a connection for the lifetime of the returned value.
    pub(super) fn connected(self: &Arc<Self>) -> ConnectionGuard {
        self.connections.fetch_add(1, Ordering::Relaxed);
        self.opened.fetch_add(1, Ordering::Relaxed);
        ConnectionGuard(Arc::clone(self))
    }

    fn place<B>(&self, request: &Request<B>) -> usize {
        let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        // A nested start page has its path without the last slash.
        path.and_then(|path| self.places.get(path)).copied().unwrap_or(self.routes.len() - 1)
    }
}

/// An open connection, counted until dropped.
pub(super) struct ConnectionGuard(Arc<Traffic>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

fn verb(method: &Method) -> usize {
    VERBS.iter().position(|verb| *verb == method.as_str()).unwrap_or(VERBS.len() - 1)
}

/// Layer that counts the requests of a service.
#[derive(Clone)]
pub(super) struct TrafficLayer(pub(super) Arc<Traffic>);

impl<S> Layer<S> for TrafficLayer {
    type Service = TrafficService<S>;

    fn layer(&self, inner: S) -> TrafficService<S> {
        TrafficService { traffic: Arc::clone(&self.0), inner }
    }
}

/// A service whose requests are counted.
#[derive(Clone)]
pub(super) struct TrafficService<S> {
    traffic: Arc<Traffic>,
    inner: S,
}

impl<S, B, C> Service<Request<B>> for TrafficService<S>
where
    S: Service<Request<B>, Response = Response<C>>,
    S::Future: Unpin,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = TrafficFuture<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        TrafficFuture {
            place: self.traffic.place(&request),
            verb: verb(request.method()),
            start: self.traffic.clock.after(Duration::ZERO),
            traffic: Arc::clone(&self.traffic),
            inner: self.inner.call(request),
        }
    }
}

/// A request being answered. One dropped before its answer is not counted.
pub(super) struct TrafficFuture<F> {
    traffic: Arc<Traffic>,
    place: usize,
    verb: usize,
    start: Instant,
    inner: F,
}

impl<F, C, E> Future for TrafficFuture<F>
where
    F: Future<Output = Result<Response<C>, E>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let answer = ready!(Pin::new(&mut self.inner).poll(context));
        if let Ok(response) = &answer {
            let route = &self.traffic.routes[self.place];
            route.count(self.verb, response.status(), self.start.elapsed());
        }
        Poll::Ready(answer)
    }
}

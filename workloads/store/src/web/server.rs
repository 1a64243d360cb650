//! The HTTP server of a node.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use barograph_database::Value;
use barograph_model::Outcome;
use crossbeam_channel::Sender;
use futures::FutureExt as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::contract::{
    CUSTOMERS, CustomerField, HEALTH, LOGIN, LoginForm, ORDERS, OrderForm, PRODUCTS, ProductsQuery,
};
use super::sessions::{Job, Request};
use crate::session::{CUSTOMER, Field};

/// Bytes of a body at the most: far more than the longest order.
const LARGEST: usize = 64 * 1024;

/// Lines of an order at the most, and rows of a search.
const MOST: usize = 1_000;

/// Time for open requests when the node ends.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until `end`, and answers open requests for a bounded time after it.
///
/// # Errors
/// The system refused.
pub(crate) async fn serve(
    listener: TcpListener,
    jobs: Sender<Job>,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let router = Router::new()
        .route(HEALTH, get(async || "ready"))
        .route(LOGIN, post(login))
        .route(CUSTOMERS, post(customer))
        .route(PRODUCTS, get(products))
        .route(ORDERS, post(order))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(jobs);
    // Otherwise an answer could wait for the acknowledgement of the previous one.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let end = end.shared();
    let served = axum::serve(listener, router).with_graceful_shutdown(end.clone());
    tokio::select! {
        served = served.into_future() => served,
        () = async { end.await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

async fn login(State(jobs): State<Sender<Job>>, Json(form): Json<LoginForm<'static>>) -> Response {
    done(&jobs, Request::Login(form)).await
}

async fn customer(
    State(jobs): State<Sender<Job>>,
    Json(fields): Json<Vec<CustomerField<'static>>>,
) -> Response {
    if fields.len() != CUSTOMER {
        return bad("a customer has another number of fields");
    }
    let row = fields.into_iter().map(|field| match field {
        CustomerField::Number(number) => Value::Int(number),
        CustomerField::Text(text) => Value::Text(text.into_owned()),
    });
    done(&jobs, Request::NewCustomer(row.collect())).await
}

async fn products(State(jobs): State<Sender<Job>>, Query(query): Query<ProductsQuery>) -> Response {
    let most = query.most.clamp(0, MOST as i64);
    let search = |field, words: &str| {
        let (first, second) = words.split_once(' ')?;
        // A text index has other meanings for signs.
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let words = [first.to_owned(), second.to_owned()];
        words.iter().all(|word| is_word(word)).then_some(Request::Search { field, words, most })
    };
    let request = match (query.category, &query.title, &query.actor) {
        (Some(category), None, None) => Some(Request::BrowseByCategory { category, most }),
        (None, Some(words), None) => search(Field::Title, words),
        (None, None, Some(words)) => search(Field::Actor, words),
        _ => None,
    };
    match request {
        Some(request) => done(&jobs, request).await,
        None => bad("a search is by category, or by two words of title or actor"),
    }
}

/// Lines are sorted by product. All orders change stock in this sequence, which rules out deadlocks.
async fn order(State(jobs): State<Sender<Job>>, Json(mut form): Json<OrderForm<'static>>) -> Response {
    if form.lines.is_empty() || form.lines.len() > MOST || form.lines.iter().any(|line| line.quantity < 1) {
        return bad("an order has lines with a quantity each");
    }
    form.lines.to_mut().sort_by_key(|line| line.product);
    done(&jobs, Request::Purchase(form)).await
}

/// Waits for a session, and for its answer.
async fn done(jobs: &Sender<Job>, request: Request) -> Response {
    let (done, answer) = oneshot::channel();
    if jobs.try_send(Job { request, done }).is_err() {
        return (StatusCode::TOO_MANY_REQUESTS, "too many requests wait for a session").into_response();
    }
    match answer.await {
        Ok(Ok(answer)) => Json(answer).into_response(),
        Ok(Err((outcome, why))) => (status(outcome), why).into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "no session is left").into_response(),
    }
}

/// The status for an operation that failed. Refused and wrong transactions were rolled back.
fn status(outcome: Outcome) -> StatusCode {
    match outcome {
        Outcome::Refused => StatusCode::CONFLICT,
        Outcome::WrongAnswer => StatusCode::NOT_FOUND,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

fn bad(why: &'static str) -> Response {
    (StatusCode::BAD_REQUEST, why).into_response()
}

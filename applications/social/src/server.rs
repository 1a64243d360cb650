//! The HTTP server: routes, answers and their headers.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Multipart, Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use futures::FutureExt as _;
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::fill::{FillError, Filling};
use crate::html::{Frame, escaped};
use crate::pages::{self, PageError};
use crate::site::{Filled, Site};
use crate::size::FillOrder;
use crate::statics::{self, StaticFile};
use crate::store::StoreError;
use crate::{check, cookie};

/// Bytes of a body at the most: an event has 800 KB at full size.
const LARGEST: usize = 4 << 20;

/// Time for open requests when the server ends.
const DRAIN: Duration = Duration::from_secs(5);

/// How browsers keep files, which never change under their names.
const KEPT: &str = "public, max-age=86400";

/// The state of all requests.
struct Server {
    site: Site,
    statics: Vec<StaticFile>,
    filling: Filling,
}

type Shared = State<Arc<Server>>;

/// Serves a site until `end`, and answers open requests for a bounded time after it.
///
/// # Errors
/// The system refused.
pub async fn serve(
    listener: TcpListener,
    site: Site,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let server = Arc::new(Server { site, statics: statics::all(), filling: Filling::default() });
    // Otherwise an answer could wait for the acknowledgement of the previous one.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let end = end.shared();
    let served = axum::serve(listener, router(server)).with_graceful_shutdown(end.clone());
    tokio::select! {
        served = served.into_future() => served,
        () = async { end.await; tokio::time::sleep(DRAIN).await } => Ok(()),
    }
}

fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/", get(home))
        .route("/tags", get(search))
        .route("/events/new", get(new_event))
        .route("/events", post(add_event))
        .route("/events/{id}", get(event))
        .route("/events/{id}/attend", post(attend))
        .route(
            "/people/new",
            get(async |server: Shared, head: HeaderMap| {
                Html(pages::new_person(visitor(&server, &head).await))
            }),
        )
        .route("/people/free", get(is_free))
        .route("/people", post(add_person))
        .route("/people/{id}", get(person))
        .route(
            "/login",
            get(async |server: Shared, head: HeaderMap| {
                Html(pages::login_form(visitor(&server, &head).await))
            })
            .post(log_in),
        )
        .route("/logout", get(log_out))
        .route("/static/{name}", get(static_file))
        .route("/files/{name}", get(file))
        .route("/health", get(async || "ready"))
        .route("/data/fill", post(fill))
        .route("/data/counts", get(counts))
        .route(
            "/data/people",
            get(async |State(server): Shared, Query(After { after }): Query<After>| {
                listed(check::people(&server.site, after).await)
            }),
        )
        .route(
            "/data/events",
            get(async |State(server): Shared, Query(After { after }): Query<After>| {
                listed(check::events(&server.site, after).await)
            }),
        )
        .fallback(async || failed(PageError::Missing))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(server)
}

async fn visitor(server: &Server, head: &HeaderMap) -> Option<i64> {
    let Filled { secret, .. } = server.site.filled().await?;
    cookie::person(&secret, head)
}

fn page(page: pages::Page) -> Response {
    page.map_or_else(failed, |page| Html(page).into_response())
}

/// The answer for a page that cannot be given.
fn failed(why: PageError) -> Response {
    let (status, text) = match why {
        PageError::Missing => (StatusCode::NOT_FOUND, "Nothing is here.".to_owned()),
        PageError::Login => (StatusCode::FORBIDDEN, "Log in first.".to_owned()),
        PageError::Form(why) => (StatusCode::BAD_REQUEST, format!("Correct the form: {why}.")),
        PageError::Geocoder(why) => (StatusCode::BAD_GATEWAY, format!("The address has no place: {why}.")),
        PageError::Store(StoreError::Taken) => (StatusCode::CONFLICT, "This name is taken.".to_owned()),
        PageError::Store(StoreError::Full) => {
            (StatusCode::SERVICE_UNAVAILABLE, "Too many changes wait. Try again.".to_owned())
        }
        PageError::Store(why) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("The store failed: {}.", in_full(&why)))
        }
    };
    let content = format!("<p role=\"alert\">{}</p>\n", escaped(&text));
    (status, Html(Frame { title: "Not done", visitor: None, has_map: false }.around(&content)))
        .into_response()
}

async fn home(State(server): Shared, Query(place): Query<pages::Place>, head: HeaderMap) -> Response {
    page(pages::home(&server.site, visitor(&server, &head).await, place).await)
}

async fn search(State(server): Shared, Query(asked): Query<pages::Search>, head: HeaderMap) -> Response {
    page(pages::search(&server.site, visitor(&server, &head).await, &asked).await)
}

async fn event(State(server): Shared, Path(id): Path<i64>, head: HeaderMap) -> Response {
    page(pages::event(&server.site, visitor(&server, &head).await, id).await)
}

async fn person(State(server): Shared, Path(id): Path<i64>, head: HeaderMap) -> Response {
    page(pages::person(&server.site, visitor(&server, &head).await, id).await)
}

async fn new_event(State(server): Shared, head: HeaderMap) -> Response {
    page(pages::new_event(visitor(&server, &head).await))
}

async fn attend(State(server): Shared, Path(id): Path<i64>, head: HeaderMap) -> Response {
    let visitor = visitor(&server, &head).await;
    let (status, word) = match pages::attend(&server.site, visitor, id).await {
        Ok(true) => (StatusCode::CREATED, "now"),
        Ok(false) => (StatusCode::OK, "already"),
        Err(why) => return failed(why),
    };
    let content =
        format!("<p role=\"status\">You attend <a href=\"/events/{id}\">this event</a> {word}.</p>\n");
    (status, Html(Frame { title: "Attendance", visitor, has_map: false }.around(&content))).into_response()
}

async fn add_event(State(server): Shared, head: HeaderMap, body: Multipart) -> Response {
    let Some(filled) = server.site.filled().await else { return failed(PageError::Missing) };
    let visitor = cookie::person(&filled.secret, &head);
    match pages::add_event(&server.site, (visitor, &filled), body).await {
        Ok(added) => {
            let place = [(header::LOCATION, format!("/events/{}", added.id))];
            (StatusCode::CREATED, place, Html(added.page(visitor))).into_response()
        }
        Err(why) => failed(why),
    }
}

async fn add_person(State(server): Shared, body: Multipart) -> Response {
    match pages::add_person(&server.site, body).await {
        Ok(id) => {
            let place = [(header::LOCATION, format!("/people/{id}"))];
            let content = format!("<p>You have joined: <a href=\"/people/{id}\">your page</a>.</p>\n");
            let page = Frame { title: "Welcome", visitor: None, has_map: false }.around(&content);
            (StatusCode::CREATED, place, Html(page)).into_response()
        }
        Err(why) => failed(why),
    }
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

async fn is_free(State(server): Shared, Query(Name { name }): Query<Name>) -> Response {
    match check::is_free(&server.site, &name).await {
        Ok(true) => "free".into_response(),
        Ok(false) => "taken".into_response(),
        Err(why) => failed(why.into()),
    }
}

#[derive(Deserialize)]
struct Login {
    name: String,
    password: String,
}

async fn log_in(State(server): Shared, body: String) -> Response {
    let asked = format!("/?{body}").parse().ok().and_then(|uri: Uri| Query::<Login>::try_from_uri(&uri).ok());
    let (Some(Query(Login { name, password })), Some(filled)) = (asked, server.site.filled().await) else {
        return failed(PageError::Form("a login has a name and a password".to_owned()));
    };
    match pages::log_in(&server.site, &name, &password).await {
        Ok(Some(person)) => {
            let cookie = [(header::SET_COOKIE, cookie::set(&filled.secret, Some(person)))];
            (cookie, Html(pages::welcome(person))).into_response()
        }
        Ok(None) => failed(PageError::Form("name or password is wrong".to_owned())),
        Err(why) => failed(why),
    }
}

async fn log_out() -> Response {
    let content = "<p>You are logged out. <a href=\"/\">Look for events</a>.</p>\n";
    let page = Frame { title: "Logged out", visitor: None, has_map: false }.around(content);
    ([(header::SET_COOKIE, cookie::set("", None))], Html(page)).into_response()
}

/// A file that never changes under its name. A client that has it already gets no body.
fn unchanging(head: &HeaderMap, (tag, media_type): (&str, &'static str), body: Bytes) -> Response {
    let Ok(tag) = HeaderValue::from_str(tag) else { return failed(PageError::Missing) };
    let is_known = head.get(header::IF_NONE_MATCH) == Some(&tag);
    let fields = [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static(KEPT))];
    if is_known {
        return (StatusCode::NOT_MODIFIED, fields).into_response();
    }
    (fields, [(header::CONTENT_TYPE, media_type)], body).into_response()
}

async fn static_file(State(server): Shared, Path(name): Path<String>, head: HeaderMap) -> Response {
    let Some(file) = server.statics.iter().find(|file| file.name == name) else {
        return failed(PageError::Missing);
    };
    let tag = format!("\"{name}-{:x}\"", file.body.len());
    unchanging(&head, (&tag, file.media_type), file.body.clone())
}

async fn file(State(server): Shared, Path(name): Path<String>, head: HeaderMap) -> Response {
    let bytes = match server.site.files.read(&name).await {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return failed(PageError::Missing),
        Err(why) => return failed(PageError::Store(StoreError::Refused(why.into()))),
    };
    let media_type = if name.ends_with(".pdf") { "application/pdf" } else { "image/jpeg" };
    let tag = format!("\"{name}-{:x}\"", bytes.len());
    unchanging(&head, (&tag, media_type), bytes)
}

#[derive(Deserialize)]
struct StepNumber {
    step: u64,
}

async fn fill(
    State(server): Shared,
    Query(StepNumber { step }): Query<StepNumber>,
    Json(order): Json<FillOrder>,
) -> Response {
    match server.filling.step(&server.site, &order, step).await {
        Ok(()) => "done".into_response(),
        Err(why @ FillError::Other) => (StatusCode::CONFLICT, why.to_string()).into_response(),
        Err(FillError::Store(why)) => (StatusCode::INTERNAL_SERVER_ERROR, in_full(&why)).into_response(),
        Err(FillError::File(why)) => (StatusCode::INTERNAL_SERVER_ERROR, in_full(&why)).into_response(),
    }
}

/// An error with its causes.
fn in_full(why: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(why), |why| why.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

async fn counts(State(server): Shared) -> Response {
    listed(check::counts(&server.site).await)
}

#[derive(Deserialize)]
struct After {
    after: i64,
}

fn listed<T: serde::Serialize>(list: Result<T, StoreError>) -> Response {
    match list {
        Ok(list) => Json(list).into_response(),
        Err(why) => failed(why.into()),
    }
}

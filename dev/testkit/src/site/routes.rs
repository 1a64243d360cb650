//! The routes of a site: from path to answer. Their table is in the documentation of [`super::Site`].

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use tokio::sync::Notify;

use super::bodies::{self, Body};
use super::{State, websocket};

/// Largest body and longest list of events that a client may request.
const MOST: u64 = 64 << 20;

/// Inputs of an answer.
pub(super) struct Call {
    pub(super) request: Request<Incoming>,
    pub(super) state: Arc<State>,
    /// Ends the connection after the answers in progress.
    pub(super) goodbye: Arc<Notify>,
}

type Answer = Response<Body>;

/// Answers a request, and counts it while it is in progress.
pub(super) async fn answer(call: Call) -> Result<Answer, Infallible> {
    let _in_work = call.state.in_work();
    let only_head = call.request.method() == Method::HEAD;
    let answer = route(call).await.unwrap_or_else(|| plain(404, "no such route"));
    Ok(if only_head { without_body(answer) } else { answer })
}

/// The answer to HEAD: the server library leaves the body out by itself in HTTP/1.1, but not in HTTP/2.
fn without_body(answer: Answer) -> Answer {
    let length = answer.body().size_hint().exact().filter(|length| *length > 0);
    let answer = answer.map(|_| bodies::whole(""));
    match length {
        Some(length) => with(answer, header::CONTENT_LENGTH, &length.to_string()),
        None => answer,
    }
}

/// The answer of a route; `None` if there is no such route.
async fn route(call: Call) -> Option<Answer> {
    let path = call.request.uri().path().to_owned();
    let mut parts = path.trim_start_matches('/').split('/');
    let name = parts.next()?;
    if name == "ws" {
        return websocket::route(call, &parts.collect::<Vec<_>>());
    }
    let numbers: Vec<u64> = parts.map(|part| part.parse().ok()).collect::<Option<_>>()?;
    if numbers.iter().any(|number| *number > MOST) {
        return None;
    }
    match (name, &numbers[..]) {
        ("delay", [ms]) => {
            tokio::time::sleep(Duration::from_millis(*ms)).await;
            Some(plain(200, "hello"))
        }
        ("never", []) => std::future::pending().await,
        ("poll", [ms]) => Some(poll(&call, Duration::from_millis(*ms)).await),
        ("echo", []) => echo(call).await,
        _ => known(name, &numbers).or_else(|| of_the_call(name, &numbers, &call)),
    }
}

/// Answers that depend only on the path.
fn known(name: &str, numbers: &[u64]) -> Option<Answer> {
    let ms = Duration::from_millis;
    Some(match (name, numbers) {
        ("hello", []) => plain(200, "hello"),
        ("bytes", [n]) => plain(200, bodies::known_bytes(*n as usize)),
        ("chunks", [n, size]) => Response::new(bodies::pieces(*n as usize, *size as usize, Duration::ZERO)),
        ("slow", [n, size, pause]) => Response::new(bodies::pieces(*n as usize, *size as usize, ms(*pause))),
        ("status", [code @ (204 | 304)]) => plain(*code as u16, ""),
        ("status", [code @ 200..=599]) => plain(*code as u16, format!("status {code}")),
        ("trailers", []) => with(Response::new(bodies::with_trailers()), header::TRAILER, "x-end"),
        ("abort", []) => with(Response::new(bodies::broken()), header::CONTENT_LENGTH, "100"),
        ("redirect", []) => with(plain(302, ""), header::LOCATION, "/hello"),
        ("events", [n, pause]) => events(bodies::ticks(*n, ms(*pause))),
        _ => return None,
    })
}

/// Answers that depend on the request's headers, the connection or the site.
fn of_the_call(name: &str, numbers: &[u64], call: &Call) -> Option<Answer> {
    Some(match (name, numbers) {
        ("headers", []) => plain(200, header_lines(&call.request)),
        ("close", []) => {
            call.goodbye.notify_one();
            let closing = plain(200, "goodbye");
            // The field belongs to HTTP/1.1 only; HTTP/2 has a frame for it.
            if call.request.version() == hyper::Version::HTTP_2 {
                closing
            } else {
                with(closing, header::CONNECTION, "close")
            }
        }
        ("cookie", []) => {
            let session = call.state.sessions.fetch_add(1, Ordering::SeqCst);
            with(plain(200, "welcome"), header::SET_COOKIE, &format!("session={session}; Path=/; HttpOnly"))
        }
        ("me", []) => match session_of(&call.request) {
            Some(session) => plain(200, session.to_owned()),
            None => plain(401, "no session"),
        },
        ("feed", []) => events(bodies::news(call.state.feed.clone(), after(&call.request, &call.state))),
        _ => return None,
    })
}

/// Waits for news; 204 if there is none in time.
async fn poll(call: &Call, patience: Duration) -> Answer {
    let next = call.state.feed.next(after(&call.request, &call.state));
    match tokio::time::timeout(patience, next).await {
        Ok((n, text)) => {
            let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            json(format!("{{\"n\":{n},\"text\":\"{quoted}\"}}"))
        }
        Err(_) => plain(204, ""),
    }
}

async fn echo(call: Call) -> Option<Answer> {
    let (head, body) = call.request.into_parts();
    // A client that breaks off its body gets no answer.
    let body = body.collect().await.ok()?.to_bytes();
    let content_type = head.headers.get(header::CONTENT_TYPE).cloned();
    let mut echo = Response::new(bodies::whole(body));
    if let Some(content_type) = content_type {
        echo.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    let echo = with(echo, HeaderName::from_static("x-method"), head.method.as_str());
    Some(with(echo, HeaderName::from_static("x-version"), &format!("{:?}", head.version)))
}

/// The number after which news is requested: `after` of the query, or the latest.
pub(super) fn after<B>(request: &Request<B>, state: &State) -> usize {
    let query = request.uri().query().unwrap_or_default();
    let asked = query.split('&').find_map(|pair| pair.strip_prefix("after=")?.parse().ok());
    asked.unwrap_or_else(|| state.feed.latest())
}

fn session_of(request: &Request<Incoming>) -> Option<&str> {
    let cookies = request.headers().get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split("; ")).find_map(|pair| pair.strip_prefix("session="))
}

fn header_lines(request: &Request<Incoming>) -> String {
    let line = |(name, value): (&HeaderName, &HeaderValue)| {
        format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
    };
    request.headers().iter().map(line).collect()
}

/// An answer with this whole body.
pub(super) fn plain(status: u16, body: impl Into<bytes::Bytes>) -> Answer {
    let mut answer = Response::new(bodies::whole(body));
    *answer.status_mut() = StatusCode::from_u16(status).expect("routes give numbers of 200 to 599");
    answer
}

fn json(body: String) -> Answer {
    with(plain(200, body), header::CONTENT_TYPE, "application/json")
}

fn events(body: Body) -> Answer {
    with(Response::new(body), header::CONTENT_TYPE, "text/event-stream")
}

pub(super) fn with(mut answer: Answer, name: HeaderName, value: &str) -> Answer {
    let value = HeaderValue::from_str(value).expect("made of letters and numbers of ours");
    answer.headers_mut().insert(name, value);
    answer
}

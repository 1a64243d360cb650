//! Server of the live page, on a thread of its own.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures::Stream;
use futures::stream::unfold;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

use crate::LEAVE_WITHIN;
use crate::moment::PageContent;
use crate::view::View;

/// Largest number of simultaneous viewers.
const MOST_VIEWERS: usize = 16;

/// Shortest time between two events.
const NEWS_EVERY: Duration = Duration::from_millis(250);

/// Interval between keep-alive lines without news, so that proxies do not close the stream.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Steps in which the time for the last news is counted.
const LEAVE_STEPS: u32 = 20;

/// The page without style and script.
const HTML: &str = include_str!("page/page.html");
/// Style of the page.
const STYLE: &str = include_str!("page/page.css");
/// Script of the page.
const SCRIPT: &str = include_str!("page/page.js");

/// Content security policy: only the page itself, and events from the same origin.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// State that the harness writes and the server reads.
#[derive(Debug)]
pub(crate) struct PageState {
    moment: Mutex<PageContent>,
    news: Notify,
}

impl PageState {
    pub(crate) fn new(moment: PageContent) -> Self {
        PageState { moment: Mutex::new(moment), news: Notify::new() }
    }

    fn moment(&self) -> MutexGuard<'_, PageContent> {
        // The figures are valid after a panic of any thread that held them.
        self.moment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut PageContent)) {
        change(&mut self.moment());
        self.news.notify_one();
    }

    fn json(&self) -> String {
        serde_json::to_string(&View::of(&self.moment())).expect("a view has only keys that are text")
    }
}

/// The serving thread.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    leave: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

impl Server {
    pub(crate) fn start(address: SocketAddr, shared: Arc<PageState>) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (leave, leaving) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("live page".to_owned())
            .spawn(move || runtime.block_on(answer(listener, shared, leaving)))?;
        Ok(Server { address, leave, thread })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets browsers receive the last news, within a moment.
    pub(crate) fn leave(self) {
        self.leave.send_replace(true);
        // A thread that panicked has no more news.
        let _ = self.thread.join();
    }
}

/// State for the answers.
#[derive(Clone)]
struct PageContext {
    shared: Arc<PageState>,
    page: Arc<str>,
    /// Latest news; closed after the last.
    news: watch::Receiver<Arc<str>>,
    seats: Arc<Semaphore>,
}

async fn answer(listener: TcpListener, shared: Arc<PageState>, leaving: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let (tell, news) = watch::channel(Arc::<str>::from(""));
    let page = HTML.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT).into();
    let seats = Arc::new(Semaphore::new(MOST_VIEWERS));
    let desk = PageContext { shared: Arc::clone(&shared), page, news, seats: Arc::clone(&seats) };
    let router =
        Router::new().route("/", get(page_of)).route("/state.json", get(state)).route("/events", get(events));
    let router = router.layer(from_fn(asked_here));
    let mut ends = leaving.clone();
    let ended = async move {
        // Closed or true: the run has ended.
        let _ = ends.wait_for(|leaving| *leaving).await;
    };
    let serving = axum::serve(listener, router.with_state(desk)).with_graceful_shutdown(ended);
    let spreading = spread(shared, tell, seats, leaving.clone());
    let mut limit = leaving;
    let time_is_up = async move {
        let _ = limit.wait_for(|leaving| *leaving).await;
        // In steps, each a turn of this thread: a thread without a processor meanwhile still has time to
        // send.
        for _ in 0..LEAVE_STEPS {
            tokio::time::sleep(LEAVE_WITHIN / LEAVE_STEPS).await;
        }
    };
    tokio::select! {
        _ = async { tokio::join!(serving.into_future(), spreading) } => {}
        () = time_is_up => {}
    }
}

/// Sends news to all viewers, the last of them after the end of the run.
async fn spread(
    shared: Arc<PageState>,
    tell: watch::Sender<Arc<str>>,
    seats: Arc<Semaphore>,
    mut leaving: watch::Receiver<bool>,
) {
    loop {
        let is_last = tokio::select! {
            () = shared.news.notified() => false,
            _ = leaving.wait_for(|leaving| *leaving) => true,
        };
        if seats.available_permits() < MOST_VIEWERS {
            tell.send_replace(shared.json().into());
        }
        if is_last {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(NEWS_EVERY) => {}
            _ = leaving.wait_for(|leaving| *leaving) => {}
        }
    }
}

/// Refuses requests for a host name that is not one of this machine. The page has no sign-in; a page from
/// elsewhere whose name is redirected here after loading could otherwise read it (DNS rebinding).
async fn asked_here(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(is_here) {
        return next.run(request).await;
    }
    (StatusCode::FORBIDDEN, "ask by localhost or a loopback address, as in http://127.0.0.1:8090/\n")
        .into_response()
}

/// Whether this is a name of this machine, with or without a port. Any port is accepted, as `ssh -L` may
/// forward another.
fn is_here(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(address, _)| address),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Header of answers that must not be cached.
const NO_STORE: (HeaderName, &str) = (header::CACHE_CONTROL, "no-store");

async fn page_of(State(desk): State<PageContext>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        NO_STORE,
    ];
    (headers, desk.page.to_string()).into_response()
}

async fn state(State(desk): State<PageContext>) -> Response {
    ([(header::CONTENT_TYPE, "application/json"), NO_STORE], desk.shared.json()).into_response()
}

async fn events(State(desk): State<PageContext>) -> Response {
    let Ok(seat) = Arc::clone(&desk.seats).try_acquire_owned() else {
        let words = format!("{MOST_VIEWERS} browsers follow this run already; close one of them\n");
        return (StatusCode::SERVICE_UNAVAILABLE, words).into_response();
    };
    Sse::new(stream(&desk, seat)).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)).into_response()
}

/// Sends the current state, and then every change.
fn stream(
    desk: &PageContext,
    seat: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let mut news = desk.news.clone();
    // Later news is not part of the current state.
    news.mark_unchanged();
    let first = desk.shared.json();
    unfold((Some(first), news, seat), |(first, mut news, seat)| async move {
        let text = match first {
            Some(first) => first,
            // Closed: the run has ended, and its last news was sent.
            None => {
                news.changed().await.ok()?;
                news.borrow_and_update().to_string()
            }
        };
        Some((Ok(Event::default().data(text)), (None, news, seat)))
    })
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn names_of_this_machine_are_known_from_others() {
        for here in [
            "localhost",
            "LocalHost:8090",
            "127.0.0.1:8090",
            "127.0.0.1",
            "127.8.8.8:1",
            "[::1]:8090",
            "[::1]",
        ] {
            assert!(is_here(here), "{here}");
        }
        let elsewhere = [
            "",
            ":8090",
            "example.org",
            "example.org:8090",
            "localhost.example.org",
            "127.0.0.1.example.org:8090",
            "10.0.0.1",
            "0.0.0.0:8090",
            "[::2]:8090",
        ];
        for host in elsewhere {
            assert!(!is_here(host), "{host}");
        }
    }
}

//! The static server of this program: the files of a folder in memory, over HTTP/1.1, on one thread.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::sets::{PAGE, media_type};

/// Largest file: sets are small, and a wrong folder must not fill the memory.
const LARGEST: u64 = 16 << 20;

/// Pause after the system refused a connection for want of open files.
const NO_FILES: Duration = Duration::from_millis(10);

/// A file in memory.
struct Page {
    bytes: Bytes,
    kind: HeaderValue,
}

/// Files by their paths, as in `/index.html`.
type Pages = BTreeMap<String, Page>;

/// A listening server.
pub(crate) struct StaticServer {
    listener: TcpListener,
    pages: Rc<Pages>,
    max_connections: usize,
}

impl StaticServer {
    /// Reads a folder and binds an address. Must run in a runtime of one thread, within a `LocalSet`, like all later calls.
    ///
    /// # Errors
    /// If a file cannot be read or is too large, or the address cannot be bound.
    pub(crate) async fn bind(listen: SocketAddr, folder: &Path, max_connections: usize) -> io::Result<Self> {
        let pages = Rc::new(pages(folder)?);
        Ok(StaticServer { listener: TcpListener::bind(listen).await?, pages, max_connections })
    }

    /// The bound address.
    ///
    /// # Errors
    /// If the system does not return it.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves connections for as long as it is polled. Connections beyond the most are closed.
    pub(crate) async fn serve(self) {
        let open = Rc::new(Cell::new(0));
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                tokio::time::sleep(NO_FILES).await;
                continue;
            };
            if open.get() >= self.max_connections {
                continue;
            }
            open.set(open.get() + 1);
            let (pages, open) = (Rc::clone(&self.pages), Rc::clone(&open));
            tokio::task::spawn_local(async move {
                connection(stream, pages).await;
                open.set(open.get() - 1);
            });
        }
    }
}

fn pages(folder: &Path) -> io::Result<Pages> {
    let mut pages = Pages::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if !about.is_file() {
            continue;
        }
        if about.len() > LARGEST {
            return Err(io::Error::other(format!("`{}` is too large", entry.path().display())));
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = HeaderValue::from_static(media_type(&name));
        let bytes = std::fs::read(entry.path())?.into();
        pages.insert(format!("/{name}"), Page { bytes, kind });
    }
    if pages.is_empty() {
        return Err(io::Error::other("the folder has no files"));
    }
    Ok(pages)
}

async fn connection(stream: TcpStream, pages: Rc<Pages>) {
    // A broken connection ends alone.
    let _ = stream.set_nodelay(true);
    let answering =
        service_fn(move |request| std::future::ready(Ok::<_, Infallible>(answer(&request, &pages))));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answering).await;
}

fn answer<B>(request: &Request<B>, pages: &Pages) -> Response<Full<Bytes>> {
    let text = |status, text: &'static str| {
        let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
        *answer.status_mut() = status;
        answer
    };
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    let page = match request.uri().path() {
        "/" => pages.get(&format!("/{PAGE}")),
        path => pages.get(path),
    };
    let Some(page) = page else { return text(StatusCode::NOT_FOUND, "no such file\n") };
    let mut answer = Response::new(Full::new(page.bytes.clone()));
    answer.headers_mut().insert(CONTENT_TYPE, page.kind.clone());
    answer
}

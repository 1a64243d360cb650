//! A node of an application that answers every request with its name, for tests of services in front of
//! nodes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Counts requests; a stream sends `first`, and `last` when it is released.
#[derive(Clone)]
pub(crate) struct Backend {
    pub(crate) at: SocketAddr,
    inner: Arc<BackendState>,
}

struct BackendState {
    name: String,
    asked: AtomicU32,
    go: Mutex<bool>,
    gone: Condvar,
}

impl Backend {
    pub(crate) fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.8:0").unwrap();
        let inner = BackendState {
            name: name.to_owned(),
            asked: AtomicU32::new(0),
            go: Mutex::new(false),
            gone: Condvar::new(),
        };
        let backend = Backend { at: listener.local_addr().unwrap(), inner: Arc::new(inner) };
        let answering = backend.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answering = answering.clone();
                thread::spawn(move || answering.answer_all(stream));
            }
        });
        backend
    }

    /// Number of requests other than health checks.
    pub(crate) fn asked(&self) -> u32 {
        self.inner.asked.load(Ordering::SeqCst)
    }

    /// Lets its streams end.
    pub(crate) fn let_go(&self) {
        *self.inner.go.lock().unwrap() = true;
        self.inner.gone.notify_all();
    }

    /// The end of the connection ends the thread.
    fn answer_all(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut stream = stream;
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).ok()? == 0 {
                    return None;
                }
            }
            let lower = head.to_lowercase();
            let length =
                lower.split_once("content-length: ").and_then(|(_, r)| r.lines().next()?.parse().ok());
            reader.by_ref().take(length.unwrap_or(0)).read_to_end(&mut Vec::new()).ok()?;
            let path = head.split(' ').nth(1)?.to_owned();
            if path != "/auction/healthCheck" {
                self.inner.asked.fetch_add(1, Ordering::SeqCst);
            }
            if path.ends_with("/events") {
                return self.stream(&mut stream);
            }
            let token =
                lower.split_once("api_token: ").and_then(|(_, rest)| rest.lines().next()).unwrap_or("none");
            let body = format!("{} {path} token {token}", self.inner.name);
            let cached = if path.contains("/image/") { "Cache-Control: public, max-age=60\r\n" } else { "" };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{cached}\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
        }
    }

    fn stream(&self, stream: &mut TcpStream) -> Option<()> {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            .ok()?;
        stream.write_all(b"data: first\n\n").ok()?;
        drop(self.inner.gone.wait_while(self.inner.go.lock().unwrap(), |go| !*go).unwrap());
        stream.write_all(b"data: last\n\n").ok()
    }
}

//! The abuse: tasks of a runtime in this process, with bounded numbers of connections and of attempts per
//! second.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use barograph_auction_api::{TOKEN_HEADER, UserId, routes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

/// Connections that send a byte per second.
const SLOW: usize = 500;
/// Idle connections.
const IDLE: usize = 10_000;
/// Tasks of each other kind.
const EACH: usize = 4;
/// Pause between two attempts of a task: a nuisance, not a flood of the network.
const PAUSE: Duration = Duration::from_millis(10);
/// Time limit of an answer to abuse.
const PATIENCE: Duration = Duration::from_secs(5);
/// Announced length of a body that is only begun.
const BODY_BYTES: u64 = 1 << 30;

pub(super) const WORDS: &str = "The abuse: 500 connections that send a byte per second, 10,000 idle connections, and four tasks each that announce bodies of 1 GiB, use tokens that nobody has, and send headers without end, with 10 ms between attempts.";

/// Counts of the abuse's results, by words.
#[derive(Clone, Default)]
struct Ends(Arc<Mutex<BTreeMap<String, u64>>>);

impl Ends {
    fn count(&self, what: &str, end: &str) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *ends.entry(format!("{what} {end}")).or_default() += 1;
    }

    fn words(&self) -> String {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().map(|(what, count)| format!("{what}: {count}")).collect::<Vec<_>>().join("; ")
    }
}

/// Abuse that continues until it is ended or dropped.
pub(super) struct Attack {
    runtime: Runtime,
    ends: Ends,
}

impl Attack {
    pub(super) fn begin(at: SocketAddr) -> anyhow::Result<Attack> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let ends = Ends::default();
        for _ in 0..SLOW {
            let ends = ends.clone();
            runtime.spawn(async move { again(&ends, "slow", || slow(at)).await });
        }
        let idle = ends.clone();
        runtime.spawn(async move { hold(at, &idle).await });
        for _ in 0..EACH {
            let own = ends.clone();
            runtime.spawn(async move { again(&own, "oversized body", || oversized(at)).await });
            let own = ends.clone();
            runtime.spawn(async move { again(&own, "bad token", || bad_token(at)).await });
            let own = ends.clone();
            runtime.spawn(async move { again(&own, "endless headers", || endless(at)).await });
        }
        Ok(Attack { runtime, ends })
    }

    /// Its results so far.
    pub(super) fn words(&self) -> String {
        self.ends.words()
    }

    /// Closes all connections.
    pub(super) fn end(self) -> String {
        let words = self.words();
        self.runtime.shutdown_timeout(PATIENCE);
        words
    }
}

/// Repeats an attempt, and counts its results.
async fn again<F: Future<Output = std::io::Result<String>>>(ends: &Ends, what: &str, once: impl Fn() -> F) {
    loop {
        let end = once().await.unwrap_or_else(|why| why.kind().to_string());
        ends.count(what, &end);
        sleep(PAUSE).await;
    }
}

/// Opens idle connections one after the other, keeps them, and counts their endings.
async fn hold(at: SocketAddr, ends: &Ends) {
    for _ in 0..IDLE {
        match TcpStream::connect(at).await {
            Ok(mut stream) => {
                ends.count("idle", "opened");
                let ends = ends.clone();
                tokio::spawn(async move {
                    let _ = stream.read(&mut [0; 16]).await;
                    ends.count("idle", "closed by the node");
                });
            }
            Err(why) => ends.count("idle", &why.kind().to_string()),
        }
    }
    std::future::pending::<()>().await;
}

/// Sends a request's head, a byte per second, until the node ends the connection.
async fn slow(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    stream
        .write_all(format!("GET {} HTTP/1.1\r\nhost: {at}\r\nx-slow: ", routes::alive()).as_bytes())
        .await?;
    let mut buffer = [0; 512];
    loop {
        match timeout(Duration::from_secs(1), stream.read(&mut buffer)).await {
            Ok(read) => return Ok(status(&buffer[..read?])),
            Err(_) => stream.write_all(b"x").await?,
        }
    }
}

async fn oversized(at: SocketAddr) -> std::io::Result<String> {
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {at}\r\ncontent-type: application/json\r\ncontent-length: {BODY_BYTES}\r\n\r\n",
        routes::login()
    );
    pour(at, &head, &[b' '; 64 * 1024]).await
}

async fn endless(at: SocketAddr) -> std::io::Result<String> {
    let head = format!("GET {} HTTP/1.1\r\nhost: {at}\r\n", routes::alive());
    let line = format!("x-flood: {}\r\n", "y".repeat(1_000));
    pour(at, &head, line.as_bytes()).await
}

/// Sends a beginning and then the same piece until there is an answer or the connection is closed.
async fn pour(at: SocketAddr, head: &str, piece: &[u8]) -> std::io::Result<String> {
    let (mut from, mut to) = TcpStream::connect(at).await?.into_split();
    let pouring = async {
        to.write_all(head.as_bytes()).await?;
        loop {
            to.write_all(piece).await?;
        }
    };
    let mut buffer = [0; 512];
    tokio::select! {
        read = from.read(&mut buffer) => Ok(status(&buffer[..read?])),
        end = pouring => end,
        () = sleep(PATIENCE) => Ok("still taken after 5 s".to_owned()),
    }
}

async fn bad_token(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    let path = routes::user(UserId(1));
    let token = "00000000-0000-4000-8000-000000000000";
    let head =
        format!("GET {path} HTTP/1.1\r\nhost: {at}\r\n{TOKEN_HEADER}: {token}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    let mut buffer = [0; 512];
    let read = timeout(PATIENCE, stream.read(&mut buffer)).await??;
    Ok(status(&buffer[..read]))
}

/// The status of an answer, in words.
fn status(answer: &[u8]) -> String {
    match answer.get(9..12) {
        Some(code) => format!("answered {}", String::from_utf8_lossy(code)),
        None => "closed".to_owned(),
    }
}

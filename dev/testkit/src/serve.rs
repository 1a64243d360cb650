//! One connection: reads requests and performs the script's actions.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

use crate::act::{Act, AfterBytes, Answer, Script};
use crate::listener::{AcceptedConnection, Stream};
use crate::request::{Reader, Request};

/// State shared by all connections of a server.
pub(crate) struct ServerState {
    pub(crate) script: Script,
    pub(crate) requests: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) die: Notify,
}

/// Serves one connection to its end.
pub(crate) async fn serve(arrived: AcceptedConnection, shared: Arc<ServerState>) {
    let connection = shared.connections.fetch_add(1, Ordering::SeqCst);
    // Until it is closed on purpose, a dropped connection is reset: so a dying server looks like a dead one.
    if arrived.reset_when_dropped().is_err() {
        return;
    }
    let peer = arrived.peer;
    // A client that rejects the certificate does not concern the script.
    let Ok(mut stream) = arrived.welcome().await else { return };
    let mut reader = Reader::default();
    loop {
        match reader.next(&mut stream).await {
            Ok(Some(mut request)) => {
                request.n = shared.requests.fetch_add(1, Ordering::SeqCst);
                (request.connection, request.peer) = (connection, peer);
                let act = (shared.script)(&request);
                match perform(&mut stream, &request, (act, &shared)).await {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) | Err(_) => return,
                }
            }
            Ok(None) => return,
            Err(error) => {
                let answer = Answer::new(400, error.to_string());
                // A client that disconnected in mid-request cannot be informed.
                let _ = send(&mut stream, &answer, answer.body.len()).await;
                close(stream).await;
                return;
            }
        }
    }
}

/// Performs the script's action. `Break` ends the connection; unless it was closed before, it is reset.
async fn perform(
    stream: &mut Stream,
    request: &Request,
    (act, shared): (Act, &ServerState),
) -> io::Result<ControlFlow<()>> {
    match act {
        Act::Answer(answer) => {
            tokio::time::sleep(answer.delay).await;
            let shown = if request.method == "HEAD" { 0 } else { answer.body.len() };
            send(stream, &answer, shown).await?;
            if !request.wants_close() {
                return Ok(ControlFlow::Continue(()));
            }
            finish(stream).await;
        }
        Act::Raw(bytes) => {
            write(stream, &bytes).await?;
            return Ok(ControlFlow::Continue(()));
        }
        Act::Pieces { pieces, pause, then } => {
            for (i, piece) in pieces.iter().enumerate() {
                if i > 0 {
                    tokio::time::sleep(pause).await;
                }
                write(stream, piece).await?;
            }
            match then {
                AfterBytes::Stay => return Ok(ControlFlow::Continue(())),
                AfterBytes::Close => finish(stream).await,
                AfterBytes::Reset => {}
            }
        }
        Act::Garbage(bytes) => {
            write(stream, &bytes).await?;
            finish(stream).await;
        }
        Act::CloseMid(answer) => {
            tokio::time::sleep(answer.delay).await;
            send(stream, &answer, answer.body.len() / 2).await?;
            finish(stream).await;
        }
        Act::Stall => until_client_goes(stream).await,
        Act::Refuse => {}
        Act::Die => {
            shared.die.notify_one();
            // The server drops this connection with all others.
            std::future::pending::<()>().await;
        }
    }
    Ok(ControlFlow::Break(()))
}

/// Sends the head and the first `shown` bytes of the body.
async fn send(stream: &mut Stream, answer: &Answer, shown: usize) -> io::Result<()> {
    let mut bytes = format!("HTTP/1.1 {} Known\r\ncontent-length: {}\r\n", answer.status, answer.body.len());
    for (name, value) in &answer.headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(&answer.body[..shown]);
    // One write, so that a client sees head and body at once and times are not those of small packets.
    write(stream, &bytes).await
}

/// Flushes bytes to the kernel; under TLS they would otherwise stay in a buffer.
async fn write(stream: &mut Stream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// Sends the end of the stream and waits for the client's: a reset could overtake bytes still on their way.
async fn finish(stream: &mut Stream) {
    if stream.shutdown().await.is_ok() {
        until_client_goes(stream).await;
    }
}

async fn close(mut stream: Stream) {
    finish(&mut stream).await;
}

/// Reads and discards until the client closes or breaks.
async fn until_client_goes(stream: &mut Stream) {
    let mut nothing = [0; 4096];
    while matches!(stream.read(&mut nothing).await, Ok(n) if n > 0) {}
}

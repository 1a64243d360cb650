//! WebSocket routes: an echo with commands, counted messages, and news.

use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use hyper::header;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role};

use super::bodies::Body;
use super::feed::Feed;
use super::routes::{Call, after, plain, with};

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Kind of exchange over a socket.
enum SocketScript {
    Echo,
    Ticks { count: u64, pause: Duration },
    News { feed: Arc<Feed>, after: usize },
}

/// The answer to `/ws/...`; `None` if there is no such route.
pub(super) fn route(mut call: Call, rest: &[&str]) -> Option<Response<Body>> {
    let talk = match rest {
        [] => SocketScript::Echo,
        ["events", count, ms] => {
            SocketScript::Ticks { count: count.parse().ok()?, pause: Duration::from_millis(ms.parse().ok()?) }
        }
        ["feed"] => {
            SocketScript::News { feed: call.state.feed.clone(), after: after(&call.request, &call.state) }
        }
        _ => return None,
    };
    let Some(accept) = accept_key(&call.request) else {
        return Some(plain(400, "a WebSocket begins with an upgrade of HTTP/1.1"));
    };
    tokio::spawn(hold(hyper::upgrade::on(&mut call.request), talk));
    let switching = with(plain(200, ""), header::SEC_WEBSOCKET_ACCEPT, &accept);
    let switching = with(with(switching, header::CONNECTION, "upgrade"), header::UPGRADE, "websocket");
    let (mut head, body) = switching.into_parts();
    head.status = hyper::StatusCode::SWITCHING_PROTOCOLS;
    Some(Response::from_parts(head, body))
}

/// The key that accepts the client's, if the request is a valid handshake.
fn accept_key<B>(request: &Request<B>) -> Option<String> {
    let says = |name, wanted: &str| {
        let value = request.headers().get(name)?.to_str().ok()?;
        value.split(',').any(|word| word.trim().eq_ignore_ascii_case(wanted)).then_some(())
    };
    (request.version() == Version::HTTP_11).then_some(())?;
    says(header::CONNECTION, "upgrade")?;
    says(header::UPGRADE, "websocket")?;
    says(header::SEC_WEBSOCKET_VERSION, "13")?;
    Some(derive_accept_key(request.headers().get(header::SEC_WEBSOCKET_KEY)?.as_bytes()))
}

async fn hold(upgrade: OnUpgrade, talk: SocketScript) {
    // A client that disconnects before or during the exchange ends it; the test sees its own side.
    let Ok(upgraded) = upgrade.await else { return };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    let close = match talk {
        SocketScript::Echo => echo(&mut socket).await,
        SocketScript::Ticks { count, pause } => ticks(&mut socket, count, pause).await,
        SocketScript::News { feed, after } => news(&mut socket, &feed, after).await,
    };
    if let Some(frame) = close
        && socket.close(Some(frame)).await.is_ok()
    {
        // Until the client has closed too: otherwise a reset could overtake the last frame.
        while let Some(Ok(_)) = socket.next().await {}
        // TLS has an end of its own; whether it still reaches the client does not matter.
        let _ = socket.get_mut().shutdown().await;
    }
}

/// Echoes messages, and performs commands. `None` if the connection is to be cut.
async fn echo(socket: &mut Socket) -> Option<CloseFrame> {
    while let Some(message) = socket.next().await {
        match message.ok()? {
            Message::Text(text) if text.as_str() == "!ping" => {
                socket.send(Message::Ping("are you there".into())).await.ok()?;
            }
            Message::Text(text) if text.as_str() == "!close" => return Some(frame(CloseCode::Away, "bye")),
            Message::Text(text) if text.as_str() == "!cut" => return None,
            Message::Pong(_) => socket.send("ponged".into()).await.ok()?,
            message @ (Message::Text(_) | Message::Binary(_)) => socket.send(message).await.ok()?,
            // The library answers these itself, with the next write or read.
            Message::Ping(_) | Message::Close(_) | Message::Frame(_) => socket.flush().await.ok()?,
        }
    }
    None
}

async fn ticks(socket: &mut Socket, count: u64, pause: Duration) -> Option<CloseFrame> {
    for n in 0..count {
        if n > 0 && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        socket.send(format!("{{\"n\":{n}}}").into()).await.ok()?;
    }
    Some(frame(CloseCode::Normal, ""))
}

async fn news(socket: &mut Socket, feed: &Feed, mut after: usize) -> Option<CloseFrame> {
    loop {
        tokio::select! {
            (n, text) = feed.next(after) => {
                after = n;
                socket.send(text.into()).await.ok()?;
            }
            message = socket.next() => {
                message?.ok()?;
                socket.flush().await.ok()?;
            }
        }
    }
}

fn frame(code: CloseCode, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}

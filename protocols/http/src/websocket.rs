//! A WebSocket over a connection of its own.

use std::future::Future;
use std::io;

use barograph_net::Stream;
use futures::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frame, error::ProtocolError};

use crate::answer::Answer;
use crate::connections::Connections;
use crate::draft::Draft;
use crate::exchange::begin;
use crate::fault::Fault;
use crate::head::{self, Head};
use crate::reader::{AnswerLayout, Reader};
use crate::request::{RenderedRequest, Request};

/// A WebSocket. Dropping it closes its connection without a closing handshake.
pub struct WebSocket {
    head: Answer,
    frames: WebSocketStream<Stream>,
    limit: usize,
}

/// A message from a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The peer has closed, with this reason. Nothing follows.
    Closed {
        /// The protocol's number, if one was given.
        code: Option<u16>,
        /// Its own words.
        reason: String,
    },
}

impl Connections {
    /// Opens a WebSocket. It has a connection of its own, not counted by the policy, and begins with HTTP/1.1
    /// regardless of other connections.
    pub fn websocket<'s>(
        &'s self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<WebSocket, Fault>> + use<'s> {
        self.websocket_draft(Draft::filled(&self.client.blank, request))
    }

    /// Like [`Self::websocket`], for a draft.
    pub fn websocket_draft(
        &self,
        mut draft: Draft,
    ) -> impl Future<Output = Result<WebSocket, Fault>> + use<'_> {
        let key = generate_key();
        draft.upgrade(&key);
        let rendered = draft.finish();
        async move { Box::pin(self.open_websocket(&rendered?, &key)).await }
    }

    async fn open_websocket(&self, request: &RenderedRequest, key: &str) -> Result<WebSocket, Fault> {
        let limit = self.client.target().options().body_limit;
        let mut stream = self.client.connect_http1(self.number()).await?;
        let mut reader = Reader::new(limit, false).switching();
        let mut buffer = self.client.answers.take();
        let head = begin(&mut stream, request.as_ref(), (&mut reader, &mut buffer), limit).await?;
        let Head { status, length, .. } = head;
        let frames = buffer.split_off(length);
        let whole = AnswerLayout {
            status,
            head: length,
            body: length..length,
            body_length: 0,
            trailers: 0..0,
            wire: length,
            keep: false,
        };
        let head = Answer::new(&whole, buffer, &self.client.answers);
        agree(request.as_ref(), key, &head)?;
        let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
        let frames = WebSocketStream::from_partially_read(stream, frames, Role::Client, Some(config)).await;
        Ok(WebSocket { head, frames, limit })
    }
}

/// Checks that this answer opens a WebSocket, by RFC 6455, section 4.1.
fn agree(request: &[u8], key: &str, answer: &Answer) -> Result<(), Fault> {
    if answer.status != 101 {
        return Err(Fault::Status(answer.status));
    }
    let is_one_of = |name: &str, word: &str| {
        let named = answer.headers().filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()));
        named
            .flat_map(|(_, value)| value.split(|b| *b == b','))
            .any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    let accepted = derive_accept_key(key.as_bytes());
    let chosen = answer.header("sec-websocket-protocol");
    let is_offered = match head::field(request, "sec-websocket-protocol") {
        None => chosen.is_none(),
        Some(offers) => offers.split(|b| *b == b',').any(|offer| chosen == Some(offer.trim_ascii())),
    };
    for (holds, missing) in [
        (is_one_of("upgrade", "websocket"), "Upgrade: websocket"),
        (is_one_of("connection", "upgrade"), "Connection: Upgrade"),
        (
            answer.header("sec-websocket-accept") == Some(accepted.as_bytes()),
            "Sec-WebSocket-Accept: (the value that belongs to the key of the request)",
        ),
        (is_offered, "Sec-WebSocket-Protocol: (one that was offered, or none if none was)"),
    ] {
        if !holds {
            return Err(Fault::Handshake { missing });
        }
    }
    Ok(())
}

impl WebSocket {
    /// Status and fields of the opening answer.
    #[must_use]
    pub fn head(&self) -> &Answer {
        &self.head
    }

    /// Sends a text; returns when all of it is written.
    ///
    /// # Errors
    /// If the connection is broken or closed.
    pub async fn send_text(&mut self, text: &str) -> Result<(), Fault> {
        self.frames.send(Frame::text(text)).await.map_err(|why| fault_of(why, self.limit))
    }

    /// Sends bytes; returns when all of them are written.
    ///
    /// # Errors
    /// If the connection is broken or closed.
    pub async fn send_binary(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.frames.send(Frame::binary(bytes.to_vec())).await.map_err(|why| fault_of(why, self.limit))
    }

    /// Waits for the next message. Pings are answered meanwhile. Cancel-safe: nothing is lost if it is
    /// dropped early.
    ///
    /// # Errors
    /// If the connection breaks or was closed before, or the bytes are not a message within the limit.
    pub async fn receive(&mut self) -> Result<Message, Fault> {
        loop {
            match self.frames.next().await {
                Some(Ok(Frame::Text(text))) => return Ok(Message::Text(text.as_str().to_owned())),
                Some(Ok(Frame::Binary(bytes))) => return Ok(Message::Binary(bytes.into())),
                Some(Ok(Frame::Close(goodbye))) => {
                    // The reply to the close frame was written, and goes out now.
                    let _ = self.frames.flush().await;
                    let code = goodbye.as_ref().map(|g| g.code.into());
                    let reason = goodbye.map_or_else(String::new, |g| g.reason.as_str().to_owned());
                    return Ok(Message::Closed { code, reason });
                }
                // The wait for the next message sends the answer to a ping.
                Some(Ok(Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_))) => {}
                Some(Err(why)) => return Err(fault_of(why, self.limit)),
                None => return Err(Fault::Broken(io::ErrorKind::NotConnected.into())),
            }
        }
    }

    /// Closes the WebSocket and waits for the peer to do so; messages that arrive before are skipped.
    ///
    /// # Errors
    /// If the connection breaks before that.
    pub async fn close(&mut self) -> Result<(), Fault> {
        let goodbye = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        match self.frames.close(Some(goodbye)).await {
            Ok(()) => {}
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => return Ok(()),
            Err(why) => return Err(fault_of(why, self.limit)),
        }
        while !matches!(self.receive().await?, Message::Closed { .. }) {}
        Ok(())
    }
}

fn fault_of(why: Error, limit: usize) -> Fault {
    match why {
        Error::Io(why) => Fault::Broken(why),
        Error::ConnectionClosed | Error::AlreadyClosed => Fault::Broken(io::ErrorKind::NotConnected.into()),
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake | ProtocolError::HandshakeIncomplete) => {
            Fault::Broken(io::ErrorKind::UnexpectedEof.into())
        }
        Error::Protocol(ProtocolError::SendAfterClosing) => Fault::Broken(io::ErrorKind::NotConnected.into()),
        Error::Capacity(_) => Fault::TooLarge { limit },
        why => Fault::Frames { protocol: "WebSocket", why: why.to_string() },
    }
}

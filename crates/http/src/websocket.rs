//! A WebSocket over a connection of its own.

use std::future::Future;
use std::io;

use barograph_net::Stream;
use futures::{SinkExt, StreamExt};
use http::HeaderValue;
use http::header::{CONNECTION, HOST, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message as Frame, error::ProtocolError};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::answer::Answer;
use crate::connections::Connections;
use crate::draft::Draft;
use crate::fault::Fault;
use crate::reader::Whole;
use crate::request::{Rendered, Request};
use crate::translate;

/// A WebSocket. Dropping it closes its connection without a goodbye.
pub struct WebSocket {
    head: Answer,
    frames: WebSocketStream<Stream>,
    limit: usize,
}

/// What comes over a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The peer has closed, for this reason. Nothing follows.
    Closed {
        /// The protocol's number, if one was given.
        code: Option<u16>,
        /// Its own words.
        reason: String,
    },
}

impl Connections {
    /// Asks for a WebSocket. It has a connection of its own beside those the policy bounds, and begins with HTTP/1.1
    /// whatever else is spoken.
    pub fn websocket<'s>(
        &'s self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<WebSocket, Fault>> + use<'s> {
        self.websocket_draft(Draft::filled(&self.client.blank, request))
    }

    /// The same for a request that was written piece by piece.
    pub fn websocket_draft(&self, draft: Draft) -> impl Future<Output = Result<WebSocket, Fault>> + use<'_> {
        let rendered = draft.finish();
        async move { Box::pin(self.open_websocket(&rendered?)).await }
    }

    async fn open_websocket(&self, request: &Rendered) -> Result<WebSocket, Fault> {
        let target = self.client.target();
        let limit = target.options().body_limit;
        let scheme = if target.is_tls() { "wss" } else { "ws" };
        let (mut request, _) = translate::request(request.as_ref(), scheme)?;
        let host = request.uri().authority().map_or_else(|| target.authority(), |a| a.as_str());
        let host = HeaderValue::from_str(host).map_err(|e| Fault::request(e.to_string()))?;
        let key = HeaderValue::from_str(&generate_key()).expect("a key is made of letters and digits");
        let headers = request.headers_mut();
        headers.insert(HOST, host);
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        headers.insert(SEC_WEBSOCKET_KEY, key);
        *request.version_mut() = http::Version::HTTP_11;
        let config = WebSocketConfig::default().max_message_size(Some(limit)).max_frame_size(Some(limit));
        let stream = self.client.connect_http1(self.number()).await?;
        let (frames, response) = client_async_with_config(request, stream, Some(config))
            .await
            .map_err(|why| fault_of(why, limit))?;
        let (head, _) = response.into_parts();
        let (buffer, status) = translate::head(&head, self.client.answers.take());
        let end = buffer.len();
        let whole = Whole { status, head: end, body: end..end, trailers: 0..0, wire: end, keep: false };
        Ok(WebSocket { head: Answer::new(&whole, buffer, &self.client.answers), frames, limit })
    }
}

impl WebSocket {
    /// Status and fields of the answer that began it.
    #[must_use]
    pub fn head(&self) -> &Answer {
        &self.head
    }

    /// Sends a text; done when all of it is on its way.
    ///
    /// # Errors
    /// When the connection has broken or was closed.
    pub async fn send_text(&mut self, text: &str) -> Result<(), Fault> {
        self.frames.send(Frame::text(text)).await.map_err(|why| fault_of(why, self.limit))
    }

    /// Sends bytes; done when all of them are on their way.
    ///
    /// # Errors
    /// When the connection has broken or was closed.
    pub async fn send_binary(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.frames.send(Frame::binary(bytes.to_vec())).await.map_err(|why| fault_of(why, self.limit))
    }

    /// Waits for the next message. Pings are answered on the way. Nothing is lost when it is dropped before it is done.
    ///
    /// # Errors
    /// When the connection breaks or was closed before, or what comes is no message within the limit.
    pub async fn receive(&mut self) -> Result<Message, Fault> {
        loop {
            match self.frames.next().await {
                Some(Ok(Frame::Text(text))) => return Ok(Message::Text(text.as_str().to_owned())),
                Some(Ok(Frame::Binary(bytes))) => return Ok(Message::Binary(bytes.into())),
                Some(Ok(Frame::Close(goodbye))) => {
                    // The answer to it was written, and goes out now.
                    let _ = self.frames.flush().await;
                    let code = goodbye.as_ref().map(|g| g.code.into());
                    let reason = goodbye.map_or_else(String::new, |g| g.reason.as_str().to_owned());
                    return Ok(Message::Closed { code, reason });
                }
                // Asking for the next message sends the answer to a ping.
                Some(Ok(Frame::Ping(_) | Frame::Pong(_) | Frame::Frame(_))) => {}
                Some(Err(why)) => return Err(fault_of(why, self.limit)),
                None => return Err(Fault::Broken(io::ErrorKind::NotConnected.into())),
            }
        }
    }

    /// Says goodbye and waits for the peer's; messages that come before it are passed over.
    ///
    /// # Errors
    /// When the connection breaks before that.
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
        Error::Http(response) => Fault::Status(response.status().as_u16()),
        _ => Fault::Garbage,
    }
}

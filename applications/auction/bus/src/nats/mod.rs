//! NATS in its own text protocol.
//!
//! Without a client library: the usual one gives each subscription its own queue, so that messages to all and
//! messages to the inbox of one sender can overtake each other. On one connection the server keeps them in
//! order.

mod encoding;

use std::sync::Arc;

use bytes::BytesMut;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bounds::READ_BYTES;
use crate::codec::{Broker, Link, LinkError};
use crate::url::Server;
use crate::{MAX_BODY_BYTES, NodeName};
use encoding::{LineDecoder, LineEncoder, Pings, ServerLine};

/// A NATS server, and this node's place there.
pub(crate) struct Nats {
    server: Server,
    namespace: String,
    node: String,
}

impl Nats {
    pub(crate) fn new(server: &Server, place: NodeName<'_>) -> Nats {
        let (namespace, node) = (place.namespace.to_owned(), place.node.to_owned());
        Nats { server: server.clone(), namespace, node }
    }

    /// The introduction after the server's own. The pong confirms the subscriptions.
    fn introduction(&self) -> String {
        let mut connect = json!({
            "verbose": false,
            "pedantic": false,
            "tls_required": false,
            "echo": true,
            "name": self.node,
            "lang": "rust",
            "version": env!("CARGO_PKG_VERSION"),
            "protocol": 1,
        });
        match (&self.server.user, &self.server.password) {
            (Some(user), Some(password)) => {
                connect["user"] = json!(user);
                connect["pass"] = json!(password);
            }
            (Some(token), None) => connect["auth_token"] = json!(token),
            _ => {}
        }
        let (all, inbox) = (encoding::all(&self.namespace), encoding::inbox(&self.namespace, &self.node));
        let (all_id, inbox_id) = (encoding::ALL_ID, encoding::INBOX_ID);
        format!("CONNECT {connect}\r\nSUB {all} {all_id}\r\nSUB {inbox} {inbox_id}\r\nPING\r\n")
    }
}

impl Broker for Nats {
    type Encoder = LineEncoder;
    type Decoder = LineDecoder;

    async fn open(&self) -> Result<Link<LineEncoder, LineDecoder>, LinkError> {
        let mut stream = TcpStream::connect((self.server.host.as_str(), self.server.port)).await?;
        stream.set_nodelay(true)?;
        let mut read = BytesMut::with_capacity(READ_BYTES);
        let ServerLine::Info(info) = hear(&mut stream, &mut read).await? else {
            return Err(LinkError::protocol("another greeting than INFO"));
        };
        let version = introduced(&info)?;
        stream.write_all(self.introduction().as_bytes()).await?;
        loop {
            match hear(&mut stream, &mut read).await? {
                ServerLine::Pong => break,
                ServerLine::Ping => stream.write_all(encoding::PONG).await?,
                ServerLine::Info(_) | ServerLine::Fine => {}
                // A message between SUB and PONG is skipped, which is allowed before `BusConnection`. Its body is
                // not a line, so it must be read before the next line of the server.
                ServerLine::Message { bytes, .. } => skip(&mut stream, &mut read, bytes).await?,
            }
        }
        let description = format!("NATS {version} at {}, transient messages", self.server);
        let pings = Arc::new(Pings::default());
        let encoder = LineEncoder::new(&self.namespace, Arc::clone(&pings));
        Ok(Link { stream, read, encoder, decoder: LineDecoder::new(pings), description })
    }
}

/// The server's version, if it accepts this client and its messages.
fn introduced(info: &Value) -> Result<String, LinkError> {
    if info["tls_required"] == true {
        return Err(LinkError::protocol("it asks for TLS, which the bus does not speak"));
    }
    let limit = info["max_payload"].as_u64().unwrap_or(u64::MAX);
    if limit < MAX_BODY_BYTES as u64 {
        return Err(LinkError::protocol(format!(
            "it takes {limit} bytes at most, {MAX_BODY_BYTES} are needed"
        )));
    }
    Ok(info["version"].as_str().unwrap_or("of unknown version").to_owned())
}

async fn hear(stream: &mut TcpStream, read: &mut BytesMut) -> Result<ServerLine, LinkError> {
    loop {
        if let Some(line) = encoding::take_line(read)? {
            return Ok(line);
        }
        more(stream, read).await?;
    }
}

async fn skip(stream: &mut TcpStream, read: &mut BytesMut, bytes: usize) -> Result<(), LinkError> {
    loop {
        if encoding::take_body(read, bytes)?.is_some() {
            return Ok(());
        }
        more(stream, read).await?;
    }
}

async fn more(stream: &mut TcpStream, read: &mut BytesMut) -> Result<(), LinkError> {
    read.reserve(READ_BYTES);
    if stream.read_buf(read).await? == 0 { Err(LinkError::Closed) } else { Ok(()) }
}

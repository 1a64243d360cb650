//! HTTP/1.1 over one connection.

use std::net::SocketAddr;

use bytes::Bytes;
use http::header::{ACCEPT, HOST};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{ConnectionTask, LARGEST, LinkError};
use crate::sums::Sums;
use crate::{Form, form};

/// A connection, kept as long as the server keeps it.
#[derive(Debug)]
pub(crate) struct Link {
    requests: SendRequest<Empty<Bytes>>,
    host: String,
    _beside: ConnectionTask,
}

impl Link {
    pub(super) async fn open(stream: TcpStream, at: SocketAddr) -> Result<Self, LinkError> {
        let (requests, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(trouble)?;
        let beside = tokio::spawn(async move {
            // The next request notices its end.
            let _ = connection.await;
        });
        Ok(Link { requests, host: at.to_string(), _beside: ConnectionTask(beside) })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.requests.is_closed()
    }

    pub(super) async fn ask(&mut self, path: &str, form: Form, sums: &mut Sums<'_>) -> Result<(), LinkError> {
        let request = Request::get(path).header(HOST, &self.host).header(ACCEPT, "*/*").body(Empty::new());
        let request = request.map_err(|error| LinkError::Unreadable(error.to_string()))?;
        self.requests.ready().await.map_err(trouble)?;
        let answer = self.requests.send_request(request).await.map_err(trouble)?;
        if answer.status() != StatusCode::OK {
            return Err(LinkError::Refused(format!("status {} for {path}", answer.status())));
        }
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        let body = body.map_err(|error| LinkError::Unreadable(error.to_string()))?.to_bytes();
        form::read(form, &String::from_utf8_lossy(&body), sums).map_err(LinkError::Unreadable)
    }
}

fn trouble(error: hyper::Error) -> LinkError {
    LinkError::Io(std::io::Error::other(error))
}

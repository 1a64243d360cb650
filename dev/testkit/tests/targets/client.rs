//! Clients for the tests: a stream to any door, and one request by hyper over it.

use std::io;
use std::sync::Arc;

use barograph_testkit::{Address, Authority};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// A bidirectional byte stream.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub(crate) type Stream = Box<dyn Io>;

/// Runs a test in a runtime of its own.
pub(crate) fn block_on<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

pub(crate) async fn plain(address: &Address) -> Stream {
    match address {
        Address::Tcp(addr) => Box::new(TcpStream::connect(addr).await.unwrap()),
        Address::Unix(path) => Box::new(UnixStream::connect(path).await.unwrap()),
    }
}

/// A connection that trusts this authority alone; returns the protocol chosen by ALPN too.
pub(crate) async fn tls(
    address: &Address,
    authority: &Authority,
    offered: &[&str],
) -> io::Result<(Stream, Option<Vec<u8>>)> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.ca_pem().as_bytes()).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = offered.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = match address {
        Address::Tcp(addr) => ServerName::from(addr.ip()),
        Address::Unix(_) => ServerName::try_from("localhost").unwrap(),
    };
    let stream = TlsConnector::from(Arc::new(config)).connect(name, plain(address).await).await?;
    let chosen = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
    Ok((Box::new(stream), chosen))
}

/// One connection of hyper.
#[derive(Clone)]
pub(crate) enum Client {
    One(Arc<tokio::sync::Mutex<http1::SendRequest<Full<Bytes>>>>),
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Client {
    pub(crate) async fn http1(stream: Stream) -> hyper::Result<Self> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Client::One(Arc::new(tokio::sync::Mutex::new(sender))))
    }

    pub(crate) async fn http2(stream: Stream) -> hyper::Result<Self> {
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Client::Two(sender))
    }

    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> hyper::Result<Response<hyper::body::Incoming>> {
        match self {
            Client::One(sender) => {
                let mut sender = sender.lock().await;
                sender.ready().await?;
                sender.send_request(request).await
            }
            Client::Two(sender) => {
                let mut sender = sender.clone();
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    /// Status, headers, whole body and trailers of a GET.
    pub(crate) async fn get(&self, path: &str) -> hyper::Result<TestResponse> {
        self.ask(self.request("GET", path)).await
    }

    pub(crate) async fn ask(&self, request: Request<Full<Bytes>>) -> hyper::Result<TestResponse> {
        let (head, body) = self.send(request).await?.into_parts();
        let body = body.collect().await?;
        let trailers = body.trailers().cloned();
        Ok(TestResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes(),
            trailers,
        })
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> Request<Full<Bytes>> {
        let request = Request::builder().method(method).header("te", "trailers");
        let request = match self {
            Client::One(_) => request.uri(path).header("host", "localhost").header("connection", "te"),
            Client::Two(_) => request.uri(format!("http://localhost{path}")),
        };
        request.body(Full::default()).unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl TestResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

//! Connections with a known HTTP version.

use barograph_net::{Alpn, SetupError, Stream, Tls, TlsConfig};

use crate::client::Client;
use crate::fault::Fault;
use crate::options::Protocol;

/// The name of HTTP/1.1 in ALPN.
const HTTP1: &str = "http/1.1";
/// The name of HTTP/2 in ALPN.
const HTTP2: &str = "h2";

/// HTTP version of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    Http1,
    Http2,
}

/// TLS settings of a target.
#[derive(Debug)]
pub(crate) struct TlsSetup {
    /// Offers all enabled protocols.
    pub(crate) any: TlsConfig,
    /// Offers HTTP/1.1 only: WebSockets begin with it.
    http1: TlsConfig,
}

impl TlsSetup {
    pub(crate) fn new(host: &str, tls: &Tls, protocol: Protocol) -> Result<Self, SetupError> {
        let only_http1 = Alpn::Optional(&[HTTP1]);
        let http1 = TlsConfig::new(tls, host, only_http1)?;
        let any = http1.clone().offering(match protocol {
            Protocol::Http1 => only_http1,
            Protocol::Http2 => Alpn::Required(&[HTTP2]),
            Protocol::Auto => Alpn::Optional(&[HTTP2, HTTP1]),
        });
        Ok(TlsSetup { any, http1 })
    }
}

impl Client {
    /// Opens a connection of the kind required by the target.
    pub(crate) async fn connect(&self, number: u32) -> Result<(Stream, HttpVersion), Fault> {
        let (stream, http2) = match self.target().secured() {
            Some(secured) => {
                let stream = self.secure(number, &secured.any).await?;
                let agreed = stream.alpn() == Some(HTTP2.as_bytes());
                (stream, agreed)
            }
            None => {
                let asked = self.target().options().protocol == Protocol::Http2;
                (self.dialer.connect(number).await?, asked)
            }
        };
        Ok((stream, if http2 { HttpVersion::Http2 } else { HttpVersion::Http1 }))
    }

    /// Opens a connection that speaks HTTP/1.1, regardless of other connections.
    pub(crate) async fn connect_http1(&self, number: u32) -> Result<Stream, Fault> {
        match self.target().secured() {
            Some(secured) => self.secure(number, &secured.http1).await,
            None => Ok(self.dialer.connect(number).await?),
        }
    }

    /// Opens a connection through TLS, and through a tunnel if there is a proxy.
    async fn secure(&self, number: u32, tls: &TlsConfig) -> Result<Stream, Fault> {
        let Some(proxy) = &self.target().options().proxy else {
            return Ok(self.dialer.connect_tls(number, tls).await?);
        };
        let mut stream = self.dialer.connect(number).await?;
        // Boxed: a tunnel is rare, and would make every waiting user larger.
        Box::pin(proxy.tunnel(&mut stream, &self.target().host_and_port())).await?;
        Ok(self.dialer.secure(stream, number, tls).await?)
    }
}

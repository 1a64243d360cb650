//! Making connections: TCP or a socket file, then TLS where the address asks for it.

use std::sync::Arc;

use barograph_reactor::{Peer, Socket};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;

use crate::client::Client;
use crate::fault::{Fault, TlsFault};
use crate::options::Protocol;
use crate::stream::Stream;
use crate::tls::{Secured, is_http2};

/// The HTTP that is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

impl Client {
    /// Makes a connection in the clear.
    pub(crate) async fn connect_plain(&self, number: u32) -> Result<Stream, Fault> {
        let socket = self.socket(number).await?;
        Ok(Stream::plain(socket, &self.tally))
    }

    /// Makes a connection of the kind the target asks for.
    pub(crate) async fn connect(&self, number: u32) -> Result<(Stream, Speaks), Fault> {
        match self.target().secured() {
            Some(secured) => self.connect_tls(number, secured, &secured.config).await,
            None => {
                let http2 = self.target().options().protocol == Protocol::Http2;
                Ok((self.connect_plain(number).await?, if http2 { Speaks::Http2 } else { Speaks::Http1 }))
            }
        }
    }

    /// Makes a connection on which HTTP/1.1 is spoken whatever is spoken on others.
    pub(crate) async fn connect_http1(&self, number: u32) -> Result<Stream, Fault> {
        match self.target().secured() {
            Some(secured) => Ok(self.connect_tls(number, secured, &secured.config_http1).await?.0),
            None => self.connect_plain(number).await,
        }
    }

    async fn socket(&self, number: u32) -> Result<Socket, Fault> {
        let (peer, source) = self.resolved.way(number);
        let connected = Socket::connect(peer, source).await;
        connected.map_err(|why| Fault::Connect { to: peer.clone(), why })
    }

    async fn connect_tls(
        &self,
        number: u32,
        secured: &Secured,
        config: &Arc<ClientConfig>,
    ) -> Result<(Stream, Speaks), Fault> {
        let socket = self.socket(number).await?;
        let asked = secured.name.to_str();
        let must =
            self.target().options().protocol == Protocol::Http2 && Arc::ptr_eq(config, &secured.config);
        let wanted = if must { "HTTP/2" } else { "HTTP/1.1" };
        let to: &Peer = self.resolved.way(number).0;
        let failed = |why| Fault::Tls { to: to.clone(), why };
        let connector = TlsConnector::from(Arc::clone(config));
        let stream = connector
            .connect(secured.name.clone(), socket)
            .await
            .map_err(|why| failed(TlsFault::of(why, &asked, wanted)))?;
        let http2 = is_http2(stream.get_ref().1.alpn_protocol());
        if must && !http2 {
            return Err(failed(TlsFault::Protocol { wanted }));
        }
        let speaks = if http2 { Speaks::Http2 } else { Speaks::Http1 };
        Ok((Stream::tls(stream, &self.tally), speaks))
    }
}

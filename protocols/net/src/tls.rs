//! TLS: options of users, and the resulting settings of handshakes.

use std::sync::Arc;

use barograph_reactor::Socket;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::fault::TlsFault;
use crate::identity::Identity;
use crate::setup::SetupError;
use crate::trust;

/// Trust in the peer, and the client's identity.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Certificates of authorities to trust instead of the system's, as PEM.
    pub authorities: Option<Arc<[u8]>>,
    /// Extent of verification.
    pub verify: Verify,
    /// The name requested and verified, if it is not the address's host.
    pub server_name: Option<String>,
    /// The client certificate, sent if the peer requests one.
    pub identity: Option<Identity>,
}

/// Extent of verification of the peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Its certificate, up to a trusted authority, and the name in it.
    #[default]
    Peer,
    /// Nothing: any peer is accepted. To be noted in the record of a run.
    Nothing,
}

/// The protocols offered in a handshake by their names in ALPN, best first.
#[derive(Clone, Copy, Debug)]
pub enum Alpn {
    /// The peer may choose one of these, or none.
    Optional(&'static [&'static str]),
    /// The peer must choose one of these.
    Required(&'static [&'static str]),
}

impl Alpn {
    /// Nothing is offered.
    pub const NONE: Alpn = Alpn::Optional(&[]);

    fn offered(self) -> &'static [&'static str] {
        match self {
            Alpn::Optional(offered) | Alpn::Required(offered) => offered,
        }
    }
}

/// Checked settings of TLS handshakes with one target. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TlsConfig {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    alpn: Alpn,
}

impl TlsConfig {
    /// The settings for the target at `host`. Reads the trusted authorities.
    ///
    /// # Errors
    /// If the authorities cannot be used, or the name is impossible in a certificate.
    pub fn new(tls: &Tls, host: &str, alpn: Alpn) -> Result<Self, SetupError> {
        let name = tls.server_name.as_deref().unwrap_or(host).to_owned();
        let bad_name = SetupError::ServerName { name: name.clone() };
        let name = ServerName::try_from(name).map_err(|_| bad_name)?;
        Ok(TlsConfig { config: Arc::new(config(tls)?), name, alpn: Alpn::NONE }.offering(alpn))
    }

    /// The same settings with other protocols offered.
    #[must_use]
    pub fn offering(mut self, alpn: Alpn) -> Self {
        let names = alpn.offered().iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::make_mut(&mut self.config).alpn_protocols = names;
        TlsConfig { alpn, ..self }
    }

    /// Begins TLS on a connection.
    pub(crate) async fn handshake(&self, socket: Socket) -> Result<TlsStream<Socket>, TlsFault> {
        let offered = self.alpn.offered();
        let connector = TlsConnector::from(Arc::clone(&self.config));
        let stream = connector
            .connect(self.name.clone(), socket)
            .await
            .map_err(|why| TlsFault::of(why, &self.name.to_str(), offered))?;
        match self.alpn {
            Alpn::Required(_) if stream.get_ref().1.alpn_protocol().is_none() => {
                Err(TlsFault::Protocol { offered })
            }
            _ => Ok(stream),
        }
    }
}

fn config(tls: &Tls) -> Result<ClientConfig, SetupError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = trust::verifier(tls, &provider)?;
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|why| SetupError::Authorities { why: why.to_string() })?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let mut config = match &tls.identity {
        Some(identity) => builder.with_client_cert_resolver(identity.resolver(&provider)?),
        None => builder.with_no_client_auth(),
    };
    // Tickets of one user would shorten the handshakes of others, and workers would share their store.
    config.resumption = Resumption::disabled();
    Ok(config)
}

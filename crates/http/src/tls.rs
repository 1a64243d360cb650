//! Trust: whose certificates are believed, and what is offered in the handshake.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{Resumption, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::fault::TargetError;
use crate::options::{Protocol, Tls, Verify};

const HTTP1: &[u8] = b"http/1.1";
const HTTP2: &[u8] = b"h2";

/// What a TLS connection to the target needs.
#[derive(Clone, Debug)]
pub(crate) struct Secured {
    /// Offers the protocols that are spoken.
    pub(crate) config: Arc<ClientConfig>,
    /// Offers HTTP/1.1 only: a WebSocket begins there.
    pub(crate) config_http1: Arc<ClientConfig>,
    pub(crate) name: ServerName<'static>,
}

impl Secured {
    pub(crate) fn new(host: &str, tls: &Tls, protocol: Protocol) -> Result<Self, TargetError> {
        let name = tls.server_name.as_deref().unwrap_or(host).to_owned();
        let bad_name = TargetError::ServerName { name: name.clone() };
        let name = ServerName::try_from(name).map_err(|_| bad_name)?;
        let mut config = config(tls)?;
        config.alpn_protocols = vec![HTTP1.to_vec()];
        let config_http1 = Arc::new(config.clone());
        config.alpn_protocols = match protocol {
            Protocol::Http1 => vec![HTTP1.to_vec()],
            Protocol::Http2 => vec![HTTP2.to_vec()],
            Protocol::Auto => vec![HTTP2.to_vec(), HTTP1.to_vec()],
        };
        Ok(Secured { config: Arc::new(config), config_http1, name })
    }
}

/// Is this what was agreed on for HTTP/2?
pub(crate) fn is_http2(agreed: Option<&[u8]>) -> bool {
    agreed == Some(HTTP2)
}

fn config(tls: &Tls) -> Result<ClientConfig, TargetError> {
    let provider = Arc::new(ring::default_provider());
    let failed = |why: Error| TargetError::Authorities { why: why.to_string() };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let verifier: Arc<dyn ServerCertVerifier> = match tls.verify {
        Verify::Nothing => Arc::new(Anybody(provider)),
        Verify::Peer => {
            let roots = Arc::new(roots(tls.authorities.as_deref())?);
            let built = WebPkiServerVerifier::builder_with_provider(roots, provider).build();
            built.map_err(|e| TargetError::Authorities { why: e.to_string() })?
        }
    };
    let mut config = builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth();
    // Tickets of one user would shorten the handshakes of others, and workers would share their store.
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// The authorities to trust. The system's rather than a list built in: what this machine's other programs believe is
/// what its owner set up, a company's own authority included, and it does not age with this program.
fn roots(given: Option<&[u8]>) -> Result<RootCertStore, TargetError> {
    let mut roots = RootCertStore::empty();
    let failed = |why: String| TargetError::Authorities { why };
    match given {
        Some(pem) => {
            for found in CertificateDer::pem_slice_iter(pem) {
                let certificate = found.map_err(|e| failed(format!("the PEM text is broken: {e}")))?;
                roots.add(certificate).map_err(|e| failed(format!("a certificate cannot be used: {e}")))?;
            }
            if roots.is_empty() {
                return Err(failed("there is no `BEGIN CERTIFICATE` in the PEM text".to_owned()));
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                let hint =
                    "this machine has none: install the package ca-certificates, or name a PEM file (ca)";
                return Err(failed(hint.to_owned()));
            }
        }
    }
    Ok(roots)
}

/// Believes anybody, because the user asked for it. Signatures of the handshake are still checked.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        tokio_rustls::rustls::crypto::verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

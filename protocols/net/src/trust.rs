//! Trust in certificates.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{WebPkiServerVerifier, verify_server_name};
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::setup::SetupError;
use crate::tls::{Tls, Verify};

/// Largest file of certificates in bytes: a system's whole list is a tenth of it.
pub(crate) const MOST_CERTIFICATES: u64 = 4 << 20;

/// The certificates of authorities in a PEM file.
///
/// # Errors
/// If it cannot be read, or is larger than 4 MiB.
pub fn certificates(file: &Path) -> Result<Arc<[u8]>, SetupError> {
    let failed = |why| SetupError::ReadCertificates { file: file.to_owned(), why };
    let bytes = fs::metadata(file).map_err(failed)?.len();
    if bytes > MOST_CERTIFICATES {
        return Err(SetupError::TooManyCertificates { file: file.to_owned(), bytes });
    }
    Ok(fs::read(file).map_err(failed)?.into())
}

/// The verifier of peers.
pub(crate) fn verifier(
    tls: &Tls,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, SetupError> {
    match tls.verify {
        Verify::Nothing => Ok(Arc::new(NoVerification(Arc::clone(provider)))),
        Verify::Peer => {
            let named = tls.authorities.as_deref().map(given).transpose()?;
            let roots = match &named {
                Some(named) => {
                    let mut roots = RootCertStore::empty();
                    for certificate in named {
                        roots.add(certificate.clone()).map_err(|why| SetupError::Authorities {
                            why: format!("a certificate cannot be used: {why}"),
                        })?;
                    }
                    roots
                }
                None => of_system()?,
            };
            let built =
                WebPkiServerVerifier::builder_with_provider(roots.into(), Arc::clone(provider)).build();
            let usual = built.map_err(|why| SetupError::Authorities { why: why.to_string() })?;
            Ok(Arc::new(CertificateTrust { usual, named: named.unwrap_or_default() }))
        }
    }
}

/// The certificates in a PEM text.
fn given(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, SetupError> {
    let failed = |why: String| SetupError::Authorities { why };
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|e| failed(format!("the PEM text is broken: {e}")))?;
    if found.is_empty() {
        return Err(failed("there is no `BEGIN CERTIFICATE` in the PEM text".to_owned()));
    }
    Ok(found)
}

/// The system's authorities rather than a built-in list: they are the choice of the machine's owner, may
/// include a company's own authority, and do not age with this program.
fn of_system() -> Result<RootCertStore, SetupError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let why = "this machine has none: install the package ca-certificates, or name a PEM file (ca)";
        return Err(SetupError::Authorities { why: why.to_owned() });
    }
    Ok(roots)
}

/// Trusts certificates of the given authorities, and given certificates themselves: a self-signed certificate
/// is often an authority's (CA:TRUE), which is otherwise refused for a server, and a certificate signed by an
/// authority may be all there is.
#[derive(Debug)]
struct CertificateTrust {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for CertificateTrust {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.usual.verify_server_cert(end, between, name, ocsp, now) {
            // Its dates hold: they are verified before its issuer and its kind.
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if self.named.contains(end) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Accepts any peer, at the user's request. Signatures of the handshake are still checked.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
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
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
